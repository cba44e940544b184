"""One query's page: both rankings, what is relevant and where it stood, as plain values for the script of the HTML report. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gate.golden.model import Query, Span
from gate.runs import Chunk, Ranking

_MOST_RELEVANT = 50  # gold units on one page; a query with more is no question but a category
_ROUNDED = "%.5g"  # scores, for the eye


class Gold(NamedTuple):
    """What can be credited once: the documents that are it (more than one where they answer alike), or one span of a document."""

    docs: tuple[str, ...]
    grade: float
    span: Span | None = None


class Names:
    """Documents and chunks of all pages, each once; pages hold the numbers."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self.index.setdefault(name, len(self.index))


class Listing(NamedTuple):
    """Results as a reader should see them. Parallel: positions in the run, ranks as the metrics count them, and what makes a result one
    and the same in two rankings."""

    at: Sequence[int]
    ranks: Sequence[int]
    keys: Sequence[Any]


def gold_of(query: Query) -> list[Gold]:
    """The gold units of a query that are worth something, best grade first."""
    alike: dict[str, tuple[float, list[str]]] = {}
    if query.groups or query.spans:
        for doc, (unit, grade) in query.units.items():
            alike.setdefault(unit, (grade, []))[1].append(doc)
    else:
        alike = {doc: (grade, [doc]) for doc, grade in query.gains.items()}
    found = [Gold(tuple(docs), grade) for grade, docs in alike.values() if grade > 0]
    found += [Gold((span.doc,), span.grade, span) for span in query.spans if span.grade > 0]
    return sorted(found, key=lambda gold: -gold.grade)


def listing(ranking: Ranking, unit: str) -> Listing:
    """Every chunk where the run has chunks, else each document once."""
    docs, chunks = ranking.docs, ranking.chunks
    if chunks is None and (unit == "chunk" or len(set(docs)) == len(docs)):
        return Listing(range(len(docs)), range(1, len(docs) + 1), docs)
    seen: dict[str, int] = {}
    at, ranks = [], []
    for n, doc in enumerate(docs):
        if chunks is not None or doc not in seen:
            seen.setdefault(doc, n)
            at.append(n)
            ranks.append(n + 1 if unit == "chunk" else len(seen))
    return Listing(at, ranks, [(docs[n], chunks[n]) for n in at] if chunks else [docs[n] for n in at])


class Reader:
    """Makes pages. ``depth``: how many ranks are shown, relevant results below them as well; ``overlap``: as the policy has it."""

    def __init__(self, names: Names, unit: str, overlap: float, depth: int) -> None:
        self._names, self._unit, self._overlap, self._depth = names, unit, overlap, depth

    def page(self, query: Query, before: Ranking | None, after: Ranking | None, same: bool) -> dict[str, Any]:
        """``b`` and ``c``: the sides (only ``c`` where both are the ``same``, or where there is no other); ``gold``: a row for each gold
        unit, [name, grade, rank before, rank now, rank among the candidates before, and now, documents alike, start, end], 0: not found,
        −1: not known."""
        gold = gold_of(query)
        sides = [ranking if ranking is not None and not ranking.error else None for ranking in (None if same else before, after)]
        lists = [listing(ranking, self._unit) if ranking else None for ranking in sides]
        first = [_first_ranks(found) if found else {} for found in lists]
        earned = [self._earned(gold, ranking, found, ranks) if ranking and found else {}
                  for ranking, found, ranks in zip(sides, lists, first, strict=True)]
        page: dict[str, Any] = {"gold": [self._row(unit, n, earned, lists, sides) for n, unit in enumerate(gold[:_MOST_RELEVANT])]}
        if len(gold) > _MOST_RELEVANT:
            page["more"] = len(gold) - _MOST_RELEVANT
        grades = [{at: gold[n].grade for n, at in places.items()} for places in earned]
        for key, here, there in (("b", 0, 1), ("c", 1, 0)):
            ranking, found = sides[here], lists[here]
            if ranking is not None and found is not None:
                page[key] = self._side(query, ranking, found, grades[here], first[there] if sides[there] else None)
        return page | {"same": 1} if same else page

    def _row(self, gold: Gold, number: int, earned: Sequence[Mapping[int, int]], lists: Sequence[Listing | None],
             sides: Sequence[Ranking | None]) -> list[Any]:
        ranks = [found.ranks[found.at.index(places[number])] if found and number in places else 0
                 for places, found in zip(earned, lists, strict=True)]
        row: list[Any] = [self._names.number(gold.docs[0]), gold.grade, *ranks,
                          *(_first(gold.docs, ranking.candidates if ranking else None) for ranking in sides), len(gold.docs)]
        return row + [gold.span.start, gold.span.end] if gold.span else row

    def _earned(self, gold: Sequence[Gold], ranking: Ranking, found: Listing, ranks: Mapping[Any, int]) -> dict[int, int]:
        """Number of the gold unit → position in the run of the first result that earns it."""
        earned: dict[int, int] = {}
        if ranking.chunks is None:
            for number, unit in enumerate(gold):
                there = [ranks[doc] for doc in unit.docs if doc in ranks]
                if there and unit.span is None:
                    earned[number] = found.at[found.ranks.index(min(there))]
            return earned
        for at in found.at:
            for number, unit in enumerate(gold):
                if number not in earned and ranking.docs[at] in unit.docs and self._covers(unit, ranking.chunks[at]):
                    earned[number] = at
        return earned

    def _covers(self, gold: Gold, chunk: Chunk) -> bool:
        if gold.span is None:
            return True
        if chunk.start is None or chunk.end is None:
            return False
        inside = min(chunk.end, gold.span.end) - max(chunk.start, gold.span.start)
        return inside > 0 and inside >= self._overlap * (gold.span.end - gold.span.start) - 1e-9

    def _side(self, query: Query, ranking: Ranking, found: Listing, earned: Mapping[int, float],
              there: Mapping[Any, int] | None) -> dict[str, Any]:
        """``d``: documents; ``r``: their ranks, where these are not 1, 2, 3 …; ``s``: scores; ``o``: ranks on the other side, 0: not
        there; ``k``: chunks as [name or −1, start, end] or 0; ``g``: [position in ``d``, grade] of judged ones; ``n``: results in all."""
        number, docs = self._names.number, ranking.docs
        shown = list(range(bisect_right(found.ranks, self._depth)))
        if earned:
            shown += [n for n in map(found.at.index, sorted(earned)) if n >= len(shown)]
        at = [found.at[n] for n in shown]
        side: dict[str, Any] = {"d": [number(docs[n]) for n in at], "n": len(found.at)}
        if not isinstance(found.ranks, range) or len(shown) > self._depth:
            side["r"] = [found.ranks[n] for n in shown]
        if ranking.scores:
            side["s"] = [float(_ROUNDED % ranking.scores[n]) for n in at]
        if there is not None:
            side["o"] = [there.get(found.keys[n], 0) for n in shown]
        if ranking.chunks:
            side["k"] = [self._chunk(ranking.chunks[n]) for n in at]
        worthless = {doc: grade for doc, grade in query.documents.items() if grade <= 0}
        graded = [[n, earned[place] if place in earned else worthless[docs[place]]] for n, place in enumerate(at)
                  if place in earned or docs[place] in worthless] if earned or worthless else []
        if graded:
            side["g"] = graded
        return side

    def _chunk(self, chunk: Chunk) -> Any:
        return 0 if chunk == Chunk() else [self._names.number(chunk.chunk) if chunk.chunk else -1,
                                           *(() if chunk.start is None else (chunk.start, chunk.end))]


def _first_ranks(found: Listing) -> dict[Any, int]:
    return dict(zip(reversed(found.keys), reversed(found.ranks), strict=True))


def _first(docs: Sequence[str], candidates: Sequence[str] | None) -> int:
    if candidates is None:
        return -1
    return min((candidates.index(doc) + 1 for doc in docs if doc in candidates), default=0)
