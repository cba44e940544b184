"""Scores of one run over one golden set, with everything that was left out counted and listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gate.errors import InvalidInput
from gate.golden.model import GoldenSet, Query
from gate.runs import Ranking, Run
from gate.scoring.metrics import Metric
from gate.scoring.units import OVERLAP, grades_of, nothing_found, view_of
from gate.scoring.view import View


class QueryScore(NamedTuple):
    """One scored query: metric name → value, and the rank (from 1) of its first gold unit, None when none came back.

    ``values`` has no key for a metric that is undefined for this query alone; only a metric that is ``partial`` can be missing.
    ``repeats``: a document came back more than once.
    """

    values: Mapping[str, float]
    first_rank: int | None
    missing: bool = False
    repeats: bool = False


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

    def mean(self, metric: str, ids: Sequence[str] | None = None) -> float | None:
        """Mean over unrounded values of all scored queries, or of ``ids``, that have one; None over nothing."""
        scores = [self.queries[i].values for i in (self.queries if ids is None else ids)]
        values = [score[metric] for score in scores if metric in score]
        return sum(values) / len(values) if values else None


@lru_cache(maxsize=8)
def _scorer(metrics: tuple[Metric, ...]) -> Callable[[View], Mapping[str, float]]:
    """View → metric name → value. It remembers: a change leaves the ranks of most queries alone, and both runs score alike."""
    named = [(str(metric), metric) for metric in metrics]

    @lru_cache(maxsize=1 << 14)
    def score(view: View) -> Mapping[str, float]:
        return {name: value for name, metric in named if (value := metric(view)) is not None}

    return score


class Scorer:
    """Scores rankings one by one: whatever is known of a single query and its ranking is computed here and kept in its QueryScore, so
    that equal rankings need to be looked at once."""

    def __init__(self, metrics: Sequence[Metric], unit: str = "doc", overlap: float = OVERLAP) -> None:
        if not 0.0 < overlap <= 1.0:
            raise ValueError(f"overlap must be above 0 and at most 1, not {overlap}")
        self._score, self._needs = _scorer(tuple(metrics)), {metric.needs for metric in metrics}
        self._unit, self._overlap = unit, overlap

    def missing(self, query: Query, grades: tuple[float, ...]) -> QueryScore:
        """Of a query that the run has no line for."""
        return QueryScore(self._score(nothing_found(query, grades)), None, missing=True)

    def score(self, query: Query, grades: tuple[float, ...], ranking: Ranking) -> QueryScore:
        """Of an answerable query with gold units (``grades``: of :func:`grades_of`, not empty) and a ranking without an error."""
        repeats = len(set(ranking.docs)) < len(ranking.docs)
        # Where no document is repeated both units count the same, and chunks are the cheaper ones to count.
        view = view_of(query, ranking, grades, self._unit if repeats else "chunk", self._overlap, self._needs)
        return QueryScore(self._score(view), view.credits[0][0] if view.credits else None, repeats=repeats)


def score_run(golden: GoldenSet, run: Run, metrics: Sequence[Metric], unit: str = "doc", overlap: float = OVERLAP,
              require_offsets: bool = True) -> ScoredRun:
    """Score every query of the golden set.

    ``unit``: what a cutoff counts, ``doc`` or ``chunk``. ``overlap``: the share of a span's characters, above 0 and at most 1, that a
    single chunk must hold to find it. A golden set with spans cannot judge a run without chunk offsets: that raises :class:`InvalidInput`,
    unless ``require_offsets`` is False (a baseline from before the spans existed; it covers none of them).
    """
    if require_offsets:
        _check_offsets(golden, run)
    scorer = Scorer(metrics, unit, overlap)
    queries: dict[str, QueryScore] = {}
    unanswerable: dict[str, float | None] = {}
    undefined, missing, errored = [], [], []
    for query in golden.queries:
        ranking = run.rankings.get(query.id)
        grades = grades_of(query)
        if ranking is not None and ranking.error:
            errored.append(query.id)
        elif not query.answerable:
            unanswerable[query.id] = ranking.scores[0] if ranking and ranking.scores else None
        elif not grades:
            undefined.append(query.id)
        elif ranking is None:
            missing.append(query.id)
            queries[query.id] = scorer.missing(query, grades)
        else:
            queries[query.id] = scorer.score(query, grades, ranking)
    return ScoredRun(metrics=tuple(metrics), queries=queries, unanswerable=unanswerable,
                     duplicates=sum(score.repeats for score in queries.values()),
                     excluded=Excluded(tuple(undefined), tuple(missing), tuple(errored),
                                       tuple(i for i in run.rankings if i not in golden.by_id)))


def _check_offsets(golden: GoldenSet, run: Run) -> None:
    """Without a single offset no span could be found, and a format would look like a fault of the retriever."""
    spanned = [query for query in golden.queries if query.spans]
    if not spanned or not any(ranking.docs for ranking in run.rankings.values()):
        return
    if any(chunk.start is not None for ranking in run.rankings.values() for chunk in ranking.chunks or ()):
        return
    shown = ", ".join(repr(query.id) for query in spanned[:5]) + (" …" if len(spanned) > 5 else "")
    raise InvalidInput(f"{run.name or 'run'}: no result has chunk offsets (`start`, `end`), but {len(spanned)} golden "
                       f"{'query has' if len(spanned) == 1 else 'queries have'} spans ({golden.path}:{spanned[0].line}: {shown})",
                       "let the retriever return {doc, start, end} for each chunk, or name whole documents in `relevant`")
