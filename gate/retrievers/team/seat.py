"""One process of the team's program and the queries it is asked; a process that is lost is replaced, within bounds."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from gate.errors import RetrieverFailed
from gate.golden.model import Query
from gate.retrievers.team.child import Child, ChildFault
from gate.retrievers.team.faults import Lost, given_up, given_up_cure
from gate.retrievers.team.output import Captured
from gate.retrievers.team.sandbox import Home, environment
from gate.runs import Ranking

if TYPE_CHECKING:
    from gate.retrievers.team.stranger import Stranger

RESTARTS = 3


class ProgramSeat:
    """As :class:`gate.retrievers.pool.Seat` says. ``keep``: its process stays after ``close``, until ``end``."""

    def __init__(self, program: Stranger, captured: Captured, keep: bool) -> None:
        self.program, self.captured, self.keep = program, captured, keep
        self.child: Child | None = None
        self._home: Home | None = None

    def ask(self, query: Query, depth: int, seconds: float) -> Ranking:
        program = self.program
        child = self._ready(depth)
        left = self._left()
        asked = time.monotonic()
        try:
            answer = child.exchange(program.question(query, depth), secrets.token_hex(16), min(left, program.limits.query_seconds),
                                    program.mark)
        except ChildFault as fault:
            self.end(grace=0.0)
            self._left()
            printed = program.printed(self.captured)
            lost = Lost.of(fault.kind, str(fault), query.id, "\n".join(printed), program.limits)
            program.lost.append(lost)
            return Ranking([], error="\n".join((f"{lost.sentence}.", *printed)))
        took = (time.monotonic() - asked) * 1000
        ranking = program.ranking(answer, depth)
        if ranking.ms is None:
            ranking.ms = took
        return ranking

    def close(self) -> None:
        if self.child is not None and self.child.stray():
            self.program.notes.append(f"something that nobody asked for was on {self.child.way} at the end; it was ignored")
        if not self.keep:
            self.end()

    def end(self, grace: float | None = None) -> None:
        """End the process and all that it started."""
        child, self.child = self.child, None
        if child is not None and not (child.close() if grace is None else child.close(grace)):
            self.program.notes.append("a process that the retriever started could not be ended")
        home, self._home = self._home, None
        if home is not None:
            home.remove()

    def _left(self) -> float:
        """Seconds until the run must be over. Raises when it has to be over now."""
        try:
            return self.program.pool.left()
        except RetrieverFailed as error:
            raise self.program.failed(error.problems[0], error.cure, captured=self.captured) from None

    def _ready(self, depth: int) -> Child:
        program, child = self.program, self.child
        if child is not None:
            if child.alive() and not child.stray():
                return child
            what = "wrote an answer that nobody asked for" if child.alive() else "ended between two queries"
            program.notes.append(f"the retriever's process {what}, and was started anew")
            program.lost.append(Lost("early", f"its process {what}"))
            self.end(grace=0.0)
        # Counted for all seats together: how often a program may fail is no question of how many are asked at once.
        if len(program.lost) > RESTARTS:
            lost = tuple(program.lost)
            cure = "; ".join(filter(None, (given_up_cure(lost, program.limits), program.hint)))
            raise program.failed(given_up(lost, len(lost), program.pool.so_far), cure, captured=self.captured)
        return self._start(depth)

    def _start(self, depth: int) -> Child:
        program = self.program
        seconds = min(program.limits.start_seconds, self._left())
        user = program.isolation.user
        try:
            self._home = Home(user)
            self.child = child = Child(program.command(), environment(self._home.path, program.variables(depth)), user, self.captured,
                                       program.plain)
            answer = child.exchange(program.setup(), secrets.token_hex(16), seconds)
        except OSError as error:
            self.end(grace=0.0)
            raise program.failed(f"{program.executable}: cannot be started ({error.strerror})",
                                 "run the gate in its image, where the retriever gets a user of its own", captured=self.captured) from None
        except ChildFault as fault:
            self.end(grace=0.0)
            raise program.unloaded(fault, self.captured) from None
        if answer.get("ready") is not True:
            self.end()
            raise program.unusable(answer, self.captured)
        program.started(answer)
        return child
