"""A folder of files that somebody else wrote: taken over, and known again."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gate import jsonio
from gate.retrievers.team.sandbox import User

_THREADS = 4


class Strange(Exception):
    """Something in the folder that cannot be there by honest means."""


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Path below ``root`` and facts of everything in it, itself first; links are not followed."""
    yield ".", root.lstat()
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(root / folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                name = f"{folder}/{entry.name}".lstrip("/")
                yield name, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)


def take_over(root: Path, user: User | None) -> None:
    """Everything belongs to the gate, for others to read. ``user``: who wrote it, and has no process any more. Raises :class:`Strange`."""
    writer = os.geteuid() if user is None else user.uid
    for name, facts in _walk(root):
        path = root / name
        if facts.st_uid not in (writer, os.geteuid()) or stat.S_IFMT(facts.st_mode) not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            raise Strange(f"{name} is neither a file nor a folder nor a link of whoever wrote it")
        if stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1:
            raise Strange(f"{name} is a second name of a file that may lie elsewhere")  # and would be opened to others there
        if user is not None:
            os.lchown(path, os.geteuid(), os.getegid())
        if not stat.S_ISLNK(facts.st_mode):
            path.chmod(0o755 if stat.S_ISDIR(facts.st_mode) or facts.st_mode & 0o100 else 0o644)


def _digest_of_file(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_of(root: Path, user: User | None) -> str:
    """Of all names, kinds, rights, targets of links and contents. ``user``: who must not be able to change them. Raises OSError or
    :class:`Strange`."""
    found: list[list[str]] = []
    files: list[Path] = []
    for name, facts in _walk(root):
        mode = facts.st_mode
        if stat.S_ISLNK(mode):
            found.append(["link", name, os.readlink(root / name)])
            continue
        if user is not None and (facts.st_uid == user.uid or mode & 0o022):
            raise Strange(f"{name} can be changed by the retriever's user")
        kind = "folder" if stat.S_ISDIR(mode) else "program" if mode & 0o100 else "file"
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            raise Strange(f"{name} is neither a file nor a folder nor a link")
        found.append([kind, name])
        if kind != "folder":
            files.append(root / name)
    with ThreadPoolExecutor(_THREADS) as pool:  # hashing lets go of the interpreter
        digests = list(pool.map(_digest_of_file, files))
    return jsonio.digest([sorted(found), sorted(zip(map(str, (file.relative_to(root) for file in files)), digests, strict=True))])
