"""The one sentence that says what happened, enough for somebody who reads nothing else. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gate.comparison import Comparison, Paired
from gate.figures import fmt_delta, fmt_interval, fmt_size, fmt_value, lost_again, metric_label, plural
from gate.policy import Check, Protected
from gate.reports.problems import problems
from gate.reports.report import Report
from gate.reports.words import Name, Sentence, confidence, marked
from gate.scoring.beside import TOP
from gate.unjudged import newcomers

if TYPE_CHECKING:
    from gate.latest import Latest

_HALF = 0.5
_CONCENTRATED = 1.2
_REASON_CHARS = 200
_NOISE = 1e-12
_HARDLY = 0.0005  # what three digits would not show


def headline(report: Report) -> Sentence:
    """The sentence of this verdict, with a capital and a full stop (but nDCG keeps its own spelling)."""
    first, *rest = _headline(report)
    if not isinstance(first, Name) and first[:1].islower() and not first[1:2].isupper():
        first = first[0].upper() + first[1:]
    return (first, *rest)


def _headline(report: Report) -> Sentence:
    if report.verdict in ("invalid", "cannot-decide"):
        return _not_judged(report)
    failed = [check for check in report.checks if check.outcome == "fail"]
    if report.verdict == "accepted":
        return _accepted(report, failed)
    if failed:
        return (*_failed(report, failed), ".", f" {plural(len(failed) - 1, 'more check')} failed." if len(failed) > 1 else "")
    if report.comparison is None:
        return _alone(report)
    return (*_held(report, report.comparison), *_beside(report))


def _not_judged(report: Report) -> Sentence:
    first = problems(report)[0].line.rstrip(".:") if report.problems else "something that a decision needs is missing"
    more = f" (and {plural(len(report.problems) - 1, 'more problem')})" if len(report.problems) > 1 else ""
    return ("Nothing was judged: ", *marked(first), more, ".")


def _alone(report: Report) -> Sentence:
    if report.candidate is None:
        return ("There is no baseline to compare with yet.",)
    primary = str(report.policy.primary)
    value = report.candidate.mean(primary)
    return (f"{metric_label(primary)} is {fmt_value(value)} over {plural(len(report.candidate.queries), 'query')}; "
            "there is no baseline to compare it with yet.",)


def _failed(report: Report, failed: list[Check]) -> Sentence:
    """What failed, most telling first, without the full stop."""
    names = [check.name for check in failed]
    comparison = report.comparison
    if comparison is None:
        return _reason(report, failed[0])
    if comparison.main.n == 0:  # the means of no query did not move, which would be no reason
        return _reason(report, next((check for check in failed if check.name in ("drop", "anchor")), failed[0]))
    if report.latest and "drop" in names and "anchor" not in names:
        return _fell_from_main(report, report.latest)
    if "drop" in names or "anchor" in names:
        more = (*culprit(comparison), *_share(report, comparison))
        if comparison.lost:  # what people read first is how many queries, and they may read no further
            return (*flips(comparison, comparison.main.n), ": ", *movement(report, comparison), *more)
        return (*movement(report, comparison), ": ", *flips(comparison), *more)
    for rule in report.policy.protected:
        stratum = comparison.tags.get(rule.tag, {}).get(str(comparison.primary))
        if f"protected {rule.tag}" in names and stratum and stratum.n:
            return _hidden(comparison, rule, stratum, report.policy.tolerance)
    more = (": ", *flips(comparison)) if comparison.lost or comparison.gained else ()
    return (*_reason(report, failed[0]), "; ", *movement(report, comparison), *more)


def _hidden(comparison: Comparison, rule: Protected, stratum: Paired, limit: float) -> Sentence:
    """A fall in one tag, whether the mean over all queries shows it (by ``limit``), and what the other queries did meanwhile."""
    main, others = comparison.main, comparison.main.n - stratum.n
    rest = (main.delta * main.n - stratum.delta * stratum.n) / others if others else 0.0
    meanwhile = f", while it {'rose' if rest > 0 else 'fell'} by {fmt_size(rest)} over the other {others:,}" \
        if others and fmt_delta(rest) != "0.000" else ""
    hides = " and the average hides it" if others and main.delta > -limit else ""
    fell = (f" got worse{hides}: {metric_label(comparison.primary)} fell by {fmt_size(stratum.delta, rule.tolerance)} over "
            f"{plural(stratum.n, 'query')} ({rule.tolerance:g} is allowed){meanwhile}")
    over_all = f". Over all queries it {moved(main, limit)}" if others else ""
    return ("The protected tag ", Name(rule.tag), f"{fell}{over_all}; ", *flips(comparison))


def _fell_from_main(report: Report, latest: Latest) -> Sentence:
    """A change that takes away what main had gained beyond the baseline; the baseline alone would not have seen it."""
    lost: Sentence = (lost_again(len(latest.again)),) if latest.again else flips(latest.comparison)
    since = report.comparison.main.delta if report.comparison else 0.0
    whole = "though not against the approved baseline" if since > -_NOISE else \
        f"and by {fmt_size(since, report.policy.tolerance)} since the approved baseline"
    return (*movement(report, latest.comparison), f" against main as it is now, {whole}: ", *lost)


def _share(report: Report, comparison: Comparison) -> Sentence:
    """How much of a fall since the baseline was on main before this change."""
    latest, limit = report.latest, report.policy.tolerance
    if latest is None or comparison.identical:
        return ()
    if latest.comparison.identical:
        return ("; all of it was on main before, this change moves nothing",)
    from gate.latest import against_each_other  # loaded already, where there is such a run

    if opposed := against_each_other(latest, limit):
        return (f"; {opposed}",)
    before, now = fmt_delta(latest.on_main, -limit), fmt_delta(latest.by_change, -limit)
    return (f"; {before} of it was on main before, {now} comes from this change",)


def _beside(report: Report) -> Sentence:
    """What this change alone did, behind a sentence that speaks of everything since the approved baseline."""
    latest = report.latest
    if latest is None:
        return ()
    if latest.comparison.identical:
        return (" All rankings are the same as those of main now.",)
    return (" Against main as it is now, ", *movement(report, latest.comparison), ".")


def _reason(report: Report, check: Check) -> Sentence:
    """The sentence of a check without its full stop; a change of the inputs is told as one, not as «name: old → new»."""
    change = next((c for c in report.input_changes if check.name == f"change {c.name}"), None)
    if change is None:
        return marked(check.sentence.rstrip("."))
    what, needs = change.name, ", which needs the same approval as a change of the baseline"
    if what.startswith("golden queries "):
        knows = "main" if change.old.endswith("main") else "the baseline"
        return (f"Golden queries that {knows} knows are {what.removeprefix('golden queries ')} (", Name(change.new), ")", needs)
    subject: Sentence = ("The rule ", Name(what.removeprefix("policy "))) if what.startswith("policy ") else ("The ", what)
    return (*subject, " changes from ", Name(change.old), " to ", Name(change.new), needs)


def _accepted(report: Report, failed: list[Check]) -> Sentence:
    approval = report.approval
    who = approval.approver if approval and approval.approver else "a reviewer"
    reason = " ".join(approval.reason.split()).rstrip(".") if approval else ""
    if len(reason) > _REASON_CHARS:
        reason = reason[:_REASON_CHARS - 1] + "…"
    if failed:
        what = _failed(report, failed)
    elif report.comparison:  # inconclusive, where that is red
        *what, last = _held(replace(report, verdict="inconclusive"), report.comparison)
        what = (*what, last.rstrip("."))
    else:
        what = ("The change",)
    return (*what, "; accepted by ", Name(who), *((": “", reason, "”") if reason else ()), ".")


def _held(report: Report, comparison: Comparison) -> Sentence:
    main, limit = comparison.main, report.policy.tolerance
    if unlabelled := next((check for check in report.checks if "condensed_delta" in check.numbers), None):
        since_main = report.latest.comparison if report.latest and unlabelled.name == "drop" else None
        told = since_main or comparison
        return ("Against main as it is now, " if since_main else "", *movement(report, told), ", but not over judged documents alone: ",
                newcomers(told, told.primary.k or TOP))
    if report.verdict == "inconclusive" and report.latest and not _open(report, "anchor") and _open(report, "drop"):
        return (f"The approved baseline is held, but a drop of {limit:g} from what main retrieves now can be neither shown nor ruled out.",)
    if comparison.identical:
        return (f"All rankings are the same as the baseline's, {plural(main.n, 'query')} compared.",)
    if report.verdict == "inconclusive":
        unsettled = [check for check in report.checks if check.outcome == "inconclusive"]
        if unsettled and not any(check.name in ("drop", "anchor") for check in unsettled):
            return (*movement(report, comparison), "; not settled: ", *_reason(report, unsettled[0]), ".")
        if main.ci is None:
            return (f"Only {plural(main.n, 'query')} can be compared, which decides nothing.",)
        if main.delta >= 0:
            return (*movement(report, comparison), f", too few queries to rule out a drop of {limit:g}; ", *flips(comparison), ".")
        return (*movement(report, comparison), f": a drop of {limit:g} can be neither shown nor ruled out; ",
                *flips(comparison), ".")
    if main.ci is not None and main.ci.lo > 0:
        return (*movement(report, comparison), ": ", *flips(comparison), ".")
    return (*movement(report, comparison), f", a drop of {limit:g} is ruled out: ", *flips(comparison), ".")


def _open(report: Report, name: str) -> bool:
    return any(check.name == name and check.outcome == "inconclusive" for check in report.checks)


def movement(report: Report, comparison: Comparison) -> Sentence:
    """``nDCG@10 fell by 0.043 (95 % interval −0.060 to −0.026)``."""
    main, limit = comparison.main, report.policy.tolerance
    behind = [fmt_delta(main.delta, -limit)] if _NOISE < abs(main.delta) < _HARDLY else []
    if main.ci and not comparison.identical:
        behind.append(f"{confidence(report)} {fmt_interval(main.ci.lo, main.ci.hi, -limit)}")
    said = f" ({'; '.join(behind)})" if behind else ""
    return (f"{metric_label(comparison.primary)} {moved(main, limit)}{said}",)


def moved(paired: Paired, *limits: float) -> str:
    """``fell by 0.043`` · ``rose by 0.012`` · ``hardly moved`` · ``did not move``."""
    if fmt_delta(paired.delta) == "0.000":
        return "did not move"
    if abs(paired.delta) < _HARDLY:
        return "hardly moved"
    return f"{'rose' if paired.delta > 0 else 'fell'} by {fmt_size(paired.delta, *limits)}"


def flips(comparison: Comparison, of: int = 0) -> Sentence:
    """How many queries lost or found their answer; how many moved when none did. ``of``: among how many, 0 to leave that out."""
    lost, gained, main = len(comparison.lost), len(comparison.gained), comparison.main
    if lost or gained:
        n, verb = (lost, "lost") if lost else (gained, "found")
        other = f"{gained:,} found one" if lost and gained else "none found one" if lost else "none lost one"
        who = f"{n:,} of {plural(of, 'query')}" if of else plural(n, "query")
        return (f"{who} {verb} {'its' if n == 1 else 'their'} answer, {other}",)
    if main.changed:
        moves = [f"{n:,} ranked {way}" for n, way in ((main.worse, "lower"), (main.better, "higher")) if n]
        return (f"no query lost or found its answer, {' and '.join(moves)}",)
    return ("no query lost or found its answer",)


def culprit(comparison: Comparison) -> Sentence:
    """The tag that took at least half of the drop and clearly more than its share of the queries; empty when there is none."""
    main, name = comparison.main, str(comparison.primary)
    if main.delta >= 0:
        return ()
    best, tag = 0.0, ""
    for candidate, table in comparison.tags.items():
        of_drop = table[name].delta * table[name].n / (main.delta * main.n)
        of_queries = table[name].n / main.n
        if of_drop >= _HALF and of_drop > _CONCENTRATED * of_queries and of_drop - of_queries > best:
            best, tag = of_drop - of_queries, candidate
    return ("; ", Name(tag), " took most of it") if tag else ()
