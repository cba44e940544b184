"""Which pull requests a push to the default branch merged: by squash, rebase, merge commit or merge queue."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gate.github.failures import NotFound
from gate.github.repository import Repository

# Right after a merge GitHub may not know the association yet.
LAG_WAITS = (2.0, 4.0, 8.0)
_HINTS = (re.compile(r"\AMerge pull request #(\d{1,9}) from "), re.compile(r"\(#(\d{1,9})\)\Z"))


@dataclass(frozen=True)
class MergedPull:
    """A merged pull request; ``head_sha`` is its final head."""

    number: int
    head_sha: str
    merged_at: str
    merge_commit: str


@dataclass(frozen=True)
class MergedPulls:
    """What a push consists of: ``pulls`` in the order in which they landed, and the commits that no pull request explains."""

    pulls: tuple[MergedPull, ...] = ()
    unexplained: tuple[str, ...] = ()

    @property
    def direct(self) -> bool:
        """Nothing in the push came from a pull request."""
        return not self.pulls


def merged_pulls(
    repository: Repository,
    after: str,
    before: str,
    repository_id: int,
    default_branch: str,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> MergedPulls:
    """The pull requests of the push ``before..after``. Without ``before`` (schedule, dispatch, first push) only ``after`` is
    looked at.

    A pull request counts when it was merged into this repository's default branch and GitHub names a commit of the push as the
    merge. A message that mentions a number is only ever a hint for where to look. The last commit must itself be such a merge:
    approved commits with something pushed on top of them are a direct push."""
    chain = repository.first_parents(before, after) if before and before != after else [after]
    if chain is None:
        # A force push, or more than anybody reviewed at once.
        return MergedPulls(unexplained=(after,))
    search = _Search(repository, repository_id, default_branch, set(chain))
    tip = search.at(after)
    for wait in LAG_WAITS:
        if tip is not None:
            break
        sleep(wait)
        tip = search.at(after)
    if tip is None:
        tip = search.hinted(after)
    if tip is None or tip.merge_commit != after:
        return MergedPulls(unexplained=tuple(chain))
    found: dict[int, MergedPull] = {tip.number: tip}
    unexplained = []
    for sha in chain[1:]:
        pull = search.at(sha) or search.hinted(sha)
        if pull is None:
            unexplained.append(sha)
        else:
            found.setdefault(pull.number, pull)
    return MergedPulls(tuple(reversed(found.values())), tuple(unexplained))


def hinted_numbers(message: str) -> list[int]:
    """The pull requests that a commit's title names, as GitHub writes it for merges and squashes. A hint, never a proof."""
    title = message.split("\n", 1)[0].strip()
    return [int(match[1]) for pattern in _HINTS if (match := pattern.search(title))]


class _Search:
    def __init__(self, repository: Repository, repository_id: int, default_branch: str, pushed: set[str]) -> None:
        self._repository, self._id, self._branch, self._pushed = repository, repository_id, default_branch, pushed

    def at(self, sha: str) -> MergedPull | None:
        """The pull request that brought ``sha``: one whose merge it is, else one whose merge lies in this push (rebase)."""
        found = [pull for pull in map(self._accept, self._repository.pulls_of(sha)) if pull is not None]
        return next((pull for pull in found if pull.merge_commit == sha), found[0] if found else None)

    def hinted(self, sha: str) -> MergedPull | None:
        """The pull request that the commit's message names, if GitHub confirms that ``sha`` is its merge."""
        for number in hinted_numbers(str(self._repository.commit(sha).get("message", ""))):
            try:
                pull = self._accept(self._repository.pull(number))
            except NotFound:
                continue
            if pull is not None and pull.merge_commit == sha:
                return pull
        return None

    def _accept(self, value: Mapping[str, Any]) -> MergedPull | None:
        base = value.get("base") or {}
        if not value.get("merged_at") or base.get("ref") != self._branch or (base.get("repo") or {}).get("id") != self._id:
            return None
        merge = str(value.get("merge_commit_sha") or "")
        if merge not in self._pushed:
            return None
        return MergedPull(int(value["number"]), str(value["head"]["sha"]), str(value["merged_at"]), merge)
