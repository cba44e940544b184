"""Colour for a terminal, put on lines that are complete without it. Nothing is said by colour alone. Pure."""

from __future__ import annotations

import re

_BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = "1", "2", "31", "32", "33", "36"
_OUTCOME = re.compile(r"^( +)(FAIL|open|ok)(?=  )")
_OUTCOMES = {"FAIL": f"{_BOLD};{_RED}", "open": _YELLOW, "ok": _GREEN}
# A change with its sign, as a cell of its own; a range between two is left alone.
_CHANGE = re.compile(r"(?<=  )([+−]\d[\d.]*)(?=  |$)")
_HEAD = re.compile(r"^[A-Z][^|]{2,80}$")
_QUERY = re.compile(r"^( {2})(\S+)(   ?)(?=(?:\d+|not found) -> )")
_COLUMNS = re.compile(r"^  (?:metric|query|tag|document|share|against)\b.*$")
_NOTE = re.compile(r"^  (note|warning): |^    Likely: ")


def paint(text: str, code: str) -> str:
    """``text`` in a colour."""
    return f"\033[{code}m{text}\033[0m"


def painted(line: str) -> str:
    """A line of the report: headings, outcomes, changes, ids and notes."""
    if _COLUMNS.match(line):
        return paint(line, _DIM)
    if _HEAD.match(line) and not line.endswith("."):
        return paint(line, _BOLD)
    if found := _OUTCOME.match(line):
        return found[1] + paint(found[2], _OUTCOMES[found[2]]) + line[found.end():]
    if found := _NOTE.match(line):
        return paint(found[0].rstrip(), _YELLOW) + " " + line[found.end():]
    line = _QUERY.sub(lambda found: f"{found[1]}{paint(found[2], _CYAN)}{found[3]}", line)
    return _CHANGE.sub(lambda found: paint(found[1], _RED if found[1][0] == "−" else _GREEN) if found[1].strip("+−0.") else found[1], line)
