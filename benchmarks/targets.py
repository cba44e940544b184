"""What we mean to reach, kept as data beside what was measured. Nothing fails when a target is missed; the table says so.

Ratios are ours / theirs by the clock, of whole processes where nothing else is said. Every figure is our target, set when the peers were
first measured; none is a claim that somebody else made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from measuring import Results
from timing import Run, ratios


class Measured(NamedTuple):
    """A figure by the clock, and the same of processor time where there is one."""

    value: float
    cpu: float | None = None


class Target(NamedTuple):
    """``limits``: size → most; a size that is not there has no target. ``unit``: ratio, ms or MiB."""

    what: str
    unit: str
    limits: dict[str, float]
    measure: Callable[[Results, str], Measured | None]
    remark: str = ""


def wall(run: Run) -> float:
    return run.wall


def cpu(run: Run) -> float:
    return run.cpu


def lap(*names: str) -> Callable[[Run], float]:
    """Sum of laps that a script told."""
    return lambda run: sum(run.said["seconds"].get(name, 0.0) for name in names)


def against(key: str) -> Callable[[Results, str], Measured | None]:
    """Whole process of ``compare`` against a peer's."""

    def measure(results: Results, size: str) -> Measured | None:
        versus = results.peers.get((size, key))
        if versus is None:
            return None
        return Measured(*(median(ratios(versus.compare, versus.theirs, of)) for of in (wall, cpu)))

    return measure


def _statistics(results: Results, size: str) -> Measured | None:
    runs = results.statistics.get(size)
    return Measured(1000 * median(map(lap("statistics"), runs))) if runs else None


def _peak(results: Results, size: str) -> Measured | None:
    runs = results.compared(size)
    return Measured(median(run.peak for run in runs)) if runs else None


def _more(more: Sequence[Run], less: Sequence[Run]) -> Measured | None:
    """Milliseconds that the first of two takes more, round by round."""
    if not more:
        return None
    return Measured(*(1000 * median(of(a) - of(b) for a, b in zip(more, less, strict=True)) for of in (wall, cpu)))


def _start(results: Results, size: str) -> Measured | None:
    return _more(*results.start)


def _reports(results: Results, size: str) -> Measured | None:
    return _more(*results.reports)


TARGETS = (
    Target("articles' numpy script with one interval", "ratio", {"S": 0.9, "M": 0.22, "L": 1 / 20}, against("numpy 1")),
    Target("the same with six intervals", "ratio", {"S": 0.6, "M": 1 / 10}, against("numpy 6")),
    Target("ranx.compare, t-test, warm cache", "ratio", {"S": 1 / 40, "M": 1 / 20, "L": 1 / 15}, against("ranx")),
    Target("pytrec_eval (no statistics)", "ratio", {"S": 1.0, "M": 0.3, "L": 0.2}, against("pytrec_eval")),
    Target("trec_eval in C (no statistics)", "ratio", {"M": 0.25, "L": 1 / 60}, against("trec_eval"),
           "no target at S: it has no interpreter to start"),
    Target("articles' scoring alone, every line differs", "ratio", {"M-churn": 0.6}, against("numpy 0")),
    Target("statistics alone, six metrics with p and twelve tags", "ms", {"S": 60, "M": 120, "L": 120}, _statistics),
    Target("peak memory of `compare`", "MiB", {"S": 40, "M": 70, "L": 200}, _peak),
    Target("`--help`, more than `python -c pass`", "ms", {"any": 30}, _start),
    Target("all reports of `--out`, more than `--format json`", "ms", {"M": 1000}, _reports, "with JUnit, report.json and the packed run"),
)
