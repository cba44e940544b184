"""What articles suggest when nothing is to be installed: the standard library, nDCG, ``random.choices`` for every resample.

    python with_choices.py FOLDER RESAMPLES
"""

import math
import random
import sys
from statistics import mean

from stopwatch import Stopwatch, labels, lines

watch = Stopwatch()


def dcg(gains):
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def ndcg(ranked, gains):
    return dcg([gains.get(doc, 0) for doc in ranked[:10]]) / dcg(sorted(gains.values(), reverse=True)[:10])


watch.lap("import")
folder, resamples = sys.argv[1], int(sys.argv[2])
qrels = labels(folder)
runs = [{line["id"]: line["ranked"] for line in lines(f"{folder}/{name}.jsonl")} for name in ("baseline", "candidate")]
watch.lap("load")
before, after = ([ndcg(each[query], gains) for query, gains in qrels.items()] for each in runs)
watch.lap("score")
differences = [b - a for a, b in zip(before, after, strict=True)]
random.seed(0)
means = sorted(sum(random.choices(differences, k=len(differences))) / len(differences) for _ in range(resamples))
interval = [means[int(0.025 * resamples)], means[min(int(0.975 * resamples), resamples - 1)]]
watch.lap("statistics")
watch.say(baseline={"ndcg@10": mean(before)}, candidate={"ndcg@10": mean(after)}, intervals=[interval])
