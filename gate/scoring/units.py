"""From a ranking to the gold units it finds: each unit is credited once, at its first rank.

A gold unit is a document, an equivalence group of documents (any member finds it, further members are neutral results), or a span.

A span is found by the first *single* chunk of its document that holds at least ``overlap`` of its characters; what several chunks hold
together is the matter of span-coverage@k. A document with spans is found by covering them, so it is no document unit beside them, not even
as a member of a group. A result without offsets covers no span: that it is the whole document is not something a run says.

``unit`` says what a rank is. ``chunk``: the position of the result, so that a cutoff k holds k chunks, whatever they belong to. ``doc``:
the number of different documents down to the result, so that the top k are all chunks above the first one of the (k+1)-th document.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from gate.golden.model import Query, Span
from gate.runs import Ranking
from gate.scoring.stages import candidate_ranks
from gate.scoring.versions import stale_from
from gate.scoring.view import Credit, View

UNITS = ("doc", "chunk")
OVERLAP = 0.5  # of a span's characters
_NOISE = 1e-9  # 0.55 of 100 characters are 55, not 55.00000000000001


def grades_of(query: Query) -> tuple[float, ...]:
    """The positive grades of the query's gold units, best first."""
    grades: Iterable[float] = query.gains.values()
    if query.spans or query.groups:
        grades = (*dict(query.units.values()).values(), *(span.grade for span in query.spans))
    best_first = sorted(grades, reverse=True)
    return tuple(best_first if best_first and best_first[-1] > 0 else [grade for grade in best_first if grade > 0])


def ranked_units(ranking: Ranking, unit: str) -> list[str]:
    """What the cutoff k counts. ``doc``: distinct documents in order; ``chunk``: every chunk, repeats included."""
    return ranking.docs if unit == "chunk" else list(dict.fromkeys(ranking.docs))


def nothing_found(query: Query, grades: tuple[float, ...]) -> View:
    """The view of a query that the run has no line for."""
    return View((), grades, (), () if _wanted(query) else None, stale=0 if query.versions else None)


def view_of(query: Query, ranking: Ranking, grades: tuple[float, ...], unit: str = "doc", overlap: float = OVERLAP,
            needs: Collection[str] = (), depth: int = 0) -> View:
    """What metrics see. ``grades``: of :func:`grades_of`; ``needs``: fields of the View that cost extra and are asked for; ``depth``: the
    rank below which nobody looks, except for the first find; 0 when there is none."""
    if query.spans or query.groups:
        view = _mixed(query, ranking, grades, unit, overlap, "coverage" in needs)
    else:
        view = View(_documents(query.gains, ranking.docs, unit, depth), grades)
    if "judged" in needs:
        known = query.documents
        view = view._replace(judged=tuple(rank for rank, doc in enumerate(ranked_units(ranking, unit), 1) if doc in known))
    if "candidates" in needs and ranking.candidates is not None:
        view = view._replace(candidates=candidate_ranks(query, ranking.candidates, unit))
    if "stale" in needs and query.versions:
        view = view._replace(stale=stale_from(query.versions, ranked_units(ranking, unit)))
    return view


def _documents(gains: Mapping[str, float], docs: list[str], unit: str, depth: int) -> tuple[Credit, ...]:
    """Ranks and grades of the gold documents in ``docs``, in rank order; a repeated document counts at its first rank."""
    # The common case. Going through the ranking happens in C, only what was found is looked up, and the rest of a deep ranking is only
    # looked at when nothing stands above it.
    for part in (docs[:depth], docs) if 0 < depth < len(docs) else (docs,):
        distinct = set(part)
        found = [(part.index(doc) + 1, gains[doc]) for doc in gains.keys() & distinct if gains[doc] > 0]
        if not found:
            continue
        if unit == "doc" and len(distinct) < len(part):
            # Where documents are counted, one that is repeated takes up a single rank, and all that stands below it moves up.
            return _documents(gains, list(dict.fromkeys(docs)), "chunk", depth)
        if len(found) > 1:
            found.sort()
        return tuple(found)
    return ()


def _wanted(query: Query) -> list[Span]:
    return [span for span in query.spans if span.grade > 0]


class _Piece(NamedTuple):
    """A ranked chunk of a document with spans."""

    rank: int
    start: int
    end: int


def _mixed(query: Query, ranking: Ranking, grades: tuple[float, ...], unit: str, overlap: float, coverage: bool) -> View:
    ranks = ranks_of(ranking.docs, unit)
    units, first = query.units, dict[str, Credit]()
    for rank, doc in zip(ranks, ranking.docs, strict=True):
        if doc in units and units[doc][1] > 0:
            first.setdefault(units[doc][0], (rank, units[doc][1]))
    credits, spans = list(first.values()), _wanted(query)
    pieces = _pieces(ranking, ranks, {span.doc for span in spans})
    for span in spans:
        least = overlap * (span.end - span.start) - _NOISE
        rank = next((p.rank for p in pieces.get(span.doc, ()) if min(p.end, span.end) - max(p.start, span.start) >= least), None)
        if rank is not None:
            credits.append((rank, span.grade))
    credits.sort()
    return View(tuple(credits), grades, (), _coverage(spans, pieces) if coverage and spans else None,
                shared=len({rank for rank, _ in credits}) < len(credits))


def ranks_of(docs: Sequence[str], unit: str) -> list[int]:
    """The rank of each result."""
    if unit == "chunk" or len(set(docs)) == len(docs):
        return list(range(1, len(docs) + 1))
    place: dict[str, int] = {}
    for doc in docs:
        place.setdefault(doc, len(place) + 1)
    # Not the document's own place: a chunk far below is not in the top k because another one of its document is.
    return list(accumulate((place[doc] for doc in docs), max))


def _pieces(ranking: Ranking, ranks: list[int], docs: set[str]) -> dict[str, list[_Piece]]:
    found: dict[str, list[_Piece]] = {}
    for rank, doc, chunk in zip(ranks, ranking.docs, ranking.chunks or (), strict=ranking.chunks is not None):
        if doc in docs and chunk.start is not None and chunk.end is not None:
            found.setdefault(doc, []).append(_Piece(rank, chunk.start, chunk.end))
    return found


def _coverage(spans: list[Span], pieces: Mapping[str, list[_Piece]]) -> tuple[tuple[int, float], ...]:
    """(rank, mean share of the spans' characters that all chunks down to it cover), for every rank at which it grows."""
    grown: dict[int, list[tuple[int, int]]] = {}  # rank → (span, characters that were open until here)
    for number, span in enumerate(spans):
        gaps = [(span.start, span.end)]
        for piece in pieces.get(span.doc, ()):
            if closed := _close(gaps, piece.start, piece.end):
                grown.setdefault(piece.rank, []).append((number, closed))
    covered, steps = [0] * len(spans), []
    for rank in sorted(grown):
        for number, closed in grown[rank]:
            covered[number] += closed
        # From whole characters anew at each step, so that all of them are exactly 1.
        steps.append((rank, math.fsum(c / (s.end - s.start) for c, s in zip(covered, spans, strict=True)) / len(spans)))
    return tuple(steps)


def _close(gaps: list[tuple[int, int]], start: int, end: int) -> int:
    """Take ``start``–``end`` out of sorted, disjoint gaps, in place; returns how many characters that closed."""
    first, last = bisect_right(gaps, start, key=lambda gap: gap[1]), bisect_left(gaps, end, key=lambda gap: gap[0])
    met = gaps[first:last]
    if not met or start >= end:
        return 0
    gaps[first:last] = [gap for gap in ((met[0][0], start), (end, met[-1][1])) if gap[0] < gap[1]]
    return sum(min(e, end) - max(s, start) for s, e in met)
