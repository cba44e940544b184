"""Scores of one run over one golden set, with everything that was left out counted and listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gate.golden.model import GoldenSet
from gate.runs import Run
from gate.scoring.metrics import Credit, Gold, Metric
from gate.scoring.units import credits_of, gold_of, ranked_units


class QueryScore(NamedTuple):
    """One scored query: metric name → value, and the rank (from 1) of its first gold unit, None when none came back."""

    values: Mapping[str, float]
    first_rank: int | None
    missing: bool = False


class Excluded(NamedTuple):
    """Query ids that no mean contains, or that need a word, each a different thing.

    ``undefined``: no gold unit of positive grade. ``missing``: the run has no line for the query; it scores 0. ``errored``: the retriever
    failed on it; it has no score at all. ``extra``: in the run, not in the golden set.
    """

    undefined: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    errored: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


class ScoredRun(NamedTuple):
    """``queries``: id → score for every answerable, defined, not errored query. ``unanswerable``: id → top score (None without scores)."""

    metrics: tuple[Metric, ...]
    queries: Mapping[str, QueryScore]
    excluded: Excluded
    unanswerable: Mapping[str, float | None]
    duplicates: int = 0
    shallow: tuple[str, ...] = ()

    def mean(self, metric: str, ids: Sequence[str] | None = None) -> float | None:
        """Mean over unrounded values of all scored queries, or of ``ids``; None over nothing."""
        values = [self.queries[i].values[metric] for i in (self.queries if ids is None else ids)]
        return sum(values) / len(values) if values else None


@lru_cache(maxsize=8)
def _scorer(metrics: tuple[Metric, ...]) -> Callable[[tuple[Credit, ...], Gold], Mapping[str, float]]:
    """Credits and gold → metric name → value. It remembers: a change leaves the ranks of most queries alone, and both runs score alike."""
    named = [(str(metric), metric) for metric in metrics]

    @lru_cache(maxsize=1 << 14)
    def score(credits: tuple[Credit, ...], gold: Gold) -> Mapping[str, float]:
        return {name: metric(credits, gold) for name, metric in named}

    return score


def score_run(golden: GoldenSet, run: Run, metrics: Sequence[Metric], unit: str = "doc") -> ScoredRun:
    """Score every query of the golden set."""
    score = _scorer(tuple(metrics))
    queries: dict[str, QueryScore] = {}
    unanswerable: dict[str, float | None] = {}
    undefined, missing, errored = [], [], []
    duplicates = 0
    for query in golden.queries:
        ranking = run.rankings.get(query.id)
        gold = gold_of(query)
        if ranking is not None and ranking.error:
            errored.append(query.id)
        elif not query.answerable:
            unanswerable[query.id] = ranking.scores[0] if ranking and ranking.scores else None
        elif not gold.grades:
            undefined.append(query.id)
        elif ranking is None:
            missing.append(query.id)
            queries[query.id] = QueryScore(score((), gold), None, missing=True)
        else:
            duplicates += len(set(ranking.docs)) < len(ranking.docs)
            credits = credits_of(query, ranked_units(ranking, unit))
            queries[query.id] = QueryScore(score(tuple(credits), gold), credits[0][0] if credits else None)
    return ScoredRun(metrics=tuple(metrics), queries=queries, unanswerable=unanswerable, duplicates=duplicates,
                     excluded=Excluded(tuple(undefined), tuple(missing), tuple(errored),
                                       tuple(i for i in run.rankings if i not in golden.by_id)))
