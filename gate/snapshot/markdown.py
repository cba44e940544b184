"""Markdown → front matter, and sections at its headings, each with an id that looks like GitHub's anchor of that heading."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"(#{1,6}) ")


@dataclass(frozen=True, slots=True)
class Section:
    """``text`` is the document's characters ``start`` (inclusive) to ``end`` (exclusive); the heading is not part of it. ``path``: the
    heading, after those above it that began a section as well."""

    slug: str
    heading: str
    text: str
    start: int
    end: int
    path: str


def slug(heading: str) -> str:
    """Lower case, letters, digits, spaces and hyphens only, spaces to hyphens: ``ERR-4462: too slow`` → ``err-4462-too-slow``."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -")
    return kept.strip().replace(" ", "-")


def _heading(line: str) -> tuple[int, str]:
    """Level and words of a heading; level 0 for any other line."""
    mark = _HEADING.match(line)
    if not mark:
        return 0, ""
    words = line[mark.end():].rstrip()
    unclosed = words.rstrip("#")  # hashes that close a heading stand after white space
    return len(mark[1]), (unclosed if unclosed[-1:].isspace() else words).strip()


class _Slugs:
    """Repeated slugs get -1, -2, …; ``intro`` is taken beforehand where text precedes the first heading."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self._last: dict[str, int] = {}

    def take(self, heading: str) -> str:
        base = candidate = slug(heading) or "section"
        number = self._last.get(base, 0)  # all below it are taken
        while candidate in self.used:
            number += 1
            candidate = f"{base}-{number}"
        self._last[base] = number
        self.used.add(candidate)
        return candidate


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The same range without white space at either end."""
    part = text[start:end].rstrip()
    return start + len(part) - len(part.lstrip()), start + len(part)


_KEY = re.compile(r"[A-Za-z_][\w.-]*[ \t]*:(?:\s|\Z)")


def front_matter(text: str) -> tuple[str, int]:
    """The ``title`` of YAML front matter (or empty), and where the text after it begins; 0 when there is none.

    It reaches from ``---`` in the first line to the next such line. What stands between two rules and names no key is text: to
    drop it would make it impossible to find.
    """
    lines = text.splitlines(keepends=True)
    last = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if not last or lines[0].rstrip() != "---":
        return "", 0
    inside = "".join(lines[1:last])
    meant = [line for line in inside.splitlines() if line.strip()]
    if meant and not _KEY.match(next((line for line in meant if not line.startswith("#")), "")):
        return "", 0
    return _yaml_title(inside), sum(map(len, lines[:last + 1]))


def _yaml_title(text: str) -> str:
    """The title as the YAML says it; as it stands in its line where the YAML is broken, which other tools forgive."""
    import yaml

    try:
        # Everything as a string: a title that is a number or a date is what its author wrote.
        value = yaml.load(text, Loader=yaml.BaseLoader)
        title = value.get("title") if isinstance(value, dict) else None
        return " ".join(title.split()) if isinstance(title, str) else ""
    except (yaml.YAMLError, ValueError, RecursionError):
        found = re.search(r"^title[ \t]*:(.*)$", text, re.MULTILINE)
        return found[1].strip().strip("'\"") if found else ""


def split(text: str, start: int = 0, level: int = 2, given: str = "") -> tuple[str, list[Section]]:
    """Title (the first ``# `` line, or empty) and the sections from ``start`` on. Headings within code fences are not headings.

    A section begins at every heading of ``level`` or above that is not the title; text before the first one is the section ``intro``; the
    title line is not part of it. A section with no text is dropped, unless its heading says something: a heading alone can still be found.
    ``given``: the title that the document has anyway; another one in its text is then an ordinary heading.
    """
    title, fence = "", ""
    pieces: list[tuple[str | None, str, int, int]] = []  # heading (None before the first), path, start, end
    heading: str | None = None
    path: list[tuple[int, str]] = []
    position = start
    for line in text[start:].splitlines(keepends=True):
        after = position + len(line)
        bare = line.rstrip("\r\n")
        mark = _FENCE.match(bare)
        depth, words = _heading(bare)
        if fence:
            if mark and mark[1].startswith(fence) and not bare.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif depth == 1 and not title and heading is None and given in ("", words):
            title = words
            if not text[start:position].strip():
                start = after
        elif 1 <= depth <= level:
            pieces.append((heading, _path(path), start, position))
            path = [*(above for above in path if above[0] < depth), (depth, words)]
            heading, start = words, after
        position = after
    pieces.append((heading, _path(path), start, position))

    slugs, sections = _Slugs(), []
    for name, names, begin, end in pieces:
        begin, end = _trimmed(text, begin, end)
        if name is None and begin == end:
            continue
        sections.append(Section(slugs.take("intro" if name is None else name), name or "", text[begin:end], begin, end, names))
    return title, sections


def _path(path: list[tuple[int, str]]) -> str:
    return " › ".join(words for _, words in path if words)
