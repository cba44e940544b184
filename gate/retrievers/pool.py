"""Asks many queries, one after another or several at once, within the limits; whatever it is that answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Protocol

from gate.errors import RetrieverFailed
from gate.figures import plural
from gate.golden.model import Query
from gate.retrievers.cutting import cut
from gate.retrievers.limits import Limits
from gate.runs import Ranking

# Faults of the service itself, one after another, after which it counts as down: asking on would only wait for each of the others.
OUTAGES = 4


class QueryFailed(Exception):
    """No answer to one query, in words without a stop. ``outage``: what answers seems to be the reason, and not the query."""

    def __init__(self, message: str, outage: bool = False) -> None:
        self.outage = outage
        super().__init__(message)


class Seat(Protocol):
    """Answers one query at a time; used by one thread only, made and closed in it."""

    def ask(self, query: Query, depth: int, seconds: float) -> Ranking:
        """The ranking, not cut. ``seconds``: how long it may take. Raises :class:`QueryFailed`, or RetrieverFailed when going on is
        pointless. Where ``Ranking.ms`` is left out, the time of this call is taken."""
        ...

    def close(self) -> None: ...


class Pool:
    """``notes``: sentences for the reader of the report, complete after the last answer."""

    def __init__(self, open_seat: Callable[[], Seat], limits: Limits, concurrency: int = 1) -> None:
        self._open, self._limits, self._concurrency = open_seat, limits, concurrency
        self.notes: list[str] = []
        self._lock = threading.Lock()
        self._row = self._asked = self._longer = 0

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        """As :meth:`gate.retrievers.base.Retriever.retrieve` says. What is being answered when one of several threads gives up is still
        waited for and yielded."""
        self._row = self._asked = self._longer = 0
        self._total, self._deadline = len(queries), time.monotonic() + self._limits.run_seconds
        waiting = iter(queries)
        try:
            if self._concurrency == 1:
                yield from self._work(waiting, depth, threading.Event())
            else:
                yield from self._several(waiting, depth)
        finally:
            if self._longer:
                self.notes.append(f"{plural(self._longer, 'query')} got more than {depth} results; the rest was cut")

    def _several(self, waiting: Iterator[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        found: SimpleQueue[tuple[str, Ranking] | BaseException | None] = SimpleQueue()
        stop = threading.Event()

        def run() -> None:
            try:
                for answered in self._work(waiting, depth, stop):
                    found.put(answered)
                found.put(None)
            except BaseException as error:
                stop.set()
                found.put(error)

        threads = [threading.Thread(target=run, daemon=True) for _ in range(min(self._concurrency, self._total))]
        failures: list[BaseException] = []
        try:
            for thread in threads:
                try:
                    thread.start()
                except RuntimeError:  # a machine or a container has a limit
                    raise RetrieverFailed(f"not all of the {len(threads)} threads that ask could be started",
                                          "lower `retriever.concurrency`, or allow more processes") from None
            left = len(threads)
            while left:
                item = found.get()
                if isinstance(item, tuple):
                    yield item
                    continue
                left -= 1
                if item is not None:
                    failures.append(item)
        finally:
            stop.set()
            for thread in threads:
                if thread.ident is not None:  # it was started
                    thread.join()
        if failures:
            raise failures[0]

    def _work(self, waiting: Iterator[Query], depth: int, stop: threading.Event) -> Iterator[tuple[str, Ranking]]:
        seat = self._open()
        try:
            while not stop.is_set():
                with self._lock:
                    query = next(waiting, None)
                    self._asked += query is not None
                if query is None:
                    return
                yield query.id, self._one(seat, query, depth)
        finally:
            seat.close()

    def _one(self, seat: Seat, query: Query, depth: int) -> Ranking:
        left = self.left()
        started = time.monotonic()
        try:
            ranking = seat.ask(query, depth, min(left, self._limits.query_seconds))
        except QueryFailed as fault:
            self._count(fault)
            return Ranking([], error=f"{fault}.")
        if ranking.ms is None and not ranking.error:
            ranking.ms = (time.monotonic() - started) * 1000
        with self._lock:
            self._row = 0
            self._longer += cut(ranking, depth)
        return ranking

    def left(self) -> float:
        """Seconds until the run must be over. Raises :class:`RetrieverFailed` when it has to be over now."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise RetrieverFailed(f"the run took longer than {self._limits.run_seconds:g} s; {self.so_far}",
                                  "make the retriever faster, or raise `retriever.limits.run_seconds`")
        return left

    def _count(self, fault: QueryFailed) -> None:
        with self._lock:
            self._row = self._row + 1 if fault.outage else 0
            down = self._row >= OUTAGES
        if down:
            raise RetrieverFailed(f"{fault}; this was the {OUTAGES}th query in a row without an answer, and the gate gave up; "
                                  f"{self.so_far}", "see whether it is still running and what it logged")

    @property
    def so_far(self) -> str:
        """How far it has come, in words."""
        return f"{max(self._asked - 1, 0)} of {self._total} queries were asked before"
