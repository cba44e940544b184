"""How documents become units: whole, at headings, or in windows of one size. Pure.

Windows are runs of whole words. The white space after a window's last word belongs to it, so that windows without overlap leave no
character out; it does not count into ``size``. The last window is as short as what is left: merged with the one before, it would make one
that an embedding model cuts off.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gate.errors import InvalidInput
from gate.snapshot.markdown import split
from gate.snapshot.model import Document, Unit

CHUNKERS = ("none", "heading", "fixed")
MEASURES = ("words", "chars")
RESULTS = ("section", "document")
IDS = ("stem", "path")
MOST = 1_000_000
_BETWEEN = " › "
# A run without white space; where a script writes none between its words, each of its characters may end a window.
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_ALONE}][\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef]*|[^\s{_ALONE}]+")


class Chunking(NamedTuple):
    """``level``: headings down to it begin a section. ``size`` and ``overlap`` in ``by``: of windows, or of those that a section above
    ``size`` is cut into (0: it is not). ``doc``: what a result of the heading chunker is called, its section or its document."""

    kind: str = "none"
    level: int = 2
    size: int = 0
    overlap: int = 0
    by: str = "words"
    doc: str = "section"

    def facts(self) -> dict[str, Any]:
        """What the manifest records: all that :func:`from_facts` needs, and nothing that does not count for the kind."""
        window = {"overlap": self.overlap, "by": self.by}
        if self.kind == "fixed":
            return {"kind": "fixed", "size": self.size, **window}
        if self.kind == "none":
            return {"kind": "none"}
        return {"kind": "heading", "level": self.level, **({"max_size": self.size, **window} if self.size else {}),
                **({"doc": self.doc} if self.doc != "section" else {})}


def faults(chunking: Chunking) -> list[str]:
    """What cannot be in it, each with the name of its option."""
    kind, size, overlap = chunking.kind, chunking.size, chunking.overlap
    problems = [f"{name} {value!r} must be one of {', '.join(known)}" for name, value, known in
                (("chunker", kind, CHUNKERS), ("by", chunking.by, MEASURES), ("doc", chunking.doc, RESULTS)) if value not in known]
    name = "max-size" if kind == "heading" else "size"
    if kind == "fixed" and not size:
        problems.append("the chunker fixed needs --size, for instance 200 words")
    elif not 0 <= size <= MOST:
        problems.append(f"{name} must be a whole number from 1 to {MOST}, not {size}")
    elif not 0 <= overlap < max(size, 1):
        problems.append(f"overlap must be a whole number from 0 and below {name}, not {overlap}")
    if not 1 <= chunking.level <= 6:
        problems.append(f"level must be a whole number from 1 to 6, not {chunking.level}")
    return problems


def from_facts(facts: Mapping[str, Any]) -> tuple[Chunking, str]:
    """The chunking that a manifest names, and how its ids were made. Raises :class:`InvalidInput` for one this version does not have."""
    given = dict(facts)
    kind, ids = given.pop("kind", None), given.pop("ids", "stem")
    size = given.pop("max_size" if kind == "heading" else "size", 0)
    found = Chunking(**({"kind": kind, "size": size} | {key: given.pop(key) for key in ("level", "overlap", "by", "doc") if key in given}))
    usable = all(type(value) is type(usual) for value, usual in zip(found, Chunking(), strict=True))
    if not usable or ids not in IDS or faults(found) or found.facts() != {key: value for key, value in facts.items() if key != "ids"}:
        raise InvalidInput(f"the snapshot was cut by {str(dict(facts))[:200]}, which this gate cannot do again",
                           "build the snapshot again with this version of the gate")
    return found, ids


def windows(text: str, start: int, end: int, size: int, overlap: int, by: str) -> list[tuple[int, int]]:
    """(start, end) of windows over the characters ``start``–``end``, in order, each beginning and ending after the one before.

    By words, a window has ``size`` of them and shares exactly ``overlap`` with the next. By characters it has as many whole words as fit
    into ``size``, at least one, and shares as many as fit into ``overlap`` and leave room for a new one. No character is in none of them.
    """
    words = [match.span() for match in _WORD.finditer(text, start, end)]
    if not words:
        return [(start, end)]
    starts, ends = [begin for begin, _ in words], [stop for _, stop in words]
    found, first, count = list[tuple[int, int]](), 0, len(words)
    while True:
        last = min(first + size, count) - 1 if by == "words" else max(first, bisect_right(ends, starts[first] + size) - 1)
        found.append((starts[first] if first else start, starts[last + 1] if last + 1 < count else end))
        if last + 1 == count:
            return found
        after = last + 1 - overlap if by == "words" else bisect_left(starts, max(ends[last] - overlap, ends[last + 1] - size))
        first = min(max(after, first + 1), last + 1)


def _length(text: str, by: str) -> int:
    return len(text) if by == "chars" else sum(1 for _ in _WORD.finditer(text))


def _windows_of(document: Document, unit: str, doc: str, title: str, start: int, end: int, how: Chunking) -> Iterator[Unit]:
    places = windows(document.text, start, end, how.size, how.overlap, how.by)
    for number, (begin, stop) in enumerate(places, 1):
        yield Unit(f"{unit}#{number}", doc, title, document.text[begin:stop], document.id, begin, stop)


def _sections(document: Document, body: int, how: Chunking, given: str) -> Iterator[Unit]:
    for section in split(document.text, body, how.level, given)[1]:
        unit = f"{document.id}#{section.slug}"
        doc = unit if how.doc == "section" else document.id
        title = _BETWEEN.join(name for name in (document.title, section.path) if name)
        if how.size and _length(section.text, how.by) > how.size:
            yield from _windows_of(document, unit, doc, title, section.start, section.end, how)
        else:
            yield Unit(unit, doc, title, section.text, document.id, section.start, section.end)


def cut(document: Document, how: Chunking, body: int = 0, markdown: bool = True, given: str = "") -> list[Unit]:
    """The units of one document. ``body``: where its text begins, after front matter; ``markdown``: whether it can have headings;
    ``given``: a title that no heading of the text gave it."""
    name, text = document.id, document.text
    if how.kind == "heading" and markdown:
        return list(_sections(document, body, how, given))
    if how.kind == "fixed" or (how.kind == "heading" and how.size and _length(text, how.by) > how.size):
        return list(_windows_of(document, name, name, document.title, body, len(text), how))
    if body:
        return [Unit(name, name, document.title, text[body:], name, body, len(text))]
    return [Unit(name, name, document.title, text)]
