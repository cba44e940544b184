"""A small part of JSONPath (RFC 9535): names, indices and ``[*]``. Pure.

    path  = ["$"] step*        "" and "$" are the whole
    step  = [.]name | ["name"] | [number] | [*]

A name without quotes holds no dot, bracket, quote or white space. A negative number counts from the end. ``[*]`` is every item of a list,
or every value of an object in its order.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

LONGEST = 500
_STEP = re.compile(r"""\.?(?P<name>[^.\[\]"'\s$*]+|(?<=\.)\$[^.\[\]"'\s*]*)
                     | \[(?P<index>-?[0-9]{1,9})\] | \[(?P<every>\*)\] | \[(?P<quoted>"(?:[^"\\]|\\.)*")\]""", re.X)
_KEYS = 12


class BadPath(ValueError):
    """Text that is no path; the message says where."""


class Nothing(ValueError):
    """A path that leads nowhere in a value; the message says how far it leads and what is there."""


class Path(NamedTuple):
    """Names (str), indices (int) and None for ``[*]``."""

    steps: tuple[str | int | None, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Path:
        """Raises :class:`BadPath`."""
        if len(text) > LONGEST:
            raise BadPath(f"it is longer than {LONGEST} characters")
        at, steps = 1 if text.startswith("$") else 0, []
        while at < len(text):
            found = _STEP.match(text, at)
            # A dot joins two names, or follows the sign for the whole; at the beginning of all there is none.
            if not found or (found["name"] and (text[at] == ".") == (at == 0)):
                raise BadPath(f"{text[at:at + 20]!r} at character {at + 1} is no step; write name.name, [0], [*] or [\"name\"]")
            if found["quoted"]:
                try:
                    steps.append(json.loads(found["quoted"]))
                except ValueError:
                    raise BadPath(f"{found['quoted'][:40]} is no JSON text") from None
            else:
                steps.append(int(found["index"]) if found["index"] else None if found["every"] else found["name"])
            at = found.end()
        return cls(tuple(steps))

    def __str__(self) -> str:
        """Parses to this path again."""
        text = ""
        for step in self.steps:
            if isinstance(step, int):
                text += f"[{step}]"
            elif step is None:
                text += "[*]"
            elif re.fullmatch(r"""[^.\[\]"'\s$*]+""", step):
                text += f".{step}" if text else step
            else:
                text += f"[{json.dumps(step)}]"
        return text or "$"

    @property
    def several(self) -> bool:
        """Whether it may lead to several places."""
        return None in self.steps

    def all(self, value: Any) -> list[Any]:
        """Everything that it leads to, in order. Raises :class:`Nothing`; ``[*]`` of something empty is no fault."""
        found = [value]
        for number, step in enumerate(self.steps):
            found = [item for place in found for item in self._after(place, step, number)]
        return found

    def one(self, value: Any) -> Any:
        """The only thing that it leads to. Raises :class:`Nothing`."""
        found = self.all(value)
        if len(found) != 1:
            raise Nothing(f"`{self}` leads to {len(found)} values, not one")
        return found[0]

    def _after(self, place: Any, step: str | int | None, number: int) -> list[Any]:
        if step is None and isinstance(place, (list, dict)):
            return list(place if isinstance(place, list) else place.values())
        if isinstance(step, str) and isinstance(place, dict) and step in place:
            return [place[step]]
        if isinstance(step, int) and isinstance(place, list) and -len(place) <= step < len(place):
            return [place[step]]
        at = f"at `{Path(self.steps[:number])}`" if number else "at the top"
        raise Nothing(f"`{self}` finds nothing: {at} there is {contents(place)}")


def contents(value: Any) -> str:
    """What a value is, with its keys or its length, in words."""
    if isinstance(value, dict):
        keys = ", ".join(str(key)[:40] for key in list(value)[:_KEYS])
        return f"an object with the keys {keys}{', …' if len(value) > _KEYS else ''}" if value else "an object without any key"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    return "null" if value is None else f"the {_KINDS.get(type(value), type(value).__name__)} {json.dumps(value, ensure_ascii=False)[:40]}"


_KINDS = {str: "text", int: "number", float: "number", bool: "value"}
