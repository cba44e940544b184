"""Ids as a golden set's files give them: opaque strings, numbers read as such, names that differ only in form noticed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# Names are repeated in every report: far above any real one, far below what fills a runner.
LONGEST_NAME = 10_000
_BREAK = re.compile("[\r\n]")


class BadLine(Exception):
    """One fault of one line."""


class Ids:
    """Turns ids into strings, and remembers which were numbers: ``1`` and ``"1"`` in one file is a fault."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.numbers: set[str] = set()
        self.strings: set[str] = set()
        self.odd: set[str] = set()  # those that may not be their own folded form

    def take(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise BadLine(f"{self.kind} id must be a string, not {kind_of(value)}")
        if isinstance(value, int):
            self.numbers.add(str(value))
            return str(value)
        if not value.strip():
            raise BadLine(f"{self.kind} id is empty")
        if len(value) > LONGEST_NAME:
            raise BadLine(f"{self.kind} id {value[:40]!r}… has {len(value)} characters, at most {LONGEST_NAME} are accepted")
        if "\n" in value or "\r" in value:
            raise BadLine(f"{self.kind} id {value[:40]!r} contains a line break")
        self.strings.add(value)
        if not _plain(value):
            self.odd.add(value)
        return value

    def take_all(self, values: Iterable[Any]) -> list[str]:
        """Each of them. What is nothing but texts that can be ids is looked at as a whole, since golden sets have very many."""
        values = list(values)
        if set(map(type, values)) <= {str} and all(map(str.strip, values)) and not _BREAK.search(text := "".join(values)) and (
                len(text) <= LONGEST_NAME or max(map(len, values)) <= LONGEST_NAME):
            self.strings.update(values)
            if not _plain(text):
                self.odd.update(values)
            return values
        return [self.take(value) for value in values]

    def faults(self) -> list[str]:
        return [f"{self.kind} id {both!r} is given as a number and as a string" for both in sorted(self.numbers & self.strings)]

    def warnings(self) -> list[str]:
        found = []
        if self.numbers:
            found.append(f"{len(self.numbers)} {self.kind} ids are numbers; they were read as strings")
        folded: dict[str, str] = {}
        # Of two names that fold alike at least one is odd.
        for name in sorted({*self.odd, *self.strings.intersection(map(_fold, self.odd))}):
            other = folded.setdefault(_fold(name), name)
            if other != name:
                found.append(f"{self.kind} ids {other!r} and {name!r} differ only in case, white space or Unicode form")
        return found


def _plain(name: str) -> bool:
    """Whether a name, and any part of it, is its own folded form: no white space, no capital, nothing beyond ASCII."""
    return name.isascii() and name.islower() and name.split() == [name]


def _fold(name: str) -> str:
    if name.isascii():
        return name.casefold().strip()
    import unicodedata

    text = unicodedata.normalize("NFKC", name).casefold()
    return "".join(c for c in text if unicodedata.category(c) != "Cf").strip()


def kind_of(value: Any) -> str:
    """A JSON value's type as messages call it."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
