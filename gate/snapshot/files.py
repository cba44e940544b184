"""The files of a snapshot directory, read as hostile: no links, no devices, nothing larger than announced."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gate.errors import InvalidInput

MAX_FILES = 10_000
_BLOCK = 1024**2
# O_NONBLOCK: opening a named pipe must not wait for somebody to write into it.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class FileFacts:
    """``sha256`` is 64 hex digits."""

    sha256: str
    bytes: int


def _open(path: Path) -> int:
    try:
        fd = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: is missing", "build the snapshot again, or fetch it again") from None
    except OSError as error:
        raise InvalidInput(f"{path}: " + ("is a symbolic link, which is not accepted" if path.is_symlink() else
                                          f"cannot be read ({error.strerror})")) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise InvalidInput(f"{path}: is not a regular file")
    return fd


def read_regular(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes."""
    with open(_open(path), "rb") as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise InvalidInput(f"{path}: larger than the gate reads ({limit} bytes)")
    return data


def measure(path: Path, limit: int | None = None) -> FileFacts:
    """Digest and size of a regular file; reading stops after ``limit`` bytes, since more than announced is already wrong."""
    total, size = hashlib.sha256(), 0
    with open(_open(path), "rb", buffering=0) as stream:
        while block := stream.read(_BLOCK):
            size += len(block)
            total.update(block)
            if limit is not None and size > limit:
                break
    return FileFacts(total.hexdigest(), size)


def copy(source: Path, target: Path) -> None:
    """Copy a regular file, no link, to a new place, whose folders are made."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(_open(source), "rb") as stream, open(target, "xb") as out:
        shutil.copyfileobj(stream, out, _BLOCK)


def walk(directory: Path, problems: list[str]) -> Iterator[tuple[str, Path]]:
    """(relative POSIX path, path) of every regular file below; whatever else is found is added to ``problems``."""
    pending, seen = [directory], 0
    while pending:
        for entry in sorted(os.scandir(pending.pop()), key=lambda e: e.name):
            path = Path(entry.path)
            seen += 1
            if seen > 4 * MAX_FILES:
                problems.append(f"{directory}: holds more than {4 * MAX_FILES} files and directories")
                return
            if entry.is_symlink():
                problems.append(f"{path}: is a symbolic link, which a snapshot must not contain")
            elif entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif entry.is_file(follow_symlinks=False):
                yield path.relative_to(directory).as_posix(), path
            else:
                problems.append(f"{path}: is neither a file nor a directory")
