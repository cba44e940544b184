"""The candidate stage of a two-stage retriever: what it hands to the reranker is all that can be found in the end. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gate.golden.model import Query

if TYPE_CHECKING:
    from gate.scoring.metrics import Metric
    from gate.scoring.score import QueryScore


def candidate_ranks(query: Query, candidates: list[str], unit: str) -> tuple[tuple[int, ...], int]:
    """Ranks (from 1, ascending) at which gold units stand among the candidates, each at its first one; and how many units there are.

    A document with spans is one unit here, whatever number of spans it has: candidates are ids and carry no offsets.
    """
    if query.spans or query.groups:
        of = {doc: unit_of for doc, (unit_of, grade) in query.units.items() if grade > 0}
        of |= {span.doc: span.doc for span in query.spans if span.grade > 0}
    else:
        of = {doc: doc for doc, grade in query.gains.items() if grade > 0}
    ranked: Sequence[str] = candidates if unit == "chunk" else list(dict.fromkeys(candidates))
    first: dict[str, int] = {}
    for rank, doc in sorted((ranked.index(doc) + 1, doc) for doc in of.keys() & ranked):
        first.setdefault(of[doc], rank)
    return tuple(sorted(first.values())), len(set(of.values()))


def with_zeros(queries: dict[str, QueryScore], metrics: Iterable[Metric]) -> dict[str, QueryScore]:
    """In a run that says for some queries what its candidates were, the others have found none: leaving them out must lift no mean."""
    names = [str(metric) for metric in metrics if metric.family == "candidate-recall"]
    if not names or all(score.among_candidates is None for score in queries.values()):
        return queries
    zeros = dict.fromkeys(names, 0.0)
    return {i: score._replace(values={**score.values, **zeros}) if score.among_candidates is None else score
            for i, score in queries.items()}
