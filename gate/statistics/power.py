"""What a golden set of this size can see."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gate.statistics.bootstrap import FEW_CHANGES, changed
from gate.statistics.normal import quantile

POWER = 0.8
_NOISE = 1e-12  # of sums of floats


def minimum_detectable_effect(deltas: Sequence[float], confidence: float = 0.95, sizes: Sequence[int] | None = None) -> float | None:
    """Smallest true mean delta that this set would show with 80 % power, given how much single queries moved. None for fewer than two.

    With ``sizes`` each delta is the sum over a cluster of so many queries.
    """
    if len(deltas) < 2:
        return None
    return detectable(variance(deltas, sizes), len(deltas) if sizes is None else sum(sizes), confidence)


def variance(deltas: Sequence[float], sizes: Sequence[int] | None = None) -> float:
    """Variance of a query's delta; over clusters, what a query adds to the variance of the mean: Σ(y − θs)² / Σs of their sums y and
    sizes s, θ = Σy / Σs (the ratio's linearisation, Cochran 1977, 6.4).

    With few changed queries, or where all changed alike, one unseen change of a whole point is added, since a set on which nothing moved
    does not resolve everything; with few changed clusters, one of a cluster of mean size.
    """
    n = len(deltas) if sizes is None else sum(sizes)
    moved = changed(deltas)
    mean = math.fsum(moved) / n
    if sizes is not None:
        squares = math.fsum((y - mean * s) ** 2 for y, s in zip(deltas, sizes, strict=True))
        unseen = len(moved) < FEW_CHANGES or squares < _NOISE * n
        return (squares + (unseen * n / len(sizes)) ** 2) / n
    unseen = len(moved) < FEW_CHANGES or math.fsum(d * d for d in moved) / n - mean * mean < _NOISE
    return max((math.fsum(d * d for d in moved) + unseen) / n - mean * mean, 0.0)


def detectable(variance: float, n: int, confidence: float = 0.95) -> float:
    """(z₁₋α/₂ + z₀.₈) · sd / √n."""
    return (quantile(0.5 + confidence / 2.0) + quantile(POWER)) * math.sqrt(variance) / math.sqrt(n)


def queries_to_detect(variance: float, effect: float, confidence: float = 0.95) -> int:
    """How many queries of this variance show ``effect`` with 80 % power: :func:`detectable` turned round."""
    return math.ceil(detectable(variance, 1, confidence) ** 2 / effect**2 - 1e-9)


def queries_needed(n: int, delta: float, lo: float, hi: float, tolerance: float) -> int | None:
    """How many queries like these would settle it, if ``delta`` is the truth: its interval [lo, hi] shrinks with 1/√n.

    Settled is: lower bound above −tolerance (pass), or, for a delta at or below −tolerance, upper bound below 0 (fail). None when
    delta = −tolerance exactly and no number would do.
    """
    if delta <= -tolerance:
        half, room = hi - delta, -delta
    else:
        half, room = delta - lo, delta + tolerance
    if room <= 0:
        return None
    return max(n, math.ceil(n * (half / room) ** 2))
