"""What a run on the default branch does to the baseline: bootstrap, carry, or overwrite after an approval. Never anything else."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gate.baseline.approval import WRITERS, Eligibility, judge
from gate.baseline.found import CLEAN
from gate.baseline.making import make_record
from gate.baseline.record import Provenance, Record, pack
from gate.baseline.stores import Found, Missing, Published, Store
from gate.baseline.timeline import with_point
from gate.github.approvals import approval_facts
from gate.github.event import Context
from gate.github.merges import hinted_numbers, merged_pulls
from gate.github.repository import Repository
from gate.history import Point, point_of
from gate.pipeline import Evaluated
from gate.reports.report import Report
from gate.settings import Settings


def merged_approval(repository: Repository, context: Context, label: str,
                    sleep: Callable[[float], None]) -> tuple[Eligibility | None, str]:
    """The approval of what this push merged, judged again now, and a sentence when none can count.

    A push may hold several pull requests (merge queue): the baseline takes all of them in, so all must be approved.
    """
    if context.event != "push":
        return None, ""
    merged = merged_pulls(repository, context.sha, context.before, context.repository_id, context.default_branch, sleep=sleep)
    if merged.direct:
        return None, "This push merged no pull request, so no approval can move the baseline."
    judged = [judge(approval_facts(repository, pull.number, label), pull.head_sha) for pull in merged.pulls]
    refused = next((one for one in judged if not one.eligible), None)
    if merged.unexplained:
        return refused, f"{len(merged.unexplained)} commits of this push came without a pull request, so no approval covers it."
    return refused or judged[-1], ""


def queued_approval(repository: Repository, context: Context, label: str) -> Eligibility | None:
    """The approval of a merge group: that of its pull request, or the first refusal when it holds several. None when the group holds
    commits that no pull request accounts for: whoever approved the last one has not seen them."""
    chain = repository.first_parents(context.before, context.sha) or []
    numbers = {context.queued_pull}
    for sha in chain:
        numbers |= set(hinted_numbers(str(repository.commit(sha).get("message", ""))))
    rebased = len(numbers) == 1 and repository.pull(context.queued_pull).get("commits") == len(chain)
    if not chain or (len(chain) > len(numbers) and not rebased):
        return None
    judged = [judge(approval_facts(repository, number, label)) for number in sorted(numbers)]
    return next((one for one in judged if not one.eligible), judged[-1])


def not_seen_by_the_approver(repository: Repository, context: Context, approval: Eligibility, found: Found) -> str:
    """Why an approval does not cover all that a new baseline would take in; "" when it does.

    Whatever landed between the run that stored the baseline and this merge was red there, or has not been judged yet. An approval speaks
    for it only if the approved commit already contained it, so that the comment showed it. Where nothing is published (a committed
    file), what this run would have at most is a proposal, and whoever approves that sees all of it.
    """
    if not found.published_at:
        return ""
    judged = found.published_at == context.before or repository.is_ancestor_or_same(context.before, found.published_at)
    if judged and found.verdict in CLEAN or repository.is_ancestor_or_same(context.before, approval.head_sha):
        return ""
    why = (f"the run of {found.published_at[:7]} ended with «{found.verdict}»" if judged
           else f"no run of {context.before[:7]} has passed yet")
    return (f"The approval of #{approval.pull_request} does not cover what landed on the default branch before it: {why}, and the approved "
            "commit did not contain it. If that run is still under way, run this job again when it has passed; otherwise update the branch "
            "of the next pull request and approve that.")


class Grant(NamedTuple):
    """What this push is allowed. ``approval``: of what it merged; ``provenance``: of the baseline that it may make, None where it may make
    none; ``why_not``: why an approval that there may be does not count, "" where nothing is to be said."""

    approval: Eligibility | None
    provenance: Provenance | None
    why_not: str


def grant_of(repository: Repository, context: Context, label: str, found: Found | Missing, sleep: Callable[[float], None]) -> Grant:
    """What the approval of this push allows, given the baseline that there is."""
    approval, why_not = merged_approval(repository, context, label, sleep)
    if approval is None or not approval.eligible:
        return Grant(approval, None, why_not)
    if isinstance(found, Found):
        why_not = why_not or not_seen_by_the_approver(repository, context, approval, found)
    return Grant(approval, None if why_not else approved(approval), why_not)


def first_provenance(repository: Repository, context: Context, missing: Missing) -> Provenance:
    """Of a baseline that is made without one before it and without an approval. Raises the error of ``missing``: a baseline that is lost
    comes back only by a person's doing; waiting for its expiry is not an approval."""
    by = "" if missing.kind == "never" else may_start_afresh(repository, context)
    if missing.kind != "never" and not by:
        raise missing.error()
    return Provenance(by=by)


def may_start_afresh(repository: Repository, context: Context) -> str:
    """Who started this run by hand with the right to re-create an expired baseline; "" for every other run."""
    who = context.triggering_actor or context.actor
    return who if context.event == "workflow_dispatch" and repository.permission(who) in WRITERS else ""


@dataclass(frozen=True)
class Publisher:
    """Writes records of one run to a store. ``past``: what the runs before this one have found."""

    store: Store
    context: Context
    settings: Settings
    evaluated: Evaluated
    clock: Callable[[], float]
    past: tuple[Point, ...] = ()

    def carry(self, found: Found, report: Report) -> Published:
        """The same bytes once more: their content does not change, their expiry does. Beside them goes what this run retrieved."""
        context, latest = self.context, self._record(report, Provenance("latest"))
        return self.store.publish(found.data, "carried", head_sha=context.sha, run_id=context.run_id, job=context.job,
                                  carried_from=found.artifact_id, verdict=report.verdict, latest=latest,
                                  history=with_point(self.past, point_of(latest, report)))

    def overwrite(self, report: Report, provenance: Provenance, parent: str) -> Published:
        """This run becomes the baseline."""
        context, record = self.context, self._record(report, provenance, parent)
        return self.store.publish(pack(record), provenance.kind, head_sha=context.sha, run_id=context.run_id, job=context.job,
                                  verdict=report.verdict, history=with_point(self.past, point_of(record, report)))

    def _record(self, report: Report, provenance: Provenance, parent: str = "") -> Record:
        context = self.context
        return make_record(self.settings, self.evaluated, report, provenance, parent=parent, repository=context.repository,
                           repository_id=context.repository_id, commit=context.sha, run_id=str(context.run_id),
                           created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.clock())))


def approved(approval: Eligibility) -> Provenance:
    """Who, why and which pull request."""
    return Provenance("approved", approval.pull_request, approval.approver, approval.reason, approval.review_id,
                      approval.label_event_id)


def first_words(missing: Missing, provenance: Provenance) -> tuple[str, ...]:
    """What is said loudly when a baseline is made without one before it."""
    return (f"{missing.sentence} This run is the baseline from now on, {provenance.sentence()}: all that it ranks today is accepted.",
            *missing.refused)
