"""What a search for the baseline comes back with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gate.baseline.record import Record
from gate.errors import BaselineUnavailable
from gate.history import Point
from gate.reports.report import BaselineInfo

_DAY = 86_400.0
# What a run on the default branch may have come to for the next approval to build on it. Anything else, inconclusive too, may hide a loss.
CLEAN = ("pass", "accepted", "no-baseline", "")


@dataclass(frozen=True)
class Found:
    """The baseline to compare with. ``data``: its bytes as stored; ``artifact_id``: what a carried copy names as its source;
    ``published_at``: the commit on the default branch whose run stored these bytes, and ``verdict`` what that run came to;
    ``notes``: warnings for people; ``refused``: what was passed over and why. ``latest``: what the newest run on the default branch
    retrieved, None where that is the baseline itself or not known. ``history``: what the runs before have found, to be drawn and nothing
    else; empty where nobody has kept it."""

    record: Record
    data: bytes
    info: BaselineInfo
    notes: tuple[str, ...] = ()
    state: str = ""
    artifact_id: int = 0
    published_at: str = ""
    verdict: str = ""
    refused: tuple[str, ...] = ()
    latest: Record | None = None
    history: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Missing:
    """No baseline. ``kind``: never (no trace of one), expired, elsewhere (only for commits that
    the base does not contain, newer ones for instance), or unacceptable (there are some, none may be used)."""

    kind: str
    sentence: str
    cure: str
    refused: tuple[str, ...] = ()

    def error(self) -> BaselineUnavailable:
        """The error for where there has to be one."""
        return BaselineUnavailable((self.sentence, *self.refused), self.cure)


def days_until(moment: str, now: float) -> float | None:
    """Days from ``now`` until an ISO time, negative for the past; None when it is not one."""
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return (parsed.timestamp() - now) / _DAY if parsed.tzinfo else None
