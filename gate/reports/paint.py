"""Colour for a terminal, put on lines that are complete without it. Nothing is said by colour alone."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress

_BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = "1", "2", "31", "32", "33", "36"
_OUTCOME = re.compile(r"^( +)(FAIL|open|ok)(?=  )")
_OUTCOMES = {"FAIL": f"{_BOLD};{_RED}", "open": _YELLOW, "ok": _GREEN}
# A change with its sign, as a cell of its own; a range between two is left alone.
_CHANGE = re.compile(r"(?<=  )([+−]\d[\d.]*)(?=  |$)")
_HEAD = re.compile(r"^[A-Z][^|]{2,80}$")
_QUERY = re.compile(r"^( {2})(\S+)(   ?)(?=(?:\d+|not found) -> )")
_COLUMNS = re.compile(r"^  (?:metric|query|tag|document|share|against)\b.*$")
_NOTE = re.compile(r"^  (note|warning): |^    Likely: ")


def wanted(environ: Mapping[str, str], terminal: bool) -> bool:
    """By NO_COLOR (https://no-color.org), FORCE_COLOR, TERM, and whether there is a terminal at all."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return terminal and environ.get("TERM") != "dumb"


def columns(environ: Mapping[str, str], terminal: bool) -> int:
    """Of the terminal that standard output is; 0 where it is none: what is piped is not broken."""
    if not terminal:
        return 0
    with suppress(ValueError):
        if (found := int(environ.get("COLUMNS", ""))) > 0:
            return found
    with suppress(ValueError, OSError, AttributeError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    return 0


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
