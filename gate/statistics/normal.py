"""The normal distribution's quantile; the standard library's ``statistics`` costs more to import than everything it is needed for here."""

from __future__ import annotations

import math
from functools import lru_cache


@lru_cache
def quantile(p: float) -> float:
    """z with P(Z ≤ z) = p for standard normal Z, 0 < p < 1; bisection on the error function, to the last bits of a double."""
    low, high = -40.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2.0
        if 0.5 * math.erfc(-middle / math.sqrt(2.0)) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
