"""The nouns of the fake: plain records without behaviour.

Every record keeps references to other records instead of ids, so a test can follow `pr.head_repo.owner.login`
the way it would read the answer of the real service.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count


@dataclass(eq=False)
class User:
    login: str
    id: int
    type: str = "User"  # User | Bot | Organization

    @property
    def email(self) -> str:
        return f"{self.id}+{self.login}@users.noreply.github.com"


@dataclass(eq=False)
class App:
    """A GitHub App, shown as `performed_via_github_app` on what its tokens do."""

    slug: str
    id: int


@dataclass(eq=False)
class Token:
    """Who a token speaks for and what it may do. `permissions` uses the keys of a workflow's `permissions:`."""

    value: str
    identity: User
    permissions: dict[str, str]
    read_only: bool = False
    app: App | None = None
    repo: Repo | None = None  # GITHUB_TOKEN reaches private data of one repository only
    used: int = 0

    def grants(self, scope: str, level: str) -> bool:
        held = {key.replace("-", "_"): value for key, value in self.permissions.items()}
        have = "read" if scope == "metadata" else held.get(scope, held.get("*", "none"))
        if self.read_only and have == "write":
            have = "read"
        return have == "write" or have == level


@dataclass(eq=False)
class Commit:
    sha: str
    parents: tuple[str, ...]
    files: dict[str, bytes]  # the whole tree, not the change
    message: str
    author: User | None
    date: datetime
    git_name: str = ""
    git_email: str = ""
    signed: bool = False  # by the service itself, as everything that an app writes through the API


@dataclass(eq=False)
class Network:
    """The object store that a repository shares with all its forks, as on the real service. ``blobs`` and ``trees``: those that came
    through the API and that no commit needs to hold yet; a tree is path → bytes."""

    commits: dict[str, Commit] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, dict[str, bytes]] = field(default_factory=dict)


@dataclass(eq=False)
class Label:
    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(eq=False)
class Activity:
    id: int
    ref: str
    before: str
    after: str
    kind: str
    timestamp: datetime
    actor: User


@dataclass(eq=False)
class Repo:
    id: int
    full_name: str
    owner: User
    network: Network
    created_at: datetime
    default_branch: str = "main"
    private: bool = False
    fork_of: Repo | None = None
    has_issues: bool = True
    branches: dict[str, str] = field(default_factory=dict)
    protected: set[str] = field(default_factory=set)
    roles: dict[str, tuple[str, str]] = field(default_factory=dict)  # login -> (base role, role_name)
    labels: dict[str, Label] = field(default_factory=dict)
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    activity: list[Activity] = field(default_factory=list)
    workflows: dict[str, Workflow] = field(default_factory=dict)
    rules: dict[str, list[dict[str, object]]] = field(default_factory=dict)  # branch -> rules, as the API shows them
    releases: dict[str, Release] = field(default_factory=dict)  # tag -> release
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def name(self) -> str:
        return self.full_name.split("/")[1]

    def commit(self, sha: str) -> Commit:
        return self.network.commits[sha]

    @property
    def tip(self) -> str:
        """Sha of the default branch."""
        return self.branches[self.default_branch]


@dataclass(eq=False)
class IssueEvent:
    id: int
    event: str
    actor: User
    created_at: datetime
    label: Label | None = None
    app: App | None = None
    commit_id: str | None = None
    extra: dict[str, object] = field(default_factory=dict)


@dataclass(eq=False)
class Comment:
    id: int
    pr: PullRequest
    author: User
    body: str
    created_at: datetime
    updated_at: datetime
    app: App | None = None
    minimized: str | None = None
    reactions: list[tuple[int, User, str, datetime]] = field(default_factory=list)


@dataclass(eq=False)
class Review:
    id: int
    pr: PullRequest
    author: User
    state: str
    body: str
    commit_id: str
    submitted_at: datetime


@dataclass(eq=False)
class PullRequest:
    id: int
    number: int
    repo: Repo
    title: str
    author: User
    head_repo: Repo | None  # None: the fork was deleted
    head_owner: User
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    created_at: datetime
    updated_at: datetime
    body: str | None = None
    draft: bool = False
    state: str = "open"
    locked: bool = False
    mergeable: bool | None = True
    labels: list[Label] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    timeline: list[IssueEvent | Comment | Review | Commit] = field(default_factory=list)
    closed_at: datetime | None = None
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_commit_sha: str | None = None
    final_commits: list[str] | None = None  # the PR's own commits, fixed when it was merged
    landed: list[str] = field(default_factory=list)  # what the merge added to the base branch

    @property
    def from_fork(self) -> bool:
        return self.head_repo is not self.repo

    @property
    def label_names(self) -> list[str]:
        return [label.name for label in self.labels]


@dataclass(eq=False)
class MergeGroup:
    repo: Repo
    base_ref: str
    base_sha: str
    head_ref: str
    head_sha: str
    landings: list[tuple[PullRequest, list[str]]]


@dataclass(eq=False)
class Workflow:
    id: int
    name: str
    path: str
    created_at: datetime


@dataclass(eq=False)
class Job:
    id: int
    name: str
    attempt: int
    status: str
    conclusion: str | None
    started_at: datetime
    completed_at: datetime | None
    backend_id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(eq=False)
class Run:
    id: int
    repo: Repo
    head_repo: Repo
    workflow: Workflow
    event: str
    head_branch: str
    head_sha: str
    path: str
    actor: User
    triggering_actor: User
    created_at: datetime
    started_at: datetime
    updated_at: datetime
    suite_id: int
    number: int = 1
    attempt: int = 1
    status: str = "completed"
    conclusion: str | None = "success"
    pulls: list[PullRequest] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    backend_id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(eq=False)
class Artifact:
    id: int
    run: Run
    name: str
    attempt: int
    created_at: datetime
    expires_at: datetime
    content_type: str = "application/zip"
    data: bytes = b""
    size: int = 0
    digest: str | None = None  # None for artifacts of the v3 protocol
    finalized: bool = True
    blob: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(eq=False)
class Asset:
    id: int
    name: str
    data: bytes
    uploader: User
    created_at: datetime
    digest: str | None = None  # None for assets from before the service recorded it
    state: str = "uploaded"


@dataclass(eq=False)
class Release:
    id: int
    tag: str
    target: str
    author: User
    created_at: datetime
    draft: bool = False
    assets: list[Asset] = field(default_factory=list)
