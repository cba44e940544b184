"""Scores of one run over one golden set, with everything that was left out counted and listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gate.golden.model import GoldenSet, Query
from gate.runs import Ranking, Run
from gate.scoring.beside import CANDIDATES, Beside
from gate.scoring.metrics import Metric
from gate.scoring.top import NOTHING, Top, condense, top_of
from gate.scoring.units import OVERLAP, nothing_found, view_of
from gate.scoring.view import View


class QueryScore(NamedTuple):
    """One scored query: metric name → value, and the rank (from 1) of its first gold unit, None when none came back.

    ``values`` has no key for a metric that is undefined for this query alone; only a metric that is ``partial`` can be missing.
    ``short``: the documents that came back when these are fewer than the deepest metric looks at, else None. ``top_score``: of the first
    result; None without scores. ``top``: what the top k consist of; ``strangers``: the unjudged documents in it, and ``condensed``: the
    primary metric's value without any unjudged document, None where that is the plain one: both only for a query whose results somebody
    has judged (:func:`gate.scoring.top.top_of`). ``among_candidates``: whether a gold unit is among the first 100 candidates; None where
    the run does not say what they were. One object in the scores of
    two runs says that their rankings of this query are equal (:meth:`gate.scoring.sheet.Sheet.enter`).
    """

    values: Mapping[str, float]
    first_rank: int | None
    missing: bool = False
    short: tuple[str, ...] | None = ()
    top_score: float | None = None
    top: Top = NOTHING
    strangers: tuple[str, ...] = ()
    condensed: float | None = None
    among_candidates: bool | None = None

    @property
    def empty(self) -> bool:
        """Whether the run has an answer without a single result."""
        return self.short == () and not self.missing


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
    """``queries``: id → score for every answerable, defined, not errored query. ``unanswerable``: id → top score (None without scores).

    ``metrics``: those that are shown; ``values`` may hold more. ``k``: the top that ``QueryScore.top`` describes, 0 when it does not.
    """

    metrics: tuple[Metric, ...]
    queries: Mapping[str, QueryScore]
    excluded: Excluded
    unanswerable: Mapping[str, float | None]
    k: int = 0

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

    def __init__(self, metrics: Sequence[Metric], unit: str = "doc", overlap: float = OVERLAP, beside: Beside | None = None) -> None:
        if not 0.0 < overlap <= 1.0:
            raise ValueError(f"overlap must be above 0 and at most 1, not {overlap}")
        every = tuple(dict.fromkeys((*metrics, *beside.metrics, *beside.hidden) if beside else metrics))
        self._score, self._needs = _scorer(every), {metric.needs for metric in every}
        self._deepest = max((1, *(metric.depth for metric in metrics)))
        self._k, self._primary = (beside.k, beside.condensed) if beside else (0, None)
        self._unit, self._overlap = unit, overlap
        # Below the deepest cutoff nothing matters but the first find; without a cutoff everything does.
        self._depth = 0 if any(metric.k is None for metric in every) else max((metric.depth for metric in every), default=0)

    def missing(self, query: Query, grades: tuple[float, ...]) -> QueryScore:
        """Of a query that the run has no line for."""
        return QueryScore(self._score(nothing_found(query, grades)), None, missing=True)

    def score(self, query: Query, grades: tuple[float, ...], ranking: Ranking) -> QueryScore:
        """Of an answerable query with gold units (``grades``: of :func:`grades_of`, not empty) and a ranking without an error."""
        docs = ranking.docs
        view = view_of(query, ranking, grades, self._unit, self._overlap, self._needs, self._depth)
        top, strangers = top_of(query, ranking, self._k) if self._k else (NOTHING, ())
        # By position: with names, making the tuple takes as long as finding what is in it.
        return QueryScore(
            self._score(view), view.credits[0][0] if view.credits else None, False, tuple(docs) if len(docs) < self._deepest else None,
            ranking.scores[0] if ranking.scores else None, top, strangers, self._condensed(query, grades, ranking) if strangers else None,
            None if view.candidates is None else any(rank <= CANDIDATES for rank in view.candidates[0]))

    def _condensed(self, query: Query, grades: tuple[float, ...], ranking: Ranking) -> float | None:
        if self._primary is None:
            return None
        view = view_of(query, condense(query, ranking), grades, self._unit, self._overlap, {self._primary.needs})
        return _scorer((self._primary,))(view).get(str(self._primary))


def score_run(golden: GoldenSet, run: Run, metrics: Sequence[Metric], unit: str = "doc", overlap: float = OVERLAP,
              require_offsets: bool = True, beside: Beside | None = None) -> ScoredRun:
    """Score every query of the golden set.

    ``unit``: what a cutoff counts, ``doc`` or ``chunk``. ``overlap``: the share of a span's characters, above 0 and at most 1, that a
    single chunk must hold to find it. A golden set with spans cannot judge a run without chunk offsets: that raises :class:`InvalidInput`,
    unless ``require_offsets`` is False (a baseline from before the spans existed; it covers none of them). ``beside``: what else is
    computed of every ranking; without it only ``metrics``.

    Rankings that were entered into a sheet while they were read, under the same golden set and rules, are not looked at again.
    """
    from gate.scoring.sheet import Sheet

    sheet = run.sheet
    if sheet is None or not sheet.holds(golden, metrics, unit, overlap, beside):
        sheet = Sheet(golden, metrics, unit, overlap, beside)
        for query_id, ranking in run.rankings.items():
            sheet.enter(query_id, ranking)
    return sheet.scored(run, require_offsets)
