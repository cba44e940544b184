"""Records in the order in which each replaced the one before it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gate.baseline.record import Record


class Link(NamedTuple):
    """One record of a chain. ``where``: the places that it was found in; ``gap``: digest of the record that it replaced when that one is
    not among those given, "" otherwise; ``fork``: whether another record replaced the same one."""

    record: Record
    where: tuple[str, ...]
    gap: str = ""
    fork: bool = False


def chain(found: Iterable[tuple[str, Record]]) -> list[Link]:
    """Every record once, each behind the one that it names as its parent; what begins somewhere in the middle comes in order of time.

    ``found``: (place, record). What is no baseline (the latest run's record) belongs to no chain and is left out."""
    places: dict[str, list[str]] = {}
    records: dict[str, Record] = {}
    for where, record in found:
        if record.provenance.kind != "latest":
            places.setdefault(record.digest, []).append(where)
            records[record.digest] = record
    children: dict[str, list[str]] = {}
    for digest, record in records.items():
        children.setdefault(record.parent, []).append(digest)
    for group in children.values():
        group.sort(key=lambda digest: (records[digest].created, digest))
    starts = sorted((d for d, r in records.items() if r.parent not in records), key=lambda d: (records[d].created, d))
    ordered: list[Link] = []
    waiting = starts[::-1]
    while waiting:
        digest = waiting.pop()
        record = records[digest]
        gap = record.parent if record.parent not in records else ""
        fork = bool(record.parent) and len(children[record.parent]) > 1
        ordered.append(Link(record, tuple(dict.fromkeys(places[digest])), gap, fork))
        waiting.extend(reversed(children.get(digest, [])))
    return ordered
