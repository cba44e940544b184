"""Whether somebody cut a run before its metrics stop looking: what was never fetched would count as not found. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from gate.scoring.metrics import Metric

if TYPE_CHECKING:
    from gate.scoring.score import QueryScore

_FEWEST = 10  # fewer rankings of one length happen by themselves


def cut_at(scores: Collection[QueryScore]) -> int:
    """After how many results every ranking ends, as cut; 0 when nothing says that they were cut.

    A cut shows when at least ten rankings, and all that are not empty, have exactly one length, which is less than the deepest metric
    looks at, while the run names more documents than that, so that it is not all the corpus has.
    """
    kept = [score.short for score in scores if score.short != ()]
    lengths = {0 if docs is None else len(docs) for docs in kept}
    if len(kept) < _FEWEST or len(lengths) > 1 or 0 in lengths:
        return 0
    length, names = lengths.pop(), set[str]()
    for docs in kept:
        names.update(docs or ())
        if len(names) > length:
            return length
    return 0


def too_short(scores: Collection[QueryScore], metrics: Iterable[Metric]) -> tuple[int, list[str]]:
    """The length that a run was cut at, and the metrics that look deeper; (0, []) when there are none."""
    length = cut_at(scores)
    deep = [str(metric) for metric in metrics if length and metric.depth > length]
    return (length, deep) if deep else (0, [])
