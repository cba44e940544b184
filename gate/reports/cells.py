"""Columns of a terminal: how wide text is there, and how it is cut, padded and wrapped. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping

from gate.reports.escape import ELLIPSIS

_JOINER, _PICTURE = "\u200d", "\ufe0f"
_HANGING = 4  # how far a wrapped line stands in
_LEAST = 20  # narrower than this nothing can be laid out


def width(text: str) -> int:
    """Columns that a terminal takes for it: East Asian wide characters and emoji take two, marks and joiners none (Unicode, UAX #11)."""
    if text.isascii():
        return len(text)
    return sum(_widths(text))


def _widths(text: str) -> Iterator[int]:
    joined, wide = False, False
    for char in text:
        if char == _JOINER:
            joined = True
            yield 0
            continue
        if char == _PICTURE and not wide:
            wide = True
            yield 1  # the sign before it is drawn as a picture
            continue
        kind = unicodedata.category(char)
        if joined or kind in ("Mn", "Me", "Cf") or char == _PICTURE or (kind == "Sk" and ord(char) >= 0x1F3FB):
            joined = joined and kind not in ("So", "Lo")
            yield 0  # a part of the picture or letter before it
            continue
        wide = unicodedata.east_asian_width(char) in "WF"
        yield 2 if wide else 1


def cut(text: str, columns: int) -> str:
    """As much of it as fits, with an ellipsis where something is left out."""
    if width(text) <= columns:
        return text
    room, kept = columns - 1, 0
    for at, one in enumerate(_widths(text)):
        kept += one
        if kept > room:
            return text[:at].rstrip() + ELLIPSIS
    return text


def left(text: str, columns: int) -> str:
    """Padded at its end."""
    return text + " " * (columns - width(text))


def right(text: str, columns: int) -> str:
    """Padded at its beginning."""
    return " " * (columns - width(text)) + text


def wrapped(lines: Iterable[str], columns: int, whole: Container[str] = ()) -> Iterator[str]:
    """Lines that are too long for the terminal broken at spaces, the rest standing further in. 0 columns: as they are. ``whole``: lines
    that are left to the terminal, which forgets its own breaks when somebody copies."""
    for line in lines:
        yield from _wrapped(line, columns) if columns >= _LEAST and width(line) > columns and line not in whole else (line,)


def _wrapped(line: str, columns: int) -> Iterator[str]:
    indent = len(line) - len(line.lstrip(" "))
    bullet = 2 if line[indent:indent + 2] == "- " else 0
    # A row or a check stands in by two, and what follows from it by four already.
    hanging = " " * min(indent + (bullet or (_HANGING if 0 < indent < _HANGING else 0)), columns // 2)
    while width(line) > columns:
        taken, room = 0, 0
        for at, one in enumerate(_widths(line)):
            if room + one > columns:
                break
            room, taken = room + one, at + 1
        start = len(line) - len(line.lstrip(" "))
        space = line.rfind(" ", start + 1, taken + 1)
        if space <= start:  # one long word
            space = line.find(" ", taken)
            if space < 0:
                break
        yield line[:space].rstrip(" ")
        rest = line[space:].lstrip(" ")
        # A long word that fits only further out stands further out.
        line = hanging[:max(columns - width(rest.partition(" ")[0]), 0)] + rest
    yield line


# What terminals without Unicode would show as question marks, a minus sign among it.
PLAIN: Mapping[str, str] = {"−": "-", "–": "-", "—": "-", "→": "->", "…": "...", "“": '"', "”": '"', "‘": "'", "’": "'", "«": '"', "»": '"',
                            "×": "x", "·": "|", "›": ">", "≥": ">=", "≤": "<=", "δ": "delta", "Δ": "delta", "\u00a0": " ", "\u202f": " "}
