"""A history as it is drawn: one HTML file that needs nothing else, and a part of a report. A line a metric and a tag, baselines marked
with their reasons."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gate import figures
from gate.comparison import Paired
from gate.history import History, Point
from gate.reports.historical import scored_words

WIDTH, HEIGHT, EDGE, LEFT = 560, 130, 12, 46
_LEAST_RANGE = 0.02
_DIGITS = 6  # that stored points are rounded to; beyond them is no change
_MOST_TAGS = 60
# In a report, where the history is one part of many.
_TAGS_IN_REPORT = 12
_MOST_LISTED = 50
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


class Row(NamedTuple):
    """One point in the table."""

    when: str
    commit: str
    what: str
    values: tuple[str, ...]


class Reason(NamedTuple):
    """One baseline: when and of which commit its record is, and why it became one."""

    when: str
    commit: str
    record: str
    why: str


class Told(NamedTuple):
    """All that is drawn and listed of a history. ``names``: of the table's metrics; ``tags``: the first of ``tag_count``; ``sentence``:
    what a reader has to know of the points, in a report."""

    metrics: list[Line]
    tags: list[Line]
    tag_count: int
    primary: str
    names: list[str]
    rows: list[Row]
    baselines: list[Reason]
    baseline_count: int
    changed: list[tuple[Row, str]]
    changed_count: int
    sentence: str = ""


def history_page(found: History) -> str:
    """A whole document without a script."""
    from gate.reports.templates import directory, html

    style = (directory() / "report.css").read_text(encoding="utf-8") + (directory() / "history.css").read_text(encoding="utf-8")
    seal = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return html().get_template("history.html.j2").render(style=style, seal=seal, found=found, scored=scored_words(found),
                                                         told=_told(found, _MOST_TAGS))


def history_part(found: History) -> Told:
    """What the report of the last point shows of it."""
    return _told(found, _TAGS_IN_REPORT, _MOST_LISTED)._replace(sentence=_sentence(found))


def _sentence(found: History) -> str:
    past = found.points[:-1]
    first, last = (point.created[:10] or "an unknown day" for point in (past[0], past[-1]))
    what = figures.plural(len(past), "record") if found.n else f"{figures.plural(len(past), 'run')} of the default branch"
    news = "" if found.n else ", with its change from the one before"
    head = (f"{what}, from {first} to {last}, and this run as the hollow dot at the end{news}. A square is a baseline, a dotted line "
            "a change of the golden set or the snapshot. ")
    if found.n:
        return head + scored_words(found)
    left = f" {figures.plural(found.elsewhere, 'run')} over other splits {'is' if found.elsewhere == 1 else 'are'} left out." \
        if found.elsewhere else ""
    return head + f"Each point has the labels and queries of its own time, so that a step may also come from them.{left}"


def _told(found: History, most_tags: int, most_listed: int = 0) -> Told:
    """``most_listed``: baselines and changes, the newest; 0 for all."""
    points, last = found.points, found.points[-1]
    changed = {row: what for row, (before, point) in enumerate(zip(points, points[1:], strict=False), 1)
               if (what := _changed(before, point))}

    def line(name: str, values: Sequence[float | None], since: Paired | None) -> Line:
        return line_of(name, points, values, since, changed)

    by_tag = {tag: [point.tags.get(tag) for point in points] for tag in found.tags_since or last.tags}
    if not found.tags_since:  # of a tag that no other point has, there is nothing to draw
        by_tag = {tag: values for tag, values in by_tag.items() if sum(value is not None for value in values) > 2}
    moved = {tag: found.tags_since[tag].delta if found.tags_since else _moved(values) for tag, values in by_tag.items()}
    tags = sorted(by_tag, key=lambda tag: (-abs(moved[tag]), tag))[:most_tags]
    names = list(last.metrics)
    rows = [Row(_when(point), point.commit[:12] or "none", _what(point),
                tuple(figures.fmt_value(point.metrics.get(name)) for name in names)) for point in points]
    reasons = [Reason(_when(point), point.commit[:12] or "none", figures.short_digest(point.digest), point.why)
               for point in found.baselines[-most_listed:]]
    by_name = {name: [point.metrics.get(name) for point in points] for name in names}
    drawn = {name: values for name, values in by_name.items() if len(points) == 1 or sum(value is not None for value in values) > 1}
    return Told([line(figures.metric_label(name), values, found.since.get(name)) for name, values in drawn.items()],
                [line(tag, by_tag[tag], found.tags_since.get(tag)) for tag in tags], len(by_tag),
                figures.metric_label(found.primary) if found.primary else "", [figures.metric_label(name) for name in names], rows,
                reasons, len(found.baselines), [(rows[row], what) for row, what in changed.items()][-most_listed:], len(changed))


def _moved(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return known[-1] - known[0]


def _changed(before: Point, point: Point) -> str:
    """Which frozen inputs differ from those of the point before."""
    pairs = (("snapshot", before.snapshot, point.snapshot), ("golden set", before.golden, point.golden))
    return " and ".join(name for name, old, new in pairs if old != new)


def _when(point: Point) -> str:
    return "this run" if point.here else point.created[:16].replace("T", " ") or "time unknown"


def _what(point: Point) -> str:
    verdict = "" if point.verdict in _USUAL else f", came to «{point.verdict}»"
    return ("this run" if point.here else "baseline" if point.baseline else "run") + verdict


def line_of(name: str, points: Sequence[Point], values: Sequence[float | None], since: Paired | None,
            changed: Mapping[int, str] | None = None) -> Line:
    """Coordinates of one drawing. The scale is the line's own, but never finer than a hundredth up and down. ``changed``: index of a
    point → which inputs differ from those of the point before."""
    known = [value for value in values if value is not None] or [0.0]
    middle, reach = (max(known) + min(known)) / 2, max(max(known) - min(known), _LEAST_RANGE) / 2

    def place(row: int, value: float) -> tuple[float, float]:
        x = LEFT + EDGE + (WIDTH - LEFT - 2 * EDGE) * (row / (len(values) - 1) if len(values) > 1 else 0.5)
        return round(x, 1), round(HEIGHT / 2 - (value - middle) / reach * (HEIGHT / 2 - EDGE), 1)

    runs: list[list[str]] = [[]]
    marks, ahead = [], ""
    for row, (point, value) in enumerate(zip(points, values, strict=True)):
        if value is None:
            runs.append([])
            continue
        x, y = place(row, value)
        if point.here:
            ahead = f"{runs[-1][-1]} {x},{y}" if runs[-1] else ""
        else:
            runs[-1].append(f"{x},{y}")
        if point.here or point.baseline or len(points) <= _MOST_DOTS:
            said = f"{_when(point)} {point.commit[:12]}: {figures.fmt_value(value)}"
            said += f"; {_what(point)}" if point.verdict not in _USUAL else "; baseline" if point.baseline else ""
            marks.append(Mark(x, y, f"{said}, {point.why}" if point.baseline else said,
                              "here" if point.here else "baseline" if point.baseline else "run"))
    ticks = tuple((place(0, value)[1], figures.fmt_value(value)) for value in (middle + reach, middle, middle - reach))
    # Where the last point is a change that is asked about, what it does to the point before is the news; else the whole way is.
    start = known[-2] if points[-1].here and since is None and values[-1] is not None and len(known) > 1 else known[0]
    delta = since.delta if since else round(known[-1] - start, _DIGITS)
    return Line(name, tuple(" ".join(run) for run in runs if len(run) > 1), ahead, tuple(marks), ticks,
                tuple((place(row, middle)[0], f"another {what}") for row, what in (changed or {}).items()), figures.fmt_value(known[0]),
                figures.fmt_value(start), figures.fmt_value(known[-1]), figures.fmt_value(min(known)), figures.fmt_value(max(known)),
                figures.fmt_delta(delta),
                figures.fmt_interval(since.ci.lo, since.ci.hi) if since and since.ci else "", since.n if since else None,
                bool(since and since.ci and since.ci.hi < 0))
