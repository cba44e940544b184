"""The two references side by side: what happened since the approved baseline, and what this change alone did. Pure."""

from __future__ import annotations

from typing import NamedTuple

from gate.comparison import Comparison
from gate.figures import fmt_delta, fmt_interval, fmt_pair, lost_again
from gate.reports.report import Report


class SinceRow(NamedTuple):
    """One reference, in texts for the eye; ``lost`` and ``gained`` count queries that crossed the primary metric's cutoff."""

    against: str
    commit: str
    before: str
    after: str
    delta: str
    interval: str
    better: int
    worse: int
    lost: int
    gained: int


def since_rows(report: Report) -> list[SinceRow]:
    """Two rows, the approved baseline first; none where there is one reference only."""
    if report.latest is None or report.comparison is None:
        return []
    base, info = report.baseline_info, report.latest.info
    return [_row(report, report.comparison, "the approved baseline", base.commit if base else ""),
            _row(report, report.latest.comparison, "the latest run on main", info.commit if info else "")]


def _row(report: Report, comparison: Comparison, against: str, commit: str) -> SinceRow:
    main, limit = comparison.main, -report.policy.tolerance
    before, after = fmt_pair(main.baseline, main.candidate)
    interval = fmt_interval(main.ci.lo, main.ci.hi, limit) if main.ci and not comparison.identical else ""
    return SinceRow(against, commit[:7], before, after, fmt_delta(main.delta, limit), interval, main.better, main.worse,
                    len(comparison.lost), len(comparison.gained))


def again_line(report: Report) -> str:
    """``3 queries that main had gained are lost again``; empty when there is none."""
    return lost_again(len(report.latest.again)) if report.latest and report.latest.again else ""


def again_ids(report: Report, most: int) -> list[str]:
    """The ids of these queries, by damage."""
    return [change.id for change in report.latest.again[:most]] if report.latest else []
