"""What a retrieval function gave → the answer that goes over the pipe. Loaded by worker.py in the retriever's process: standard library
only.

The objects of LangChain and LlamaIndex are known by their attributes; neither is imported.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

MOST_CANDIDATES = 10_000
_TWO_STAGES = ("ranked", "candidates", "cost", "ms")
# Where an id is looked for when no setting says so. The first result of an answer decides; the others must have it there as well.
_OF_NODE = ("ref_doc_id", "node_id")
_OF_DOCUMENT = ("id", "metadata.id", "metadata.doc_id", "metadata.source")
_OF_MAPPING = ("doc", "id", "_id")
_SHOWN = 20


class Unusable(Exception):
    """What the function is, or what it returned, cannot be used."""


class Keys(NamedTuple):
    """Where a result holds what: dotted paths through attributes and mappings; empty: see the tuples above."""

    id: str = ""
    chunk: str = ""
    start: str = ""
    end: str = ""


USUAL = Keys()


def shown(value: object) -> str:
    try:
        text = repr(value)
    except BaseException:
        text = "something without a repr"
    return f"{text[:100]} ({type(value).__name__})"


def number(value: Any, what: str) -> float:
    try:
        found = math.nan if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__") else float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise Unusable(f"{what} {shown(value)}, which is not a finite number")
    return found


def identifier(value: Any, position: int) -> str:
    if not isinstance(value, str) or not value:
        raise Unusable(f"result {position} is {shown(value)}, not a document id; ids are non-empty strings")
    return str(value)


def at(value: Any, path: str) -> Any:
    """What is at a dotted path, None where nothing is. A key may hold dots itself."""
    if isinstance(value, Mapping):
        if path in value:
            return value[path]
    elif (whole := getattr(value, path, None)) is not None:
        return whole
    first, dot, rest = path.partition(".")
    if not dot:
        return None
    inner = value.get(first) if isinstance(value, Mapping) else getattr(value, first, None)
    return None if inner is None else at(inner, rest)


class Item:
    """One result, taken out of what it may be wrapped in. ``inner`` holds its parts, ``outer`` is looked at first by a configured path."""

    def __init__(self, value: Any, position: int) -> None:
        self.position, self.score, self.outer = position, None, value
        if isinstance(value, (tuple, list)) and len(value) == 2:
            value, self.score = value
            self.score = number(self.score, f"result {position} has the score")
        elif isinstance(value, Mapping):
            self._scored(value.get("score"))
        elif not isinstance(value, (int, float, bytes)) and hasattr(value, "score"):
            self._scored(value.score)
            value = getattr(value, "node", value)
        self.inner = value
        metadata = getattr(value, "metadata", None)
        self.node = hasattr(value, "node_id")
        self.document = not self.node and hasattr(value, "page_content") and isinstance(metadata, Mapping)
        self.bare = not (self.node or self.document or isinstance(value, Mapping))

    def _scored(self, score: Any) -> None:
        if score is not None:
            self.score = number(score, f"result {self.position} has the score")

    def at(self, path: str) -> Any:
        found = at(self.outer, path) if not isinstance(self.outer, (tuple, list)) else None
        return at(self.inner, path) if found is None else found

    @property
    def places(self) -> tuple[str, ...]:
        return _OF_NODE if self.node else _OF_DOCUMENT if self.document else _OF_MAPPING

    def names(self) -> str:
        """The keys that it has, for a message."""
        metadata = self.inner.get("metadata") if isinstance(self.inner, Mapping) else getattr(self.inner, "metadata", None)
        found: Iterable[Any] = self.inner if isinstance(self.inner, Mapping) else \
            dict.fromkeys((*getattr(self.inner, "__dict__", ()), *_OF_NODE))
        if not isinstance(self.inner, Mapping):
            found = [name for name in found if not name.startswith("_") and getattr(self.inner, name, None) is not None]
        names = [str(name)[:60] for name in found if name != "metadata"]
        names += [f"metadata.{name}"[:60] for name in metadata] if isinstance(metadata, Mapping) else []
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return (", ".join(f"`{name}`" for name in names[:_SHOWN]) or "nothing that could be one") + more


class Reader:
    """Reads the results of one answer."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self._place = keys.id

    def read(self, value: Any, position: int) -> str | dict[str, Any]:
        """A result as it goes over the pipe."""
        if isinstance(value, str):
            return identifier(value, position)
        item = Item(value, position)
        if item.bare and (not self.keys.id or isinstance(item.inner, str)):
            doc = identifier(item.inner, position)
            return doc if item.score is None else {"doc": doc, "score": item.score}
        found: dict[str, Any] = {"doc": self._id(item)}
        if item.score is not None:
            found["score"] = item.score
        chunk = item.at(self.keys.chunk) if self.keys.chunk else self._own_chunk(item, found["doc"])
        if chunk is not None:
            found["chunk"] = str(chunk)
        for key, place in (("start", self.keys.start), ("end", self.keys.end)):
            if (offset := item.at(place) if place else self._own_offset(item, key)) is not None:
                try:
                    found[key] = operator.index(offset)
                except TypeError:
                    raise Unusable(f"result {position} has the {key} {shown(offset)}, which is not a whole number") from None
        return found

    def _id(self, item: Item) -> str:
        place = self._place
        if not place:
            place = next((path for path in item.places if item.at(path) is not None), "")
        value = item.at(place) if place else None
        if value is None:
            wanted = f"`{place}`" if place else "none of " + ", ".join(f"`{path}`" for path in item.places)
            raise Unusable(f"result {item.position} has {'no ' if place else ''}{wanted} to take its document id from; it has "
                           f"{item.names()} (`retriever.id_key`)")
        self._place = place if item.node or item.document or self.keys.id else ""
        keyed = bool(self.keys.id) or place.startswith("metadata.")
        if isinstance(value, UUID) or (keyed and isinstance(value, int) and not isinstance(value, bool)):
            value = str(value)  # as the golden set reads numbers
        return identifier(value, item.position)

    @staticmethod
    def _own_chunk(item: Item, doc: str) -> Any:
        if item.node:
            return item.inner.node_id if item.inner.node_id != doc else None
        return item.inner.get("chunk") if isinstance(item.inner, Mapping) else None

    def _own_offset(self, item: Item, key: str) -> Any:
        if item.node:
            both = [getattr(item.inner, name, None) for name in ("start_char_idx", "end_char_idx")]
            return None if None in both else both[key == "end"]
        if isinstance(item.inner, Mapping):
            return item.inner.get(key)
        # What LangChain's splitters write with add_start_index; -1 says that the text was not found.
        start = item.at(self.keys.start or "metadata.start_index") if item.document else None
        if not isinstance(start, int) or isinstance(start, bool) or start < 0:
            return None
        return start if key == "start" else start + len(item.inner.page_content)


def _two_stages(result: Any) -> dict[str, Any] | None:
    """The parts of an answer that is more than a list; None for one that is not."""
    if isinstance(result, Mapping):
        if "ranked" not in result:
            return None
        if unknown := [key for key in result if key not in _TWO_STAGES]:
            raise Unusable(f"the function returned a dict with the unknown key {shown(unknown[0])}; known are {', '.join(_TWO_STAGES)}")
        return dict(result)
    if isinstance(result, (str, bytes, type)) or not hasattr(result, "ranked"):
        return None
    return {key: getattr(result, key, None) for key in _TWO_STAGES}


def converted(result: Any, n: int, keys: Keys = USUAL) -> dict[str, Any]:
    """The answer: ``ranked`` with at most ``n`` results, ``returned`` (how many there were), and where given candidates, cost and ms."""
    parts = _two_stages(result) or {"ranked": result}
    ranked = parts["ranked"]
    if not isinstance(ranked, (list, tuple)):
        raise Unusable(f"the function returned {'' if ranked is result else 'as `ranked` '}{shown(ranked)}, not a list")
    reader = Reader(keys)
    answer: dict[str, Any] = {"ranked": [reader.read(value, position) for position, value in enumerate(ranked[:n], 1)],
                              "returned": len(ranked)}
    if (candidates := parts.get("candidates")) is not None:
        answer["candidates"] = _candidates(candidates, reader)
    for key in ("cost", "ms"):
        if parts.get(key) is not None:
            answer[key] = number(parts[key], f"the function returned the {key}")
    return answer


def _candidates(candidates: Any, reader: Reader) -> list[str]:
    if not isinstance(candidates, (list, tuple)):
        raise Unusable(f"the function returned the candidates {shown(candidates)}, not a list")
    if len(candidates) > MOST_CANDIDATES:
        raise Unusable(f"the function returned {len(candidates)} candidates; at most {MOST_CANDIDATES} are kept")
    try:
        found = [reader.read(value, position) for position, value in enumerate(candidates, 1)]
    except Unusable as fault:
        raise Unusable(f"of the candidates, {fault}") from None
    return [one if isinstance(one, str) else one["doc"] for one in found]
