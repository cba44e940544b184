"""The standard input and output of a container that runs: JSON lines to it and from it, through the engine."""

from __future__ import annotations

import contextlib
import select
import struct
import time
from typing import Any

from gate import jsonio
from gate.golden.model import Query
from gate.retrievers.pool import QueryFailed
from gate.retrievers.team.answers import ranking_of
from gate.retrievers.team.output import readable
from gate.runs import Ranking

MAX_ANSWER = 8 * 1024**2
_CHARS = 1000
_BLOCK = 64 * 1024
_STDOUT = 1
_KEYS = {"id", "ranked", "scores", "candidates", "cost", "ms", "error"}


class Pipe:
    """One question at a time. ``connection``: what the engine gives for an attached container. A line ends an answer; standard error is in
    the container's log and not here."""

    def __init__(self, connection: Any) -> None:
        self._kept, self._socket = connection, getattr(connection, "_sock", connection)
        self._raw, self._lines = bytearray(), bytearray()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._kept.close()

    def send(self, line: str) -> None:
        """Raises :class:`QueryFailed` when nobody reads."""
        try:
            self._socket.sendall(line.encode("utf-8", "replace") + b"\n")
        except OSError:
            raise QueryFailed("its standard input is closed", outage=True) from None

    def line(self, deadline: float) -> bytes:
        """The next line. Raises :class:`QueryFailed` when there is none by ``deadline``, of the monotonic clock."""
        while (end := self._lines.find(b"\n")) < 0:
            if len(self._lines) > MAX_ANSWER:
                raise QueryFailed(f"it wrote a line of more than {MAX_ANSWER} bytes", outage=True)
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                raise QueryFailed("it gave no answer in time (`retriever.limits.query_seconds`)", outage=True)
            try:
                data = self._socket.recv(_BLOCK)
            except OSError:
                data = b""
            if not data:
                raise QueryFailed("its standard output is closed", outage=True)
            self._take(data)
        line = bytes(self._lines[:end])
        del self._lines[:end + 1]
        return line

    def _take(self, data: bytes) -> None:
        """The engine sends both outputs in frames: which one it is in the first byte, the length in the last four of eight."""
        self._raw += data
        while len(self._raw) >= 8:
            stream, length = self._raw[0], struct.unpack(">I", self._raw[4:8])[0]
            if len(self._raw) < 8 + length:
                return
            if stream == _STDOUT:
                self._lines += self._raw[8:8 + length]
            del self._raw[:8 + length]


class PipeSeat:
    """See :class:`gate.retrievers.pool.Seat`. ``start_seconds``: what the first answer may take besides, in which it is still starting."""

    def __init__(self, pipe: Pipe, start_seconds: float) -> None:
        self._pipe, self._more = pipe, start_seconds
        self._given_up: set[str] = set()

    def ask(self, query: Query, depth: int, seconds: float) -> Ranking:
        deadline = time.monotonic() + seconds + self._more
        self._pipe.send(jsonio.dumps({"id": query.id, "query": query.text, "n": depth}))
        asked = time.monotonic()
        try:
            while (answer := self._opened(self._pipe.line(deadline)))["id"] in self._given_up:
                self._given_up.discard(answer["id"])  # late, of a question that nobody waits for any more
        except QueryFailed:
            self._given_up.add(query.id)
            raise
        self._more = 0.0
        if answer["id"] != query.id:
            raise QueryFailed(f"it answered the query {answer['id'][:60]!r}, which it was not asked", outage=True)
        ranking = _ranking(answer, depth)
        if ranking.ms is None and not ranking.error:
            ranking.ms = (time.monotonic() - asked) * 1000
        return ranking

    @staticmethod
    def _opened(line: bytes) -> dict[str, Any]:
        try:
            answer = jsonio.loads(line.decode())
        except ValueError:
            raise QueryFailed("it wrote a line that is not JSON to its standard output; what it has to tell belongs on standard error",
                              outage=True) from None
        if not isinstance(answer, dict) or not isinstance(answer.get("id"), str):
            raise QueryFailed("it wrote an answer without the `id` of its query", outage=True)
        return answer

    def close(self) -> None:
        """The container is ended by who started it."""


def _ranking(answer: dict[str, Any], depth: int) -> Ranking:
    if unknown := sorted(answer.keys() - _KEYS):
        raise QueryFailed(f"its answer has the unknown key {unknown[0][:60]!r}; known are {', '.join(sorted(_KEYS))}")
    if answer.get("error"):
        said = " ".join(" ".join(readable(str(answer["error"])[:_CHARS])).split())
        raise QueryFailed(f"it answered with an error: {said}")
    ranking, _ = ranking_of(answer, depth + 1)  # one more, so that who cuts knows
    if ranking.error:
        raise QueryFailed(ranking.error.rstrip("."))
    return ranking
