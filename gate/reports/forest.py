"""Coordinates of a forest plot whose rows stand in a table: one small drawing a row, all on one scale. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gate.comparison import Paired

WIDTH = 260
HEIGHT = 22
_EDGE = 10
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Bar:
    """``lo`` and ``hi`` are None where nothing is tested. ``sign``: down | up | open, by where the interval lies."""

    at: float
    lo: float | None
    hi: float | None
    sign: str


@dataclass(frozen=True)
class Axis:
    """The common scale: positions of zero and of the ticks with their labels."""

    scale: float

    def x(self, value: float) -> float:
        """Pixels from the left."""
        half = WIDTH / 2 - _EDGE
        return round(WIDTH / 2 + max(-1.0, min(1.0, value / self.scale)) * half, 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        step = next((s for s in _STEPS if self.scale / s <= 2.5), 1.0)
        count = math.floor(self.scale / step)
        return [(self.x(i * step), f"{i * step:+g}".replace("-", "−") if i else "0") for i in range(-count, count + 1)]

    def bar(self, paired: Paired) -> Bar:
        """One row."""
        ci = paired.ci
        sign = "open" if ci is None or ci.lo <= 0 <= ci.hi else "up" if ci.lo > 0 else "down"
        return Bar(self.x(paired.delta), self.x(ci.lo) if ci else None, self.x(ci.hi) if ci else None, sign)
