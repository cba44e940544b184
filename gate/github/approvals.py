"""Reads from GitHub, live, what :func:`gate.baseline.approval.judge` judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gate.baseline.approval import ApprovalFacts, Labeling, Person, Review
from gate.github.repository import Repository

_OPINIONS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")


def approval_facts(repository: Repository, number: int, label: str) -> ApprovalFacts:
    """Labels, who set the label, the latest opinion of every reviewer, and what each of them may do, as they are now.

    The event's payload is not used: that of a re-run is as old as the first attempt.
    """
    pull = repository.pull(number)
    rights = _Rights(repository)
    labels = [str(item.get("name", "")) for item in pull.get("labels") or []]
    author = _person(pull.get("user"))
    # The label may be put on while we read; an event without the label, or the other way round, is then simply not eligible yet.
    return ApprovalFacts(
        pull_request=number,
        author=author,
        head_sha=str(pull["head"]["sha"]),
        label=label,
        label_present=any(_same(name, label) for name in labels),
        labeling=_labeling(repository.issue_events(number), label, rights),
        reviews=tuple(_opinions(repository.reviews(number), rights)),
        merged_at=str(pull.get("merged_at") or ""),
    )


class _Rights:
    """Permissions, asked once a person."""

    def __init__(self, repository: Repository) -> None:
        self._repository, self._known = repository, dict[int, str]()

    def of(self, person: Person) -> Person:
        if person.type != "User" or person.id <= 0:
            return person
        if person.id not in self._known:
            self._known[person.id] = self._repository.permission(person.login, person.id)
        return Person(person.login, person.id, person.type, self._known[person.id])


def _labeling(events: Iterable[Mapping[str, Any]], label: str, rights: _Rights) -> Labeling | None:
    ours = [
        event
        for event in events
        if event.get("event") == "labeled" and _same(str((event.get("label") or {}).get("name", "")), label)
    ]
    if not ours:
        return None
    # The API promises no order.
    last = max(ours, key=lambda event: (str(event["created_at"]), int(event["id"])))
    actor = _person(last.get("actor"))
    if last.get("performed_via_github_app"):
        # An app acting in somebody's name is no person looking at a change.
        actor = Person(actor.login, actor.id, "App", actor.permission)
    return Labeling(int(last["id"]), rights.of(actor), str(last["created_at"]))


def _opinions(reviews: Iterable[Mapping[str, Any]], rights: _Rights) -> Iterable[Review]:
    """The latest review of each account that is an opinion. A later approval of another commit replaces an earlier one: pushing
    the earlier commit again does not bring its approval back."""
    latest: dict[int, Mapping[str, Any]] = {}
    for review in sorted(reviews, key=lambda item: (str(item.get("submitted_at") or ""), int(item["id"]))):
        user = review.get("user")
        if review.get("state") in _OPINIONS and isinstance(user, dict):
            latest[int(user["id"])] = review
    for review in latest.values():
        person = _person(review["user"])
        # What somebody may do matters for approvals only.
        person = rights.of(person) if review["state"] == "APPROVED" else person
        yield Review(
            int(review["id"]),
            person,
            str(review["state"]),
            str(review.get("commit_id") or ""),
            str(review.get("body") or ""),
            str(review.get("submitted_at") or ""),
        )


def _person(user: Any) -> Person:
    """An account; one that was deleted gets id 0, which is nobody."""
    if not isinstance(user, dict):
        return Person("", 0, "")
    return Person(str(user.get("login", "")), int(user.get("id") or 0), str(user.get("type", "")))


def _same(name: str, label: str) -> bool:
    # GitHub keeps one label for all spellings in upper and lower case.
    return name.lower() == label.lower()
