"""One changed query with both rankings side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gate.comparison import QueryChange
from gate.reports.report import Report
from gate.reports.rows import FlipRow, flip_rows, ranked, title_of

_SHOWN = 10
_MOST_SHOWN = 30


@dataclass(frozen=True)
class Place:
    """A document at a rank. ``grade``: None when it is not judged. ``moved``: where the other side has it, if elsewhere."""

    rank: int
    doc: str
    title: str
    grade: float | None
    moved: str

    @property
    def relevant(self) -> bool:
        return self.grade is not None and self.grade > 0


@dataclass(frozen=True)
class SideBySide:
    """``kind``: lost | gained | moved. ``absent``: relevant documents that the candidate does not have at all."""

    row: FlipRow
    kind: str
    baseline: tuple[Place, ...]
    candidate: tuple[Place, ...]
    absent: tuple[str, ...]


def side_by_side(report: Report, limit: int) -> Iterator[SideBySide]:
    """Changed queries, lost ones first, then gained, then the rest by damage; at most ``limit``."""
    c = report.comparison
    if c is None:
        return
    kinds = {change.id: "lost" for change in c.lost} | {change.id: "gained" for change in c.gained}
    every = (*c.lost, *c.gained, *(change for change in c.changes if change.id not in kinds))[:limit]
    for change, row in zip(every, flip_rows(report, every), strict=True):
        yield _pair(report, change, row, kinds.get(change.id, "moved"))


def _pair(report: Report, change: QueryChange, row: FlipRow, kind: str) -> SideBySide:
    before, after = (ranked(report, run, change.id) for run in (report.baseline_run, report.candidate_run))
    query = report.golden.by_id.get(change.id) if report.golden else None
    gains = query.gains if query else {}
    found = set(after)
    return SideBySide(row, kind, _places(report, dict(gains), before, after, ("now", "gone")),
                      _places(report, dict(gains), after, before, ("was", "new")),
                      tuple(doc for doc, grade in gains.items() if grade > 0 and doc not in found))


def _places(report: Report, gains: dict[str, float], here: list[str], there: list[str],
            words: tuple[str, str]) -> tuple[Place, ...]:
    shown = min(max(report.policy.primary.k or _SHOWN, _SHOWN), _MOST_SHOWN)
    other: dict[str, int] = {}
    for rank, doc in enumerate(there, 1):
        other.setdefault(doc, rank)
    places = []
    for rank, doc in enumerate(here, 1):
        # Below the fold only what is relevant is worth a line.
        if rank <= shown or gains.get(doc, 0) > 0:
            was = other.get(doc)
            moved = "" if was == rank else words[1] if was is None else f"{words[0]} {was}"
            places.append(Place(rank, doc, title_of(report, doc), gains.get(doc), moved))
    return tuple(places)
