"""Where a stored unit says which document it belongs to: keys of a payload or of a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gate.fields import Section
from gate.retrievers.engines.hits import Hit
from gate.retrievers.pool import QueryFailed


class Keys(NamedTuple):
    """Dotted keys. ``document``: empty for the engine's own id; ``chunk``, ``start``, ``end``: empty where units are documents."""

    document: str = ""
    chunk: str = ""
    start: str = ""
    end: str = ""

    @property
    def unit(self) -> str:
        """The key of the unit's own id; empty for the engine's."""
        return self.chunk or self.document

    @property
    def wanted(self) -> list[str]:
        """What has to be fetched."""
        return [key for key in self if key]


def read_keys(section: Section) -> Keys:
    """Faults are remembered in the section."""
    keys = Keys(section.text("document", ""), section.text("chunk", ""), section.text("start", ""), section.text("end", ""))
    if bool(keys.start) != bool(keys.end):
        section.problem("end" if keys.start else "start", "`start` and `end` belong together; one of them is missing")
    if keys.start and not keys.chunk:
        section.problem("start", "`start` and `end` are of a chunk; set `chunk` as well")
    if keys.chunk and not keys.document:
        section.problem("chunk", "`chunk` needs `document`, which says what the chunk was cut from")
    return keys


def value_at(source: Any, key: str) -> Any:
    """What a dotted key leads to, None where nothing does. A key that has the dots in its own name comes first."""
    if not isinstance(source, dict):
        return None
    if key in source:
        return source[key]
    first, dot, rest = key.partition(".")
    while dot:
        if isinstance(source.get(first), dict) and (found := value_at(source[first], rest)) is not None:
            return found
        more, dot, rest = rest.partition(".")
        first = f"{first}.{more}"
    return None


def text_at(source: Any, key: str, own: str) -> str:
    """An id at ``key`` as text. Raises QueryFailed when there is none."""
    value = value_at(source, key)
    if (isinstance(value, str) and value) or type(value) is int:
        return str(value)
    there = ", ".join(sorted(source)[:12]) if isinstance(source, Mapping) and source else "nothing"
    raise QueryFailed(f"the result {own[:80]} has no id at `{key}` ({'nothing' if value is None else type(value).__name__} is there); "
                      f"it has: {there}")


def hit_of(source: Any, keys: Keys, own: str, score: float) -> Hit:
    """``own``: the engine's id of it. Raises QueryFailed where a key leads nowhere."""
    document = text_at(source, keys.document, own) if keys.document else own
    if not keys.chunk:
        return Hit(document, score)
    start = end = None
    if keys.start:
        start, end = value_at(source, keys.start), value_at(source, keys.end)
        if not (type(start) is int and type(end) is int and 0 <= start <= end):
            raise QueryFailed(f"the result {own[:80]} has no whole numbers with 0 <= start <= end at `{keys.start}` and `{keys.end}`, "
                              f"but {str(start)[:40]} and {str(end)[:40]}")
    return Hit(text_at(source, keys.chunk, own), score, document, start, end)


def stored_unit(unit: Mapping[str, Any], keys: Keys, text: bool) -> dict[str, Any]:
    """What is stored of a unit of a snapshot, so that :func:`hit_of` finds it again. ``text``: with its title and text."""
    record: dict[str, Any] = {"title": unit["title"], "text": unit["text"]} if text else {}
    values = {keys.document: unit["doc"] if keys.chunk else unit["id"], keys.chunk: unit["id"],
              keys.start: unit.get("start"), keys.end: unit.get("end")}
    for key, value in values.items():
        place = record
        *parents, last = key.split(".")
        if not key or value is None:
            continue
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return record
