"""What a retriever may use."""

from __future__ import annotations

from typing import NamedTuple

from gate.fields import Section


class Limits(NamedTuple):
    """Seconds of one query, of all of them, and of the start; MiB."""

    query_seconds: float = 30.0
    run_seconds: float = 1800.0
    start_seconds: float = 120.0
    memory_mb: int = 8192


def read_limits(section: Section) -> Limits:
    """``limits:`` of a retriever. Faults are remembered in the section."""
    usual = Limits()
    found = Limits(section.number("query_seconds", usual.query_seconds, 0.01, 86_400),
                   section.number("run_seconds", usual.run_seconds, 0.01, 21_600),
                   section.number("start_seconds", usual.start_seconds, 0.01, 21_600),
                   section.integer("memory_mb", usual.memory_mb, 64, 1_048_576))
    section.done()
    return found
