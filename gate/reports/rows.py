"""Report → rows of tables in plain text: what every renderer shows, before any markup or escaping. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gate.comparison import SMALL_STRATUM, Comparison, Paired, QueryChange
from gate.figures import NONE, fmt_delta, fmt_interval, fmt_p, fmt_pair, fmt_value, metric_label, plural
from gate.reports.report import Report
from gate.reports.words import fmt_rank
from gate.runs import Run
from gate.scoring.units import ranked_units


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
                     _interval(report, paired, *limits), paired.better, paired.worse, paired.n)


def _interval(report: Report, paired: Paired, *limits: float) -> str:
    """Empty where nothing is tested or nothing changed: a width would only say what was not seen."""
    return fmt_interval(paired.ci.lo, paired.ci.hi, *limits) if paired.ci and paired.changed else ""


class FlipRow(NamedTuple):
    """One query that lost or found what it looks for. ``text`` is empty when queries are not shown; ranks as texts. ``answer``: the
    relevant document that was lost or found, empty when the rankings are not at hand or not to be shown."""

    id: str
    text: str
    tags: tuple[str, ...]
    before: str
    after: str
    delta: str
    answer: str = ""
    answer_title: str = ""
    instead: str = ""
    instead_title: str = ""
    gap: str = ""  # why nothing stands at the old rank
    unstable: bool = False  # ranked differently between repeats of the candidate
    stage: str = ""  # which one lost it, where that is known


def flip_rows(report: Report, changes: tuple[QueryChange, ...]) -> Iterator[FlipRow]:
    """Rows in the order given; made one by one, since a report may show a few of very many."""
    unstable = set(report.noise.unstable) if report.noise else ()
    stages = report.findings.stages if report.findings else None
    for change in changes:
        before, after = (ranked(report, run, change.id) for run in (report.baseline_run, report.candidate_run))
        answer, instead = answer_of(change, before, after), taker(change, after)
        why = "" if instead else gap(report, change, after)
        if answer and instead == answer:  # the document is there, and not the part of it that answers
            instead, why = "", "another part of it"
        yield FlipRow(change.id, query_text(report, change.id), tags_of(report, change.id), fmt_rank(change.baseline_rank, len(before)),
                      fmt_rank(change.candidate_rank, len(after)), fmt_delta(change.delta), answer, title_of(report, answer), instead,
                      title_of(report, instead), why, change.id in unstable,
                      (stages.lost.get(change.id) if stages else None) or "")


def answer_of(change: QueryChange, before: Sequence[str], after: Sequence[str]) -> str:
    """The first relevant document of the side that ranks one higher; empty when its ranking is not at hand."""
    old, new = change.baseline_rank, change.candidate_rank
    at, side = (old, before) if new is None or (old is not None and old <= new) else (new, after)
    return side[at - 1] if at and at <= len(side) else ""


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


def ranked(report: Report, run: Run | None, query_id: str) -> list[str]:
    """What the ranks of this report count, best first; empty when the run is not at hand, or the query is blind."""
    ranking = run.rankings.get(query_id) if run and not is_blind(report, query_id) else None
    return ranked_units(ranking, report.policy.unit) if ranking else []


def taker(change: QueryChange, after: Sequence[str]) -> str:
    """The document that stands in the candidate (``after``: its ranking) where the lost one stood in the baseline; empty when there is
    none."""
    at = change.baseline_rank
    return after[at - 1] if at and at <= len(after) and (change.candidate_rank or at + 1) > at else ""


def gap(report: Report, change: QueryChange, after: Sequence[str]) -> str:
    """``no results``, or how few came back, when the candidate's ranking ends before the baseline's rank; ``blind``; else empty."""
    if is_blind(report, change.id):
        return "blind"
    if report.candidate_run is None or change.baseline_rank is None:
        return ""
    return "no results" if not after else f"only {plural(len(after), 'result')}" if len(after) < change.baseline_rank else ""


class TagRow(NamedTuple):
    """The primary metric over one tag. ``picture``: its interval in characters; ``q``: a q value, or that it was not tested."""

    tag: str
    n: int
    protected: bool
    baseline: str
    candidate: str
    delta: str
    interval: str
    picture: str
    q: str
    better: int
    worse: int
    paired: Paired


def tag_scale(comparison: Comparison) -> float:
    """Half the width of a picture: the largest end of any interval, so that all pictures share one scale."""
    ends = [0.0]
    for table in comparison.tags.values():
        paired = table[str(comparison.primary)]
        ends += [abs(paired.delta), *((abs(paired.ci.lo), abs(paired.ci.hi)) if paired.ci else ())]
    return max(ends) or 1.0


def tag_rows(report: Report) -> list[TagRow]:
    """All tags of paired queries: protected ones first, then the largest first."""
    comparison = report.comparison
    if comparison is None:
        return []
    limits: Mapping[str, float] = {rule.tag: rule.tolerance for rule in report.policy.protected}
    scale, rows = tag_scale(comparison), []
    for tag in sorted(comparison.tags, key=lambda tag: tag not in limits):
        paired = comparison.tags[tag][str(comparison.primary)]
        limit = (-limits[tag],) if tag in limits else ()
        before, after = fmt_pair(paired.baseline, paired.candidate) if paired.n else (NONE, NONE)
        small = f"not tested (n < {SMALL_STRATUM})" if paired.n < SMALL_STRATUM else "not tested"
        rows.append(TagRow(tag, paired.n, tag in limits, before, after, fmt_delta(paired.delta, *limit) if paired.n else NONE,
                           _interval(report, paired), picture(paired, scale),
                           small if paired.q_value is None else fmt_p(paired.q_value), paired.better, paired.worse, paired))
    return rows


_HALF_WIDTH = 10


def picture(paired: Paired, scale: float) -> str:
    """An interval on a line of 21 characters: ``····├──●─┤┊·········``. One that excludes zero never touches the zero."""
    half = _HALF_WIDTH

    def column(value: float) -> int:
        at = round(value / scale * half)
        if abs(value) > 1e-12 and at == 0:
            at = 1 if value > 0 else -1
        return max(-half, min(half, at)) + half

    line = ["·"] * (2 * half + 1)
    line[half] = "┊"
    if paired.ci is not None:
        first, last = column(paired.ci.lo), column(paired.ci.hi)
        for at in range(first, last + 1):
            line[at] = "┼" if at == half else "─"
        line[first], line[last] = "├", "┤"
    line[column(paired.delta)] = "●"
    return "".join(line)


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
