"""Where a falling function crosses zero."""

from __future__ import annotations

import math
from collections.abc import Callable


def falling_root(function: Callable[[float], float], x: float, slope: float, low: float, high: float) -> float:
    """The secant method, kept inside the bracket [low, high], from ``x`` with the ``slope`` the function should have there.

    The function returns exactly 0 when it is close enough.
    """
    before = before_value = math.inf
    for _ in range(100):
        value = function(x)
        if value == 0.0 or high - low < 1e-12:
            break
        low, high = (x, high) if value > 0 else (low, x)
        if before < math.inf and value != before_value:
            slope = (value - before_value) / (x - before)
        before, before_value = x, value
        x -= value / slope
        if not low < x < high:
            x = (low + high) / 2.0
    return x
