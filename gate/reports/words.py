"""What every renderer says about a report: names, verdicts, sides, ranks and times. Pure; numbers are in :mod:`gate.figures`."""

from __future__ import annotations

import re

from gate.figures import NONE, fmt_percent, plural, within
from gate.reports.report import Report
from gate.tiers import TIERS, USUAL_TIER


class Name(str):
    """A tag, id, label or setting inside a sentence; set as code where there is such a thing."""

    __slots__ = ()


_BACKTICKS = re.compile("`([^`]+)`")

Sentence = tuple[str, ...]  # pieces, Names among them; joined without spaces


def plain(sentence: Sentence) -> str:
    """A sentence without markup, names in backticks."""
    return "".join(f"`{piece}`" if isinstance(piece, Name) else piece for piece in sentence)


def marked(text: str) -> Sentence:
    """Text in which `names` stand in backticks → a sentence."""
    return tuple(Name(piece) if odd % 2 else piece for odd, piece in enumerate(_BACKTICKS.split(text)) if piece)


def likely(cause: str) -> str:
    """``Likely: an index that …``, from a cause that begins like a sentence."""
    return f"Likely: {within(cause)}"


def fmt_rank(rank: int | None, returned: int = 0) -> str:
    """A rank from 1, or that nothing relevant came back; ``returned``: among how many results, 0 when that is not known."""
    return str(rank) if rank is not None else f"not in the top {returned}" if returned else "not found"


def fmt_days(days: float) -> str:
    """``today``, ``1 day``, ``12 days``."""
    return "today" if days < 1 else plural(int(days), "day")


def fmt_ms(value: float | None) -> str:
    """Milliseconds with a unit that suits their size."""
    if value is None:
        return NONE
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    return "under 0.01 ms" if value < 0.01 else f"{value:.{0 if value >= 10 else 1 if value >= 1 else 2}f} ms"


def confidence(report: Report) -> str:
    """``95 % interval``, at the policy's confidence."""
    return f"{fmt_percent(report.policy.method.confidence)} interval"


def this_side(report: Report) -> str:
    """What the candidate is called in column heads."""
    return "this PR" if report.metadata.get("pull_request") else "this run"


def label_of(report: Report) -> str:
    """The label that approves a change of the baseline."""
    return (report.approval.label if report.approval else "") or str(report.metadata.get("label") or "baseline-update")


def gained_credibly(report: Report) -> bool:
    """A pass whose whole interval lies above zero: worth locking in."""
    ci = report.comparison.main.ci if report.comparison else None
    return report.verdict == "pass" and ci is not None and ci.lo > 0


def icon(report: Report) -> str:
    """One sign for the verdict; red wherever the job is red."""
    if report.verdict == "inconclusive":
        return "❌" if report.exit_code else "⚠️"
    if report.verdict == "no-baseline" and not report.exit_code:
        return "🆕"
    return {"pass": "✅", "accepted": "✅", "fail": "❌"}.get(report.verdict, "⛔")


def title(report: Report) -> str:
    """The verdict in a few words, without the gate's name; with the tier where that is not the usual one."""
    tier = report.metadata.get("tier")
    return _title(report) + (f" ({tier})" if tier in TIERS and tier != USUAL_TIER else "")


def _title(report: Report) -> str:
    if report.verdict == "pass":
        return "Passed, with a gain" if gained_credibly(report) else "Passed"
    if report.verdict == "inconclusive":
        return "Inconclusive, counted as failed" if report.exit_code else "Inconclusive"
    return {"fail": "Failed", "accepted": "Accepted by approval", "invalid": "Invalid input",
            "cannot-decide": "Cannot decide", "no-baseline": "No baseline yet"}[report.verdict]


def usage_lines(report: Report) -> str:
    """``Latency: p50 11 ms → 13 ms, p95 ….`` and the mean cost, as sentences; empty when the run says neither."""
    found = (("Latency", latency_line(report)), ("Cost of a query", cost_line(report)))
    return " ".join(f"{what}: {line}." for what, line in found if line)


def cost_line(report: Report) -> str:
    """``0.0012 → 0.0034 (× 2.83)``, in the retriever's own unit; empty when the run has no costs."""
    cost = report.cost
    if cost.candidate is None:
        return ""
    before = "" if cost.baseline is None else f"{cost.baseline:.3g} → "
    return f"{before}{cost.candidate:.3g}{'' if cost.ratio is None else f' (× {cost.ratio:.2f})'}"


def latency_line(report: Report) -> str:
    """``p50 11 ms → 13 ms, p95 …``; empty when the run has no times."""
    t, ms = report.latency, fmt_ms
    if t.candidate_p50 is None:
        return ""
    if t.baseline_p50 is None:
        return f"p50 {ms(t.candidate_p50)}, p95 {ms(t.candidate_p95)}"
    return f"p50 {ms(t.baseline_p50)} → {ms(t.candidate_p50)}, p95 {ms(t.baseline_p95)} → {ms(t.candidate_p95)}"
