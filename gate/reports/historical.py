"""A history for a terminal and as JSON; the drawing is in :mod:`gate.reports.history_page`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gate.comparison import Paired
from gate.figures import fmt_delta, fmt_interval, fmt_p, fmt_value, metric_label, plural, short_digest
from gate.history import History
from gate.reports.escape import clean, guard
from gate.reports.text import table

_LEVELS = "▁▂▃▄▅▆▇█"
_MOST_TAGS = 40
_WIDEST = 60


def history_text(found: History) -> str:
    """Lines of text; ends with a newline."""
    return "".join(guard(line.rstrip()) + "\n" for line in _lines(found))


def history_json(found: History) -> dict[str, Any]:
    """Plain values."""

    def paired(one: Paired) -> dict[str, Any]:
        return {"first": one.baseline, "last": one.candidate, "delta": one.delta, "ci": [one.ci.lo, one.ci.hi] if one.ci else None,
                "p_value": one.p_value, "q_value": one.q_value, "n": one.n}

    return {"schema": 1, "gate": found.gate, "primary": found.primary, "n": found.n, "left_out": found.left_out,
            "points": [point._asdict() for point in found.points],
            "since": {name: paired(one) for name, one in found.since.items()},
            "tags": {name: paired(one) for name, one in found.tags_since.items()}}


def sparkline(values: Sequence[float | None]) -> str:
    """A character a value, from the lowest to the highest of them; all the same is a line in the middle. Evenly thinned when long."""
    if len(values) > _WIDEST:
        values = [values[round(at * (len(values) - 1) / (_WIDEST - 1))] for at in range(_WIDEST)]
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)

    def level(value: float) -> str:
        return _LEVELS[3] if high - low < 1e-12 else _LEVELS[min(int((value - low) / (high - low) * len(_LEVELS)), len(_LEVELS) - 1)]

    return "".join(" " if value is None else level(value) for value in values)


def scored_words(found: History) -> str:
    """What the means are over."""
    if not found.n:
        return "Means as each record has them: labels and queries may have changed between them (give --golden to score them all anew)."
    left = f"; {plural(found.left_out, 'query')} answered by some of them only {'is' if found.left_out == 1 else 'are'} left out" \
        if found.left_out else ""
    shallow = f" {plural(found.shallow, 'record')} {'has' if found.shallow == 1 else 'have'} no value of a metric that looks deeper " \
        "than the results reach." if found.shallow else ""
    return f"All records scored anew under today's labels, over {plural(found.n, 'query')}{left}.{shallow}"


def _lines(found: History) -> Iterator[str]:
    points = found.points
    baselines = sum(point.baseline for point in points)
    yield f"gate {clean(found.gate, 60)}: {plural(len(points), 'record')}, {plural(baselines, 'baseline')} among them, the oldest first"
    yield scored_words(found)
    yield ""
    names = list(points[-1].metrics)
    yield from _series("metric", [(metric_label(name), [point.metrics.get(name) for point in points], found.since.get(name))
                                  for name in names])
    if found.tags_since:
        yield ""
        yield f"{metric_label(found.primary)} by tag, the largest change first"
        tags = sorted(found.tags_since, key=lambda tag: -abs(found.tags_since[tag].delta))[:_MOST_TAGS]
        yield from _series("tag", [(clean(tag, 40), [point.tags.get(tag) for point in points], found.tags_since[tag]) for tag in tags])
    yield ""
    yield "Baselines"
    for point in points:
        if point.baseline:
            yield (f"  {clean(point.created, 30) or 'time unknown'}  {clean(point.commit[:12], 12) or 'no commit'}  "
                   f"{short_digest(point.digest)}  {clean(point.why, 300)}")


def _series(what: str, rows: Sequence[tuple[str, Sequence[float | None], Paired | None]]) -> Iterator[str]:
    def cells(name: str, values: Sequence[float | None], since: Paired | None) -> tuple[str, ...]:
        known = [value for value in values if value is not None]
        first, last = (known[0], known[-1]) if known else (None, None)
        delta = since.delta if since else known[-1] - known[0] if len(known) > 1 else None
        return (name, sparkline(values), str(since.n) if since else "", fmt_value(first), fmt_value(last), fmt_delta(delta),
                fmt_interval(since.ci.lo, since.ci.hi) if since and since.ci else "", fmt_p(since.q_value) if since else "")

    return table((what, "", "n", "first", "last", "delta", "95 % interval", "q"), [cells(*row) for row in rows], left=2)
