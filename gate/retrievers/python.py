"""Kind ``python``: the team's own function, asked in a process of its own."""

from __future__ import annotations

import os
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.errors import InvalidInput, RetrieverFailed
from gate.fields import Section
from gate.figures import plural
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.child import TRACES, WORKER, Child, ChildFault
from gate.retrievers.closing import Closing, private_folders, readable, token_files
from gate.retrievers.cutting import cut
from gate.retrievers.faults import Lost, Raised, given_up, given_up_cure, memory_cure
from gate.retrievers.limits import Limits
from gate.retrievers.output import Captured
from gate.retrievers.sandbox import Home, closed_ways, environment, in_ci, interpreter_files, other_user
from gate.runs import BadRanking, Ranking, parse_ranking

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings

RESTARTS = 3
FILE_BYTES = 1024**3
PROCESSES = 1024
# Rankings are kept until the report: ids without a bound would fill the gate's memory instead of the retriever's.
LONGEST_ID = 10_000
_SHOWN_LINES = 12
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")
# -P and -s as in -I, but without -E: the environment is built here, and PYTHONHASHSEED in it must count.
_FLAGS = ("-P", "-s", "-B", "-X", "utf8")


class Options(NamedTuple):
    """``function``: module:function; ``path``: the directory it is imported from."""

    function: str
    path: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """The function's own module."""
        place = self.path.joinpath(*self.function.partition(":")[0].split("."))
        return tuple(file for file in (place.with_name(f"{place.name}.py"), place / "__init__.py") if file.is_file())[:1]


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    function = section.text("function", "")
    if not _FUNCTION.match(function):
        section.problem("function", "`function` must be given as module:function, for instance search.retriever:retrieve")
    return Options(function, paths.take(section, "path", section.text("path", ".")))


def build(settings: RetrieverSettings, given: Given) -> PythonRetriever:
    """See :mod:`gate.retrievers`."""
    return PythonRetriever(settings.options.function, settings.options.path, settings.limits,
                           given.snapshot.path if given.snapshot else None)


class PythonRetriever:
    """Asks ``module:function`` with (query, n). A query that raises, hangs or kills the process gets ``Ranking.error``.

    ``notes``: what a reader of the report should know. ``captured``: what the function printed.
    """

    def __init__(self, function: str, path: Path, limits: Limits, snapshot: Path | None = None, executable: str = "") -> None:
        self.function, self.path, self.limits, self.snapshot = function, path, limits, snapshot
        self.executable = executable or sys.executable
        self.notes: list[str] = []
        self.captured = Captured()
        self._user = other_user()
        self._child: Child | None = None
        self._home: Home | None = None
        self._closing: Closing | None = None
        self._starts = 0
        self._lost: list[Lost] = []

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "python", "function": self.function}

    def __enter__(self) -> PythonRetriever:
        if not self.path.is_dir():
            raise InvalidInput(f"{self.path}: no such directory", "set `retriever.path` to the directory that holds the module")
        return self

    def __exit__(self, *exc: object) -> None:
        self._drop()
        if self._closing is not None:
            self._closing.release()

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        deadline = time.monotonic() + self.limits.run_seconds
        longer = 0
        self._close_the_rest()
        try:
            for done, query in enumerate(queries):
                ranking, more = self._one(query, depth, deadline, f"{done} of {len(queries)} queries were asked")
                longer += more
                yield query.id, ranking
        finally:
            if longer:
                self.notes.append(f"{plural(longer, 'query')} got more than {depth} results; the rest was cut")
            if self._child is not None and self._child.stray():
                self.notes.append("something that nobody asked for was on the answer pipe at the end; it was ignored")

    # one question

    def _one(self, query: Query, depth: int, deadline: float, so_far: str) -> tuple[Ranking, bool]:
        child = self._ready(depth, deadline, so_far)
        left = self._left(deadline, so_far)
        asked = time.monotonic()
        try:
            question = {"query": query.text, "n": depth}
            answer = child.exchange(question, secrets.token_hex(16), min(left, self.limits.query_seconds))
            took = (time.monotonic() - asked) * 1000
            ranking = self._ranking(answer)
            ranking.ms = took
            return ranking, cut(ranking, depth) or _beyond(answer, depth)
        except ChildFault as fault:
            self._drop(grace=0.0)
            self._left(deadline, so_far)
            printed = self._printed()
            lost = Lost.of(fault.kind, str(fault), query.id, "\n".join(printed), self.limits)
            self._lost.append(lost)
            return Ranking([], error="\n".join((f"{lost.sentence}.", *printed))), False

    def _left(self, deadline: float, so_far: str) -> float:
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._failed(f"the run took longer than {self.limits.run_seconds:g} s; {so_far}",
                               "make the retriever faster, or raise `retriever.limits.run_seconds`")
        return left

    def _ready(self, depth: int, deadline: float, so_far: str) -> Child:
        child = self._child
        if child is not None:
            if child.alive() and not child.stray():
                return child
            what = "wrote an answer that nobody asked for" if child.alive() else "ended between two queries"
            self.notes.append(f"the retriever's process {what}, and was started anew")
            self._lost.append(Lost("early", f"its process {what}"))
            self._drop(grace=0.0)
        if self._starts > RESTARTS:
            raise self._failed(given_up(self._lost, self._starts, so_far), given_up_cure(self._lost, self.limits))
        self._starts += 1
        self._child = self._start(depth, min(self.limits.start_seconds, self._left(deadline, so_far)))
        return self._child

    # start and end

    def _close_the_rest(self) -> None:
        """In CI, where code and secrets belong to different people."""
        if not in_ci():
            return
        tokens = token_files(self.path)
        if self._user is not None and self._closing is None:
            self._closing = Closing(self._user, [*private_folders(os.environ, [*self._needed(), Path(tempfile.gettempdir())]), *tokens])
        if left := readable(tokens, self._user):
            self.notes.append(f"{left[0]} holds a token that the checkout left there, and the retriever can read it: give "
                              "actions/checkout `persist-credentials: false`")

    def _needed(self) -> list[Path]:
        """What the retriever's user must reach."""
        return [*interpreter_files(self.executable), WORKER, TRACES, self.path, *self._module_file(),
                *([] if self.snapshot is None else [self.snapshot])]

    def _start(self, depth: int, seconds: float) -> Child:
        self._admit()
        more = {"RETRIEVAL_GATE_DEPTH": str(depth)}
        if self.snapshot is not None:
            more["RETRIEVAL_GATE_SNAPSHOT"] = str(self.snapshot.resolve())
        setup = {"function": self.function, "path": str(self.path.resolve()), "parent": os.getpid(), "file_bytes": FILE_BYTES,
                 "memory_bytes": self.limits.memory_mb * 1024**2,
                 # Of the gate's own user, this would count everything else that user runs.
                 "processes": None if self._user is None else PROCESSES}
        try:
            self._home = Home(self._user)
            command = [self.executable, *_FLAGS, str(WORKER)]
            self._child = Child(command, environment(self._home.path, more), self._user, self.captured)
            answer = self._child.exchange(setup, secrets.token_hex(16), seconds)
        except OSError as error:
            self._drop(grace=0.0)
            raise self._failed(f"{self.executable}: cannot be started ({error.strerror})",
                               "run the gate in its image, where the retriever gets a user of its own") from None
        except ChildFault as fault:
            self._drop(grace=0.0)
            raise self._unloaded(fault) from None
        if answer.get("ready") is not True:
            self._drop()
            raise self._unusable(answer)
        return self._child

    def _unloaded(self, fault: ChildFault) -> RetrieverFailed:
        head = f"{self.function}: could not be loaded: "
        if fault.kind == "hang":
            return self._failed(f"{head}its import {fault} (`retriever.limits.start_seconds`)",
                                "make the import cheaper, or raise `retriever.limits.start_seconds`")
        lost = Lost.of(fault.kind, str(fault), "", "\n".join(self._printed()), self.limits)
        return self._failed(head + lost.message, memory_cure(self.limits) if lost.memory else "see what it printed, and mend it")

    def _unusable(self, answer: Mapping[str, Any]) -> RetrieverFailed:
        """The answer to the first question, where it is not «ready»."""
        if "raised" in answer:
            raised = Raised.read(answer["raised"])
            return self._failed(f"{self.function}: its import failed: {raised.sentence}",
                                raised.start_cure(self.function, self.limits, self.snapshot is not None), raised.lines)
        reason = " ".join(str(answer.get("unusable", "")).split())[:1000]
        return self._failed(f"{self.function}: {reason or 'it said neither that it is ready nor why not'}",
                            "check `retriever.function` and `retriever.path`, which is the first directory of sys.path"
                            if answer.get("missing") is True else "mend the function that `retriever.function` names")

    def _admit(self) -> None:
        """The other user must reach the interpreter, the code and the snapshot. In CI that is a must; on somebody's own machine,
        where the code is theirs as well, the gate falls back to their user and says so."""
        user = self._user
        if user is None:
            return
        if not (closed := closed_ways(self._needed(), user)):
            return
        if in_ci():
            raise RetrieverFailed(closed, "open these directories for others (chmod o+rx), or move the files elsewhere")
        self.notes.append(f"the retriever ran as the gate's own user, not as one of its own: {closed[0]}")
        self._user = None

    def _module_file(self) -> list[Path]:
        place = self.path.joinpath(*self.function.partition(":")[0].split("."))
        return [file for file in (place.with_name(f"{place.name}.py"), place / "__init__.py") if file.is_file()][:1]

    def _drop(self, grace: float | None = None) -> None:
        child, self._child = self._child, None
        if child is not None and not (child.close() if grace is None else child.close(grace)):
            self.notes.append("a process that the retriever started could not be ended")
        home, self._home = self._home, None
        if home is not None:
            home.remove()

    # words

    def _printed(self) -> list[str]:
        """A head and the last lines, without the frames that are the same in every crash."""
        text = self.captured.text(_SHOWN_LINES, without=(f'File "{WORKER}"', 'File "<frozen importlib', '/importlib/__init__.py"'))
        return ["The retriever printed:", *text.split("\n")] if text else []

    def _failed(self, sentence: str, cure: str, lines: Sequence[str] = ()) -> RetrieverFailed:
        """One problem: reports show its first line as a sentence and the others as what came with it."""
        return RetrieverFailed("\n".join((sentence, *lines, *self._printed())), cure)

    def _ranking(self, answer: Mapping[str, Any]) -> Ranking:
        """The ranking in an answer, which may hold anything."""
        if "raised" in answer:
            raised = Raised.read(answer["raised"])
            cure = raised.cure(self.limits, self.snapshot is not None)
            head = f"the function raised {raised.sentence}" + (f"; {cure}" if cure else "")
            return Ranking([], error="\n".join((f"{head}.", *raised.lines)))
        if "unusable" in answer:
            return Ranking([], error=" ".join(str(answer["unusable"]).split())[:1000])
        try:
            ranking = parse_ranking({"ranked": answer.get("ranked")})
        except BadRanking as fault:
            return Ranking([], error=str(fault))
        longest = max(map(len, (*ranking.docs, *(chunk.chunk for chunk in ranking.chunks or ()))), default=0)
        if longest > LONGEST_ID:
            return Ranking([], error=f"a result has an id of {longest} characters; the gate keeps ids of at most {LONGEST_ID}")
        return ranking


def _beyond(answer: Mapping[str, Any], depth: int) -> bool:
    returned = answer.get("returned")
    return type(returned) is int and returned > depth
