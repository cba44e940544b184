"""Reads one mapping of a config file, field by field, and remembers every fault with its line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from gate import jsonio
from gate.yamlio import Document


class Section:
    """A mapping at a dotted path. Each getter marks its key as known; ``done`` reports the others.

    ``beneath``: another section, whose keys count where this one does not have them, and keep their place in messages."""

    def __init__(self, document: Document, path: str, value: dict[str, Any], problems: list[str], beneath: Section | None = None) -> None:
        self._document, self._path, self._problems, self._own, self._beneath = document, path, problems, value, beneath
        self._value = value if beneath is None else {**beneath._value, **value}
        self._known: set[str] = set()

    def problem(self, key: str, message: str) -> None:
        """Remember a fault of ``key`` (dotted, below this section)."""
        self._problems.append(self._document.at(self._at(key), message))

    def _at(self, key: str) -> str:
        first = key.partition(".")[0]
        if self._beneath is not None and first not in self._own and first in self._beneath._value:
            return self._beneath._at(key)
        return f"{self._path}.{key}".strip(".")

    def raw(self, key: str) -> Any:
        self._known.add(key)
        return self._value.get(key)

    def plain(self) -> dict[str, Any]:
        """Everything in it as it is written, known or not."""
        return dict(self._value)

    def section(self, key: str, value: dict[str, Any], beneath: Section | None = None) -> Section:
        return Section(self._document, self._at(key), value, self._problems, beneath)

    def mapping(self, key: str, required: bool = False) -> dict[str, Any]:
        value = self.raw(key)
        if value is None and not required:
            return {}
        if not isinstance(value, dict):
            self.problem(key, f"`{key}` must be a mapping" if value is not None else f"`{key}` is missing")
            return {}
        return value

    def text(self, key: str, default: str, required: bool = False) -> str:
        value = self.raw(key)
        if value is None:
            if required:
                self.problem(key, f"`{key}` is missing")
            return default
        if not isinstance(value, str) or not value.strip():
            self.problem(key, f"`{key}` must be text, not {value!r}"[:200])
            return default
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str, required: bool = False) -> str:
        value = self.text(key, default, required)
        if value not in allowed and self._value.get(key) is not None:
            near = difflib.get_close_matches(value, allowed, 1)
            self.problem(key, f"`{key}` is {value!r}{f' (did you mean {near[0]}?)' if near else ''}; it must be one of "
                              f"{', '.join(allowed)}")
            return default
        return value

    def boolean(self, key: str, default: bool) -> bool:
        value = self.raw(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.problem(key, f"`{key}` must be true or false, not {value!r}"[:200])
        return default

    def checked_number(self, key: str, value: Any, low: float, high: float) -> float | None:
        """``value`` as a float within [low, high], or None after remembering the fault."""
        if not jsonio.finite(value) or not low <= value <= high:
            self.problem(key, f"`{key}` must be a number from {low:g} to {high:g}, not {str(value)[:60]}")
            return None
        return float(value)

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self.raw(key)
        checked = None if value is None else self.checked_number(key, value, low, high)
        return default if checked is None else checked

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        value = self.raw(key)
        if value is None:
            return default
        if type(value) is not int or not low <= value <= high:
            self.problem(key, f"`{key}` must be a whole number from {low} to {high}, not {value!r}"[:200])
            return default
        return value

    def strings(self, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        value = self.raw(key)
        if value is None:
            return tuple(default)
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            self.problem(key, f"`{key}` must be a list of texts (quote numbers)")
            return tuple(default)
        return tuple(dict.fromkeys(value))

    def done(self) -> None:
        """Every key that nobody asked for is a fault: a misspelt `tolerence` must not silently mean the default."""
        for key in self._value:
            if key not in self._known:
                near = difflib.get_close_matches(key, self._known, 1)
                self.problem(key, f"unknown key `{key}`{f', did you mean `{near[0]}`?' if near else ''}")
