"""Tests and intervals for counts: McNemar's test for paired 0/1 outcomes, intervals of a rate."""

from __future__ import annotations

import math

from gate.statistics.beta import beta_quantile
from gate.statistics.normal import quantile
from gate.statistics.permutation import binomial_two_sided


def mcnemar(better: int, worse: int) -> tuple[float, float]:
    """(exact p, mid-p), two-sided, of ``better`` against ``worse`` discordant pairs. 14 against 6: .1153, .0784."""
    few, m = min(better, worse), better + worse
    if not m:
        return 1.0, 1.0
    exact = binomial_two_sided(few, m)
    if better == worse:
        return exact, 1.0 - math.comb(m, few) / 2**m
    return exact, exact - math.exp(math.lgamma(m + 1) - math.lgamma(few + 1) - math.lgamma(m - few + 1) - m * math.log(2.0))


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a rate. 164 of 200: .761 to .867. Never of width zero, also at 0 and n."""
    if n == 0:
        return 0.0, 1.0
    z = quantile(0.5 + confidence / 2.0)
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's (1934) exact interval of a rate, from quantiles of the beta distribution. 164 of 200: .7596 to .8706.

    It covers at least as often as it says, whatever the rate is, and is wider than Wilson's for it, which covers so on average.
    """
    tail = (1.0 - confidence) / 2.0
    return (beta_quantile(tail, successes, n - successes + 1) if successes else 0.0,
            beta_quantile(1.0 - tail, successes + 1, n - successes) if successes < n else 1.0)
