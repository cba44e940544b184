"""A history as people look at it: one HTML file that needs nothing else, and a part of a report. A line a metric and a tag, a table of the
points, baselines with their reasons."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from gate import figures
from gate.comparison import Paired
from gate.history import History, Point
from gate.reports.historical import scored_words
from gate.reports.history_line import Line, line_of, what_of, when_of

_MOST_TAGS = 60
# In a report, where the history is one part of many.
_TAGS_IN_REPORT = 12
_MOST_LISTED = 50


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
    rows = [Row(when_of(point), point.commit[:12] or "none", what_of(point),
                tuple(figures.fmt_value(point.metrics.get(name)) for name in names)) for point in points]
    reasons = [Reason(when_of(point), point.commit[:12] or "none", figures.short_digest(point.digest), point.why)
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
