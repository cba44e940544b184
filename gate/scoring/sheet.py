"""Scores of one run, entered ranking by ranking in any order: what has to be kept of a ranking when the ranking itself is not."""

from __future__ import annotations

from collections.abc import Sequence

from gate.errors import InvalidInput
from gate.golden.model import GoldenSet
from gate.runs import Ranking, Run
from gate.scoring.beside import Beside
from gate.scoring.metrics import Metric
from gate.scoring.score import Excluded, QueryScore, ScoredRun, Scorer
from gate.scoring.stages import with_zeros
from gate.scoring.units import OVERLAP, grades_of


class Sheet:
    """One run under one golden set and one set of rules. See :func:`gate.scoring.score.score_run` for ``unit`` and ``overlap``."""

    def __init__(self, golden: GoldenSet, metrics: Sequence[Metric], unit: str = "doc", overlap: float = OVERLAP,
                 beside: Beside | None = None) -> None:
        self._golden, self._beside, self._rules = golden, beside, (tuple(metrics), unit, overlap, beside)
        self._scorer = Scorer(metrics, unit, overlap, beside)
        self._scores: dict[str, QueryScore] = {}
        self._tops: dict[str, float | None] = {}
        self._errored: set[str] = set()
        self._results = self._offsets = False  # whether any ranking has a result, and any result its offsets

    def holds(self, golden: GoldenSet, metrics: Sequence[Metric], unit: str, overlap: float, beside: Beside | None = None) -> bool:
        """Whether these are scores under just this golden set and these rules."""
        return golden == self._golden and self._rules == (tuple(metrics), unit, overlap, beside)

    def position(self, query_id: str) -> int:
        """Where the golden set has a query: its line; −1 when it has none of that id."""
        query = self._golden.by_id.get(query_id)
        return -1 if query is None else query.line

    def own(self, query_id: str) -> str:
        """The golden set's object for an id, so that it is held once."""
        query = self._golden.by_id.get(query_id)
        return query_id if query is None else query.id

    def enter(self, query_id: str, ranking: Ranking, twin: Sheet | None = None) -> None:
        """Score one ranking. ``twin``: a sheet with the same golden set and rules where an equal ranking (but for time and cost) is already
        entered for this query: it is not scored again, and that both hold one object says that the rankings are equal."""
        if ranking.docs:
            self._results = True
            if ranking.chunks and not self._offsets:
                self._offsets = any(chunk.start is not None for chunk in ranking.chunks)
        query = self._golden.by_id.get(query_id)
        if query is None:
            return
        if ranking.error:
            self._errored.add(query_id)
        elif not query.answerable:
            self._tops[query_id] = ranking.scores[0] if ranking.scores else None
        elif twin is not None and (score := twin._scores.get(query_id)) is not None:
            self._scores[query.id] = score
        elif grades := grades_of(query):
            self._scores[query.id] = self._scorer.score(query, grades, ranking)

    def scored(self, run: Run, require_offsets: bool = True) -> ScoredRun:
        """The scores in the order of the golden set, with what was left out. ``run``: the one whose rankings were all entered."""
        if require_offsets:
            self._check_offsets(run.name or "run")
        if len(self._scores) == len(self._golden.queries) and list(self._scores) == list(self._golden.by_id):
            return self._finished(self._scores, Excluded(extra=self._extra(run)), {})  # every query, in order
        queries: dict[str, QueryScore] = {}
        unanswerable: dict[str, float | None] = {}
        undefined, missing, errored = [], [], []
        for query in self._golden.queries:
            score = self._scores.get(query.id)
            if score is not None:
                queries[query.id] = score
            elif query.id in self._errored:
                errored.append(query.id)
            elif not query.answerable:
                unanswerable[query.id] = self._tops.get(query.id)
            elif not (grades := grades_of(query)):
                undefined.append(query.id)
            else:
                missing.append(query.id)
                queries[query.id] = self._scorer.missing(query, grades)
        return self._finished(queries, Excluded(tuple(undefined), tuple(missing), tuple(errored), self._extra(run)), unanswerable)

    def _finished(self, queries: dict[str, QueryScore], excluded: Excluded, unanswerable: dict[str, float | None]) -> ScoredRun:
        metrics, beside = self._rules[0], self._beside
        queries = with_zeros(queries, (*metrics, *(beside.metrics if beside else ())))
        return ScoredRun(metrics, queries, excluded, unanswerable, beside.k if beside else 0)

    def _extra(self, run: Run) -> tuple[str, ...]:
        return tuple(i for i in run.rankings if i not in self._golden.by_id)

    def _check_offsets(self, name: str) -> None:
        """Without a single offset no span could be found, and a format would look like a fault of the retriever."""
        spanned = [query for query in self._golden.queries if query.spans]
        if not spanned or not self._results or self._offsets:
            return
        shown = ", ".join(repr(query.id) for query in spanned[:5]) + (" …" if len(spanned) > 5 else "")
        raise InvalidInput(f"{name}: no result has chunk offsets (`start`, `end`), but {len(spanned)} golden "
                           f"{'query has' if len(spanned) == 1 else 'queries have'} spans ({self._golden.path}:{spanned[0].line}: {shown})",
                           "let the retriever return {doc, start, end} for each chunk, or name whole documents in `relevant`")
