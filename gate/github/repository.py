"""Questions about one repository, asked live. Each method is one question; nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gate.errors import InvalidInput
from gate.github.failures import Forbidden, Gone, NotFound, Unprocessable
from gate.github.transport import Transport

MAX_FILE = 32 * 1024**2
RAW_MEDIA = "application/vnd.github.raw+json"
_SHA_MEDIA = "application/vnd.github.sha"
# GitHub's older field knows four values; these two roles are folded into them.
_FOLDED = {"maintain": "write", "triage": "read"}
_ROLES = ("admin", "maintain", "write", "triage", "read", "none")


@dataclass(frozen=True)
class Identity:
    """What the payload of some events leaves out."""

    id: int
    default_branch: str


class Repository:
    """``full_name``: owner/name."""

    def __init__(self, transport: Transport, full_name: str) -> None:
        self.transport, self.full_name = transport, full_name
        self.path = f"/repos/{full_name}"

    def identity(self) -> Identity:
        """Id and default branch of the repository."""
        value = self.transport.get(self.path)
        return Identity(int(value["id"]), str(value["default_branch"]))

    # -- content and history -------------------------------------------------------------------------------------------

    def file_at(self, path: str, ref: str, limit: int = MAX_FILE) -> bytes | None:
        """The bytes of a file at a commit or branch, ``limit`` at most; None when it does not exist there.

        GitHub says 404 to "no such file" and to "you may not look" alike. A missing configuration means "first adoption", so
        the two must not be confused: the commit itself has to be readable before the file counts as absent."""
        clean = path.removeprefix("./")
        if any(part in ("", ".", "..") for part in clean.split("/")):
            raise InvalidInput(f"{path!r} is no path inside the repository")
        try:
            answer = self.transport.request(
                "GET", f"{self.path}/contents/{quote(clean)}", params={"ref": ref}, accept=RAW_MEDIA, limit=limit
            )
        except NotFound:
            self.transport.request("GET", f"{self.path}/commits/{quote(ref, safe='')}", accept=_SHA_MEDIA)
            return None
        if answer.headers.get("content-type", "").startswith("application/json"):
            raise InvalidInput(f"{path} at {ref[:12]} is a directory or a submodule, a file was expected")
        return answer.body

    def commit(self, sha: str) -> dict[str, Any]:
        """One commit with its message and parents."""
        return self.transport.get(f"{self.path}/git/commits/{quote(sha, safe='')}")

    def branch_tip(self, branch: str) -> str:
        """The commit of a branch. Asked as a ref, because a plain name could also be a tag."""
        return str(self.transport.get(f"{self.path}/git/ref/heads/{quote(branch)}")["object"]["sha"])

    def is_ancestor_or_same(self, base: str, head: str) -> bool:
        """Whether commit ``base`` is reachable from commit ``head``. False for unknown commits and for histories without a
        common root."""
        try:
            return self._compare(base, head).get("status") in ("ahead", "identical")
        except NotFound:
            return False

    def first_parents(self, before: str, after: str, limit: int = 250) -> list[str] | None:
        """The commits that a push put on the branch, newest first, following first parents from ``after`` to ``before``.

        None when ``before`` is not an ancestor (force push) or when there are more than ``limit``.
        """
        query = {"per_page": 100, "page": 1}
        parents: dict[str, list[str]] = {}
        while True:
            value = self.transport.get(self._compare_path(before, after), query)
            if value.get("status") not in ("ahead", "identical") or value.get("total_commits", 0) > limit:
                return None
            commits = value.get("commits") or []
            parents |= {item["sha"]: [parent["sha"] for parent in item["parents"]] for item in commits}
            if len(parents) >= value.get("total_commits", 0) or not commits:
                break
            query = {**query, "page": query["page"] + 1}
        chain, current = [], after
        while current != before:
            if current not in parents or not parents[current]:
                return None
            chain.append(current)
            current = parents[current][0]
        return chain

    def _compare_path(self, base: str, head: str) -> str:
        return f"{self.path}/compare/{quote(base, safe='')}...{quote(head, safe='')}"

    def _compare(self, base: str, head: str) -> dict[str, Any]:
        return self.transport.get(self._compare_path(base, head), {"per_page": 1})

    # -- pull requests and people --------------------------------------------------------------------------------------

    def pull(self, number: int) -> dict[str, Any]:
        """A pull request as it is now."""
        return self.transport.get(f"{self.path}/pulls/{number}")

    def pulls_of(self, sha: str) -> list[dict[str, Any]]:
        """The pull requests that GitHub associates with a commit; [] for a commit it does not know."""
        try:
            return list(self.transport.pages(f"{self.path}/commits/{quote(sha, safe='')}/pulls"))
        except (NotFound, Unprocessable):
            return []

    def open_pulls(self, owner: str, branch: str) -> list[dict[str, Any]]:
        """The open pull requests whose head is that branch of that owner's repository, as they are now. For commits of a fork
        this is the only way: GitHub associates them with no pull request."""
        query = {"state": "open", "head": f"{owner}:{branch}"}
        return list(self.transport.pages(f"{self.path}/pulls", query, max_pages=5))

    def reviews(self, number: int) -> Iterator[dict[str, Any]]:
        """All reviews of a pull request."""
        return self.transport.pages(f"{self.path}/pulls/{number}/reviews")

    def issue_events(self, number: int) -> Iterator[dict[str, Any]]:
        """All events of a pull request, which is an issue too."""
        return self.transport.pages(f"{self.path}/issues/{number}/events")

    def permission(self, login: str, user_id: int | None = None) -> str:
        """The account's role here and now: admin, maintain, write, triage, read or none; "" whenever GitHub does not say so
        plainly.

        ``user_id``: refuses the answer when the login has passed to another account."""
        if not login or login in (".", ".."):
            return ""
        try:
            value = self.transport.get(f"{self.path}/collaborators/{quote(login, safe='')}/permission")
        except (NotFound, Forbidden, Gone, Unprocessable):
            return ""
        user = value.get("user")
        if user_id is not None and not (isinstance(user, dict) and user.get("id") == user_id):
            return ""
        folded, role = value.get("permission"), value.get("role_name")
        # A custom role has a name of its own; then only the folded value says what it can do.
        if role in _ROLES and _FOLDED.get(role, role) == folded:
            return str(role)
        return str(folded) if folded in _ROLES else ""

    # -- runs ----------------------------------------------------------------------------------------------------------

    def run(self, run_id: int) -> dict[str, Any]:
        """A workflow run."""
        return self.transport.get(f"{self.path}/actions/runs/{run_id}", {"exclude_pull_requests": "true"})

    def jobs(self, run_id: int) -> list[dict[str, Any]]:
        """The jobs of a run's latest attempt."""
        return list(self.transport.pages(f"{self.path}/actions/runs/{run_id}/jobs", key="jobs", max_pages=10))
