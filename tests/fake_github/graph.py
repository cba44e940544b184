"""Questions about the commit graph and the trees: ancestry, merge base, compare, diff."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from .state import Commit, Network


@dataclass(frozen=True)
class Comparison:
    status: str  # identical | ahead | behind | diverged, seen from the base
    merge_base: str
    ahead: list[str]  # oldest first
    behind: list[str]


@dataclass(frozen=True)
class FileChange:
    path: str
    status: str  # added | modified | removed
    additions: int
    deletions: int
    patch: str | None
    blob_sha: str


def ancestors(network: Network, sha: str) -> set[str]:
    """The commit itself and everything reachable from it."""
    seen: set[str] = set()
    waiting = [sha]
    while waiting:
        current = waiting.pop()
        # A shallow import leaves parents that are not stored; they end the walk.
        if current not in seen and current in network.commits:
            seen.add(current)
            waiting.extend(network.commits[current].parents)
    return seen


def topological(network: Network, shas: Iterable[str]) -> list[str]:
    """Parents before children; among unrelated commits the order in which they were stored."""
    wanted = set(shas)
    done: dict[str, None] = {}
    for start in (sha for sha in network.commits if sha in wanted):
        stack = [(start, False)]
        while stack:
            sha, parents_done = stack.pop()
            if parents_done:
                done.setdefault(sha)
            elif sha in wanted and sha not in done:
                stack.append((sha, True))
                stack.extend((parent, False) for parent in reversed(network.commits[sha].parents))
    return list(done)


def merge_base(network: Network, one: str, other: str) -> str | None:
    common = ancestors(network, one) & ancestors(network, other)
    order = topological(network, common)
    return order[-1] if order else None


def compare(network: Network, base: str, head: str) -> Comparison | None:
    """None when the two histories share nothing (the service answers 404 then)."""
    meeting = merge_base(network, base, head)
    if meeting is None:
        return None
    of_base, of_head = ancestors(network, base), ancestors(network, head)
    ahead = topological(network, of_head - of_base)
    behind = topological(network, of_base - of_head)
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else "identical"
    return Comparison(status, meeting, ahead, behind)


def blob_sha(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def tree_sha(files: dict[str, bytes]) -> str:
    """Stable and unique per tree, but not git's own: nothing reads trees by their real address."""
    digest = hashlib.sha1(usedforsecurity=False)
    for path in sorted(files):
        digest.update(f"{path}\0{blob_sha(files[path])}\n".encode())
    return digest.hexdigest()


def commit_sha(tree: str, parents: Iterable[str], message: str, date: str, salt: int) -> str:
    text = "\n".join(["commit", tree, *parents, message, date, str(salt)])
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def diff(before: Commit | None, after: Commit) -> list[FileChange]:
    old = before.files if before else {}
    changes = []
    for path in sorted(old.keys() | after.files.keys()):
        was, now = old.get(path), after.files.get(path)
        if was != now:
            changes.append(_change(path, was, now))
    return changes


def _change(path: str, was: bytes | None, now: bytes | None) -> FileChange:
    status = "added" if was is None else "removed" if now is None else "modified"
    try:
        lines = list(
            difflib.unified_diff(
                (was or b"").decode().splitlines(), (now or b"").decode().splitlines(), lineterm="", n=3
            )
        )[2:]
    except UnicodeDecodeError:
        # Binary files are listed without a patch and with zero counts.
        return FileChange(path, status, 0, 0, None, blob_sha(now or was or b""))
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return FileChange(path, status, added, removed, "\n".join(lines), blob_sha(now if now is not None else was or b""))
