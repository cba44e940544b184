"""What others offer for ready paired differences, of nDCG alone.

    python statistics_theirs.py FOLDER gather | choices | bootstrap | permutation | t-test RESAMPLES

gather: numpy, all resamples as one matrix of indices. choices: the standard library. bootstrap, permutation, t-test: scipy.stats.
Everything is called once with other numbers before, so that imports are not timed.
"""

import random
import sys

import numpy as np
from stopwatch import Stopwatch


def gather(d, resamples):
    means = d[np.random.default_rng(0).integers(0, len(d), (resamples, len(d)))].mean(axis=1)
    return {"interval": np.quantile(means, [0.025, 0.975]).tolist()}


def choices(d, resamples):
    random.seed(0)
    d = d.tolist()
    means = sorted(sum(random.choices(d, k=len(d))) / len(d) for _ in range(resamples))
    return {"interval": [means[int(0.025 * resamples)], means[min(int(0.975 * resamples), resamples - 1)]]}


def bootstrap(d, resamples):
    found = stats.bootstrap((d,), np.mean, n_resamples=resamples, method="percentile", rng=np.random.default_rng(0))
    return {"interval": list(found.confidence_interval)}


def permutation(d, resamples):
    def mean(x, axis):
        return np.mean(x, axis=axis)

    return {"p": float(stats.permutation_test((d,), mean, permutation_type="samples", n_resamples=resamples, vectorized=True,
                                              rng=np.random.default_rng(0)).pvalue)}


def t_test(d, resamples):
    return {"p": float(stats.ttest_1samp(d, 0.0).pvalue)}


METHODS = {"gather": gather, "choices": choices, "bootstrap": bootstrap, "permutation": permutation, "t-test": t_test}
folder, name, resamples = sys.argv[1], sys.argv[2], int(sys.argv[3])
if name in ("bootstrap", "permutation", "t-test"):
    from scipy import stats
differences = np.load(f"{folder}/after.npy")[:, 0] - np.load(f"{folder}/before.npy")[:, 0]
METHODS[name](np.random.default_rng(1).normal(size=100), 100)
watch = Stopwatch()
found = METHODS[name](differences, resamples)
watch.lap("statistics")
watch.say(**found)
