"""One branch as a place for files: read through the list of its commits, written through git's own objects, without a checkout."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gate.github.failures import Forbidden, NotFound, TooMany, Unprocessable
from gate.github.repository import Repository

# GitHub takes no larger file into a repository.
MAX_BLOB = 100 * 1000**2
MAX_COMMITS = 300
_PAGE = 100
_WEB_FLOW = "web-flow"


@dataclass(frozen=True)
class BranchCommit:
    """A commit as GitHub shows it. ``author``: its login, "" for an address that belongs to no account; ``app``: whether author and
    committer are an app's account (or GitHub in its place), not a person's; ``signed``: whether GitHub vouches for that. ``date``:
    ISO 8601, from the committer."""

    sha: str
    message: str
    date: str
    author: str
    app: bool
    signed: bool


@dataclass(frozen=True)
class Rewriting:
    """A push that took commits away. ``kind``: force_push or branch_deletion; ``at``: ISO 8601."""

    kind: str
    actor: str
    at: str

    @property
    def sentence(self) -> str:
        """What happened, as the end of a sentence that begins with the branch."""
        return f"was {'deleted' if self.kind == 'branch_deletion' else 'rewritten'} by {self.actor or 'somebody unknown'} at {self.at}"


class Branch:
    """``name``: the branch's, without refs/heads/."""

    def __init__(self, repository: Repository, name: str) -> None:
        self._repository, self.name = repository, name

    # -- reading -------------------------------------------------------------------------------------------------------

    def tip(self) -> str:
        """Its newest commit; "" when there is no such branch."""
        try:
            return self._repository.branch_tip(self.name)
        except NotFound:
            return ""

    def commits(self, tip: str, folder: str, limit: int = MAX_COMMITS) -> list[BranchCommit]:
        """The commits up to ``tip`` that touch ``folder``, newest first; at most ``limit``, in whole pages."""
        found = []
        try:
            for item in self._repository.transport.pages(
                f"{self._repository.path}/commits", {"sha": tip, "path": folder}, max_pages=max(1, limit // _PAGE)
            ):
                found.append(_commit(item))
        except TooMany:
            pass
        return found

    def read(self, path: str, sha: str, limit: int = MAX_BLOB) -> bytes | None:
        """A file as of a commit; None when it is not there."""
        return self._repository.file_at(path, sha, limit)

    def last_rewriting(self) -> Rewriting | None:
        """The newest push that deleted or rewrote the branch; None where there is none, or where GitHub does not tell."""
        found = []
        for kind in ("force_push", "branch_deletion"):
            query = {"ref": f"refs/heads/{self.name}", "activity_type": kind, "per_page": 1}
            try:
                listed = self._repository.transport.request("GET", f"{self._repository.path}/activity", params=query).json()
            except (NotFound, Forbidden, Unprocessable):
                return None
            for item in listed if isinstance(listed, list) else ():
                actor = str((item.get("actor") or {}).get("login") or "")
                found.append(Rewriting(kind, actor, str(item.get("timestamp") or "")))
        return max(found, key=lambda rewriting: rewriting.at, default=None)

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, folder: str, files: Mapping[str, bytes | str], message: str, parent: str, beside: Mapping[str, str]) -> dict[str, Any]:
        """A commit on ``parent`` ("" = none) in which ``folder`` holds exactly ``files``; no branch points to it yet. A text in ``files``
        is the digest of bytes that the repository has already. ``beside``: files of the root that a first commit brings along.

        No author is named: so GitHub itself signs what an app writes."""
        blobs = {name: content if isinstance(content, str) else self._blob(content) for name, content in files.items()}
        inner = self._post("trees", {"tree": [_entry(name, sha) for name, sha in sorted(blobs.items())]})["sha"]
        entries: list[dict[str, Any]] = [{"path": folder, "mode": "040000", "type": "tree", "sha": inner}]
        if parent:
            whole = {"base_tree": self._repository.commit(parent)["tree"]["sha"], "tree": entries}
        else:
            texts = [{"path": name, "mode": "100644", "type": "blob", "content": text} for name, text in beside.items()]
            whole = {"tree": entries + texts}
        tree = self._post("trees", whole)["sha"]
        return self._post("commits", {"message": message, "tree": tree, "parents": [parent] if parent else []})

    def move(self, sha: str, parent: str) -> bool:
        """Point the branch at ``sha``, never past what somebody else has put there: False when it has left ``parent`` meanwhile."""
        transport, path = self._repository.transport, self._repository.path
        try:
            if parent:
                transport.request("PATCH", f"{path}/git/refs/heads/{quote(self.name)}", json={"sha": sha, "force": False})
            else:
                body = {"ref": f"refs/heads/{self.name}", "sha": sha}
                transport.request("POST", f"{path}/git/refs", json=body, repeatable=True)
        except Unprocessable:
            now = self.tip()
            if now == parent:
                raise  # nobody else was there: a rule of the repository forbids it
            return now == sha  # a lost answer, sent once more
        return True

    def _blob(self, data: bytes) -> str:
        return str(self._post("blobs", {"content": base64.b64encode(data).decode(), "encoding": "base64"})["sha"])

    def _post(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        # Git's objects are named by their content (a commit's date aside), so that sending one again does no harm.
        path = f"{self._repository.path}/git/{what}"
        return self._repository.transport.request("POST", path, json=body, repeatable=True).object()


def blob_sha(data: bytes) -> str:
    """The name that git gives to these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _entry(name: str, sha: str) -> dict[str, Any]:
    return {"path": name, "mode": "100644", "type": "blob", "sha": sha}


def _commit(value: Mapping[str, Any]) -> BranchCommit:
    author, committer, inner = value.get("author") or {}, value.get("committer") or {}, value.get("commit") or {}
    # A person can sign as committer what names an app as its author.
    app = author.get("type") == "Bot" and committer.get("login") in (author.get("login"), _WEB_FLOW)
    return BranchCommit(
        sha=str(value["sha"]),
        message=str(inner.get("message") or ""),
        date=str((inner.get("committer") or {}).get("date") or ""),
        author=str(author.get("login") or ""),
        app=app,
        signed=(inner.get("verification") or {}).get("verified") is True,
    )
