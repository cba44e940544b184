"""Golden query, two rankings and, where there is one, the frozen index → an explanation."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gate.errors import InvalidInput
from gate.explain import alike, closeness, moved, spans, terms, worded
from gate.explain.model import Explanation, Fact, Place, Score
from gate.explain.scores import by_rank
from gate.golden.model import GoldenSet, Query
from gate.runs import Ranking, Run
from gate.scoring.score import score_run
from gate.scoring.units import OVERLAP

if TYPE_CHECKING:
    from gate.scoring.metrics import Metric
    from gate.snapshot.reader import Snapshot


class Rules(NamedTuple):
    """What a policy says of scoring: ``k`` counts what ``unit`` says, and ``overlap`` of a span has to be in one chunk."""

    metric: Metric
    k: int = 10
    unit: str = "doc"
    overlap: float = OVERLAP


def explain(query_id: str, golden: GoldenSet, before: Run, after: Run, rules: Rules, snapshot: Snapshot | None = None) -> Explanation:
    """Raises :class:`InvalidInput` for a query that is not in the golden set or that must not be looked at (blind)."""
    query = golden.by_id.get(query_id)
    if query is None:
        close = difflib.get_close_matches(query_id, golden.by_id, 3)
        raise InvalidInput(f"{golden.path}: no query {query_id!r}", f"did you mean {', '.join(close)}?" if close else
                           "name a query by its id; the report lists those that changed")
    if query.blind:
        raise InvalidInput(f"{golden.path}: query {query_id!r} is of the blind split, which is kept from those who tune on it",
                           "explain a query of the split dev")
    lacking = tuple(_lacking(name) for name, side in (("baseline", before), ("candidate", after)) if query_id not in side.rankings)
    old, new = (side.rankings.get(query_id, Ranking([])) for side in (before, after))
    titles = snapshot.titles() if snapshot else {}
    relevant, instead = moved.places(query, old, new, rules.k, titles, rules.unit)
    if query_id not in after.rankings:  # nothing has answered, so there is no answer to explain
        return Explanation(query, rules.k, rules.unit, _score(golden, query, old, new, rules), relevant, instead, lacking)
    absent = dict(_absent(relevant, after, snapshot))
    found = [*absent.values(), *moved.facts(old, new, relevant, rules.k, rules.unit, not by_rank(before), absent)]
    if snapshot is not None:
        found += _of_index(query, old, new, relevant, instead, rules, snapshot)
    else:
        found += spans.facts(query, new, {}, rules.k, rules.unit, rules.overlap)
    return Explanation(query, rules.k, rules.unit, _score(golden, query, old, new, rules), relevant, instead, (*lacking, *found))


def _lacking(side: str) -> Fact:
    return Fact("not-asked", f"The {side} has no ranking of this query.",
                "The run is of another golden set, or broke off; a query that a run lacks scores 0.")


def _score(golden: GoldenSet, query: Query, old: Ranking, new: Ranking, rules: Rules) -> Score:
    alone = GoldenSet((query,), golden.path)
    sides = (score_run(alone, Run({query.id: side}), [rules.metric], rules.unit, rules.overlap, require_offsets=False).queries.get(query.id)
             for side in (old, new))
    return Score(str(rules.metric), *(side.values.get(str(rules.metric)) if side else None for side in sides))


def _absent(relevant: Iterable[Place], after: Run, snapshot: Snapshot | None) -> Iterator[tuple[str, Fact]]:
    """Relevant documents that this query does not get: nobody else either?"""
    missing = [place for place in relevant if place.after.rank is None]
    known = snapshot.names() if snapshot else set()
    returned = {doc for ranking in after.rankings.values() for doc in ranking.docs} if missing else set()
    for place in missing:
        if snapshot and place.doc not in known:
            yield place.doc, Fact(
                "not-indexed", f"{place.doc} is not in the snapshot.",
                "It was never indexed, or has another id there: fix the index, or the label when the document is gone for good.")
        elif place.doc not in returned:
            yield place.doc, Fact("vanished", f"{place.doc} is returned for no query of this run.",
                                  "It may be missing from the index: look for it there by its id.")


def _of_index(query: Query, old: Ranking, new: Ranking, relevant: tuple[Place, ...], instead: tuple[Place, ...], rules: Rules,
              snapshot: Snapshot) -> Iterator[Fact]:
    k = rules.k
    units = list(snapshot.units())
    seen = {*old.docs, *new.docs, *(place.doc for place in relevant)}
    # Who names whole documents means them also where the index has their sections.
    called = {unit["doc"]: unit["parent"] for unit in units if unit.get("parent") in seen and unit["doc"] not in seen}
    docs = {unit["id"]: called.get(unit["doc"], unit["doc"]) for unit in units}
    names = {place.doc for place in (*relevant, *instead)} | {span.doc for span in query.spans} | set(new.docs[:k])
    texts: dict[str, str] = {}
    pieces: dict[str, list[spans.Piece]] = {}
    for unit in units:
        for name in {unit["id"], unit["doc"], unit.get("parent", "")} & names:
            if unit.get("text"):
                texts[name] = f"{texts[name]}\n{unit['text']}" if name in texts else unit["text"]
            if unit.get("start") is not None:
                pieces.setdefault(name, []).append((unit["id"], unit["start"], unit["end"]))
    yield from spans.facts(query, new, pieces, k, rules.unit, rules.overlap)
    wanted = [place.doc for place in relevant]
    yield from alike.facts(wanted, [doc for doc in dict.fromkeys(new.docs[:k]) if doc not in wanted], texts)
    if snapshot.manifest.has_words:
        yield from _lexical(query, old, new, relevant, rules, called, snapshot)
        yield from _words(query, new, wanted, units, names, snapshot)
    if snapshot.manifest.has_vectors:
        yield from _vectors(query, new, relevant, rules, docs, snapshot)


def _lexical(query: Query, old: Ranking, new: Ranking, relevant: tuple[Place, ...], rules: Rules, called: Mapping[str, str],
             snapshot: Snapshot) -> Iterator[Fact]:
    from gate.retrievers.bm25 import Bm25Retriever

    with Bm25Retriever(snapshot) as retriever:
        def search(text: str) -> list[str]:
            (_, ranking), = retriever.retrieve([query._replace(text=text)], 4 * rules.k)
            return moved.counted(replace(ranking, docs=[called.get(doc, doc) for doc in ranking.docs]), rules.unit).docs

        sides = (moved.counted(side, rules.unit).docs for side in (old, new))
        yield from worded.facts(search, query.text, *sides, relevant, rules.k)


def _words(query: Query, new: Ranking, wanted: list[str], units: list[dict[str, str]], names: set[str],
           snapshot: Snapshot) -> Iterator[Fact]:
    from gate.snapshot.analysis import from_options

    options = snapshot.manifest.index.get("analyser")
    analyser = from_options(options if isinstance(options, dict) else {})
    held: dict[str, Counter[str]] = {}
    frequency: Counter[str] = Counter()
    for unit in units:
        counted = Counter(analyser.terms(f"{unit.get('title', '')}\n{unit.get('text', '')}"))
        frequency.update(counted.keys())
        for name in {unit["id"], unit["doc"], unit.get("parent", "")} & names:
            held[name] = held.get(name, Counter()) + counted
    rival = next((doc for doc in new.docs if doc not in wanted), "")
    yield from terms.facts(analyser.terms(query.text), wanted, rival, held, frequency)


def _vectors(query: Query, new: Ranking, relevant: tuple[Place, ...], rules: Rules, docs: Mapping[str, str],
             snapshot: Snapshot) -> Iterator[Fact]:
    from gate.embedding.snapshot import SnapshotVectors
    from gate.retrievers.dense import unit_rows
    from gate.snapshot import vectors as arrays

    if not (snapshot.path / arrays.QUERY_IDS).is_file():
        return
    with SnapshotVectors(snapshot) as source:
        try:
            question = source.of([query])
        except InvalidInput:
            return  # a query that was added since has no vector there; the rest can be said all the same
    cosine = snapshot.manifest.index.get("similarity") == "cosine"
    rows = arrays.read_vectors(snapshot.path / arrays.VECTORS, len(snapshot.ids), "the snapshot has")
    # Not a matrix product, whose last bits would put equal vectors in another order than the search does.
    scores = (unit_rows(rows, cosine) * unit_rows(question, cosine)[0]).sum(axis=1)
    yield from closeness.facts(scores, snapshot.ids, docs, relevant, rules.k,
                               repeats=rules.unit == "chunk" and len(set(new.docs)) < len(new.docs))
