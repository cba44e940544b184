"""Coordinates of the sorted plot: every query that changed, the greatest loss first, and a gap for those that did not. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 720, 220
LEFT = 60  # room for the labels
_TOP, _BOTTOM, _RIGHT = 10, 210, 710
_GAP = 96
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_NOISE = 1e-12


class Part(NamedTuple):
    """One side of the gap: the outline of its bars, and where it lies. ``count``: queries in it."""

    path: str
    x0: float
    x1: float
    count: int


class Curve(NamedTuple):
    """``zero``: y of no change; ``ticks``: (y, label); ``gap``: (x0, x1) of the unchanged, None where every query changed."""

    worse: Part
    better: Part
    same: int
    zero: float
    ticks: tuple[tuple[float, str], ...]
    gap: tuple[float, float] | None


def curve(deltas: Sequence[float]) -> Curve | None:
    """``deltas``: of all paired queries, in any order. None where nothing changed."""
    worse = sorted(d for d in deltas if d < -_NOISE)
    better = sorted(d for d in deltas if d > _NOISE)
    same, changed = len(deltas) - len(worse) - len(better), len(worse) + len(better)
    if not changed:
        return None
    lowest, highest = min(worse, default=0.0), max(better, default=0.0)
    unit = (_BOTTOM - _TOP) / (highest - lowest)
    zero = _TOP + highest * unit
    room = _RIGHT - LEFT - (_GAP if same else 0)
    step = min(room / changed, 40.0)  # three queries should not look like walls
    middle = LEFT + len(worse) * step
    start = middle + (_GAP if same else 0)
    parts = [Part(_outline(values, x, step, zero, unit), round(x, 1), round(x + len(values) * step, 1), len(values))
             for values, x in ((worse, LEFT), (better, start))]
    size = next((s for s in _STEPS if max(-lowest, highest) / s <= 4), 1.0)
    values = [n * size for n in range(math.ceil(lowest / size - _NOISE), math.floor(highest / size + _NOISE) + 1)]
    ticks = tuple((round(zero - value * unit, 1), _label(value)) for value in values)
    return Curve(parts[0], parts[1], same, round(zero, 1), ticks, (round(middle, 1), round(start, 1)) if same else None)


def _label(value: float) -> str:
    return f"{value:+.2g}".replace("-", "−") if value else "0"


def _outline(values: Sequence[float], x: float, step: float, zero: float, unit: float) -> str:
    """Bars as one outline. Where several share a pixel, the longest of them stands for all."""
    if not values:
        return ""
    each = max(1, math.ceil(0.5 / step))
    pad = 0.15 * step if step > 4 else 0.0
    points = [f"M{x:.1f} {zero:.1f}"]
    for first in range(0, len(values), each):
        some = values[first:first + each]
        top = zero - max(some, key=abs) * unit
        left, right = x + first * step + pad, x + (first + len(some)) * step - pad
        points.append(f"L{left:.1f} {zero:.1f}V{top:.1f}H{right:.1f}V{zero:.1f}" if pad else f"L{left:.1f} {top:.1f}H{right:.1f}")
    return "".join(points) + f"V{zero:.1f}Z"
