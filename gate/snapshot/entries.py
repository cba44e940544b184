"""Where the entries of a stranger's archive go: names are checked before a file is opened, bytes counted while they come."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from io import RawIOBase
from pathlib import Path
from typing import NamedTuple

from gate.errors import InvalidInput, SnapshotUnavailable
from gate.snapshot.files import MAX_FILES
from gate.snapshot.manifest import NAME, unsafe_path

BLOCK = 256 * 1024
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# What is the archive's fault; a full disk, too many open files and the like are the machine's.
_OF_THE_NAME = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ)


class BadArchive(InvalidInput):
    """An archive that is damaged, or that no honest tool would have made of a snapshot."""


class Caps(NamedTuple):
    """``entries``: of the archive, also those that are not wanted; ``files``: those that are written; ``total``: bytes after inflating;
    of these the first ``free`` may be packed at any ratio, all together at ``ratio`` at most."""

    entries: int = 500_000
    files: int = MAX_FILES + 1
    total: int = 64 * 1024**3
    ratio: int = 100
    free: int = 64 * 1024**2


class Entries:
    """``into``: an empty folder; ``packed``: bytes of the archive. ``drop``: how many leading folders are taken off each name;
    ``within``: only what is below this folder then is written."""

    def __init__(self, into: Path, packed: int, caps: Caps | None = None, drop: int = 0, within: str = "") -> None:
        self._caps = caps or Caps()
        self._into, self._drop, self._within = into, drop, [part for part in within.split("/") if part]
        self._most = min(self._caps.total, max(self._caps.free, packed * self._caps.ratio))
        self._inflated = self._count = 0
        self.files: set[str] = set()
        self._folders: set[str] = set()

    def spend(self, size: int) -> None:
        """Count inflated bytes."""
        self._inflated += size
        if self._inflated > self._most:
            raise BadArchive(f"inflates to more than {self._most} bytes")

    def accept(self, name: str, kind: str) -> str:
        """The plain path that an entry is written to; empty when nothing is to be written. ``kind``: "file", "folder", or what else it is,
        which is refused where it would have to be written."""
        self._count += 1
        if self._count > self._caps.entries:
            raise BadArchive(f"holds more than {self._caps.entries} entries")
        plain = name.rstrip("/") if kind == "folder" else name
        while plain.startswith("./"):
            plain = plain[2:]
        if kind == "folder" and plain in ("", "."):
            return ""
        if len(parts := plain.split("/")) <= self._drop and kind == "folder":
            return ""
        inner = parts[self._drop:]
        if inner[:len(self._within)] != self._within:
            return ""
        path = "/".join(inner[len(self._within):])
        shown = ascii(name[:80])
        if kind not in ("file", "folder"):
            raise BadArchive(f"entry {shown} is {kind}, not a file")
        if kind == "folder" and not path:
            return ""
        if fault := unsafe_path(path) if path != NAME else "":
            raise BadArchive(f"entry {shown} {fault}")
        self._claim(path, kind, shown)
        return path if kind == "file" else ""

    def _claim(self, path: str, kind: str, shown: str) -> None:
        """Of two entries with one name it would depend on the tool which is unpacked."""
        parts = path.split("/")
        above = ["/".join(parts[:n]) for n in range(1, len(parts))]
        if path in self.files or (kind == "file" and path in self._folders) or not self.files.isdisjoint(above):
            raise BadArchive(f"entry {shown} is there twice, or as a file and as a folder")
        self._folders.update(above if kind == "file" else (*above, path))
        if kind == "file":
            self.files.add(path)
        if len(self.files) > self._caps.files or len(self._folders) > 4 * self._caps.files:
            raise BadArchive(f"holds more than {self._caps.files} files")

    def write(self, path: str, read: Callable[[int], bytes]) -> None:
        """One file. ``read``: gives at most that many bytes of it, none at its end."""
        target = self._into / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(target, _FLAGS, 0o644)
        except OSError as error:
            if error.errno not in _OF_THE_NAME:
                raise no_room(error) from None
            raise BadArchive(f"entry {ascii(path[:80])} cannot be written ({error.strerror})") from None
        with os.fdopen(handle, "wb", buffering=0) as stream:
            while block := read(BLOCK):
                write_all(stream, block)


def write_all(stream: RawIOBase, block: bytes) -> None:
    """To an unbuffered file. A full disk takes the beginning of a block before it refuses the rest."""
    rest = memoryview(block)
    try:
        while rest:
            rest = rest[stream.write(rest):]
    except OSError as error:
        raise no_room(error) from None


def full(error: OSError) -> bool:
    """Whether it is the machine that has nothing left to give, whatever was to be written."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)


def no_room(error: OSError) -> SnapshotUnavailable:
    """What a fetched file could not be written for."""
    where = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return SnapshotUnavailable(f"the fetched snapshot cannot be written ({where}{error.strerror or type(error).__name__})",
                               "make room on the disk, or let RETRIEVAL_GATE_CACHE name a folder on another one")
