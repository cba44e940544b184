"""One query's page: both rankings, what is relevant and where it stood, as plain values for the script of the HTML report. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gate.golden.model import Query, Span
from gate.runs import Chunk, Ranking

_MOST_RELEVANT = 50  # gold units on one page; a query with more is no question but a category
_SIGNIFICANT = 5


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


class Place(NamedTuple):
    """One result: its rank as the metrics count it, and its position in the run."""

    rank: int
    at: int


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


def places(ranking: Ranking, unit: str) -> list[Place]:
    """Results as a reader should see them: every chunk where the run has chunks, each document once where it has none."""
    if unit == "chunk":
        return [Place(at + 1, at) for at in range(len(ranking.docs))]
    seen: set[str] = set()
    found = []
    for at, doc in enumerate(ranking.docs):
        if doc not in seen or ranking.chunks is not None:
            seen.add(doc)
            found.append(Place(len(seen), at))
    return found


class Reader:
    """Makes pages. ``depth``: how many ranks are shown, relevant results below them as well; ``overlap``: as the policy has it."""

    def __init__(self, names: Names, unit: str, overlap: float, depth: int) -> None:
        self._names, self._unit, self._overlap, self._depth = names, unit, overlap, depth

    def page(self, query: Query, before: Ranking | None, after: Ranking | None, same: bool) -> dict[str, Any]:
        """``b`` and ``c``: the sides (one where both are the ``same``, or where there is no other); ``gold``: a row for each gold unit,
        [name, grade, rank before, rank now, rank among the candidates before, and now, documents alike, start, end], 0: not found,
        −1: not known."""
        gold = gold_of(query)
        worthless = {doc: grade for doc, grade in query.documents.items() if grade <= 0}
        sides = [ranking if ranking is not None and not ranking.error else None for ranking in (before, after)]
        shown = [places(ranking, self._unit) if ranking else [] for ranking in sides]
        credits = [self._credits(gold, ranking, found) if ranking else {} for ranking, found in zip(sides, shown, strict=True)]
        ranks = [{self._key(ranking, place.at): place.rank for place in reversed(found)} if ranking else {}
                 for ranking, found in zip(sides, shown, strict=True)]
        page: dict[str, Any] = {"gold": [self._row(unit, n, credits, sides) for n, unit in enumerate(gold[:_MOST_RELEVANT])]}
        if len(gold) > _MOST_RELEVANT:
            page["more"] = len(gold) - _MOST_RELEVANT
        if same:
            return page | {"c": self._side(sides[1], shown[1], credits[1], gold, worthless, None), "same": 1}
        for key, here, there in (("b", 0, 1), ("c", 1, 0)):
            if sides[here] is not None:
                page[key] = self._side(sides[here], shown[here], credits[here], gold, worthless,
                                       ranks[there] if sides[there] is not None else None)
        return page

    def _row(self, gold: Gold, number: int, credits: Sequence[Mapping[int, tuple[int, int]]],
             sides: Sequence[Ranking | None]) -> list[Any]:
        known = [ranking.candidates if ranking else None for ranking in sides]
        row: list[Any] = [self._names.number(gold.docs[0]), gold.grade, *(found[number][0] if number in found else 0 for found in credits),
                          *(_first(gold.docs, candidates) for candidates in known), len(gold.docs)]
        return row + [gold.span.start, gold.span.end] if gold.span else row

    def _credits(self, gold: Sequence[Gold], ranking: Ranking, found: Sequence[Place]) -> dict[int, tuple[int, int]]:
        """Number of the gold unit → (rank, position) of the first result that earns it."""
        by_doc: dict[str, list[int]] = {}
        for number, unit in enumerate(gold):
            for doc in unit.docs:
                by_doc.setdefault(doc, []).append(number)
        earned: dict[int, tuple[int, int]] = {}
        for place in found:
            for number in by_doc.get(ranking.docs[place.at], ()):
                if number not in earned and self._earns(gold[number], ranking.chunks[place.at] if ranking.chunks else None):
                    earned[number] = (place.rank, place.at)
        return earned

    def _earns(self, gold: Gold, chunk: Chunk | None) -> bool:
        if gold.span is None:
            return True
        if chunk is None or chunk.start is None or chunk.end is None:
            return False
        inside = min(chunk.end, gold.span.end) - max(chunk.start, gold.span.start)
        return inside > 0 and inside >= self._overlap * (gold.span.end - gold.span.start) - 1e-9

    def _side(self, ranking: Ranking | None, found: Sequence[Place], earned: Mapping[int, tuple[int, int]], gold: Sequence[Gold],
              worthless: Mapping[str, float], there: Mapping[Any, int] | None) -> dict[str, Any]:
        """``d``: documents; ``r``: their ranks, where these are not 1, 2, 3 …; ``s``: scores; ``o``: ranks on the other side, 0: not there;
        ``k``: chunks as [name or −1, start, end] or 0; ``g``: [position in ``d``, grade] of judged ones; ``n``: how many results there are."""
        if ranking is None:
            return {"d": [], "n": 0}
        at_grade = {at: gold[number].grade for number, (_, at) in earned.items()}
        shown = [place for place in found if place.rank <= self._depth or place.at in at_grade]
        number, docs = self._names.number, ranking.docs
        side: dict[str, Any] = {"d": [number(docs[place.at]) for place in shown], "n": len(found)}
        ranks = [place.rank for place in shown]
        if ranks != list(range(1, len(shown) + 1)):
            side["r"] = ranks
        if ranking.scores:
            side["s"] = [_rounded(ranking.scores[place.at]) for place in shown]
        if there is not None:
            side["o"] = [there.get(self._key(ranking, place.at), 0) for place in shown]
        if ranking.chunks:
            side["k"] = list(self._chunks(ranking.chunks, shown))
        graded = [[n, at_grade.get(place.at, worthless.get(docs[place.at]))] for n, place in enumerate(shown)
                  if place.at in at_grade or docs[place.at] in worthless]
        if graded:
            side["g"] = graded
        return side

    def _chunks(self, chunks: Sequence[Chunk], shown: Sequence[Place]) -> Iterator[Any]:
        for place in shown:
            chunk = chunks[place.at]
            yield 0 if chunk == Chunk() else [self._names.number(chunk.chunk) if chunk.chunk else -1,
                                              *(() if chunk.start is None else (chunk.start, chunk.end))]

    def _key(self, ranking: Ranking, at: int) -> Any:
        """What is one and the same result in two rankings."""
        return (ranking.docs[at], ranking.chunks[at]) if ranking.chunks else ranking.docs[at]


def _first(docs: Sequence[str], candidates: Sequence[str] | None) -> int:
    if candidates is None:
        return -1
    return min((candidates.index(doc) + 1 for doc in docs if doc in candidates), default=0)


def _rounded(score: float) -> float:
    return float(f"{score:.{_SIGNIFICANT}g}")
