"""What is shown beside the metrics: stages, versions, the make-up of the top, unjudged documents, refusals. Pure rows and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from gate.comparison import Comparison
from gate.figures import NONE, fmt_delta, fmt_value, metric_label, plural
from gate.findings import Answered, Ceiling, Findings
from gate.reports.report import Report
from gate.reports.rows import is_blind, query_text
from gate.scoring.beside import CANDIDATES
from gate.scoring.top import Makeup
from gate.scoring.units import ranked_units
from gate.scoring.versions import stale_from
from gate.unjudged import newcomers, over_judged

MOST_DOCUMENTS = 30  # unjudged ones for people to read; report.json has more


class Line(NamedTuple):
    """A row of a small table: what, on both sides; ``delta`` is empty where none is shown."""

    what: str
    baseline: str
    candidate: str
    delta: str = ""


def share(value: float | None) -> str:
    """``12.5 %``; neither 0 nor 100 % where that is not the whole truth."""
    if value is None:
        return NONE
    return "under 0.1 %" if 0 < value < 0.0005 else "over 99.9 %" if 0.9995 <= value < 1 else f"{value * 100:.1f} %"


def stage_rows(found: Findings | None) -> list[Line]:
    """Ceiling, final recall and what is lost between them; empty when no run names its candidates."""
    stages = found.stages if found else None
    if stages is None:
        return []
    names = (f"candidates@{CANDIDATES}: the ceiling", f"final list: recall@{stages.k}", "lost between the stages")
    before, after = map(_ceiling, (stages.baseline, stages.candidate))
    return [Line(name, fmt_value(b), fmt_value(a), fmt_delta(a - b) if a is not None and b is not None else NONE)
            for name, b, a in zip(names, before, after, strict=True)]


def _ceiling(side: Ceiling | None) -> tuple[float | None, float | None, float | None]:
    return (side.candidates, side.final, side.loss) if side else (None, None, None)


def stage_sentence(found: Findings | None) -> str:
    """Which stage lost the lost queries; empty where that is known of none."""
    stages = found.stages if found else None
    lost = list(stages.lost.values()) if stages else []
    known = [stage for stage in lost if stage is not None]
    if not known:
        return ""
    n, unknown = known.count("candidates"), len(lost) - len(known)
    rest = f"; of {unknown:,} more the candidates are not known" if unknown else ""
    return f"{n:,} of {plural(len(known), 'lost query')} {'was' if n == 1 else 'were'} lost by the candidate stage{rest}."


def top_rows(found: Findings | None) -> list[Line]:
    """The make-up of the top k; without a row that neither side has a value for."""
    if found is None:
        return []
    before, after = (side or Makeup(None, None, None) for side in found.top)
    rows = (("repeat a document that stands above", before.repeated, after.repeated),
            ("nobody has judged for the query", before.unjudged, after.unjudged),
            ("tie with a neighbour's score", before.tie_rate, after.tie_rate))
    return [Line(what, share(b), share(a)) for what, b, a in rows if b is not None or a is not None]


def versions_sentence(found: Findings | None) -> str:
    """How often the current version is not outranked; empty where no query asks for one."""
    versions = found.versions if found else None
    if versions is None:
        return ""
    before = "" if versions.baseline is None else f" ({share(versions.baseline)} in the baseline)"
    new = sum(is_new for _, is_new in versions.stale)
    end = f"; one does in {plural(len(versions.stale), 'query')}" if versions.stale else ""
    fresh = "" if not new else ", new" if new == len(versions.stale) else f", {new:,} of them new"
    return (f"{metric_label(versions.metric)}: of {plural(versions.n, 'query')} that want{'s' * (versions.n == 1)} a current version, "
            f"{share(versions.candidate)} have no outdated one above it{before}{end}{fresh}.")


class StaleRow(NamedTuple):
    """A query in which an outdated version comes first, and at which rank."""

    id: str
    text: str
    doc: str
    rank: int
    new: bool


def stale_rows(report: Report, limit: int | None = None) -> Iterator[StaleRow]:
    """New ones first."""
    versions = report.findings.versions if report.findings else None
    for i, new in islice(versions.stale if versions else (), limit):
        query = report.golden.by_id.get(i) if report.golden else None
        ranking = report.candidate_run.rankings.get(i) if report.candidate_run else None
        docs = ranked_units(ranking, report.policy.unit) if ranking else []
        rank = stale_from(query.versions, docs) if query else 0
        doc = docs[rank - 1] if rank else ""
        yield StaleRow(i, query_text(report, i), "not shown (blind)" if is_blind(report, i) else doc, rank, new)


def with_unjudged(report: Report) -> Comparison | None:
    """The comparison in which more unjudged documents came up: with the baseline, else with the latest run on main; the other way round
    where they are what keeps the drop below main from being one."""
    both = [report.comparison, report.latest.comparison if report.latest else None]
    told = [check.name for check in report.checks if "condensed_delta" in check.numbers]
    if report.latest and told == ["drop"]:
        both.reverse()
    return next((c for c in both if c is not None and c.condensed is not None), None)


def condensed_sentence(report: Report) -> str:
    """The primary metric over judged documents alone, where more unjudged ones came up than before."""
    c = with_unjudged(report)
    if c is None or c.condensed is None or report.findings is None:
        return ""
    against = "Against main as it is now: " if c is not report.comparison else ""
    return (f"{against}{newcomers(c, report.findings.k)} Over judged documents alone {metric_label(c.primary)} went "
            f"{fmt_value(c.condensed.baseline)} → {fmt_value(c.condensed.candidate)}: "
            f"{over_judged(c.condensed, report.policy.tolerance)}.")


def refusal_rows(found: Findings | None) -> list[Line]:
    """What a system that refuses below the floor would answer; empty without a floor."""
    refusals = found.refusals if found else None
    if refusals is None:
        return []
    return [Line("unanswerable, answered all the same", _answered(refusals.unanswerable_before), _answered(refusals.unanswerable)),
            Line("answerable, answered", _answered(refusals.answerable_before), _answered(refusals.answerable))]


def _answered(side: Answered | None) -> str:
    if side is None:
        return NONE
    unscored = f", {side.unscored:,} without a score" if side.unscored else ""
    return f"{side.above:,} of {side.scored:,} ({share(side.share)}){unscored}"


def beside_lines(found: Findings) -> list[str]:
    """What one run says beside its metrics, a line each, for ``evaluate``."""
    lines = []
    if rows := top_rows(found):
        lines.append(f"of the results in the top {found.k}, " + ", ".join(f"{row.candidate} {row.what}" for row in rows))
    if rows := stage_rows(found):
        lines.append("stages: " + ", ".join(f"{row.what} {row.candidate}" for row in rows))
    if found.versions:
        stale = [i for i, _ in found.versions.stale]
        lines.append(versions_sentence(found) + (f" {', '.join(stale[:10])}{' …' if len(stale) > 10 else ''}" if stale else ""))
    return lines


def shown(report: Report, limit: int) -> dict[str, Any]:
    """All of it for a template, lists cut to ``limit``."""
    found, unjudged = report.findings, with_unjudged(report)
    entered = unjudged.entered if unjudged else ()
    return {
        "stages": stage_rows(found), "stage_sentence": stage_sentence(found), "top": top_rows(found), "top_k": found.k if found else 0,
        "versions_line": versions_sentence(found), "stale": list(stale_rows(report, limit)),
        "stale_count": len(found.versions.stale) if found and found.versions else 0, "condensed": condensed_sentence(report),
        "entered": entered[:min(limit, MOST_DOCUMENTS)], "entered_count": len(entered), "refusals": refusal_rows(found),
        "score_floor": found.refusals.floor if found and found.refusals else None,
    }
