"""Where first relevant documents stood and stand: counts of queries by both ranks, as a table that can be read like a plot. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gate.figures import plural

_EDGES = (1, 2, 3, 4, 5)
_SHADES = 5


class Cell(NamedTuple):
    """``side``: worse | better | same. ``shade``: 1 to 5, by the number of queries; 0 where there is none."""

    count: int
    side: str
    shade: int
    label: str
    before: str
    now: str


class Shifts(NamedTuple):
    """Rows: the rank in the baseline; columns: now. ``names``: of both, best first, as ``1``, ``6–10``, ``none``."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    better: int
    worse: int


def bins_of(deepest: int, k: int | None) -> tuple[tuple[int, int], ...]:
    """(first, last) ranks of every bin, in order: single ranks first, a border at the cutoff."""
    found = [(rank, rank) for rank in _EDGES if k is None or rank <= k]
    start = found[-1][1] + 1
    for end in sorted({*((k,) if k else ()), 10, 20, 50, 100, 1000}):
        if start <= end and start <= deepest:
            found.append((start, end))
            start = end + 1
    if start <= deepest:
        found.append((start, deepest))
    return tuple((first, last) for first, last in found if first <= deepest)


def shifts(ranks: Iterable[tuple[int | None, int | None]], k: int | None) -> Shifts | None:
    """``ranks``: of every paired query, before and now; None where a rank is ``not found``. None where no query has any rank."""
    pairs = list(ranks)
    deepest = max((rank for pair in pairs for rank in pair if rank), default=0)
    if not deepest:
        return None
    every = {rank for pair in pairs for rank in pair if rank}
    # Single ranks and the cutoff's bin are always there; a deeper bin only if some document lies in it.
    bins = [bin for bin in bins_of(max(deepest, k or 1), k) if bin[1] <= (k or 5) or any(bin[0] <= rank <= bin[1] for rank in every)]
    names = tuple(str(a) if a == b else f"{a}–{b}" for a, b in bins) + ("none",)
    spans = tuple(f"{a}" if a == b else f"{a}-{b}" for a, b in bins) + ("none",)

    def column(rank: int | None) -> int:
        return len(bins) if rank is None else next(n for n, (first, last) in enumerate(bins) if first <= rank <= last)

    counts = [[0] * len(names) for _ in names]
    for before, now in pairs:
        counts[column(before)][column(now)] += 1
    most = max((counts[i][j] for i in range(len(names)) for j in range(len(names)) if i != j), default=0)
    rows = tuple((names[i], tuple(_cell(counts[i][j], i, j, names, spans, most) for j in range(len(names)))) for i in range(len(names)))
    return Shifts(names, rows, *(sum(cell.count for _, row in rows for cell in row if cell.side == side) for side in ("better", "worse")))


def _cell(count: int, i: int, j: int, names: tuple[str, ...], spans: tuple[str, ...], most: int) -> Cell:
    side = "same" if i == j else "better" if j < i else "worse"
    shade = 0 if not count else 1 if i == j else max(1, round((count / most) ** 0.5 * _SHADES))
    old, new = ("not found" if name == "none" else f"rank {name}" for name in (names[i], names[j]))
    return Cell(count, side, shade, f"{plural(count, 'query')}: {old} before, {new} now", spans[i], spans[j])
