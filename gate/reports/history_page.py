"""A history as one HTML file that needs nothing else: a line a metric and a tag, baselines marked with their reasons."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from gate import figures
from gate.comparison import Paired
from gate.history import History, Point
from gate.reports.historical import scored_words

WIDTH, HEIGHT, EDGE, LEFT = 560, 130, 12, 46
_LEAST_RANGE = 0.02
_MOST_TAGS = 60


class Mark(NamedTuple):
    """One point of a line. ``why``: of a baseline."""

    x: float
    y: float
    words: str
    baseline: bool


class Line(NamedTuple):
    """``path``: of an SVG polyline, one for each run of points without a gap; ``ticks``: (y, label)."""

    name: str
    paths: tuple[str, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, str], ...]
    first: str
    last: str
    delta: str
    interval: str
    n: int | None
    falls: bool


def history_page(found: History) -> str:
    """A whole document without a script."""
    from gate.reports.templates import directory, html

    style = (directory() / "report.css").read_text(encoding="utf-8") + (directory() / "history.css").read_text(encoding="utf-8")
    seal = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    tags = sorted(found.tags_since, key=lambda tag: -abs(found.tags_since[tag].delta))[:_MOST_TAGS]
    return html().get_template("history.html.j2").render(
        style=style, seal=seal, found=found, scored=scored_words(found), width=WIDTH, height=HEIGHT, left=LEFT,
        metrics=[line_of(figures.metric_label(name), found.points, [point.metrics.get(name) for point in found.points],
                         found.since.get(name)) for name in found.points[-1].metrics],
        tags=[line_of(tag, found.points, [point.tags.get(tag) for point in found.points], found.tags_since[tag]) for tag in tags],
        tag_count=len(found.tags_since), primary=figures.metric_label(found.primary) if found.primary else "",
        baselines=[point for point in found.points if point.baseline], changed=_changed(found.points))


def _changed(points: Sequence[Point]) -> list[tuple[Point, str]]:
    """Points whose frozen inputs differ from those before."""
    rows = []
    for before, point in zip(points, points[1:], strict=False):
        what = [name for name, old, new in (("snapshot", before.snapshot, point.snapshot), ("golden set", before.golden, point.golden))
                if old != new]
        if what:
            rows.append((point, " and ".join(what)))
    return rows


def line_of(name: str, points: Sequence[Point], values: Sequence[float | None], since: Paired | None) -> Line:
    """Coordinates of one drawing. The scale is the line's own, but never finer than a hundredth up and down."""
    known = [value for value in values if value is not None] or [0.0]
    middle, reach = (max(known) + min(known)) / 2, max(max(known) - min(known), _LEAST_RANGE) / 2

    def place(row: int, value: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - EDGE) * (row / (len(values) - 1) if len(values) > 1 else 0.5)
        return round(x, 1), round(HEIGHT / 2 - (value - middle) / reach * (HEIGHT / 2 - EDGE), 1)

    runs: list[list[str]] = [[]]
    marks = []
    for row, (point, value) in enumerate(zip(points, values, strict=True)):
        if value is None:
            runs.append([])
            continue
        x, y = place(row, value)
        runs[-1].append(f"{x},{y}")
        said = f"{point.created or 'time unknown'} {point.commit[:12]}: {figures.fmt_value(value)}"
        marks.append(Mark(x, y, f"{said}; baseline, {point.why}" if point.baseline else said, point.baseline))
    ticks = tuple((place(0, value)[1], figures.fmt_value(value)) for value in (middle + reach, middle, middle - reach))
    delta = since.delta if since else known[-1] - known[0]
    return Line(name, tuple(" ".join(run) for run in runs if len(run) > 1), tuple(marks), ticks, figures.fmt_value(known[0]),
                figures.fmt_value(known[-1]), figures.fmt_delta(delta),
                figures.fmt_interval(since.ci.lo, since.ci.hi) if since and since.ci else "", since.n if since else None,
                bool(since and since.ci and since.ci.hi < 0))
