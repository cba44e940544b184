"""What two rankings of one query say by themselves. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from gate.explain import scores
from gate.explain.model import Fact, Place, Side
from gate.figures import plural
from gate.golden.model import Query
from gate.runs import Ranking

_MOST = 10


def sides(ranking: Ranking) -> dict[str, Side]:
    """Document → its first place."""
    found: dict[str, Side] = {}
    for row, doc in enumerate(ranking.docs):
        found.setdefault(doc, Side(row + 1, ranking.scores[row] if ranking.scores else None))
    return found


def wanted(query: Query) -> dict[str, float]:
    """Document → grade, of everything that the query may be credited for, best first; a span's document and a group's members too."""
    found = {doc: grade for doc, grade in query.gains.items() if grade > 0}
    for group in query.groups:
        best = max((query.gains.get(doc, 0.0) for doc in group), default=0.0)
        found |= {doc: max(best, found.get(doc, 0.0)) for doc in group if best > 0}
    for span in query.spans:
        found[span.doc] = max(span.grade, found.get(span.doc, 0.0))
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def counted(ranking: Ranking, unit: str) -> Ranking:
    """The ranking as cutoffs count it: where they count documents, each once, at its first place."""
    if unit == "chunk" or len(set(ranking.docs)) == len(ranking.docs):
        return ranking
    rows = list({doc: row for row, doc in reversed(list(enumerate(ranking.docs)))}.values())[::-1]
    return replace(ranking, docs=[ranking.docs[row] for row in rows],
                   scores=[ranking.scores[row] for row in rows] if ranking.scores else None,
                   chunks=[ranking.chunks[row] for row in rows] if ranking.chunks else None)


def places(query: Query, before: Ranking, after: Ranking, k: int, titles: Mapping[str, str],
           unit: str = "doc") -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """(relevant documents, what came into the top k of ``after`` and was not in that of ``before``). ``unit``: what ranks count."""
    before, after = counted(before, unit), counted(after, unit)
    old, new, grades = sides(before), sides(after), wanted(query)

    def place(doc: str) -> Place:
        return Place(doc, grades.get(doc, query.gains.get(doc)), old.get(doc, Side()), new.get(doc, Side()), titles.get(doc, ""))

    top = dict.fromkeys(before.docs[:k])
    came = [doc for doc in dict.fromkeys(after.docs[:k]) if doc not in top and doc not in grades]
    return tuple(map(place, grades)), tuple(map(place, came[:_MOST]))


def facts(before: Ranking, after: Ranking, relevant: Sequence[Place], k: int, unit: str = "doc",
          scored: bool = True, absent: Collection[str] = ()) -> Iterator[Fact]:
    """Errors, few results, what scores say, stages, the distance, ties, repeats. ``unit``: what ranks and ``k`` count; ``scored``: scores
    say more than the rank (:func:`gate.explain.scores.by_rank`); ``absent``: documents said to be missing for all."""
    results, (before, after) = len(after.docs), (counted(before, unit), counted(after, unit))
    if after.error:
        yield Fact("error", f"The retriever failed on this query: {after.error.partition(chr(10))[0]}")
    if len(after.docs) < min(k, len(before.docs)):
        if results > len(after.docs):
            yield Fact("few", f"Only {plural(len(after.docs), 'different document')} among the {results} results, {len(before.docs)} "
                       "before.",
                       "Several chunks of one document crowd others out: fetch more chunks, or group them by document.")
        else:
            came = f"Only {plural(results, 'result')} came back" if results else "Nothing came back"
            yield Fact("few", f"{came}, {plural(len(before.docs), 'result')} before.",
                       "A filter, a score threshold, a parser that requires every word, words that the index does not know in this form, "
                       "or an approximate index that visits too little.")
    if not after.error and scored:
        yield from scores.facts(before, after, relevant, k, absent)
    for place in relevant:
        yield from _stage(place, before, after)
        yield from _distance(place, after, k)
    repeats = len(after.docs[:k]) - len(set(after.docs[:k]))
    if repeats and repeats > len(before.docs[:k]) - len(set(before.docs[:k])):
        yield Fact("repeats", f"{repeats} of the first {k} results "
                              f"{'repeats a document above it' if repeats == 1 else 'repeat a document above them'}.",
                   "Several chunks of one document crowd others out: fetch more chunks than are shown, or group them by document.")


def _stage(place: Place, before: Ranking, after: Ranking) -> Iterator[Fact]:
    if after.candidates is None or place.after.rank is not None or place.before.rank is None:
        return
    if place.doc in after.candidates:
        at = after.candidates.index(place.doc) + 1
        yield Fact("stage", f"{place.doc} is candidate {at} of {len(after.candidates)} and not in the final results.",
                   "The reranker, or the cut after it, lost it.")
    else:
        was = f"; before it was candidate {before.candidates.index(place.doc) + 1}" if place.doc in (before.candidates or ()) else ""
        yield Fact("stage", f"{place.doc} is none of the {plural(len(after.candidates), 'candidate')}{was}.",
                   "The first stage lost it: nothing after it can bring it back.")


def _distance(place: Place, after: Ranking, k: int) -> Iterator[Fact]:
    """By how much it misses the top k."""
    if place.after.rank is None or place.after.rank <= k or place.after.score is None or not after.scores or len(after.scores) < k:
        return
    last = after.scores[k - 1]
    tied = [row for row, score in enumerate(after.scores) if score == place.after.score]
    if place.after.score == last:
        yield Fact("tie", f"{place.doc} has the same score as result {k}; {len(tied)} results share it.",
                   "The order among them is arbitrary: quantised scores, or a fusion of ranks. Break ties by something stable.")
        return
    yield Fact("distance", f"{place.doc} scores {place.after.score:.4g}, result {k} scores {last:.4g}: "
                           f"{plural(place.after.rank - 1, 'result')} {'is' if place.after.rank == 2 else 'are'} ahead of it.")
