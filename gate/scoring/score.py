"""Scores of one run over one golden set, with everything that was left out counted and listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gate.golden.model import GoldenSet, Query
from gate.runs import Ranking, Run
from gate.scoring.metrics import Metric
from gate.scoring.units import OVERLAP, nothing_found, view_of
from gate.scoring.view import View


class QueryScore(NamedTuple):
    """One scored query: metric name → value, and the rank (from 1) of its first gold unit, None when none came back.

    ``values`` has no key for a metric that is undefined for this query alone; only a metric that is ``partial`` can be missing.
    ``empty``: nothing came back at all. One object in the scores of two runs says that their rankings of this query are equal
    (:meth:`gate.scoring.sheet.Sheet.enter`).
    """

    values: Mapping[str, float]
    first_rank: int | None
    missing: bool = False
    empty: bool = False


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

    def mean(self, metric: str, ids: Sequence[str] | None = None) -> float | None:
        """Mean over unrounded values of all scored queries, or of ``ids``, that have one; None over nothing."""
        scores = [self.queries[i].values for i in (self.queries if ids is None else ids)]
        values = [score[metric] for score in scores if metric in score]
        return sum(values) / len(values) if values else None


@lru_cache(maxsize=8)
def _scorer(metrics: tuple[Metric, ...]) -> Callable[[View], Mapping[str, float]]:
    """View → metric name → value. It remembers: a change leaves the ranks of most queries alone, and both runs score alike."""
    named = [(str(metric), metric.formula, metric.k) for metric in metrics]

    @lru_cache(maxsize=1 << 14)
    def score(view: View) -> Mapping[str, float]:
        return {name: value for name, formula, k in named if (value := formula(view, k)) is not None}

    return score


class Scorer:
    """Scores rankings one by one: whatever is known of a single query and its ranking is computed here and kept in its QueryScore, so
    that equal rankings need to be looked at once."""

    def __init__(self, metrics: Sequence[Metric], unit: str = "doc", overlap: float = OVERLAP) -> None:
        if not 0.0 < overlap <= 1.0:
            raise ValueError(f"overlap must be above 0 and at most 1, not {overlap}")
        self._score, self._needs = _scorer(tuple(metrics)), {metric.needs for metric in metrics}
        self._unit, self._overlap = unit, overlap
        # Below the deepest cutoff nothing matters but the first find; without a cutoff everything does.
        self._depth = 0 if any(metric.k is None for metric in metrics) else max((metric.k or 0 for metric in metrics), default=0)

    def missing(self, query: Query, grades: tuple[float, ...]) -> QueryScore:
        """Of a query that the run has no line for."""
        return QueryScore(self._score(nothing_found(query, grades)), None, missing=True)

    def score(self, query: Query, grades: tuple[float, ...], ranking: Ranking) -> QueryScore:
        """Of an answerable query with gold units (``grades``: of :func:`grades_of`, not empty) and a ranking without an error."""
        view = view_of(query, ranking, grades, self._unit, self._overlap, self._needs, self._depth)
        return QueryScore(self._score(view), view.credits[0][0] if view.credits else None, empty=not ranking.docs)


def score_run(golden: GoldenSet, run: Run, metrics: Sequence[Metric], unit: str = "doc", overlap: float = OVERLAP,
              require_offsets: bool = True) -> ScoredRun:
    """Score every query of the golden set.

    ``unit``: what a cutoff counts, ``doc`` or ``chunk``. ``overlap``: the share of a span's characters, above 0 and at most 1, that a
    single chunk must hold to find it. A golden set with spans cannot judge a run without chunk offsets: that raises :class:`InvalidInput`,
    unless ``require_offsets`` is False (a baseline from before the spans existed; it covers none of them).

    Rankings that were entered into a sheet while they were read, under the same golden set and rules, are not looked at again.
    """
    from gate.scoring.sheet import Sheet

    sheet = run.sheet
    if sheet is None or not sheet.holds(golden, metrics, unit, overlap):
        sheet = Sheet(golden, metrics, unit, overlap)
        for query_id, ranking in run.rankings.items():
            sheet.enter(query_id, ranking)
    return sheet.scored(run, require_offsets)
