"""What a golden set of this size can see."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gate.statistics.bootstrap import FEW_CHANGES, changed
from gate.statistics.normal import quantile

POWER = 0.8


def minimum_detectable_effect(deltas: Sequence[float], confidence: float = 0.95) -> float | None:
    """Smallest true mean delta that this set would show with 80 % power, given how much single queries moved.

    (z₁₋α/₂ + z₀.₈) · sd / √n. With few changed queries one unseen change of a whole point is added to the variance, since a set on which
    nothing moved does not resolve everything. None for fewer than two queries.
    """
    n = len(deltas)
    if n < 2:
        return None
    moved = changed(deltas)
    squares = math.fsum(d * d for d in moved)
    if len(moved) < FEW_CHANGES:
        squares += 1.0
    mean = math.fsum(moved) / n
    sd = math.sqrt(max(squares / n - mean * mean, 0.0))
    return (quantile(0.5 + confidence / 2.0) + quantile(POWER)) * sd / math.sqrt(n)


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
