"""The one object that every report is made from. Plain values, no rendering."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.usage import Cost, Latency

if TYPE_CHECKING:
    from gate.baseline.approval import Eligibility
    from gate.comparison import Comparison
    from gate.findings import Findings
    from gate.golden.model import GoldenSet
    from gate.history import History
    from gate.latest import Latest
    from gate.patterns.case import Pattern
    from gate.policy import Check, Policy
    from gate.repeats import Repeats
    from gate.runs import Run
    from gate.scoring.score import ScoredRun

Excerpts = Callable[[Collection[str], int], Mapping[str, str]]

# What an artifact with the reports is called, before the gate's id.
REPORT_ARTIFACT = "retrieval-gate-report-"

VERDICTS = ("pass", "fail", "inconclusive", "accepted", "invalid", "cannot-decide", "no-baseline")


class InputChange(NamedTuple):
    """One setting, label or digest that this change alters; ``needs_approval``: the same as a change of the baseline."""

    name: str
    old: str
    new: str
    needs_approval: bool = False


@dataclass(frozen=True)
class BaselineInfo:
    """The baseline that was compared with. ``age_days``: since its record was made; ``expires_in_days``: None when it never expires."""

    digest: str = ""
    commit: str = ""
    created: str = ""
    provenance: str = ""
    url: str = ""
    age_days: float | None = None
    expires_in_days: float | None = None


@dataclass(frozen=True)
class Report:
    """Verdict, reasons and everything needed to show them.

    ``problems`` and ``cure`` are set for invalid and cannot-decide; ``comparison`` is None when nothing was compared; ``latest``: the
    candidate against the latest run on main, None where that is the baseline or not known. ``notes`` are short sentences for the reader
    (offers, what was cut); ``warnings`` come first: what may have moved the scores and is no change of the team's.
    ``metadata``: plain values: head_sha, base_sha, run_url, run_id, run_attempt, pull_request,
    golden_version, golden_digest, snapshot_digest, corpus_digest, policy_digest, retriever, versions, depth, seed, tier,
    judged, set_aside, branch (the default branch, in a run on it).
    ``noise``: what repeats of the candidate show, None without repeats.
    ``patterns``: what the worse queries have in common. ``history``: the points of the default branch with this run as the last one, None
    where nobody keeps them.
    ``titles``: document id → title, where the snapshot has them; ``excerpts``: reads the beginnings of the texts of some documents from it,
    (ids, characters) → id → text; None where there is no snapshot.
    ``explain``: commands that say why the query :data:`gate.explain.ask.ID` moved; empty where none can.
    """

    gate: str
    verdict: str
    exit_code: int
    policy: Policy
    checks: tuple[Check, ...] = ()
    comparison: Comparison | None = None
    candidate: ScoredRun | None = None
    baseline: ScoredRun | None = None
    golden: GoldenSet | None = None
    candidate_run: Run | None = None
    baseline_run: Run | None = None
    latest: Latest | None = None
    problems: tuple[str, ...] = ()
    cure: str = ""
    approval: Eligibility | None = None
    input_changes: tuple[InputChange, ...] = ()
    baseline_info: BaselineInfo | None = None
    latency: Latency = Latency()
    cost: Cost = Cost()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    excerpts: Excerpts | None = None
    show_queries: bool = True
    noise: Repeats | None = None
    findings: Findings | None = None
    patterns: tuple[Pattern, ...] = ()
    history: History | None = None
    explain: tuple[str, ...] = ()
