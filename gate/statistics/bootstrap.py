"""Confidence interval of the mean of paired deltas.

``exact``: the percentile interval that infinitely many bootstrap resamples would give. A resample is n independent draws from the n
deltas, so the distribution of its sum is the n-fold convolution of the deltas' distribution; one FFT, one power, one FFT back. No seed.

``resample``: the same by drawing, as the textbooks do it; kept as an option and as the test oracle.

``few-changes``: below :data:`FEW_CHANGES` changed queries, or when no variance was seen, the bootstrap cannot know what it has not seen
and gives intervals that are far too narrow (width zero for no change at all). Then a bound after Gaffke (2005, "Three test statistics for
a nonparametric one-sided hypothesis on the mean of a nonnegative variable") is used: one pseudo-query is added, up for the upper bound,
down for the lower, and the weights of all queries are Dirichlet(1, …, 1). It moves by the root mean square of what did move (a whole point
when nothing did): with the largest move the bound hardly ever excludes zero, with the mean too often where moves are very unequal; so it
does in at most 1.8 % of sets whose signs are coin flips, 2.5 % being allowed. For deltas in {−1, 0, 1} its sign agrees with the exact
McNemar test; for one-sided 0/1 data it is Clopper–Pearson's bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from gate.statistics.normal import quantile

FEW_CHANGES = 10
METHODS = ("exact", "resample")

_LATTICES = (1, 2, 3, 4, 5, 6, 10, 12, 20, 30, 60, 120)
_CELLS = 1 << 16
_MANY = 20_000  # from here on a cell must be finer, since what is lost between two cells is lost for every draw
_REACH = 12.0  # standard deviations of the sum on either side; what lies beyond is below 1e-16 for anything near normal


class Interval(NamedTuple):
    """``lo`` ≤ mean ≤ ``hi`` at the asked confidence; ``method`` says how it was found."""

    lo: float
    hi: float
    method: str


def changed(deltas: Sequence[float]) -> list[float]:
    """The deltas that are not zero; differences below 1e-9 are float noise."""
    return [d for d in deltas if abs(d) > 1e-9]


def mean_interval(deltas: Sequence[float], confidence: float = 0.95, method: str = "exact", seed: int = 0,
                  resamples: int = 10_000) -> Interval | None:
    """Two-sided percentile interval of the mean of ``deltas`` (one a query, in [−1, 1]); None for fewer than two queries."""
    n = len(deltas)
    if n < 2:
        return None
    moved = changed(deltas)
    tail = (1.0 - confidence) / 2.0
    if len(moved) < FEW_CHANGES or (len(moved) == n and max(moved) - min(moved) < 1e-9):
        reach = math.sqrt(math.fsum(d * d for d in moved) / len(moved)) if moved else 1.0
        return Interval(-_gaffke((-d for d in moved), n, reach, tail), _gaffke(moved, n, reach, tail), "few-changes")
    if method == "resample":
        return _resampled(moved, n, tail, seed, resamples)
    return _exact(moved, n, tail)


def _exact(moved: Sequence[float], n: int, tail: float) -> Interval:
    import numpy as np

    # Where every query moved, the smallest move is taken out first: what they have in common is no variance.
    common = min(moved) if len(moved) == n else 0.0
    values = np.asarray(moved) - common
    mean = math.fsum(values) / n
    sd = math.sqrt((math.fsum(np.square(values - mean)) + (n - len(moved)) * mean * mean) / n)
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale = next((q for q in _LATTICES if np.abs(values * q - np.rint(values * q)).max() < 1e-9), None)
    spread = min(2.0 * _REACH * sd * math.sqrt(n), n * (high - low)) + 2.0 * (high - low)
    cells = _CELLS if n <= _MANY else 4 * _CELLS
    if scale and spread * scale < cells:
        step, cells = 1.0 / scale, 1 << math.ceil(math.log2(spread * scale + 8.0))
    else:
        step, scale = spread / (cells - 8), None
    masses = np.zeros(cells)
    masses[0] = (n - len(moved)) / n
    position = values / step
    if scale:
        np.add.at(masses, np.rint(position).astype(np.int64) % cells, 1.0 / n)
    else:
        # Off the lattice a delta is shared between its two neighbours, which keeps the mean exact.
        below = np.floor(position)
        share = position - below
        np.add.at(masses, below.astype(np.int64) % cells, (1.0 - share) / n)
        np.add.at(masses, (below.astype(np.int64) + 1) % cells, share / n)
    sums = np.fft.irfft(_power(np.fft.rfft(masses), n), cells)
    first = round(mean * n / step) - cells // 2
    cdf = np.cumsum(np.clip(np.roll(sums, -(first % cells)), 0.0, None))
    cdf /= cdf[-1]

    def end(p: float) -> float:
        cell = int(np.searchsorted(cdf, p))
        at = float(first + cell)
        if not scale:
            before = float(cdf[cell - 1]) if cell else 0.0
            at += (p - before) / max(float(cdf[cell]) - before, 1e-300) - 0.5
        return min(max(at * step / n, low), high) + common

    return Interval(end(tail), end(1.0 - tail), "exact")


def _power(base: Any, n: int) -> Any:
    """``base`` ** n by squaring: numpy's own power of complex numbers takes a logarithm of each, twenty times the work."""
    result = base if n % 2 else 1.0
    while n := n // 2:
        base = base * base
        if n % 2:
            result = result * base
    return result


def _resampled(moved: Sequence[float], n: int, tail: float, seed: int, resamples: int) -> Interval:
    """Draw how many changed queries a resample holds, then which: the same distribution as n draws of n, at a fraction of the work."""
    import numpy as np

    rng = np.random.default_rng(seed)
    values = np.asarray(moved)
    counts = rng.binomial(n, len(moved) / n, size=resamples)
    means = np.fromiter((values[rng.integers(0, len(moved), size=k)].sum() / n for k in counts), float, resamples)
    lo, hi = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(lo), float(hi), "resample")


def _gaffke(moved: Iterable[float], n: int, reach: float, tail: float) -> float:
    """Upper bound: the 1 − tail quantile of Σ Dᵢ zᵢ, D ~ Dirichlet(1, …, 1) over ``moved``, its n − len(moved) zeros and one ``reach``."""
    counts = Counter(round(d, 12) for d in moved)
    counts[0.0] += n - counts.total()
    counts[round(reach, 12)] += 1
    return _dirichlet_quantile(tuple(sorted(counts.items())), tail)


@lru_cache(maxsize=1024)
def _dirichlet_quantile(weights: tuple[tuple[float, int], ...], tail: float) -> float:
    """x with P(Σ Dᵢ zᵢ > x) = tail over pairs of a distinct z and how often it is there, in order. Cached: small tags are often alike.

    log P is concave in x. The secant method on it, kept inside a bracket, starts where a normal distribution would put the quantile,
    with the slope that it would have there.
    """
    import numpy as np

    values, power = np.array([pair for pair in weights if pair[1]], dtype=float).T
    low, high = float(values[0]), float(values[-1])
    if high - low < 1e-12:
        return high
    total = float(power.sum())
    mean = float((values * power).sum()) / total
    sd = math.sqrt(float((power * (values - mean) ** 2).sum()) / total / (total + 1.0))
    z = quantile(1.0 - tail)
    slope = -math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi) / tail / sd
    x = mean + z * sd if mean + z * sd < high else (mean + high) / 2.0
    before = before_log = math.inf
    for _ in range(100):
        beyond = _exceeds(values - x, power)
        if abs(beyond - tail) < 1e-9 or high - low < 1e-12:
            break
        log = math.log(max(beyond, 1e-15) / tail)
        low, high = (x, high) if log > 0 else (low, x)
        if before < math.inf and log != before_log:
            slope = (log - before_log) / (x - before)
        before, before_log = x, log
        x -= log / slope
        if not low < x < high:
            x = (low + high) / 2.0
    return x


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
