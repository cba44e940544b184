"""The few figures that stand largest in the HTML report: counts of queries first, since people read those. Pure."""

from __future__ import annotations

from typing import NamedTuple

from gate.figures import fmt_delta, fmt_pair, fmt_value, metric_label
from gate.reports.remarks import moved_count
from gate.reports.report import Report


class Tile(NamedTuple):
    """``side``: worse | better | "" for the colour; the sign in ``value`` says the same."""

    value: str
    name: str
    side: str = ""


def tiles(report: Report) -> list[Tile]:
    """Empty where nothing was measured."""
    label, candidate = metric_label(report.policy.primary), report.candidate
    if candidate is None:
        return []
    c = report.comparison
    if c is None:
        mean, k = candidate.mean(str(report.policy.primary)), report.policy.primary.k
        found = sum(score.first_rank is not None and (k is None or score.first_rank <= k) for score in candidate.queries.values())
        where = f"with something relevant{f' in the top {k}' if k else ''}"
        return [Tile(f"{len(candidate.queries):,}", "queries judged"), Tile(f"{found:,}", where),
                Tile(f"{len(candidate.queries) - found:,}", "without"), Tile(fmt_value(mean), label)]
    main, moved = c.main, moved_count(report)
    before, after = fmt_pair(main.baseline, main.candidate)
    side = "" if c.identical else "worse" if main.delta < 0 else "better" if main.delta > 0 else ""
    return [_flips("▼", len(c.lost), "lost", "worse"), _flips("▲", len(c.gained), "found", "better"),
            Tile(f"{moved:,}", "changed otherwise"),
            Tile(f"{len(c.paired) - len(c.lost) - len(c.gained) - moved:,}", "unchanged"),
            Tile(fmt_delta(main.delta, -report.policy.tolerance), f"{label}: {before} → {after}", side)]


def _flips(sign: str, count: int, verb: str, side: str) -> Tile:
    return Tile(f"{sign} {count:,}" if count else "0", f"query {verb} its answer" if count == 1 else f"queries {verb} their answer",
                side if count else "")
