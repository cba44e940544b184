"""What a retriever printed: kept within bounds, shown so that it can do nothing but be read."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

KEEP = 64 * 1024
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LINE = 2000


def readable(text: str) -> list[str]:
    """Lines without control characters; ``##[``, which a workflow log obeys anywhere in a line, is taken apart."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    lines = []
    for line in text.split("\n"):
        line = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in line[:_LINE + 1])
        lines.append((line[:_LINE] + " …" if len(line) > _LINE else line).replace("##[", "## [").rstrip())
    return lines


def quoted(text: str, last: int | None = None, without: Sequence[str] = ()) -> str:
    """``text`` (its ``last`` lines) with ``| `` before every line, so that ``::command::`` is never at a line's beginning.

    Lines that hold one of ``without`` are left out.
    """
    lines = [line for line in readable(text.strip("\n")) if not any(words in line for words in without)]
    if last is not None and len(lines) > last:
        lines = [f"… {len(lines) - last} lines left out", *lines[-last:]]
    return "\n".join(f"| {line}".rstrip() for line in lines)


class Captured:
    """The first and the last half of ``keep`` bytes; the rest is counted and dropped.

    ``whole``: gets everything as well, where several processes print at once and each is quoted with its own words.
    """

    def __init__(self, keep: int = KEEP, whole: Captured | None = None) -> None:
        self.half = keep // 2
        self.total = 0
        self._whole, self._lock = whole, threading.Lock()
        self._head, self._tail = bytearray(), bytearray()

    @classmethod
    def of(cls, text: str) -> Captured:
        """With ``text`` in it."""
        made = cls()
        made.add(text.encode("utf-8", "replace"))
        return made

    def add(self, data: bytes) -> None:
        if self._whole is not None:
            self._whole.add(data)
        with self._lock:
            self._add(data)

    def _add(self, data: bytes) -> None:
        self.total += len(data)
        room = self.half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > self.half:
            del self._tail[:len(self._tail) - self.half]

    @property
    def dropped(self) -> int:
        return self.total - len(self._head) - len(self._tail)

    def text(self, last: int | None = None, without: Sequence[str] = ()) -> str:
        """:func:`quoted` output, or its ``last`` lines; empty when nothing was printed."""
        if not self.total:
            return ""
        gap = f"\n… {self.dropped} bytes left out …\n".encode() if self.dropped else b""
        return quoted(bytes(self._head + gap + self._tail).decode("utf-8", "replace"), last, without)
