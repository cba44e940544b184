"""The run whose end started this one, and whose pull request it speaks for. Pure: facts in, a decision out.

Everything here is GitHub's own word. What the run uploaded proves nothing about where it belongs: the pull request's code and its
version of the workflow file decide what is in there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

DEPENDABOT = "dependabot[bot]"


class Trigger(NamedTuple):
    """A workflow run as the API shows it. Ids are 0 and texts "" where GitHub gives none, for instance of a deleted fork."""

    id: int
    attempt: int
    event: str
    status: str
    conclusion: str
    path: str
    repository_id: int
    head_repository_id: int
    head_owner: str
    head_branch: str
    head_sha: str


class Pull(NamedTuple):
    """An open pull request that the run may have been for."""

    number: int
    author: str


def trigger_of(run: Mapping[str, Any]) -> Trigger:
    """The facts of ``GET /actions/runs/{id}``. The path comes without the ``@ref`` that some runs carry."""
    head = _dict(run, "head_repository")
    return Trigger(_id(run.get("id")), _id(run.get("run_attempt")) or 1, _text(run, "event"), _text(run, "status"),
                   _text(run, "conclusion"), _text(run, "path").split("@")[0], _id(_dict(run, "repository").get("id")), _id(head.get("id")),
                   _text(_dict(head, "owner"), "login"), _text(run, "head_branch"), _text(run, "head_sha"))


def foreign(trigger: Trigger, run_id: int, repository_id: int) -> str:
    """Why this run is none to speak for, in one sentence; empty when it may be one."""
    if trigger.id != run_id or not repository_id or trigger.repository_id != repository_id:
        return f"run {run_id} does not belong to this repository"
    if trigger.event != "pull_request":
        return f"run {run_id} was for `{trigger.event}`, not for a pull request"
    if trigger.status != "completed":
        return f"run {run_id} is under way again; its end will start this workflow once more"
    if not (trigger.head_repository_id and trigger.head_owner and trigger.head_branch and trigger.head_sha):
        return f"the repository or branch that run {run_id} was for does not exist any more"
    return ""


def find_pull(trigger: Trigger, pulls: Iterable[Mapping[str, Any]], repository_id: int) -> Pull | str:
    """The one pull request that the run was for, or in one sentence why there is none.

    ``pulls``: the open ones from the run's head branch, asked live. Commit and head repository must be those of the run now: after a
    push the numbers are no longer about what would be merged. A commit under two pull requests belongs to neither alone.
    """
    open_ones = [pull for pull in pulls if pull.get("state") == "open" and _side(pull, "base") == repository_id
                 and _side(pull, "head") == trigger.head_repository_id]
    found = [pull for pull in open_ones if _text(_dict(pull, "head"), "sha") == trigger.head_sha]
    if not open_ones:
        return f"no open pull request comes from {trigger.head_owner}:{trigger.head_branch} (closed, merged, or its repository is gone)"
    if not found:
        return f"the pull request has moved on from {trigger.head_sha[:12]}; the run for its newest commit will tell"
    if len(found) > 1:
        numbers = ", ".join(f"#{_id(pull.get('number'))}" for pull in found)
        return f"several pull requests ({numbers}) have the head {trigger.head_sha[:12]}, and the run does not say for which it was"
    pull = Pull(_id(found[0].get("number")), _text(_dict(found[0], "user"), "login"))
    if trigger.head_repository_id == repository_id and pull.author != DEPENDABOT:
        return f"#{pull.number} comes from this repository, so the gate's own run writes its comment"
    return pull


def _side(pull: Mapping[str, Any], side: str) -> int:
    return _id(_dict(_dict(pull, side), "repo").get("id"))


def _dict(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _id(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
