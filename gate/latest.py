"""The second reference: the latest run on main, beside the approved baseline. Pure.

The baseline says how far search has come since somebody last agreed, and the latest run what this change alone did. So a gain that
nobody locked in is not lost unseen, and small losses that add up are told apart from the change that happens to come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gate import policy as policies
from gate.comparison import Comparison, QueryChange, compare, identical_rankings, label_changes
from gate.figures import fmt_delta, fmt_size, lost_again, plural, short_digest
from gate.golden.model import GoldenSet
from gate.policy import Check, Policy
from gate.runs import Run
from gate.scoring.beside import extras
from gate.scoring.score import ScoredRun, score_run
from gate.validity import check_cut

if TYPE_CHECKING:
    from gate.references import Reference
    from gate.reports.report import BaselineInfo

_SHOWN = 10
_NOISE = 1e-12


class Latest(NamedTuple):
    """The candidate against the latest run on main. ``comparison``: its deltas are candidate − latest; ``info``: where that run is from.

    ``on_main`` and ``by_change``: mean deltas of the primary metric (latest − baseline, candidate − latest) over the ``n`` queries that all
    three runs have a score for; together they are the delta against the baseline over these queries. ``again``: queries that main had
    found, the baseline had not (or does not know), and the candidate does not find.
    """

    comparison: Comparison
    info: BaselineInfo | None
    on_main: float
    by_change: float
    n: int
    again: tuple[QueryChange, ...]

    @property
    def where(self) -> str:
        """``main at `1a2b3c4` ``; no commit for a plain run file."""
        return "main" + (f" at `{self.info.commit[:7]}`" if self.info and self.info.commit else "")


def set_against(latest: Reference, golden: GoldenSet, candidate: Run, scored: ScoredRun, baseline: Run, comparison: Comparison,
                policy: Policy, corpus_digest: str = "") -> tuple[Latest | None, str]:
    """The second comparison, or None and a sentence why not; None and "" where it would say what the first one says.

    ``scored``: the candidate; ``baseline`` and ``comparison``: the first reference and what came of it; ``corpus_digest``: of this run, ""
    where it is not known. Labels that have changed since are no obstacle: both sides are scored under today's.
    """
    known = [i for i in scored.queries if i in baseline.rankings or i in latest.run.rankings]
    if identical_rankings(baseline, latest.run, known):
        return None, ""
    if why := _unfit(latest, policy, corpus_digest):
        return None, why
    before = score_run(golden, latest.run, scored.metrics, policy.unit, policy.overlap, require_offsets=latest.labels is None,
                       beside=extras(policy.primary, golden))
    check_cut([(before, latest.run.name or "the latest run", latest.plain)], scored.metrics)
    second = compare(golden, before, scored, policy.primary, runs=(latest.run, candidate), method=policy.method,
                     labels=label_changes(latest.labels, golden))
    answered = [i for i in second.paired if not before.queries[i].missing]
    if not second.main.n or 2 * len(answered) < len(scored.queries):
        return None, _only_baseline(latest, f"it has answers to only {len(answered):,} of the "
                                            f"{plural(len(scored.queries), 'query')} that are scored here")
    depth = latest.record.depth if latest.record else 0
    kept = {name: paired for name, paired in second.metrics.items() if not depth or _cutoff(scored, name) <= depth}
    return _latest(second._replace(metrics=kept), comparison, latest.info), ""


def _unfit(latest: Reference, policy: Policy, corpus_digest: str) -> str:
    record, primary = latest.record, policy.primary
    if record is None:
        return ""
    if corpus_digest and record.corpus_digest != corpus_digest:
        return _only_baseline(latest, f"it searched another corpus ({short_digest(record.corpus_digest) or 'none'} instead of "
                                      f"{short_digest(corpus_digest)})")
    if record.depth and primary.depth > record.depth:
        return _only_baseline(latest, f"it holds {record.depth} results for each query, too few for {primary}")
    return ""


def _only_baseline(latest: Reference, why: str) -> str:
    commit = latest.info.commit[:7] if latest.info else ""
    return f"This change is compared with the baseline only, not with the latest run on main{f' ({commit})' if commit else ''}: {why}."


def _cutoff(scored: ScoredRun, name: str) -> int:
    return next((metric.depth for metric in scored.metrics if str(metric) == name), 0)


def _latest(second: Comparison, first: Comparison, info: BaselineInfo | None) -> Latest:
    common = [i for i in first.deltas if i in second.deltas]
    n = len(common)
    by_change = sum(second.deltas[i] for i in common) / n if n else 0.0
    total = sum(first.deltas[i] for i in common) / n if n else 0.0
    lost = {change.id for change in first.lost}
    return Latest(second, info, total - by_change, by_change, n, tuple(change for change in second.lost if change.id not in lost))


def drop_checks(comparison: Comparison, latest: Latest, policy: Policy) -> list[Check]:
    """``anchor``: all that happened since the approved baseline; ``drop``: what this change alone did. One rule for both."""
    anchor = policies.drop_check(comparison, policy, "anchor", "the baseline's", "Since the approved baseline, ")
    numbers = dict(anchor.numbers) | {"on_main": latest.on_main, "by_change": latest.by_change}
    anchor = Check(anchor.name, anchor.outcome, anchor.sentence + _shares(comparison, latest), numbers)
    drop = policies.drop_check(latest.comparison, policy, "drop", f"those of {latest.where}", f"Against {latest.where}, ")
    return [anchor, Check(drop.name, drop.outcome, drop.sentence + _again(latest.again), drop.numbers)]


def merged_between(latest: Latest | None, checks: Sequence[Check], base: str) -> tuple[str, ...]:
    """What is merged while the default branch's run has not ended yet must not be laid to a change unsaid. ``base``: the commit that the
    change builds on."""
    drop = next((check for check in checks if check.name == "drop"), None)
    ran = latest.info.commit if latest and latest.info else ""
    if not ran or ran == base or drop is None or drop.outcome == "pass":
        return ()
    return (f"The latest run on main is of {ran[:7]}, and the base of this change is {base[:7]}: what was merged in between is "
            "part of what `drop` sees. Run this job again once main's run has ended.",)


def _shares(comparison: Comparison, latest: Latest) -> str:
    if comparison.identical or not latest.n or comparison.main.changed == 0:
        return ""
    if latest.comparison.identical:
        return " All of it was on main before; this change moves nothing."
    over = "" if latest.n == comparison.main.n else f" (over the {plural(latest.n, 'query')} that all three runs share)"
    if opposed := against_each_other(latest):
        return f" {opposed[0].upper()}{opposed[1:]}{over}."
    return f" Of this, {fmt_delta(latest.on_main)} was on main before and {fmt_delta(latest.by_change)} comes from this change{over}."


def against_each_other(latest: Latest, *limits: float) -> str:
    """Main and this change went opposite ways, so that neither is a part of what came of it; empty where they did not."""
    if latest.on_main * latest.by_change >= 0 or min(abs(latest.on_main), abs(latest.by_change)) <= _NOISE:
        return ""
    had, does = ("gained", "takes away") if latest.on_main > 0 else ("lost", "brings")
    return f"main had {had} {fmt_size(latest.on_main, *limits)} before, this change {does} {fmt_size(latest.by_change, *limits)}"


def _again(lost: Sequence[QueryChange]) -> str:
    if not lost:
        return ""
    names = ", ".join(change.id for change in lost[:_SHOWN]) + (" …" if len(lost) > _SHOWN else "")
    return f" {lost_again(len(lost))}: {names}."
