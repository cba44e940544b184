"""What the reader should do now: one paragraph that fits the verdict. Pure."""

from __future__ import annotations

from gate.figures import plural
from gate.reports.remarks import is_local
from gate.reports.report import Report
from gate.reports.words import Name, Sentence, gained_credibly, label_of, marked

_EARLIER = "Most of the fall came with earlier changes on main. Find out which (each run on the default branch has its own report)"
_MOST_QUERIES = 10_000  # beyond it a number would only be taken for a plan


def approvable(report: Report) -> bool:
    """Whether an approval could turn this verdict: a fail whose failed checks may all be overruled, or what is inconclusive and red."""
    if report.verdict == "inconclusive":
        return bool(report.exit_code)
    failed = [check for check in report.checks if check.outcome == "fail"]
    return report.verdict == "fail" and bool(failed) and all(check.approvable for check in failed)


def shows_approval(report: Report) -> bool:
    """Whether the state of the approval helps the reader: the label is set, or it could be."""
    return report.approval is not None and (report.approval.label_present or report.approval.eligible or approvable(report))


def advice(report: Report) -> Sentence:
    """The paragraph under «What to do now»."""
    verdict = report.verdict
    if is_local(report) and verdict in ("fail", "inconclusive", "pass", "no-baseline"):
        return _locally(report)
    if report.metadata.get("branch") and (told := _landed(report)):
        return told
    if verdict == "fail":
        return _fail(report)
    if verdict == "inconclusive":
        return _inconclusive(report)
    if verdict == "accepted":
        return ("Nothing more for this check. After the merge, the run on the default branch verifies the approval again, makes "
                "these rankings the new baseline and records who accepted them and why. A new push makes the approval stale.",)
    if verdict in ("invalid", "cannot-decide") or (verdict == "no-baseline" and report.exit_code):
        return _fix(report)
    if verdict == "no-baseline":
        return ("Merge when ready. The first run on the default branch makes the baseline; from then on every pull request is "
                "compared with it, query by query.",)
    if report.input_changes and any(change.needs_approval for change in report.input_changes):
        return ("Nothing for the rankings. The changed inputs take effect after the merge.",)
    if gained_credibly(report):
        return ("Merge when ready. The baseline stays where it is: a later change that loses this gain at once turns red, several small "
                "ones could lose it unnoticed. To lock it in, ", *_how_to_approve(report), ".")
    return ("Nothing; merge when ready.",)


def _how_to_approve(report: Report) -> Sentence:
    return ("somebody with write access who is not the author approves the head commit in a review that says why, and sets the label ",
            Name(label_of(report)))


def _landed(report: Report) -> Sentence:
    """On the default branch itself there is nothing to merge and no head commit to approve; empty where that makes no difference."""
    verdict = report.verdict
    next_one = ("a pull request that contains it is approved: ", *_how_to_approve(report))
    if verdict == "accepted":
        return ("Nothing more for this check: these rankings become the new baseline, whose record says who accepted them and why.",)
    if verdict == "no-baseline" and not report.exit_code:
        return ("Nothing for the rankings. This run makes the baseline; from now on every pull request is compared with it, query by "
                "query.",)
    if verdict == "pass" and gained_credibly(report):
        return ("Nothing. The baseline stays where it is: a later change that loses this gain at once turns red, several small ones could "
                "lose it unnoticed. It is locked in when ", *next_one, ".")
    if verdict == "pass":
        return ("Nothing.",)
    if verdict == "fail":
        look = "Look at the lost queries and bring" if _losses(report) else "Bring"
        if _not_its_doing(report):
            look = f"{_EARLIER} and bring"
        names = _not_approvable(report)
        if approvable(report):
            return (f"{look} a fix by another pull request. If the change is intended, it becomes the baseline when ", *next_one, ".")
        return (f"{look} a fix by another pull request.", *((" An approval cannot overrule ", *names, ".") if names else ()))
    if verdict == "inconclusive":
        color = "This gate counts an inconclusive comparison as failed." if report.exit_code else "Nothing is blocked by it."
        return (*_settle(report), color, *([] if _unlabelled(report) else [" To know, add golden queries where the change acts."]))
    return ()


def _locally(report: Report) -> Sentence:
    """On a command line there is nothing to push and nobody to ask: what the result would mean in CI."""
    if report.verdict == "fail":
        look = "look at the lost queries and fix the change." if _losses(report) else "fix the change."
        if approvable(report):
            return (f"On a pull request this check would fail: {look} If the change is intended, a reviewer has to approve the pull "
                    "request, say why, and set the label ", Name(label_of(report)), ".")
        names = _not_approvable(report)
        return (f"On a pull request this check would fail: {look}", *((" An approval could not overrule ", *names, ".") if names else ()))
    if report.verdict == "inconclusive":
        color = "fail: this gate counts an inconclusive comparison as failed." if report.exit_code else "pass with a warning."
        return (f"On a pull request this check would {color} ", *_settle(report), *([] if _unlabelled(report) else [
            "To know, add golden queries where this change acts."]))
    if report.verdict == "no-baseline" and not report.exit_code:
        return ("Nothing was compared. Write a record with ", Name("--record"), " and compare with ", Name("--baseline"), ".")
    return ("On a pull request this check would pass", "; after the merge its gain could be locked in." if gained_credibly(report) else ".")


def _not_its_doing(report: Report) -> bool:
    """Whether most of the fall since the baseline was on main before, and this change does not credibly make main worse."""
    outcomes = {check.name: check.outcome for check in report.checks}
    others = [check for check in report.checks if check.outcome == "fail" and check.name != "anchor"]
    return report.latest is not None and outcomes.get("anchor") == "fail" and outcomes.get("drop") != "fail" and not others \
        and report.latest.by_change >= report.latest.on_main < 0


def _fail(report: Report) -> Sentence:
    look = "Look at the lost queries, fix the change and push again. " if _losses(report) else "Fix the change and push again. "
    if _not_its_doing(report):
        look = f"{_EARLIER}, fix it there or here, and push again. "
    if approvable(report):
        return (look, *_if_intended(report))
    names = _not_approvable(report)
    return (look, "An approval cannot overrule ", *names, ".") if names else (look.rstrip(),)


def _if_intended(report: Report) -> Sentence:
    if report.approval and report.approval.label_present:
        return ("If the change is intended: the label ", Name(label_of(report)),
                " is set, but the approval does not count yet; the open conditions say what is missing.")
    return ("If the change is intended, ", *_how_to_approve(report), "; this check then turns green with their name and reason in it.")


def _not_approvable(report: Report) -> Sentence:
    listed: list[str] = []
    for check in report.checks:
        if check.outcome == "fail" and not check.approvable:
            listed += [*([", "] if listed else []), Name(check.name)]
    return tuple(listed)


def _losses(report: Report) -> int:
    """Queries that lost their answer, since the baseline or by this change alone."""
    return max((len(c.lost) for c in (report.comparison, report.latest and report.latest.comparison) if c), default=0)


def _settle(report: Report) -> Sentence:
    """What would settle an inconclusive comparison, as sentences that end with a space."""
    drop = next((check for check in report.checks if check.name in ("anchor", "drop") and check.outcome == "inconclusive"), None)
    if _unlabelled(report):
        return ("Label the unjudged documents that came up, worthless ones too: the reports list them, the most frequent first. ",)
    need, n = (drop.numbers.get("queries_needed"), drop.numbers.get("n")) if drop else (None, None)
    many = f"About {plural(need, 'query')}" if isinstance(need, int) and need <= _MOST_QUERIES else f"More than {_MOST_QUERIES:,} queries"
    cost = (f"{many} like these would settle it; there are {n:,}. "
            if isinstance(need, int) and isinstance(n, int) and need > n else "")
    ask = "Look at the changed queries: they are few enough to judge by eye. " if 0 < _losses(report) <= 20 else ""
    return (ask, cost)


def _unlabelled(report: Report) -> bool:
    """Whether what keeps a drop from being one is that nobody has judged what came up."""
    return any("condensed_delta" in check.numbers for check in report.checks)


def _inconclusive(report: Report) -> Sentence:
    if not report.exit_code:
        more = "" if _unlabelled(report) else " To know, add golden queries where this change acts."
        return (*_settle(report), f"It does not block the merge.{more}")
    more = "." if _unlabelled(report) else ": make the change smaller in effect, or add golden queries where it acts."
    return (*_settle(report), f"This gate counts an inconclusive comparison as failed{more} ", *_if_intended(report))


def _fix(report: Report) -> Sentence:
    cure = " ".join(report.cure.split())
    cure = cure[:1].upper() + cure[1:] if cure else "Fix what is listed above and run the check again."
    return marked(cure if cure.endswith((".", "!", "?")) else cure + ".")
