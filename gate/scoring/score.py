"""Scores of one run over one golden set, with everything that was left out counted and listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gate.errors import InvalidInput
from gate.golden.model import GoldenSet, Query
from gate.runs import Ranking, Run
from gate.scoring.beside import CANDIDATES, Beside
from gate.scoring.metrics import Metric
from gate.scoring.stages import with_zeros
from gate.scoring.top import NOTHING, Top, condense, top_of
from gate.scoring.units import OVERLAP, grades_of, nothing_found, view_of
from gate.scoring.view import View


class QueryScore(NamedTuple):
    """One scored query: metric name → value, and the rank (from 1) of its first gold unit, None when none came back.

    ``values`` has no key for a metric that is undefined for this query alone; only a metric that is ``partial`` can be missing.
    ``short``: the documents that came back when these are fewer than the deepest metric looks at, else None. ``top_score``: of the first
    result; None without scores. ``top``: what the top k consist of; ``strangers``: the unjudged documents in it, and ``condensed``: the
    primary metric's value without any unjudged document, None where that is the plain one: both only for a query whose results somebody
    has judged (:func:`gate.scoring.top.top_of`). ``among_candidates``: whether a gold unit is among the first 100 candidates; None where
    the run does not say what they were.
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
    named = [(str(metric), metric) for metric in metrics]

    @lru_cache(maxsize=1 << 14)
    def score(view: View) -> Mapping[str, float]:
        return {name: value for name, metric in named if (value := metric(view)) is not None}

    return score


class Scorer:
    """Scores rankings one by one: whatever is known of a single query and its ranking is computed here and kept in its QueryScore, so
    that equal rankings need to be looked at once."""

    def __init__(self, metrics: Sequence[Metric], unit: str = "doc", overlap: float = OVERLAP, beside: Beside | None = None) -> None:
        if not 0.0 < overlap <= 1.0:
            raise ValueError(f"overlap must be above 0 and at most 1, not {overlap}")
        every = tuple(dict.fromkeys((*metrics, *beside.metrics, *beside.hidden) if beside else metrics))
        self._score, self._needs = _scorer(every), {metric.needs for metric in every}
        self._deepest = max((metric.depth for metric in metrics), default=0)
        self._k, self._primary = (beside.k, beside.condensed) if beside else (0, None)
        self._unit, self._overlap = unit, overlap

    def missing(self, query: Query, grades: tuple[float, ...]) -> QueryScore:
        """Of a query that the run has no line for."""
        return QueryScore(self._score(nothing_found(query, grades)), None, missing=True)

    def score(self, query: Query, grades: tuple[float, ...], ranking: Ranking) -> QueryScore:
        """Of an answerable query with gold units (``grades``: of :func:`grades_of`, not empty) and a ranking without an error."""
        docs, candidates = ranking.docs, ranking.candidates or ()
        # Where no document is repeated both units count the same, and chunks are the cheaper ones to count.
        unit = self._unit if len(set(docs)) < len(docs) or len(set(candidates)) < len(candidates) else "chunk"
        view = view_of(query, ranking, grades, unit, self._overlap, self._needs)
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
    """
    if require_offsets:
        _check_offsets(golden, run)
    scorer = Scorer(metrics, unit, overlap, beside)
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
    queries = with_zeros(queries, (*metrics, *(beside.metrics if beside else ())))
    return ScoredRun(metrics=tuple(metrics), queries=queries, unanswerable=unanswerable, k=beside.k if beside else 0,
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
