"""Who may move the baseline: one pure function over facts that were read live from GitHub."""

from __future__ import annotations

from dataclasses import dataclass, field

WRITERS = ("admin", "maintain", "write")


@dataclass(frozen=True)
class Person:
    """A GitHub account with its permission on this repository now (admin, maintain, write, triage, read, none, or "" for unreadable)."""

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
    """The answer. ``conditions`` in the order in which people would go through them; ``reason`` is the approving review's text."""

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
