"""The articles' scoring, and scipy.stats for nDCG: a percentile bootstrap interval and the paired t-test.

    python with_scipy.py FOLDER RESAMPLES
"""

import sys
from pathlib import Path

from stopwatch import Stopwatch, labels, lines

watch = Stopwatch()
import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from numpy_script import NAMES, scores  # noqa: E402

watch.lap("import")
folder, resamples = sys.argv[1], int(sys.argv[2])
qrels = labels(folder)
runs = [{line["id"]: line["ranked"] for line in lines(f"{folder}/{name}.jsonl")} for name in ("baseline", "candidate")]
watch.lap("load")
before, after = (np.array([scores(each[query], gains) for query, gains in qrels.items()]) for each in runs)
watch.lap("score")
found = stats.bootstrap(((after - before)[:, 0],), np.mean, n_resamples=resamples, method="percentile", rng=np.random.default_rng(0))
p = stats.ttest_rel(after[:, 0], before[:, 0]).pvalue
watch.lap("statistics")
watch.say(baseline=dict(zip(NAMES, before.mean(axis=0), strict=True)), candidate=dict(zip(NAMES, after.mean(axis=0), strict=True)),
          intervals=[list(found.confidence_interval)], p=p)
