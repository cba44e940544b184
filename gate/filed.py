"""Rankings that stay in their file: of a large run only where each line begins is kept, and a ranking is read when somebody asks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from gate import jsonio
from gate.errors import InvalidInput
from gate.runs import BadRanking, Ranking, parse_ranking

SMALLEST = 1 << 20  # bytes; a smaller file is held, which costs nothing and needs no second look at the file

Stamp = tuple[int, int, int, int]  # device, inode, size, time of the last change


def stamp_of(path: Path) -> Stamp | None:
    """What tells whether a file is still the one that was read. None for one whose rankings cannot stay in it, or need not: packed, or
    small, or none that can be read at all, which is for the reader to say."""
    try:
        with open(path, "rb", opener=jsonio.regular) as file:
            stamp = _stamp(file)
            return stamp if stamp[2] >= SMALLEST and file.read(2) != jsonio.GZIP else None
    except (OSError, InvalidInput):
        return None


def _stamp(file: IO[bytes]) -> Stamp:
    found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class FiledRankings(Mapping[str, Ranking]):
    """Query id → ranking, over the lines of a file that was read and found in order.

    ``places``: query id → offset of its line; ``stamp``: of :func:`stamp_of`, taken before that reading. A file that has changed since
    raises :class:`InvalidInput`: its numbers are another run's.
    """

    def __init__(self, path: Path, places: Mapping[str, int], stamp: Stamp) -> None:
        self._path, self._places, self._stamp = path, places, stamp
        self._file: IO[bytes] | None = None
        self._last: tuple[str, Ranking] | None = None  # a report asks for one query several times in a row
        self._open()

    def _open(self) -> IO[bytes]:
        try:
            if self._file is None:
                self._file = open(self._path, "rb", opener=jsonio.regular)  # noqa: SIM115 - stays open as long as the run
            if _stamp(self._file) == self._stamp:
                return self._file
        except OSError:
            pass
        raise self._changed()

    def _changed(self) -> InvalidInput:
        return InvalidInput(f"{self._path}: has changed while it was compared", "let no step write a run that another one still reads")

    def __getitem__(self, query_id: str) -> Ranking:
        if self._last is not None and self._last[0] == query_id:
            return self._last[1]
        start = self._places[query_id]
        file = self._open()
        file.seek(start)
        try:
            record = jsonio.loads(file.readline().decode().rstrip("\r\n"))
            if str(record["id"]) != query_id:
                raise self._changed()
            self._last = query_id, parse_ranking(record)
        except (OSError, ValueError, LookupError, TypeError, BadRanking):
            raise self._changed() from None
        return self._last[1]

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def close(self) -> None:
        """Let go of the file until it is asked for again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        self.close()
