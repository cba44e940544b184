"""Confidence interval of the mean of paired deltas.

``exact``: the percentile interval that infinitely many bootstrap resamples would give. A resample is n independent draws from the n
deltas, so the distribution of its sum is the n-fold convolution of the deltas' distribution; one FFT, one power, one FFT back. No seed.

``resample``: the same by drawing, as the textbooks do it; kept as an option and as the test oracle.

``few-changes``: below :data:`FEW_CHANGES` changed queries, or when no variance was seen, see :mod:`gate.statistics.fewchanges`.

All three take clusters instead of queries, see :mod:`gate.statistics.clusters`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from gate.statistics.fewchanges import few_changes_bound, few_changes_bound_of_ratio
from gate.statistics.roots import falling_root

FEW_CHANGES = 10
METHODS = ("exact", "resample")

_LATTICES = (1, 2, 3, 4, 5, 6, 10, 12, 20, 30, 60, 120)
_CELLS = 1 << 15
_MANY = 5_000  # from here on a cell must be finer, since what is lost between two cells is lost for every draw
_REACH = 12.0  # standard deviations of the sum on either side; what lies beyond is below 1e-16 for anything near normal


class Interval(NamedTuple):
    """``lo`` ≤ mean ≤ ``hi`` at the asked confidence; ``method`` says how it was found."""

    lo: float
    hi: float
    method: str


def changed(deltas: Sequence[float]) -> list[float]:
    """The deltas (a list, or an array of numpy's) that are not zero; differences below 1e-9 are float noise."""
    if hasattr(deltas, "tolist"):
        found: list[float] = deltas[abs(deltas) > 1e-9].tolist()  # type: ignore[operator,arg-type,call-overload]
        return found
    return [d for d in deltas if abs(d) > 1e-9]


def mean_interval(deltas: Sequence[float], confidence: float = 0.95, method: str = "exact", seed: int = 0,
                  resamples: int = 10_000, sizes: Sequence[int] | None = None) -> Interval | None:
    """Two-sided percentile interval of the mean of ``deltas`` (one a query, in [−1, 1]); None for fewer than two.

    With ``sizes`` each delta is the sum over a cluster of so many queries, and clusters are what is drawn; the mean is over queries still.
    """
    n = len(deltas)
    if n < 2:
        return None
    if sizes is not None and min(sizes) == max(sizes):
        # Every resample then holds the same number of queries, and the mean over them is the mean of the clusters' means.
        deltas, sizes = [d / sizes[0] for d in deltas], None
    moved = changed(deltas)
    tail = (1.0 - confidence) / 2.0
    if sizes is not None:
        return _ratio_interval(deltas, sizes, len(moved), tail, method, seed, resamples)
    if len(moved) < FEW_CHANGES or (len(moved) == n and max(moved) - min(moved) < 1e-9):
        return Interval(-few_changes_bound([-d for d in moved], n, tail), few_changes_bound(moved, n, tail), "few-changes")
    if method == "resample":
        return _resampled(moved, n, tail, seed, resamples)
    sums = distribution(moved, n)
    return Interval(sums.quantile(tail), sums.quantile(1.0 - tail), "exact")


def _ratio_interval(sums: Sequence[float], sizes: Sequence[int], moved: int, tail: float, method: str, seed: int,
                    resamples: int) -> Interval:
    """The same over clusters of unequal sizes, where a resample of clusters holds more queries or fewer."""
    means = [y / s for y, s in zip(sums, sizes, strict=True)]
    if moved < FEW_CHANGES or (moved == len(sums) and max(means) - min(means) < 1e-9):
        low = -few_changes_bound_of_ratio([-y for y in sums], sizes, tail)
        return Interval(low, few_changes_bound_of_ratio(sums, sizes, tail), "few-changes")
    if method == "resample":
        return _resampled_ratio(sums, sizes, tail, seed, resamples)
    ends = min(means), max(means)
    return Interval(_ratio_quantile(sums, sizes, tail, *ends), _ratio_quantile(sums, sizes, 1.0 - tail, *ends), "exact")


def _ratio_quantile(sums: Sequence[float], sizes: Sequence[int], p: float, low: float, high: float) -> float:
    """x in [low, high] with P(ΣY/ΣS ≤ x) = p over resamples of clusters (Y, S), without approximating the ratio.

    ΣY/ΣS ≤ x says Σ(Y − xS) ≤ 0, a sum of independent draws again: x is sought at which that sum's p-quantile is 0. The first step, with
    the slope −1 of the mean size, is the ratio's linearisation; what is left after it is how much the resample's size varies.
    """
    import numpy as np

    y, s = np.asarray(sums, dtype=float), np.asarray(sizes, dtype=float)
    size = float(s.mean())

    def quantile_at(x: float) -> float:
        value = distribution(y - x * s, len(y)).quantile(p)
        return 0.0 if abs(value) < 1e-8 * size else value

    if low < 0.0 < high:
        # On which side of zero the end lies decides; where deltas are on a lattice it may be zero itself, and only this sum is exact there.
        at_zero = quantile_at(0.0)
        if at_zero == 0.0:
            return 0.0
        low, high = (0.0, high) if at_zero > 0 else (low, 0.0)
    start = math.fsum(sums) / math.fsum(sizes)
    return falling_root(quantile_at, start if low < start < high else (low + high) / 2.0, -size, low, high)


class Distribution(NamedTuple):
    """Of the mean of n independent draws from n values: ``cdf`` of its cells, the first being ``first`` steps of the sum."""

    cdf: Any
    first: int
    step: float
    lattice: bool
    n: int
    common: float
    low: float
    high: float

    def quantile(self, p: float) -> float:
        import numpy as np

        cell = int(np.searchsorted(self.cdf, p))
        at = float(self.first + cell)
        if not self.lattice:
            before = float(self.cdf[cell - 1]) if cell else 0.0
            at += (p - before) / max(float(self.cdf[cell]) - before, 1e-300) - 0.5
        return min(max(at * self.step / self.n, self.low), self.high) + self.common


def distribution(moved: Any, n: int) -> Distribution:
    """The bootstrap distribution of the mean of ``moved`` and n − len(moved) zeros."""
    import numpy as np

    # Where every query moved, the smallest move is taken out first: what they have in common is no variance.
    common = float(min(moved)) if len(moved) == n else 0.0
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
    return Distribution(cdf, first, step, scale is not None, n, common, low, high)


def _power(base: Any, n: int) -> Any:
    """``base`` ** n by squaring: numpy's own power of complex numbers takes a logarithm of each, twenty times the work.

    Where many queries moved most frequencies come to nothing, below 1e-20, and squaring is for those that do not.
    """
    import numpy as np

    live = np.flatnonzero(np.square(base.real) + np.square(base.imag) > 10.0 ** (-40.0 / n))
    square, power = base[live], np.ones(len(live), dtype=complex)
    while True:
        if n % 2:
            power *= square
        n //= 2
        if not n:
            break
        square *= square
    result = np.zeros_like(base)
    result[live] = power
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


def _resampled_ratio(sums: Sequence[float], sizes: Sequence[int], tail: float, seed: int, resamples: int) -> Interval:
    """Draw as many clusters as there are; one resample at a time, so that memory does not grow with their number."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y, s = np.asarray(sums, dtype=float), np.asarray(sizes, dtype=float)
    picks = (rng.integers(0, len(y), size=len(y)) for _ in range(resamples))
    ratios = np.fromiter((y[pick].sum() / s[pick].sum() for pick in picks), float, resamples)
    lo, hi = np.quantile(ratios, [tail, 1.0 - tail])
    return Interval(float(lo), float(hi), "resample")
