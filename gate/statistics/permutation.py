"""Sign-flip permutation test of paired deltas: under the null hypothesis every delta is as likely with the other sign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gate.statistics.bootstrap import changed

ENUMERATED = 16  # up to this many changed queries all 2^m assignments of signs are counted
_BLOCK = 1 << 21  # bytes of random signs at a time


def sign_flip_p(deltas: Sequence[float], draws: int = 9_999, seed: int = 0) -> float:
    """Two-sided p of mean delta = 0: exact when it can be counted, else (b + 1) / (draws + 1), never 0. 1 when nothing changed."""
    moved = changed(deltas)
    m = len(moved)
    if not m:
        return 1.0
    size = round(abs(moved[0]), 12)
    if all(round(abs(d), 12) == size for d in moved):
        up = sum(d > 0 for d in moved)
        return binomial_two_sided(min(up, m - up), m)
    import random

    import numpy as np

    observed = abs(math.fsum(moved)) - 1e-9
    if m <= ENUMERATED:
        sums = np.zeros(1)
        for d in moved:
            sums = np.concatenate([sums + d, sums - d])
        return float(np.count_nonzero(np.abs(sums) >= observed)) / float(sums.size)
    # The standard library's generator: its bits are as good, and numpy's costs more to import than the test takes.
    rng = random.Random(seed)
    flipped = _flipped(np.asarray(moved))
    total = math.fsum(moved)
    beyond = done = 0
    while done < draws:
        rows = min(draws - done, max(1, _BLOCK // len(flipped)))
        chosen = np.frombuffer(rng.randbytes(rows * len(flipped)), np.uint8).reshape(rows, -1).T.copy()
        sums = np.zeros(rows)
        for table, byte in zip(flipped, chosen, strict=True):
            sums += table[byte]
        beyond += int(np.count_nonzero(np.abs(total - 2.0 * sums) >= observed))
        done += rows
    return (beyond + 1) / (draws + 1)


def _flipped(values: Any) -> Any:
    """For every eight of ``values`` a table: byte → sum of those whose bits are set. Looking a byte up costs a quarter of multiplying."""
    import numpy as np

    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(float)
    return np.concatenate([values, np.zeros(-len(values) % 8)]).reshape(-1, 8) @ bits.T


def binomial_two_sided(k: int, m: int) -> float:
    """P of a split at least as uneven as k against m − k when both sides are equally likely (k ≤ m − k)."""
    if 2 * k == m:
        return 1.0
    if m > 1000:
        return min(1.0, 2.0 * math.fsum(math.exp(_log_choose(m, i) - m * math.log(2.0)) for i in range(k + 1)))
    return min(1.0, 2 * sum(math.comb(m, i) for i in range(k + 1)) / 2**m)


def _log_choose(m: int, k: int) -> float:
    return math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1)
