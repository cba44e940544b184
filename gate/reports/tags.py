"""The primary metric of every tag, as rows of plain text with a small picture. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gate.comparison import SMALL_STRATUM, Comparison, Paired
from gate.figures import NONE, fmt_delta, fmt_p, fmt_pair
from gate.reports.report import Report
from gate.reports.rows import interval


class TagRow(NamedTuple):
    """The primary metric over one tag. ``picture``: its interval in characters; ``q``: a q value, or that it was not tested."""

    tag: str
    n: int
    protected: bool
    baseline: str
    candidate: str
    delta: str
    interval: str
    picture: str
    q: str
    better: int
    worse: int
    paired: Paired


def tag_scale(comparison: Comparison) -> float:
    """Half the width of a picture: the largest end of any interval, so that all pictures share one scale."""
    ends = [0.0]
    for table in comparison.tags.values():
        paired = table[str(comparison.primary)]
        ends += [abs(paired.delta), *((abs(paired.ci.lo), abs(paired.ci.hi)) if paired.ci else ())]
    return max(ends) or 1.0


def tag_rows(report: Report) -> list[TagRow]:
    """All tags of paired queries: protected ones first, then the largest first."""
    comparison = report.comparison
    if comparison is None:
        return []
    limits: Mapping[str, float] = {rule.tag: rule.tolerance for rule in report.policy.protected}
    scale, rows = tag_scale(comparison), []
    for tag in sorted(comparison.tags, key=lambda tag: tag not in limits):
        paired = comparison.tags[tag][str(comparison.primary)]
        limit = (-limits[tag],) if tag in limits else ()
        before, after = fmt_pair(paired.baseline, paired.candidate) if paired.n else (NONE, NONE)
        small = f"not tested (n < {SMALL_STRATUM})" if paired.n < SMALL_STRATUM else "not tested"
        rows.append(TagRow(tag, paired.n, tag in limits, before, after, fmt_delta(paired.delta, *limit) if paired.n else NONE,
                           interval(report, paired), picture(paired, scale),
                           small if paired.q_value is None else fmt_p(paired.q_value), paired.better, paired.worse, paired))
    return rows


_HALF_WIDTH = 10


def picture(paired: Paired, scale: float) -> str:
    """An interval on a line of 21 characters: ``····├──●─┤┊·········``. One that excludes zero never touches the zero."""
    half = _HALF_WIDTH

    def column(value: float) -> int:
        at = round(value / scale * half)
        if abs(value) > 1e-12 and at == 0:
            at = 1 if value > 0 else -1
        return max(-half, min(half, at)) + half

    line = ["·"] * (2 * half + 1)
    line[half] = "┊"
    if paired.ci is not None:
        first, last = column(paired.ci.lo), column(paired.ci.hi)
        for at in range(first, last + 1):
            line[at] = "┼" if at == half else "─"
        line[first], line[last] = "├", "┤"
    line[column(paired.delta)] = "●"
    return "".join(line)
