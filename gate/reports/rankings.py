"""One changed query with both rankings side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gate.comparison import QueryChange
from gate.figures import metric_label
from gate.reports.report import Report
from gate.reports.rows import FlipRow, flip_rows, ranked, title_of
from gate.reports.words import fmt_rank

_SHOWN = 10
_MOST_SHOWN = 30
_MOST_MOVES = 4


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
    """``kind``: lost | gained | moved. ``absent``: relevant documents that the candidate does not have at all. ``ranks``: of the first
    relevant document, before and after; ``what`` else tells a query that only moved from others. ``blind``: no document is shown."""

    row: FlipRow
    kind: str
    baseline: tuple[Place, ...]
    candidate: tuple[Place, ...]
    absent: tuple[str, ...]
    ranks: str
    what: str = ""
    blind: bool = False


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
    stays = change.baseline_rank == change.candidate_rank
    if query is not None and query.blind:
        moved = f"{metric_label(report.policy.primary)} {row.delta}" if kind == "moved" else ""
        return SideBySide(row, kind, (), (), (), f"first at {row.before}" if stays else f"{row.before} → {row.after}", moved, blind=True)
    gains = query.documents if query else {}
    found = set(after)
    return SideBySide(row, kind, _places(report, dict(gains), before, after, ("now", "gone")),
                      _places(report, dict(gains), after, before, ("was", "new")),
                      tuple(doc for doc, grade in gains.items() if grade > 0 and doc not in found),
                      f"first at {row.before}" if stays else f"{row.before} → {row.after}",
                      _what(report, change, row, [doc for doc, grade in gains.items() if grade > 0], before, after)
                      if kind == "moved" else "")


def _what(report: Report, change: QueryChange, row: FlipRow, relevant: list[str], before: list[str], after: list[str]) -> str:
    """``nDCG@10 −0.120; other relevant document 3 → 7``: what changed besides the first rank."""
    parts = [f"{metric_label(report.policy.primary)} {row.delta}"]
    pairs = [(before.index(doc) + 1 if doc in before else None, after.index(doc) + 1 if doc in after else None) for doc in relevant]
    first = (change.baseline_rank, change.candidate_rank)
    moves = sorted((pair for pair in pairs if pair[0] != pair[1] and pair != first), key=lambda pair: min(r for r in pair if r))
    if moves:
        other = "" if any(pair[0] == first[0] or pair[1] == first[1] for pair in moves) else "other "
        many = "relevant document" if len(moves) == 1 else "relevant documents"
        shown = ", ".join(f"{fmt_rank(old)} → {fmt_rank(new)}" for old, new in moves[:_MOST_MOVES])
        parts.append(f"{other}{many} {shown}{', …' if len(moves) > _MOST_MOVES else ''}")
    return "; ".join(parts)


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
