"""Server time and ids: the two sources of numbers that a real service would choose."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count


class Clock:
    """Server time. It stands still unless a verb ticks it or a test advances it, so orders are reproducible."""

    def __init__(self, start: datetime | None = None, step: float = 1.0) -> None:
        self.now = (start or datetime(2026, 3, 2, 9, 0, 0, tzinfo=UTC)).replace(microsecond=0)
        # Tests of "same second" ties set step to 0.
        self.step = timedelta(seconds=step)

    def tick(self) -> datetime:
        self.now += self.step
        return self.now

    def advance(self, seconds: float = 0, **units: float) -> datetime:
        """advance(90), advance(days=91): move on without anything happening."""
        self.now += timedelta(seconds=seconds, **units)
        return self.now


class Ids:
    """Ids as large as the real ones: run, comment and artifact ids do not fit into 32 bits."""

    STARTS = {
        "repo": 1_296_269, "user": 583_231, "pull": 2_411_000_101, "event": 17_200_000_301, "comment": 3_300_000_501,
        "review": 2_900_000_701, "run": 18_400_000_901, "job": 52_000_001_101, "artifact": 4_500_001_301,
        "label": 8_100_001_501, "workflow": 161_335, "suite": 43_000_001_701, "check": 51_000_001_901,
        "status": 38_000_002_101, "activity": 22_000_002_301, "reaction": 290_002_501,
        "release": 210_002_701, "asset": 260_002_901,
    }  # fmt: skip

    def __init__(self) -> None:
        self._counters: dict[str, Iterator[int]] = {}

    def __call__(self, kind: str) -> int:
        counter = self._counters.setdefault(kind, count(self.STARTS[kind]))
        return next(counter)
