"""The one comment of a gate on a pull request. Nothing that GitHub answers here may change a verdict, so nothing is raised."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gate.errors import GitHubError
from gate.github.failures import Forbidden, Gone, NotFound, ServerTrouble, Unprocessable
from gate.github.repository import Repository

STATUSES = ("created", "updated", "unchanged", "skipped-newer", "forbidden", "locked", "disabled", "too-long", "failed", "not-asked")
# What a job's own token is called; on GitHub Enterprise Server the id differs, the name does not.
JOB_IDENTITY = ("github-actions[bot]", "Bot")
_MARKER = re.compile(r"<!-- retrieval-gate:v1 gate=(\S+) head=([0-9a-f]*|none) run=(\d{1,19}|none) attempt=(\d{1,9}) -->\Z")
_LOCKED = re.compile(r"\blocked\b", re.IGNORECASE)


@dataclass(frozen=True)
class CommentResult:
    """``status``: one of STATUSES. ``url``: the comment, "" when there is none. ``detail``: one sentence when something went
    wrong."""

    status: str
    url: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Marker:
    """The hidden last line of the gate's comment."""

    gate: str
    head: str
    run: int
    attempt: int

    def __str__(self) -> str:
        return f"<!-- retrieval-gate:v1 gate={self.gate} head={self.head} run={self.run} attempt={self.attempt} -->"

    def outdates(self, other: Marker) -> bool:
        """Whether ``other`` comes too late to overwrite what carries this marker. For another head the later run wins. For the
        same head a re-run of an earlier run is as good as a later run."""
        if self.head != other.head:
            return (self.run, self.attempt) > (other.run, other.attempt)
        return self.run >= other.run and self.attempt >= other.attempt and (self.run, self.attempt) != (other.run, other.attempt)


def split_marker(body: str) -> tuple[str, Marker | None]:
    """A comment's text without its marker, and the marker. Only the last line counts: text quoted further up proves nothing."""
    text, _, last = body.replace("\r\n", "\n").rstrip().rpartition("\n")
    match = _MARKER.match(last.strip())
    if match is None:
        return body.replace("\r\n", "\n").rstrip(), None
    return text.rstrip(), Marker(match[1], match[2].replace("none", ""), int(match[3].replace("none", "0")), int(match[4]))


def upsert_comment(
    repository: Repository,
    number: int,
    gate: str,
    body: str,
    head_sha: str,
    run_id: int,
    attempt: int,
    *,
    graphql_url: str = "",
    create: bool = True,
    yields: bool = False,
) -> CommentResult:
    """Write or edit in place the comment of ``gate`` on pull request ``number``; the marker line is added here. Without
    ``create`` only one that is there already is kept up to date, so that a green result corrects an earlier red one. With ``yields``
    what the very same run and attempt has written stays as it is: it knows more than whoever speaks for it.

    A comment is ours when its last line is our marker AND its author is who our token speaks for: anybody can copy a marker,
    and a token with write permission could edit anybody's comment. ``graphql_url``: where to ask for the token's identity."""
    marker = Marker(gate, head_sha, run_id, attempt)
    text, _ = split_marker(body)
    try:
        return _Comments(repository, number, graphql_url, yields).upsert(f"{text}\n\n{marker}\n", marker, create)
    except GitHubError as error:
        return CommentResult(_status(error), "", error.problems[0])
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        # An answer that is not what the API describes, from a proxy for instance.
        return CommentResult("failed", "", f"GitHub answered something unexpected about the comment ({type(fault).__name__})")


def _status(error: GitHubError) -> str:
    if isinstance(error, Forbidden):
        return "locked" if _LOCKED.search(error.said) else "forbidden"
    if isinstance(error, Gone):
        return "disabled"
    if isinstance(error, Unprocessable) and any("too long" in text for text in error.errors):
        return "too-long"
    return "failed"


class _Comments:
    def __init__(self, repository: Repository, number: int, graphql_url: str, yields: bool) -> None:
        self._transport, self._graphql_url, self._yields = repository.transport, graphql_url, yields
        self._list_path = f"{repository.path}/issues/{number}/comments"
        self._one_path = f"{repository.path}/issues/comments"
        self._identity: tuple[str, str] | None = None

    def upsert(self, body: str, marker: Marker, create: bool) -> CommentResult:
        own = self._own(marker.gate)
        if own:
            try:
                return self._edit(own, body, marker)
            except NotFound:
                pass  # somebody deleted it in between
        return self._create(body, marker) if create else CommentResult("not-asked")

    def _create(self, body: str, marker: Marker) -> CommentResult:
        try:
            made = self._post(body)
        except ServerTrouble as trouble:
            # It may have been written all the same: look before writing again.
            own = self._own(marker.gate)
            written = [comment for comment in own if split_marker(str(comment["body"]))[1] == marker]
            made = written[0] if written else self._post_again(body, trouble)
        user = made.get("user") or {}
        self._identity = (str(user.get("login", "")), str(user.get("type", "")))
        created = CommentResult("created", str(made.get("html_url", "")))
        try:
            older = [comment for comment in self._own(marker.gate) if int(comment["id"]) < int(made["id"])]
        except GitHubError:
            return created  # the next run heals a duplicate
        if not older:
            return created
        # Two runs can both find nothing and both write. Ids ascend, so whoever wrote second sees the first one and goes back.
        result = self._edit(older, body, marker)
        self._delete(made)
        return result

    def _edit(self, own: Sequence[dict[str, Any]], body: str, marker: Marker) -> CommentResult:
        newest = max(
            (found for comment in own if (found := split_marker(str(comment["body"]))[1])),
            key=lambda found: (found.run, found.attempt),
        )
        first, url = own[0], str(own[0].get("html_url", ""))
        if newest.outdates(marker) or (self._yields and newest == marker):
            return CommentResult(
                "skipped-newer", url, f"run {newest.run}, attempt {newest.attempt}, has already written its result"
            )
        text, old = split_marker(str(first["body"]))
        # The head is part of what must be equal: with an old one in the marker a late run would not see that it is late.
        if (text, old and old.head) == (split_marker(body)[0], marker.head):
            result = CommentResult("unchanged", url)
        else:
            edited = self._transport.request("PATCH", f"{self._one_path}/{int(first['id'])}", json={"body": body}).object()
            result = CommentResult("updated", str(edited.get("html_url", url)))
        for duplicate in own[1:]:
            self._delete(duplicate)
        return result

    def _post(self, body: str) -> dict[str, Any]:
        return self._transport.request("POST", self._list_path, json={"body": body}).object()

    def _post_again(self, body: str, trouble: ServerTrouble) -> dict[str, Any]:
        if trouble.final:
            raise trouble
        self._transport.sleep(2.0)
        return self._post(body)

    def _delete(self, comment: dict[str, Any]) -> None:
        # Gone already, or for the next run to try.
        with contextlib.suppress(GitHubError):
            self._transport.request("DELETE", f"{self._one_path}/{int(comment['id'])}")

    # -- which comments are ours ---------------------------------------------------------------------------------------

    def _own(self, gate: str) -> list[dict[str, Any]]:
        """Our comments for this gate, oldest first. Our identity is asked for only when there is a marker to judge."""
        marked = [
            comment
            for comment in self._transport.pages(self._list_path)
            if (marker := split_marker(str(comment.get("body") or ""))[1]) is not None and marker.gate == gate
        ]
        if not marked:
            return []
        login, kind = self._identity or self._ask_identity()
        own = [
            comment
            for comment in marked
            if isinstance(user := comment.get("user"), dict) and user.get("login") == login and user.get("type") == kind
        ]
        return sorted(own, key=lambda comment: int(comment["id"]))

    def _ask_identity(self) -> tuple[str, str]:
        """REST does not tell a job's token who it is, GraphQL does. Where there is no answer the token is taken for a job's
        own."""
        try:
            if self._graphql_url:
                value = self._transport.request(
                    "POST", self._graphql_url, json={"query": "query{viewer{login}}"}, repeatable=True
                ).object()
                login = ((value.get("data") or {}).get("viewer") or {}).get("login")
                if isinstance(login, str) and login:
                    self._identity = (login, "Bot" if login.endswith("[bot]") else "User")
                    return self._identity
        except GitHubError:
            pass
        self._identity = JOB_IDENTITY
        return JOB_IDENTITY
