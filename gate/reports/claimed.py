"""The comment on numbers that nobody has checked: a run without rights has measured them, perhaps by the code of a stranger. Pure.

What is true is told by the caller (:class:`Told`: GitHub's own facts, the default branch's rules); what is claimed is shown as a claim.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from gate import figures
from gate.comparison import Comparison, QueryChange
from gate.golden.model import GoldenSet, Query
from gate.policy import Check, Policy
from gate.reports import remarks, rows, words
from gate.reports.claims import Claims, Flip
from gate.reports.comment import BUDGET, marker
from gate.reports.flips import flip_rows
from gate.reports.headline import flips, movement
from gate.reports.report import REPORT_ARTIFACT, Report
from gate.reports.tags import tag_rows
from gate.reports.words import Name, Sentence
from gate.scoring.metrics import parse_metric

_ROWS = (30, 10, 3, 1, 0)
_TITLES = {"pass": "Reported as passed", "fail": "Reported as failed", "inconclusive": "Reported as inconclusive",
           "accepted": "Reported as accepted", "invalid": "Reported as invalid input", "cannot-decide": "Reported as undecided",
           "no-baseline": "Reported as without a baseline"}


class Told(NamedTuple):
    """What is known for certain. ``conclusion``: how GitHub says the run ended; ``policy``: the default branch's rules."""

    gate: str
    policy: Policy
    pull_request: int
    head_sha: str
    run_id: int
    attempt: int
    run_url: str
    conclusion: str


def quiet(claims: Claims) -> bool:
    """Whether the report says that nothing happened, which `comment: on-change` keeps silent about."""
    moved = claims.lost or claims.gained or any(paired.changed for paired in claims.metrics.values())
    return claims.verdict in ("pass", "no-baseline") and not moved


def as_report(claims: Claims, told: Told) -> Report:
    """A Report of the claimed numbers, for the functions that lay out tables; it has no sentence of the claims in it."""
    primary = parse_metric(claims.primary)
    comparison = None
    if claims.metrics:
        lost, gained = (tuple(_change(flip) for flip in kind) for kind in (claims.lost, claims.gained))
        comparison = Comparison(
            primary=primary, metrics=claims.metrics, identical=False, flip_k=primary.k, lost=lost, gained=gained, changes=(*lost, *gained),
            tags={tag: {claims.primary: paired} for tag, paired in sorted(claims.tags.items(), key=lambda item: (-item[1].n, item[0]))},
            paired=(), unpaired=(), added=(), removed=(), relabelled=(), deltas={})
    shown = (*claims.lost[:max(_ROWS)], *claims.gained[:max(_ROWS)])
    return Report(gate=told.gate, verdict=claims.verdict, exit_code=claims.exit_code, policy=replace(told.policy, primary=primary),
                  checks=tuple(Check(name, outcome, "") for name, outcome in claims.checks), comparison=comparison,
                  golden=GoldenSet(tuple(Query(flip.id, "", {}, tags=flip.tags) for flip in shown)), latency=claims.latency,
                  metadata={"head_sha": told.head_sha, "run_id": told.run_id, "run_attempt": told.attempt, "run_url": told.run_url,
                            "pull_request": told.pull_request})


def _change(flip: Flip) -> QueryChange:
    # The two values behind the delta are shown nowhere.
    return QueryChange(flip.id, flip.delta, 0.0, flip.delta, flip.baseline_rank, flip.candidate_rank)


def lead(claims: Claims, report: Report) -> Sentence:
    """The one sentence for a mail: what the run says of itself, as something that it says. No name of the claims is in it."""
    start: Sentence = ("The run reports ", Name(claims.verdict))
    if claims.verdict == "accepted":
        # An approval is a decision of people with rights; whether there is one is not for the run's artifact to say.
        start = (*start, " by an approval that is not verified here")
    if report.comparison is not None:
        return (*start, ": ", *movement(report, report.comparison), "; ", *flips(report.comparison), ".")
    if claims.verdict in ("invalid", "cannot-decide"):
        many = f", with {figures.plural(claims.problems, 'problem')} in its job summary" if claims.problems else ""
        return (*start, f": it came to no judgement{many}.")
    return (*start, " and has compared nothing.")


def render_claimed(claims: Claims, told: Told, budget: int = BUDGET) -> str:
    """Markdown of at most ``budget`` UTF-16 units, unless even the tables' heads are longer; ends with the gate's marker."""
    from gate.reports.templates import markdown

    report, text = as_report(claims, told), ""
    template = markdown().get_template("claimed.md.j2")
    for n in _ROWS:
        text = re.sub(r"\n{3,}", "\n\n", template.render(**_context(claims, told, report, n))).strip() + "\n"
        if len(text.encode("utf-16-le")) // 2 <= budget:
            break
    return text


def _context(claims: Claims, told: Told, report: Report, n: int) -> dict[str, object]:
    c = report.comparison
    failed = [check.name for check in report.checks if check.outcome == "fail"]
    metrics, tags = rows.metric_rows(report), tag_rows(report)
    return {
        "title": _TITLES[claims.verdict], "gate": told.gate, "lead": lead(claims, report), "conclusion": told.conclusion,
        "side": words.this_side(report), "confidence": words.confidence(report), "metrics": metrics[:1 + n], "metric_count": len(metrics),
        "compared": remarks.compared(report), "latency": words.latency_line(report), "failed": failed[:1 + n], "failed_count": len(failed),
        "flip_k": c.flip_k if c else None, "tags": tags[:n], "tag_count": len(tags),
        "lost": list(flip_rows(report, c.lost[:n])) if c else [], "lost_count": len(claims.lost),
        "gained": list(flip_rows(report, c.gained[:n // 2])) if c else [], "gained_count": len(claims.gained),
        "head": told.head_sha[:12], "run_url": told.run_url, "artifact": REPORT_ARTIFACT + told.gate, "marker": marker(report),
    }
