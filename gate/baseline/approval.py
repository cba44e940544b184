"""Who may move the baseline: one pure function over facts that were read live from GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

WRITERS = ("admin", "maintain", "write")


@dataclass(frozen=True)
class Person:
    """A GitHub account with its permission on this repository now (admin, maintain, write, triage, read, none, or "" for
    unreadable)."""

    login: str
    id: int
    type: str = "User"
    permission: str = ""


@dataclass(frozen=True)
class Labeling:
    """The last ``labeled`` event of the approval label. ``at``: ISO 8601 in UTC, as GitHub writes it."""

    event_id: int
    actor: Person
    at: str


@dataclass(frozen=True)
class Review:
    """The latest opinion of one reviewer (comments left out): state APPROVED, CHANGES_REQUESTED or DISMISSED."""

    id: int
    reviewer: Person
    state: str
    commit: str
    body: str
    at: str


@dataclass(frozen=True)
class ApprovalFacts:
    """What GitHub says about one pull request now. ``merged_at`` is set when it is judged again at publishing time."""

    pull_request: int
    author: Person
    head_sha: str
    label: str
    label_present: bool
    labeling: Labeling | None = None
    reviews: tuple[Review, ...] = ()
    merged_at: str = ""


@dataclass(frozen=True)
class Condition:
    """One demand, whether it is met, and what to do when it is not."""

    name: str
    met: bool
    sentence: str
    cure: str = ""


@dataclass(frozen=True)
class Eligibility:
    """The answer. ``conditions`` in the order in which people would go through them; ``reason`` is the approving review's
    text."""

    eligible: bool
    conditions: tuple[Condition, ...]
    pull_request: int = 0
    head_sha: str = ""
    label: str = ""
    label_present: bool = False
    approver: str = ""
    reason: str = ""
    review_id: int | None = None
    label_event_id: int | None = None
    facts: ApprovalFacts | None = field(default=None, repr=False, compare=False)

    @property
    def unmet(self) -> tuple[Condition, ...]:
        return tuple(condition for condition in self.conditions if not condition.met)


_MIN_LETTERS = 3
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
_HIDDEN = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)


def judge(facts: ApprovalFacts, measured_sha: str = "") -> Eligibility:
    """Whether this pull request may move the baseline. Fails closed: whatever could not be read counts as not met.

    ``measured_sha``: the head commit that the run at hand measured, when it is known; an approval of a newer one does not cover
    it. Eligible exactly when every condition is met. What cannot be asked because an earlier condition fails is left out:
    without a label nobody set it."""
    conditions = [*_label(facts), *_head(facts, measured_sha)]
    review, about_review = _review(facts)
    conditions.append(about_review)
    if review is not None:
        conditions.append(_reason(review))
        if facts.merged_at:
            conditions.append(_in_time(facts, "review-before-merge", f"the review of {_name(review.reviewer)}", review.at))
    return Eligibility(
        eligible=all(condition.met for condition in conditions),
        conditions=tuple(conditions),
        pull_request=facts.pull_request,
        head_sha=facts.head_sha,
        label=facts.label,
        label_present=facts.label_present,
        approver=review.reviewer.login if review else "",
        reason=review.body.strip() if review else "",
        review_id=review.id if review else None,
        label_event_id=facts.labeling.event_id if facts.labeling else None,
        facts=facts,
    )


def _label(facts: ApprovalFacts) -> Iterable[Condition]:
    again = f"somebody with write permission who is not the author removes the label `{facts.label}` and sets it again"
    present = facts.label_present
    yield Condition(
        "label-present",
        present,
        f"the label `{facts.label}` is {'set' if present else 'not set'}",
        "" if present else f"somebody with write permission who is not the author sets the label `{facts.label}`",
    )
    if not present:
        return
    labeling = facts.labeling
    if labeling is None:
        yield Condition("label-event", False, f"GitHub shows no event that says who set the label `{facts.label}`", again)
        return
    who, name = labeling.actor, _name(labeling.actor)
    yield Condition("label-event", True, f"the label was set by {name} on {_when(labeling.at)}")
    person, author, writer = _is_person(who), _is_author(who, facts), who.permission in WRITERS
    yield Condition(
        "labeler-person",
        person,
        f"{name}, who set the label, is {'a person' if person else 'a bot or an app'}",
        "" if person else again,
    )
    yield Condition(
        "labeler-not-author",
        not author,
        f"{name}, who set the label, is {'the author of this pull request' if author else 'not the author'}",
        again if author else "",
    )
    yield Condition("labeler-permission", writer, f"{name}, who set the label, {_permission(who)}", "" if writer else again)
    if facts.merged_at:
        yield _in_time(facts, "label-before-merge", "the label", labeling.at)


def _head(facts: ApprovalFacts, measured_sha: str) -> Iterable[Condition]:
    if measured_sha:
        same = measured_sha == facts.head_sha
        yield Condition(
            "measured-head",
            same,
            f"this run measured {_short(measured_sha)}, and the pull request's head is "
            f"{'the same' if same else _short(facts.head_sha)}",
            "" if same else "wait for the run of the current head",
        )


def _review(facts: ApprovalFacts) -> tuple[Review | None, Condition]:
    """The review that approves the current head (in time and with a reason if there is one, then the latest), and the condition
    that there is one."""
    good = [
        review
        for review in facts.reviews
        if review.state == "APPROVED"
        and _reviewer_fault(review, facts) == ""
        and facts.head_sha
        and review.commit == facts.head_sha
    ]
    if good:
        best = max(good, key=lambda review: (_is_in_time(review.at, facts), _says_why(review.body), review.at, review.id))
        return best, Condition("review", True, f"{_name(best.reviewer)} approved {_short(best.commit)}, the current head")
    return None, Condition(
        "review",
        False,
        _no_review(facts),
        f"somebody with write permission who is not the author approves {_short(facts.head_sha)} in a review whose text says why",
    )


def _no_review(facts: ApprovalFacts) -> str:
    """The nearest miss, in words."""
    head, reviews = _short(facts.head_sha), sorted(facts.reviews, key=lambda review: (review.at, review.id), reverse=True)
    approvals = [review for review in reviews if review.state == "APPROVED"]
    for review in approvals:
        if review.commit == facts.head_sha:
            fault = _reviewer_fault(review, facts) or "the head is unknown"
            return f"the approval by {_name(review.reviewer)} does not count: {fault}"
    for review in approvals:
        fault = _reviewer_fault(review, facts)
        return f"{_name(review.reviewer)} approved {_short(review.commit)}, but the head is now {head}" + (
            f", and {fault}" if fault else ": the approval is stale"
        )
    for review in reviews:
        name = _name(review.reviewer)
        return f"{name} requested changes" if review.state == "CHANGES_REQUESTED" else f"the review of {name} was dismissed"
    return f"nobody has approved {head} in a review"


def _reviewer_fault(review: Review, facts: ApprovalFacts) -> str:
    who = review.reviewer
    if not _is_person(who):
        return f"{_name(who)} is a bot or an app"
    if _is_author(who, facts):
        return f"{_name(who)} is the author of this pull request"
    return "" if who.permission in WRITERS else f"{_name(who)} {_permission(who)}"


def _reason(review: Review) -> Condition:
    met = _says_why(review.body)
    return Condition(
        "review-reason",
        met,
        f"the review of {_name(review.reviewer)} {'says' if met else 'does not say'} why",
        "" if met else "approve once more and write into the review why the baseline may move",
    )


def _says_why(body: str) -> bool:
    """A few letters that people can see: hidden comments of a review template say nothing."""
    return sum(char.isalpha() for char in _HIDDEN.sub("", body)) >= _MIN_LETTERS


def _in_time(facts: ApprovalFacts, name: str, what: str, at: str) -> Condition:
    met = _is_in_time(at, facts)
    return Condition(
        name,
        met,
        f"{what} {'is from before' if met else 'cannot be shown to be from before'} the merge "
        f"({at or 'time unknown'}, merged {facts.merged_at})",
        ""
        if met
        else "what is approved after the merge does not count: open a pull request that moves the baseline, or "
        "start the workflow on the default branch by hand",
    )


def _is_in_time(at: str, facts: ApprovalFacts) -> bool:
    if not facts.merged_at:
        return True
    given, merged = _moment(at), _moment(facts.merged_at)
    return given is not None and merged is not None and given <= merged


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _is_person(who: Person) -> bool:
    # id 0 is a deleted account; some bots are users by type and betray themselves by name only.
    return who.type == "User" and who.id > 0 and not who.login.endswith("[bot]")


def _is_author(who: Person, facts: ApprovalFacts) -> bool:
    return who.id == facts.author.id or who.login.lower() == facts.author.login.lower()


def _permission(who: Person) -> str:
    if not who.permission:
        return "has a permission that GitHub did not tell"
    return f"has the permission `{who.permission}`" + ("" if who.permission in WRITERS else ", which is not enough")


def _when(moment: str) -> str:
    """``2026-03-02T11:04:30Z`` as people write it; anything else as it is."""
    return f"{moment[:10]} at {moment[11:16]} UTC" if _MOMENT.match(moment) else moment or "an unknown day"


def _name(who: Person) -> str:
    return who.login or "a deleted account"


def _short(sha: str) -> str:
    return sha[:7] or "an unknown commit"
