"""Our own statistics on ready scores.

    python statistics_ours.py FOLDER interval | p | all

interval and p: of the primary metric. all: what one comparison needs, interval and p of six metrics and of the primary one in every tag.
Everything is called once with other numbers before, so that imports are not timed and nothing can be remembered.
"""

import json
import sys

import numpy as np
from stopwatch import Stopwatch

from gate.comparison import Method, pair
from gate.policy import Policy
from gate.statistics.bootstrap import mean_interval
from gate.statistics.permutation import sign_flip_p

folder, what = sys.argv[1:3]
before, after = (np.load(f"{folder}/{name}.npy").T.tolist() for name in ("before", "after"))
with open(f"{folder}/tags.json") as file:
    tags = list(json.load(file).values())
others = [((number * 37) % 101 / 101 - 0.5) * (number % 3 > 0) for number in range(300)]
primary = [b - a for a, b in zip(before[0], after[0], strict=True)]
strata = [[[side[0][row] for row in rows] for side in (before, after)] for rows in tags]
method, metrics = Method(), Policy().all_metrics
pair([0.5] * 300, [0.5 + other for other in others], method)
pair([0.5] * 300, [0.5 + (other > 0.3) * 0.5 for other in others], method, binary=True)
watch = Stopwatch()
if what == "interval":
    found = mean_interval(primary)
    watch.lap("statistics")
    watch.say(interval=list(found[:2]))
elif what == "p":
    found = sign_flip_p(primary)
    watch.lap("statistics")
    watch.say(p=found)
else:
    paired = [pair(a, b, method, binary=metric.binary) for metric, a, b in zip(metrics, before, after, strict=True)]
    paired += [pair(a, b, method) for a, b in strata]
    watch.lap("statistics")
    watch.say(interval=list(paired[0].ci[:2]), p=paired[0].p_value, intervals=len(paired))
