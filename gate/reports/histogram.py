"""Coordinates of two histograms on one scale: milliseconds of queries, before and now, on a logarithmic axis. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 720, 94
_LEFT, _RIGHT = 10, 710
FLOOR, _TALLEST = 74, 52
_BINS = 48
_LEAST = 1e-3  # ms; shorter times are what a clock makes of nothing


class Side(NamedTuple):
    """``bars``: (x, y, width, height); ``marks``: (x, name) of median and 95th percentile; ``n``: queries with a time."""

    bars: tuple[tuple[float, float, float, float], ...]
    marks: tuple[tuple[float, str], ...]
    n: int


class Histogram(NamedTuple):
    """``before`` is None without times of the baseline. ``ticks``: (x, label)."""

    before: Side | None
    now: Side
    ticks: tuple[tuple[float, str], ...]


def histogram(before: Sequence[float], now: Sequence[float], marks: Sequence[Sequence[float | None]]) -> Histogram | None:
    """``marks``: (p50, p95) of both sides, as the tables show them. None where this run has no times."""
    if not now:
        return None
    every = [max(ms, _LEAST) for ms in (*before, *now)]
    low, high = math.log10(min(every)), math.log10(max(every))
    if high - low < 0.3:  # a hair's breadth would look like a spread
        low, high = (low + high) / 2 - 0.15, (low + high) / 2 + 0.15

    def x(ms: float) -> float:
        return _LEFT + (math.log10(max(ms, _LEAST)) - low) / (high - low) * (_RIGHT - _LEFT)

    def side(times: Sequence[float], quantiles: Sequence[float | None]) -> Side:
        width = (_RIGHT - _LEFT) / _BINS
        counts = [0] * _BINS
        for ms in times:
            counts[min(_BINS - 1, max(0, int((x(ms) - _LEFT) / width)))] += 1
        most = max(counts)
        bars = tuple((round(_LEFT + n * width + 0.5, 1), round(FLOOR - count / most * _TALLEST, 1), round(width - 1, 1),
                      round(count / most * _TALLEST, 1)) for n, count in enumerate(counts) if count)
        return Side(bars, tuple((round(x(ms), 1), name) for name, ms in zip(("p50", "p95"), quantiles, strict=True) if ms is not None),
                    len(times))

    ticks = tuple((round(x(ms), 1), _label(ms)) for ms in _rounds(low, high))
    return Histogram(side(before, marks[0]) if before else None, side(now, marks[1]), ticks)


def _rounds(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two exponents; only the powers where that would be many."""
    factors = (1, 2, 5) if high - low < 3 else (1,)
    return [factor * 10.0 ** power for power in range(math.floor(low), math.ceil(high) + 1) for factor in factors
            if low <= math.log10(factor * 10.0 ** power) <= high]


def _label(ms: float) -> str:
    return f"{ms / 1000:g} s" if ms >= 1000 else f"{ms:g} ms"
