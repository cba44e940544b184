"""Files that git holds in its large file storage and that were never pulled: a few lines that name the content instead of the content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gate.errors import InvalidInput
from gate.snapshot.files import read_regular

_FIRST_LINE = b"version https://git-lfs.github.com/spec/v1"
# The specification keeps pointer files below this.
_LONGEST = 1024
_SHOWN = 5
CURE = ("pull the content: `lfs: true` for actions/checkout, `git lfs pull` on a laptop; or fetch the snapshot from a place that holds it "
        "whole (docs/snapshots.md)")


def is_pointer(data: bytes) -> bool:
    """Whether this is a pointer file's content."""
    return len(data) < _LONGEST and data.startswith(_FIRST_LINE)


def _points(path: Path) -> bool:
    try:
        return path.stat(follow_symlinks=False).st_size < _LONGEST and is_pointer(read_regular(path, _LONGEST))
    except (OSError, InvalidInput):
        return False  # whatever else is wrong with it is told by whoever needs the file


def check_pulled(directory: Path, paths: Sequence[Path]) -> None:
    """Raises :class:`InvalidInput` when some of the files are pointers: their digests would only say that something differs."""
    found = [path for path in paths if _points(path)]
    if found:
        names = ", ".join(path.relative_to(directory).as_posix() for path in found[:_SHOWN])
        more = f", … ({len(found)} files)" if len(found) > _SHOWN else ""
        raise InvalidInput(f"{directory}: Git LFS pointers in place of the files {names}{more}: the content was not pulled", CURE)
