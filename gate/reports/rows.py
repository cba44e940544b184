"""Report → rows of tables in plain text: what every renderer shows, before any markup or escaping. Pure."""

from __future__ import annotations

from typing import NamedTuple

from gate.comparison import Paired
from gate.figures import NONE, fmt_delta, fmt_interval, fmt_pair, fmt_value, metric_label
from gate.reports.report import Report


class MetricRow(NamedTuple):
    """One metric. Texts are ready for the eye; ``delta`` and what follows are empty when nothing was compared."""

    label: str
    primary: bool
    baseline: str
    candidate: str
    delta: str = ""
    interval: str = ""
    better: int = 0
    worse: int = 0
    n: int = 0


def metric_rows(report: Report) -> list[MetricRow]:
    """All metrics, the primary one first."""
    primary = str(report.policy.primary)
    if report.comparison is not None:
        table = report.comparison.metrics
        return [_metric_row(report, name, table[name], name == primary)
                for name in sorted(table, key=lambda name: name != primary)]
    if report.candidate is None:
        return []
    names = sorted(map(str, report.candidate.metrics), key=lambda name: name != primary)
    return [MetricRow(metric_label(name), name == primary, "", fmt_value(report.candidate.mean(name), *_floor(report, name)),
                      n=len(report.candidate.queries)) for name in names]


def _floor(report: Report, name: str) -> tuple[float, ...]:
    return (report.policy.floors[name],) if name in report.policy.floors else ()


def _metric_row(report: Report, name: str, paired: Paired, primary: bool) -> MetricRow:
    policy = report.policy
    limits = (-policy.tolerance,) if primary else (-policy.max_drop[name],) if name in policy.max_drop else ()
    if paired.n == 0:  # no query has a value on both sides, and 0 would be one
        return MetricRow(metric_label(name), primary, *[NONE] * 3)
    before, after = fmt_pair(paired.baseline, paired.candidate, *_floor(report, name))
    return MetricRow(metric_label(name), primary, before, after, fmt_delta(paired.delta, *limits),
                     interval(report, paired, *limits), paired.better, paired.worse, paired.n)


def interval(report: Report, paired: Paired, *limits: float) -> str:
    """Empty where nothing is tested or nothing changed: a width would only say what was not seen."""
    return fmt_interval(paired.ci.lo, paired.ci.hi, *limits) if paired.ci and paired.changed else ""


def query_text(report: Report, query_id: str) -> str:
    """The query as people typed it, empty when the report must not show it."""
    query = report.golden.by_id.get(query_id) if report.golden and report.show_queries else None
    return query.text if query and not query.blind else ""


def is_blind(report: Report, query_id: str) -> bool:
    """Whether only the id and the figures of a query may be shown: who sees more tunes on it."""
    query = report.golden.by_id.get(query_id) if report.golden else None
    return query is not None and query.blind


def tags_of(report: Report, query_id: str) -> tuple[str, ...]:
    """Tags of a query."""
    query = report.golden.by_id.get(query_id) if report.golden else None
    return query.tags if query else ()


def title_of(report: Report, doc: str) -> str:
    """The title of a document when the snapshot has one; with queries hidden, text of documents is hidden too."""
    return report.titles.get(doc, "") if report.show_queries else ""


EXCLUDED = {
    "missing": "in the golden set but not in the run; scored 0",
    "errored": "failed in the retriever; no score",
    "undefined": "without a relevant document; no score",
    "unpaired": "scored on one side only; not compared",
    "added": "new in the golden set; not compared with the baseline",
    "removed": "no longer in the golden set",
    "relabelled": "with changed labels; the baseline was scored again under the new ones",
    "extra": "in the run but not in the golden set; ignored",
}


def excluded(report: Report) -> dict[str, tuple[str, ...]]:
    """Ids of queries that no mean contains or that need a word, for every reason of :data:`EXCLUDED`, empty ones too."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(EXCLUDED, ())
    if report.candidate is not None:
        left = report.candidate.excluded
        found |= {"missing": left.missing, "errored": left.errored, "undefined": left.undefined, "extra": left.extra}
    if report.comparison is not None:
        c = report.comparison
        found |= {"unpaired": c.unpaired, "added": c.added, "removed": c.removed, "relabelled": c.relabelled}
    return found


class UnanswerableRow(NamedTuple):
    """A query that nothing answers, with the top score on both sides; None without scores or without that side."""

    id: str
    text: str
    baseline: float | None
    candidate: float | None


def unanswerable_rows(report: Report) -> list[UnanswerableRow]:
    """All of them, in the order of the golden set."""
    before = report.baseline.unanswerable if report.baseline else {}
    after = report.candidate.unanswerable if report.candidate else {}
    return [UnanswerableRow(i, query_text(report, i), before.get(i), after.get(i)) for i in after]
