"""Bound of a mean of which little was seen to move, after Gaffke (2005, "Three test statistics for a nonparametric one-sided hypothesis on
the mean of a nonnegative variable").

Below ten changed queries, or when no variance was seen, the bootstrap cannot know what it has not seen and gives intervals that are far
too narrow (width zero for no change at all). Here one pseudo-query is added, up for the upper bound, down for the lower, and the weights of
all queries are Dirichlet(1, …, 1). It moves by the root mean square of what did move (a whole point when nothing did): with the largest
move the bound hardly ever excludes zero, with the mean too often where moves are very unequal; so it does in at most 1.8 % of sets whose
signs are coin flips, 2.5 % being allowed. For deltas in {−1, 0, 1} its sign agrees with the exact McNemar test; for one-sided 0/1 data it
is Clopper–Pearson's bound.

With clusters of unequal sizes the weights are the clusters', and the bound is that of the ratio Σ Dᵢyᵢ / Σ Dᵢsᵢ. The pseudo-cluster has the
root mean square of the sums that moved and of their sizes, so whether zero is excluded depends on the sums alone and holds as above, and it
moves by no more than a whole point.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gate.statistics.normal import quantile
from gate.statistics.roots import falling_root


def few_changes_bound(moved: Sequence[float], n: int, tail: float) -> float:
    """Upper bound of the mean of ``moved`` and n − len(moved) zeros."""
    reach = _rms(moved) if moved else 1.0
    counts = Counter((round(d, 12), 1.0) for d in moved)
    counts[0.0, 1.0] += n - counts.total()
    counts[round(reach, 12), 1.0] += 1
    return _dirichlet_quantile(tuple(sorted(counts.items())), tail)


def few_changes_bound_of_ratio(sums: Sequence[float], sizes: Sequence[int], tail: float) -> float:
    """Upper bound of Σ sums / Σ sizes over clusters."""
    moved = [(y, s) for y, s in zip(sums, sizes, strict=True) if abs(y) > 1e-9]
    size = _rms([s for _, s in moved] or sizes)
    counts = Counter((round(y, 12), float(s)) for y, s in zip(sums, sizes, strict=True))
    counts[round(_rms([y for y, _ in moved]) if moved else size, 12), size] += 1
    return _dirichlet_quantile(tuple(sorted(counts.items())), tail)


def _rms(values: Sequence[float]) -> float:
    return math.sqrt(math.fsum(v * v for v in values) / len(values))


@lru_cache(maxsize=1024)
def _dirichlet_quantile(weights: tuple[tuple[tuple[float, float], int], ...], tail: float) -> float:
    """x with P(Σ Dᵢyᵢ / Σ Dᵢsᵢ > x) = tail over pairs of a distinct (y, s) and how often it is there, in order. Cached: small tags are
    often alike.

    log P is concave in x where all sizes are 1. The secant method on it starts where a normal distribution would put the quantile, with
    the slope that it would have there.
    """
    import numpy as np

    values, sizes, power = np.array([(*pair, often) for pair, often in weights if often], dtype=float).T
    ratios = values / sizes
    low, high = float(ratios.min()), float(ratios.max())
    if high - low < 1e-12:
        return high
    total, weight = float(power.sum()), float((power * sizes).sum())
    mean = float((values * power).sum()) / weight
    sd = math.sqrt(float((power * (values - mean * sizes) ** 2).sum()) / total / (total + 1.0)) / (weight / total)
    z = quantile(1.0 - tail)
    slope = -math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi) / tail / sd

    def excess(x: float) -> float:
        beyond = _exceeds(values - x * sizes, power)
        return 0.0 if abs(beyond - tail) < 1e-9 else math.log(max(beyond, 1e-15) / tail)

    return falling_root(excess, mean + z * sd if mean + z * sd < high else (mean + high) / 2.0, slope, low, high)


def _exceeds(value: Any, power: Any) -> float:
    """P(Σ Dᵢ zᵢ > x) = P(Σ (zᵢ − x) Eᵢ > 0), E independent exponentials, by inverting the characteristic function (Imhof 1961).

    ``value``: the distinct zᵢ − x; ``power``: how often each is there.
    """
    import numpy as np

    t, weight = _nodes()
    angles = t[:, None] * (value / (math.sqrt(float((power * value * value).sum())) or 1.0))
    phase = np.arctan(angles) @ power
    size = 0.5 * (np.log1p(angles * angles) @ power)
    return 0.5 + float((np.sin(phase) * np.exp(-size) * weight).sum()) / math.pi


@lru_cache(maxsize=1)
def _nodes() -> Any:
    """Nodes t and weights of ∫ f(t)/t dt over t > 0 under t = sinh: dense near zero and reaching far out, because with few queries the
    integrand falls only polynomially."""
    import numpy as np

    u = _STRETCH * (np.arange(_NODES) + 0.5) / _NODES
    return np.sinh(u), _STRETCH / np.tanh(u) / _NODES


_NODES = 300
_STRETCH = 9.0
