"""What the library gives back: scores of one run, and a verdict. Thin: every number is the pipeline's own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gate import references
from gate.comparison import QueryChange
from gate.errors import InvalidInput
from gate.figures import plural
from gate.golden.model import GoldenSet
from gate.reports.report import Report
from gate.runs import Run, is_trec, write_run
from gate.scoring.metrics import Metric, UnknownMetric, parse_metric
from gate.scoring.score import ScoredRun
from gate.scoring.units import ranked_units

_SHOWN = 5
_METRICS_LIKE = 'give a list such as ["ndcg@10", "rr"], or the text "ndcg@10,rr"'


class WorstQuery(NamedTuple):
    """One query of :meth:`Evaluation.worst`; ``top``: what stood in its first k places, best first."""

    id: str
    query: str
    value: float
    top: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """One retriever over one golden set, scored. Made by :func:`evaluate`; printing it shows the means and what is in none of them.

    ``golden``, ``run`` and ``scored`` are the pipeline's own objects. ``depth``: results fetched for each query, None where that is not
    known. ``reference``: the run as something to compare with; ``notes``: what a reader should know.
    """

    golden: GoldenSet
    run: Run
    scored: ScoredRun
    k: int
    unit: str
    depth: int | None
    reference: references.Reference
    notes: tuple[str, ...] = ()

    @property
    def means(self) -> dict[str, float | None]:
        """Metric name → mean over all scored queries, unrounded; None over nothing."""
        return {str(metric): self.scored.mean(str(metric)) for metric in self.scored.metrics}

    @property
    def errors(self) -> dict[str, str]:
        """Query id → why the retriever failed on it; such a query has no score."""
        return {i: self.run.rankings[i].error for i in self.scored.excluded.errored}

    def by_tag(self) -> dict[str, dict[str, float | int | None]]:
        """Tag → ``n`` and the mean of every metric, the tag with the most queries first."""
        return {tag: {"n": found["n"], **found["metrics"]} for tag, found in self.to_dict()["tags"].items()}

    def worst(self, metric: str | Metric, n: int = 15) -> list[WorstQuery]:
        """The ``n`` queries with the lowest value, lowest first, equal ones in the order of the golden set; none without a value.

        ``top`` is cut at the metric's own cutoff, else at ``k``. Raises :class:`InvalidInput` for a metric that was not computed.
        """
        wanted = chosen_metrics([metric])[0]
        name, scores = str(wanted), self.scored.queries
        if wanted not in self.scored.metrics:
            raise InvalidInput(f"{name} was not computed; there are {', '.join(self.means)}", "name it in `metrics` of evaluate()")
        return [WorstQuery(i, self.golden.by_id[i].text, scores[i].values[name], self._top(i, wanted.k or self.k))
                for i in sorted((i for i in scores if name in scores[i].values), key=lambda i: scores[i].values[name])[:n]]

    def _top(self, query_id: str, k: int) -> tuple[str, ...]:
        ranking = self.run.rankings.get(query_id)
        return tuple(ranked_units(ranking, self.unit)[:k]) if ranking else ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values: what ``retrieval-gate evaluate --format json`` prints."""
        from gate.reports.scores import scores_json

        return scores_json(self.golden, self.scored)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run file, for ``compare`` here and on the command line; gzip when the name ends with ``.gz``."""
        if is_trec(target := Path(path)):
            raise InvalidInput(f"{target}: a name with this ending is read as a TREC run, and this is none", "name it .jsonl or .jsonl.gz")
        write_run(target, self.run.rankings)

    def __str__(self) -> str:
        from gate.reports.escape import guard

        return "\n".join(guard(line) for line in self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        from gate.findings import findings
        from gate.reports.beside import beside_lines
        from gate.reports.escape import clean
        from gate.reports.rows import EXCLUDED
        from gate.reports.text import table

        counted = "documents" if self.unit == "doc" else "chunks"
        yield f"{clean(self.run.name, 80) or 'run'}: {plural(len(self.scored.queries), 'query')} scored, cutoffs count {counted}"
        yield from table(("metric", "mean"), ((name, "—" if mean is None else f"{mean:.4f}") for name, mean in self.means.items()))
        for reason, ids in self.scored.excluded._asdict().items():
            if ids:
                yield f"  {len(ids):,} {EXCLUDED[reason]}: {clean(', '.join(ids[:10]), 200)}{' …' if len(ids) > 10 else ''}"
            if ids and reason == "errored":
                yield from (f"    {clean(i, 40)}: {clean(self.errors[i].partition(chr(10))[0], 400)}" for i in ids[:_SHOWN])
        if self.scored.unanswerable:
            yield f"  {plural(len(self.scored.unanswerable), 'unanswerable query')}, in no mean"
        yield from (f"  {clean(line, 400)}" for line in beside_lines(findings(self.scored)))
        said = (*self.golden.warnings, *self.run.warnings, *self.notes)
        yield from (f"  note: {clean(note, 400)}" for note in said[:_SHOWN])
        if len(said) > _SHOWN:
            yield f"  … and {plural(len(said) - _SHOWN, 'more note')}"


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """A verdict with its reasons. ``report`` is the pipeline's own Report, the rest are short ways into it; printing it shows the whole."""

    report: Report

    @property
    def verdict(self) -> str:
        """pass | fail | inconclusive."""
        return self.report.verdict

    @property
    def exit_code(self) -> int:
        """What the command line would end with (README, «Exit codes»)."""
        return self.report.exit_code

    @property
    def delta(self) -> float | None:
        """Mean of candidate − baseline of the primary metric over the paired queries."""
        return self.report.comparison.main.delta if self.report.comparison else None

    @property
    def ci(self) -> tuple[float, float] | None:
        """(low, high) of that delta's interval; None where nothing could be tested."""
        found = self.report.comparison.main.ci if self.report.comparison else None
        return (found.lo, found.hi) if found else None

    @property
    def lost(self) -> tuple[QueryChange, ...]:
        """Queries that no longer find a relevant document within the primary metric's cutoff, by damage."""
        return self.report.comparison.lost if self.report.comparison else ()

    @property
    def gained(self) -> tuple[QueryChange, ...]:
        """The opposite."""
        return self.report.comparison.gained if self.report.comparison else ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values: report.json (docs/reports.md)."""
        from gate.reports.json_report import report_json

        return report_json(self.report)

    def __str__(self) -> str:
        from gate.reports.text import render_text

        return render_text(self.report).removesuffix("\n")

    __repr__ = __str__


def chosen_metrics(names: str | Iterable[str | Metric]) -> tuple[Metric, ...]:
    """Names (or one text with commas between them) → metrics, none twice. Raises :class:`InvalidInput` that lists every unknown one."""
    given = names.split(",") if isinstance(names, str) else [names] if isinstance(names, Metric) else names
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidInput(f"`metrics` must be names of metrics, not {type(given).__name__}", _METRICS_LIKE)
    found, problems = [], []
    for name in given:
        try:
            if not isinstance(name, (str, Metric)):
                raise UnknownMetric(f"{name!r} is no name of a metric"[:200])
            found.append(parse_metric(str(name)))
        except UnknownMetric as fault:
            problems.append(f"`metrics`: {fault}")
    if problems or not found:
        raise InvalidInput(problems or "`metrics` names no metric", _METRICS_LIKE)
    return tuple(dict.fromkeys(found))
