"""How much a score moves when nothing was changed: the noise floor of repeated runs.

An approximate index, a random seed or a service behind the retriever can rank the same queries differently every time. Two figures say
how far apart two runs of the same code may lie; the larger one is the floor:

``spread``       the largest difference between the means of any two repeats. What was seen, so a lower bound: with few repeats it is small
                 by luck as often as not.
``independent``  z · √2 · s, with s² = Σ sᵢ² / n², sᵢ² the sample variance of query i over the repeats, divisor N − 1. If queries vary
                 independently, s is the standard deviation of one run's mean, and two runs differ by less than this with the given
                 confidence. It is the repeatability limit of ISO 5725-6:1994, 4.1.4 (2.8 s at 95 %). It pools the evidence of all
                 queries, so few repeats do; but noise that all queries share (an index that was built badly) is only in ``spread``.

Over clusters sᵢ² is the variance of a cluster's sum, n stays the number of queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gate.statistics.clusters import gather
from gate.statistics.normal import quantile

FLOAT_NOISE = 1e-12  # sums of floats miss equality by less; a floor of exactly the tolerance is not above it


class Noise(NamedTuple):
    """All in units of the metric. ``means``: one a repeat, in order."""

    means: tuple[float, ...]
    spread: float
    independent: float

    @property
    def repeats(self) -> int:
        return len(self.means)

    @property
    def floor(self) -> float:
        """A smaller change than this cannot be told from none."""
        return max(self.spread, self.independent)


def noise_of(scores: Sequence[Sequence[float]], confidence: float = 0.95, clusters: Sequence[str] | None = None) -> Noise:
    """``scores``: one sequence a repeat, at least two, each with the scores of the same n > 0 queries in the same order.

    ``clusters``: one key a query, queries that share one vary together; an empty key stands alone. Raises ValueError for shapes that
    measure nothing.
    """
    n = len(scores[0]) if scores else 0
    if len(scores) < 2 or n == 0:
        raise ValueError("noise is measured by at least two repeats of at least one query")
    means = tuple(math.fsum(repeat) / n for repeat in scores)
    units = zip(*(gather(repeat, clusters).sums for repeat in scores), strict=True)
    variances = math.fsum(_variance(unit) for unit in units)
    return Noise(means, max(means) - min(means), quantile(0.5 + confidence / 2.0) * math.sqrt(2.0 * variances) / n)


def _variance(values: Sequence[float]) -> float:
    """Sample variance, around the first value: equal values give exactly 0, so that a deterministic retriever has no noise at all."""
    away = [value - values[0] for value in values]
    return max(math.fsum(d * d for d in away) - math.fsum(away) ** 2 / len(values), 0.0) / (len(values) - 1)


def round_up(value: float) -> float:
    """The smallest number with two significant digits that is not below ``value`` > 0, but for float noise: what to write into a
    configuration."""
    place = 1 - math.floor(math.log10(value))
    # By way of the text, so that the number is the double that a configuration with these digits gives.
    return float(f"{math.ceil((value - FLOAT_NOISE) * 10.0**place)}e{-place}")
