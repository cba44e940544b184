"""Whole processes, from their start to their exit, and the ratios of those that ran in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import IO, Any, NamedTuple

# Neither side gets a setting that the other has not.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG", "TMPDIR")}


class Failed(Exception):
    """A process that did not do its work; the message says which, and what it said last."""


class Run(NamedTuple):
    """One process: seconds by the clock, processor seconds, peak memory in MiB; ``said``: what it told, with its laps."""

    wall: float
    cpu: float
    peak: float
    said: dict[str, Any] = {}

    def scaled(self, factor: float) -> Run:
        """As if the statistics had taken ``factor`` times as long: they had that share of the resamples, and are linear in them."""
        wall, cpu = ((factor - 1.0) * self.said.get(laps, {}).get("statistics", 0.0) for laps in ("seconds", "processor"))
        if not wall:
            return self
        more = {laps: self.said[laps] | {"statistics": factor * self.said[laps]["statistics"]} for laps in ("seconds", "processor")}
        return self._replace(wall=self.wall + wall, cpu=self.cpu + cpu, said=self.said | more)


def last_line(file: IO[str]) -> dict[str, Any]:
    """What a script of peers/ prints: its last line is JSON, whatever the library wrote before it."""
    line = ""
    for line in file:  # noqa: B007 - the last one is what is wanted
        pass
    return json.loads(line)


def nothing(file: IO[str]) -> dict[str, Any]:
    """For a process whose output is of no use here."""
    return {}


def run(command: Sequence[str], read: Callable[[IO[str]], dict[str, Any]] = nothing, endings: Sequence[int] = (0,)) -> Run:
    """Start, wait, and read the system's own account of the finished process, with everything that it started in turn."""
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complaints:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=said, stderr=complaints)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in endings:
            complaints.seek(0)
            lines = complaints.read().strip().splitlines() or ["it said nothing"]
            raise Failed(f"ended with {process.returncode}: {' '.join(command)}: {lines[-1]}")
        said.seek(0)
        found = read(said)
    unit = 1024**2 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / unit, found)


class Side(NamedTuple):
    """One of the commands that take turns. ``endings``: exit codes that are no failure."""

    command: Sequence[str]
    read: Callable[[IO[str]], dict[str, Any]] = nothing
    endings: Sequence[int] = (0,)


def in_turn(sides: Sequence[Side], rounds: int) -> list[list[Run]]:
    """A B C A B C …: a machine that slows down slows all of a round, so ratios hold where times do not. One list a side."""
    done = [[run(*side) for side in sides] for _ in range(rounds)]
    return [list(column) for column in zip(*done, strict=True)]


def rounds_for(seconds: float, budget: float, least: int, most: int) -> int:
    """How many rounds of ``seconds`` fit into ``budget``, within bounds."""
    return max(least, min(most, int(budget / max(seconds, 1e-3))))


def ratios(ours: Sequence[Run], theirs: Sequence[Run], of: Callable[[Run], float]) -> list[float]:
    """Round by round, ours / theirs."""
    return [of(a) / max(of(b), 1e-9) for a, b in zip(ours, theirs, strict=True)]


def spread(values: Sequence[float], write: Callable[[float], str] = "{:.2f}".format) -> str:
    """``0.84 [0.80-0.91]``: median, least and most; the median alone where there was one round."""
    if len(values) == 1:
        return write(values[0])
    return f"{write(median(values))} [{write(min(values))} to {write(max(values))}]"
