"""Sign-flip permutation test of paired deltas: under the null hypothesis every delta is as likely with the other sign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gate.statistics.bootstrap import changed

ENUMERATED = 16  # up to this many changed queries all 2^m assignments of signs are counted
_ROWS = 16


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
    import numpy as np

    observed = abs(math.fsum(moved)) - 1e-9
    if m <= ENUMERATED:
        sums = np.zeros(1)
        for d in moved:
            sums = np.concatenate([sums + d, sums - d])
        return float(np.count_nonzero(np.abs(sums) >= observed)) / float(sums.size)
    sums, added = np.zeros(draws), np.empty(draws)
    for eight, table in enumerate(_tables(np.asarray(moved))):
        table.take(_signs(seed, draws, eight // _ROWS)[eight % _ROWS], out=added, mode="wrap")
        sums += added
    beyond = int(np.count_nonzero(np.abs(math.fsum(moved) - 2.0 * sums) >= observed))
    return (beyond + 1) / (draws + 1)


def _tables(values: Any) -> Any:
    """For every eight of ``values`` a table: byte → sum of those whose bits are set. Looking a byte up costs far less than adding eight."""
    import numpy as np

    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(float)
    return np.concatenate([values, np.zeros(-len(values) % 8)]).reshape(-1, 8) @ bits.T


@lru_cache(maxsize=64)
def _signs(seed: int, draws: int, block: int) -> Any:
    """Random signs: a row for eight queries, a byte a draw. All tests of one comparison can use the same: they are made once."""
    import random

    import numpy as np

    # The standard library's generator: its bits are as good, and numpy's costs more to import than the test takes.
    return np.frombuffer(random.Random(f"{seed} {block}").randbytes(_ROWS * draws), np.uint8).reshape(_ROWS, draws)


def binomial_two_sided(k: int, m: int) -> float:
    """P of a split at least as uneven as k against m − k when both sides are equally likely (k ≤ m − k)."""
    if 2 * k == m:
        return 1.0
    if m > 1000:
        return min(1.0, 2.0 * math.fsum(math.exp(_log_choose(m, i) - m * math.log(2.0)) for i in range(k + 1)))
    return min(1.0, 2 * sum(math.comb(m, i) for i in range(k + 1)) / 2**m)


def _log_choose(m: int, k: int) -> float:
    return math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1)
