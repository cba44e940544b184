"""What the kinds that run a program of the team's have in common: several processes of it, kept apart from the gate, asked at once."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gate.errors import InvalidInput, RetrieverFailed
from gate.figures import plural
from gate.golden.model import Query
from gate.retrievers.limits import Limits
from gate.retrievers.pool import Pool
from gate.retrievers.team.answers import ranking_of
from gate.retrievers.team.child import PARTS, WORKER, ChildFault
from gate.retrievers.team.faults import Lost, memory_cure
from gate.retrievers.team.isolation import Isolation
from gate.retrievers.team.output import Captured
from gate.retrievers.team.sandbox import interpreter_files
from gate.retrievers.team.seat import ProgramSeat
from gate.runs import Ranking

FILE_BYTES = 1024**3
PROCESSES = 1024
_SHOWN_LINES = 12


class Stranger:
    """A retriever (:mod:`gate.retrievers.base`). A query on which the program fails, hangs or dies gets ``Ranking.error``.

    ``name``: what the program is called in messages. ``notes``: what a reader of the report should know. ``captured``: what the program
    printed. ``lost``: processes that are of no use any more. A kind says what is started (``command``, ``setup``, ``variables``), how it
    is asked (``question``, ``mark``, ``plain``) and what its answers mean (``ranking``, ``unusable``). ``hint``: what its authors forget.
    """

    mark = "mark"
    plain = False
    hint = ""
    missing_path = "set `retriever.path` to the directory of the program"

    def __init__(self, name: str, path: Path, limits: Limits, snapshot: Path | None = None, executable: str = "",
                 concurrency: int = 1) -> None:
        self.name, self.path, self.limits, self.snapshot, self.concurrency = name, path, limits, snapshot, concurrency
        self.executable = executable or sys.executable
        self.notes: list[str] = []
        self.captured = Captured()
        self.lost: list[Lost] = []
        self.isolation = Isolation(path, self.needed, self.notes)
        self.pool = self._new_pool()
        self._kept: ProgramSeat | None = None
        self._lock = threading.Lock()
        self._prepared = False
        self._longer = 0

    def __enter__(self) -> Stranger:
        if not self.path.is_dir():
            raise InvalidInput(f"{self.path}: no such directory", self.missing_path)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._kept is not None:
            self._kept.end()
        self.isolation.release()

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        """See :mod:`gate.retrievers.base`."""
        self.isolation.close()
        if queries:
            self.prepare()
        self.pool, self._longer = self._new_pool(), 0
        try:
            yield from self.pool.retrieve(queries, depth)
        finally:
            if self._longer:
                self.notes.append(f"{plural(self._longer, 'query')} got more than {depth} results; the rest was cut")

    def _new_pool(self) -> Pool:
        pool = Pool(self._seat, self.limits, self.concurrency)
        pool.notes = self.notes
        return pool

    def _seat(self) -> ProgramSeat:
        if self.concurrency > 1:  # a process ends with the thread that made it
            return ProgramSeat(self, Captured(whole=self.captured), keep=False)
        self._kept = self._kept or ProgramSeat(self, self.captured, keep=True)
        return self._kept

    # what is started

    def needed(self) -> Iterable[Path]:
        """What the program's user must reach."""
        return [*interpreter_files(self.executable), WORKER, *PARTS, self.path, *([] if self.snapshot is None else [self.snapshot])]

    def prepare(self) -> None:
        """Before the first process is started, and outside of the time that the run may take."""
        if not self._prepared:
            self.isolation.admit()
            self.provide()
            self._prepared = True

    def provide(self) -> None:
        """What a kind needs besides."""

    def command(self) -> list[str]:
        raise NotImplementedError

    def setup(self) -> dict[str, Any]:
        """The first question."""
        return {"path": str(self.path.resolve()), "parent": os.getpid(), "file_bytes": FILE_BYTES,
                "memory_bytes": self.limits.memory_mb * 1024**2,
                # Of the gate's own user, this would count everything else that user runs.
                "processes": None if self.isolation.user is None else PROCESSES}

    def variables(self, depth: int) -> dict[str, str]:
        """What its environment holds besides the usual."""
        return {"RETRIEVAL_GATE_DEPTH": str(depth)} | \
            ({} if self.snapshot is None else {"RETRIEVAL_GATE_SNAPSHOT": str(self.snapshot.resolve())})

    # how it is asked

    def question(self, query: Query, depth: int) -> dict[str, Any]:
        return {"query": query.text, "n": depth}

    def started(self, answer: Mapping[str, Any]) -> None:
        """A process is ready and said so in ``answer``."""

    def ranking(self, answer: Mapping[str, Any], depth: int) -> Ranking:
        """The ranking in an answer, which may hold anything."""
        ranking, longer = ranking_of(answer, depth)
        if longer:
            with self._lock:
                self._longer += 1
        return ranking

    # words

    def unloaded(self, fault: ChildFault, captured: Captured) -> RetrieverFailed:
        """No answer to the first question."""
        head = f"{self.name}: could not be loaded: "
        if fault.kind == "hang":
            return self.failed(f"{head}its import {fault} (`retriever.limits.start_seconds`)",
                               "make the import cheaper, or raise `retriever.limits.start_seconds`", captured=captured)
        lost = Lost.of(fault.kind, str(fault), "", "\n".join(self.printed(captured)), self.limits)
        return self.failed(head + lost.message, memory_cure(self.limits) if lost.memory else "see what it printed, and fix it",
                           captured=captured)

    def unusable(self, answer: Mapping[str, Any], captured: Captured) -> RetrieverFailed:
        """The answer to the first question, where it is not «ready»."""
        raise NotImplementedError

    @staticmethod
    def printed(captured: Captured) -> list[str]:
        """A head and the last lines, without the frames that are the same in every crash."""
        text = captured.text(_SHOWN_LINES, without=(f'File "{WORKER}"', 'File "<frozen importlib', '/importlib/__init__.py"'))
        return ["The retriever printed:", *text.split("\n")] if text else []

    def failed(self, sentence: str, cure: str, lines: Sequence[str] = (), captured: Captured | None = None) -> RetrieverFailed:
        """One problem: reports show its first line as a sentence and the others as what came with it."""
        return RetrieverFailed("\n".join((sentence, *lines, *self.printed(captured or self.captured))), cure)
