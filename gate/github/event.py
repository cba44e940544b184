"""What started this run: the runner's variables and the event's payload, read once into plain facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput

SUPPORTED = ("pull_request", "push", "merge_group", "schedule", "workflow_dispatch", "release")
_TIERS = {"schedule": "nightly", "release": "release"}
_NAME = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+\Z")
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_HEADS = "refs/heads/"
_QUEUED = re.compile(r"\Arefs/heads/gh-readonly-queue/.+/pr-(\d{1,9})-[0-9a-f]{40}\Z")
# The runner runs such a workflow with the repository's secrets and a token that writes.
_PRIVILEGED = ("pull_request_target", "issue_comment")


@dataclass(frozen=True)
class PullFacts:
    """The pull request as the payload describes it. Labels are left out on purpose: those of a re-run are stale."""

    number: int
    head_sha: str
    base_ref: str
    base_sha: str


@dataclass(frozen=True)
class Context:
    """``repository_id`` is 0 and ``default_branch`` "" where neither variables nor payload tell (``Repository.identity`` knows
    them).

    ``before``: what the branch was before a push, or the commit that a merge group builds on; "" where there is none.
    ``trigger_run``, ``trigger_event``: the run whose end started this one (workflow_run), 0 and "" elsewhere.
    ``workflow_path``: the file of the running workflow, "" when unknown."""

    event: str
    action: str
    repository: str
    repository_id: int
    default_branch: str
    sha: str
    ref: str
    run_id: int
    attempt: int
    actor: str
    triggering_actor: str
    server_url: str
    api_url: str
    graphql_url: str
    workflow_path: str
    job: str
    before: str = ""
    deleted: bool = False
    pull_request: PullFacts | None = None
    trigger_run: int = 0
    trigger_event: str = ""

    @property
    def run_url(self) -> str:
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}/attempts/{self.attempt}"

    @property
    def branch(self) -> str:
        """Name of the branch the run is on, "" for tags and pull requests."""
        return self.ref.removeprefix(_HEADS) if self.ref.startswith(_HEADS) else ""

    @property
    def on_default_branch(self) -> bool:
        return bool(self.default_branch) and self.ref == _HEADS + self.default_branch

    @property
    def queued_pull(self) -> int:
        """Number of the pull request that a merge group is for, 0 elsewhere."""
        match = _QUEUED.search(self.ref) if self.event == "merge_group" else None
        return int(match[1]) if match else 0

    @property
    def head_sha(self) -> str:
        """The commit that people know: the head of the pull request, not the test merge that GITHUB_SHA is there."""
        return self.pull_request.head_sha if self.pull_request else self.sha


class Mode(Enum):
    PULL_REQUEST = "pull-request"
    PUBLISH = "publish"
    COMPARE_ONLY = "compare-only"
    COMMENT = "comment"
    IGNORED = "ignored"


@dataclass(frozen=True)
class ModeChoice:
    """What to do, and why in one sentence."""

    mode: Mode
    reason: str


def mode(context: Context) -> Mode:
    """:func:`choose_mode` without the reason."""
    return choose_mode(context).mode


def choose_mode(context: Context) -> ModeChoice:
    """What a run on this event may do. Only a run on the default branch's own ref publishes, a tag of the same name does
    not."""
    event = context.event
    if event == "pull_request":
        if context.action == "closed":
            return ModeChoice(
                Mode.IGNORED, "the pull request was closed; if it was merged, the push to the base branch is judged"
            )
        return ModeChoice(Mode.PULL_REQUEST, f"pull request #{context.pull_request.number if context.pull_request else '?'}")
    if event == "push" and context.deleted:
        return ModeChoice(Mode.IGNORED, f"{context.ref} was deleted: there is nothing to measure")
    if event in ("push", "schedule", "workflow_dispatch"):
        if context.on_default_branch:
            return ModeChoice(Mode.PUBLISH, f"{event} on the default branch")
        return ModeChoice(
            Mode.COMPARE_ONLY, f"{event} on {context.ref}, which is not the default branch: compared, nothing published"
        )
    if event == "merge_group":
        return ModeChoice(Mode.COMPARE_ONLY, "merge group: compared, nothing published before it lands")
    if event == "release":
        if context.action in ("deleted", "unpublished"):
            return ModeChoice(Mode.IGNORED, f"the release was {context.action}: there is nothing to measure")
        return ModeChoice(Mode.COMPARE_ONLY, f"release of {context.ref}: compared, nothing published")
    if event == "workflow_run":
        # Such a run has rights that the pull request has not: it may only tell what another run has measured.
        if context.action != "completed":
            return ModeChoice(Mode.IGNORED, f"run {context.trigger_run} has not ended yet (use `types: [completed]`)")
        if context.trigger_event != "pull_request":
            return ModeChoice(
                Mode.IGNORED, f"run {context.trigger_run} was for `{context.trigger_event}`, not for a pull request"
            )
        return ModeChoice(Mode.COMMENT, f"the report of run {context.trigger_run} becomes a comment; nothing is measured")
    why = (
        f"`{event}` runs with write access and secrets, and measuring a pull request means running its code"
        if event in _PRIVILEGED
        else f"the gate does not know what to measure on `{event}`"
    )
    raise InvalidInput(
        f"event `{event}` is not supported: {why}",
        f"start the gate on {', '.join(f'`{name}`' for name in SUPPORTED)} (README, «Workflow»)",
    )


def tier_of(event: str) -> str:
    """The tier of an event, where the input `tier` names none: nightly on a schedule, release on a release, pr on everything else."""
    return _TIERS.get(event, "pr")


def read_context(environ: Mapping[str, str], read: Callable[[str], bytes] = lambda path: Path(path).read_bytes()) -> Context:
    """Everything from the runner's variables and the payload. Raises InvalidInput with all problems at once."""
    problems: list[str] = []
    payload = _payload(environ, read, problems)
    event, repository = environ.get("GITHUB_EVENT_NAME", ""), environ.get("GITHUB_REPOSITORY", "")
    if not event:
        problems.append("GITHUB_EVENT_NAME is not set")
    if not _NAME.match(repository) or ".." in repository:
        problems.append(f"GITHUB_REPOSITORY {repository[:100]!r} is not owner/name")
    own = _dict(payload, "repository")
    ref, sha = environ.get("GITHUB_REF", ""), environ.get("GITHUB_SHA", "")
    pull = _pull(_dict(payload, "pull_request"), problems) if event == "pull_request" else None
    trigger = _dict(payload, "workflow_run") if event == "workflow_run" else {}
    if event == "workflow_run" and not _int(trigger.get("id")):
        problems.append("the event's payload has no workflow run")
    if not _SHA.match(sha):
        problems.append(f"GITHUB_SHA {sha[:80]!r} is no commit id")
    if problems:
        raise InvalidInput(problems, "the gate runs as a step of a GitHub Actions job; on a laptop use `retrieval-gate run`")
    default = _text(own, "default_branch")
    if not default and event == "schedule":
        default = ref.removeprefix(_HEADS)  # a schedule runs on the default branch only
    server = environ.get("GITHUB_SERVER_URL", "").rstrip("/") or "https://github.com"
    api = environ.get("GITHUB_API_URL", "").rstrip("/") or "https://api.github.com"
    actor = environ.get("GITHUB_ACTOR", "")
    group = _dict(payload, "merge_group")
    before = _text(payload, "before") if event == "push" else _text(group, "base_sha")
    return Context(
        event=event,
        action=_text(payload, "action"),
        repository=repository,
        # The payload first: some runners leave GITHUB_REPOSITORY_ID out.
        repository_id=_int(own.get("id")) or _int(environ.get("GITHUB_REPOSITORY_ID")),
        default_branch=default,
        sha=sha,
        ref=ref,
        run_id=_int(environ.get("GITHUB_RUN_ID")),
        attempt=_int(environ.get("GITHUB_RUN_ATTEMPT")) or 1,
        actor=actor,
        triggering_actor=environ.get("GITHUB_TRIGGERING_ACTOR", "") or actor,
        server_url=server,
        api_url=api,
        graphql_url=environ.get("GITHUB_GRAPHQL_URL", "") or graphql_of(api),
        workflow_path=workflow_path(environ.get("GITHUB_WORKFLOW_REF", ""), repository),
        job=environ.get("GITHUB_JOB", ""),
        before=before if before.strip("0") else "",
        deleted=payload.get("deleted") is True,
        pull_request=pull,
        trigger_run=_int(trigger.get("id")),
        trigger_event=_text(trigger, "event"),
    )


def workflow_path(ref: str, repository: str) -> str:
    """``o/r/.github/workflows/gate.yml@refs/heads/main`` → ``.github/workflows/gate.yml``."""
    return ref.split("@")[0].removeprefix(f"{repository}/") if ref else ""


def graphql_of(api_url: str) -> str:
    """The GraphQL address that belongs to a REST address, as GitHub lays them out."""
    return api_url.removesuffix("/v3") + "/graphql"


def _payload(environ: Mapping[str, str], read: Callable[[str], bytes], problems: list[str]) -> dict[str, Any]:
    path = environ.get("GITHUB_EVENT_PATH", "")
    if not path:
        problems.append("GITHUB_EVENT_PATH is not set")
        return {}
    try:
        value = jsonio.loads(read(path).decode())
    except OSError as error:
        problems.append(f"GITHUB_EVENT_PATH: {path} cannot be read ({error.strerror})")
        return {}
    except (UnicodeDecodeError, jsonio.NotJson) as fault:
        problems.append(f"GITHUB_EVENT_PATH: {path} is not JSON ({fault})")
        return {}
    if not isinstance(value, dict):
        problems.append(f"GITHUB_EVENT_PATH: {path} is no JSON object")
        return {}
    return value


def _pull(value: dict[str, Any], problems: list[str]) -> PullFacts | None:
    head, base = _dict(value, "head"), _dict(value, "base")
    found = PullFacts(_int(value.get("number")), _text(head, "sha"), _text(base, "ref"), _text(base, "sha"))
    if found.number <= 0:
        problems.append("the event's payload has no pull request number")
    problems += [
        f"the event's payload has no {name} commit"
        for name, sha in (("head", found.head_sha), ("base", found.base_sha))
        if not _SHA.match(sha)
    ]
    return None if problems else found


def _dict(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _int(value: Any) -> int:
    """An id as an int; 0 for everything that is none (also "", None, True)."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return 0
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
