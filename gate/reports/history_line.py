"""One line of a history as it is drawn: coordinates and words for SVG. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gate.comparison import Paired
from gate.figures import fmt_delta, fmt_interval, fmt_value
from gate.history import DECIMALS, Point

WIDTH, HEIGHT, EDGE, LEFT = 560, 130, 12, 46
_LEAST_RANGE = 0.02
# Of a longer line single dots say nothing; its baselines and its end do.
_MOST_DOTS = 60
_USUAL = ("", "pass", "accepted", "no-baseline")


class Mark(NamedTuple):
    """One point of a line. ``kind``: run, baseline, or here for the run that is reported on; ``words``: with the reason of a baseline."""

    x: float
    y: float
    words: str
    kind: str


class Line(NamedTuple):
    """``paths``: of SVG polylines, one for each run of points without a gap; ``ahead``: from the last record to the run that is reported
    on; ``ticks``: (y, label); ``changed``: (x, words) where the frozen inputs did; ``start``: where the line begins, while the change that
    is told is that from ``first`` to ``last``."""

    name: str
    paths: tuple[str, ...]
    ahead: str
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, str], ...]
    changed: tuple[tuple[float, str], ...]
    start: str
    first: str
    last: str
    lowest: str
    highest: str
    delta: str
    interval: str
    n: int | None
    falls: bool
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT


def when_of(point: Point) -> str:
    """The time of its record."""
    return "this run" if point.here else point.created[:16].replace("T", " ") or "time unknown"


def what_of(point: Point) -> str:
    """``baseline``, ``run, came to «fail»``."""
    verdict = "" if point.verdict in _USUAL else f", came to «{point.verdict}»"
    return ("this run" if point.here else _kind(point)) + verdict


def _kind(point: Point) -> str:
    return "here" if point.here else "baseline" if point.baseline else "run"


class _Paper(NamedTuple):
    """Where values are on it. The scale is the line's own, but never finer than a hundredth up and down."""

    middle: float
    reach: float
    points: int

    def x(self, row: int) -> float:
        return round(LEFT + EDGE + (WIDTH - LEFT - 2 * EDGE) * (row / (self.points - 1) if self.points > 1 else 0.5), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT / 2 - (value - self.middle) / self.reach * (HEIGHT / 2 - EDGE), 1)


def line_of(name: str, points: Sequence[Point], values: Sequence[float | None], since: Paired | None, changed: Mapping[int, str]) -> Line:
    """``values``: of the points, None where one has none; ``since``: the last one paired with the first one; ``changed``: index of a point
    → which inputs differ from those of the point before."""
    known = [value for value in values if value is not None] or [0.0]
    least, most = min(known), max(known)
    paper = _Paper((most + least) / 2, max(most - least, _LEAST_RANGE) / 2, len(values))
    paths, ahead = _paths(points, values, paper)
    marks = tuple(_mark(point, value, paper.x(row), paper.y(value)) for row, (point, value) in enumerate(zip(points, values, strict=True))
                  if value is not None and (point.here or point.baseline or len(points) <= _MOST_DOTS))
    ticks = tuple((paper.y(value), fmt_value(value)) for value in (paper.middle + paper.reach, paper.middle, paper.middle - paper.reach))
    # Where the last point is a change that is asked about, what it does to the point before is the news; else the whole way is.
    first = known[-2] if points[-1].here and since is None and values[-1] is not None and len(known) > 1 else known[0]
    delta, ci = since.delta if since else round(known[-1] - first, DECIMALS), since.ci if since else None
    return Line(name, paths, ahead, marks, ticks, tuple((paper.x(row), f"another {what}") for row, what in changed.items()),
                fmt_value(known[0]), fmt_value(first), fmt_value(known[-1]), fmt_value(least), fmt_value(most), fmt_delta(delta),
                fmt_interval(ci.lo, ci.hi) if ci else "", since.n if since else None, bool(ci and ci.hi < 0))


def _paths(points: Sequence[Point], values: Sequence[float | None], paper: _Paper) -> tuple[tuple[str, ...], str]:
    """(those of the records, the last step to the run that is reported on; "" where there is none)."""
    runs: list[list[str]] = [[]]
    ahead = ""
    for row, (point, value) in enumerate(zip(points, values, strict=True)):
        if value is None:
            runs.append([])
        elif not point.here:
            runs[-1].append(f"{paper.x(row)},{paper.y(value)}")
        elif runs[-1]:
            ahead = f"{runs[-1][-1]} {paper.x(row)},{paper.y(value)}"
    return tuple(" ".join(run) for run in runs if len(run) > 1), ahead


def _mark(point: Point, value: float, x: float, y: float) -> Mark:
    words = f"{when_of(point)} {point.commit[:12]}: {fmt_value(value)}"
    if point.verdict not in _USUAL:
        words += f"; {what_of(point)}"
    elif point.baseline:
        words += "; baseline"
    return Mark(x, y, f"{words}, {point.why}" if point.baseline else words, _kind(point))
