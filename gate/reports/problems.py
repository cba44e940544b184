"""Problems of a run that came to no judgement: a sentence each, and perhaps the output that came with it. Pure."""

from __future__ import annotations

from typing import NamedTuple

from gate.reports.escape import visible_lines
from gate.reports.report import Report

_FIRST, _LAST, _WIDTH = 4, 26, 160


class Problem(NamedTuple):
    """``line``: one line of raw text. ``block``: lines of output, already visible and cut, without the marks of a quotation."""

    line: str
    block: tuple[str, ...] = ()


def problems(report: Report) -> list[Problem]:
    """All problems in order. Output that an earlier problem brought already is not repeated."""
    found: list[Problem] = []
    seen: set[tuple[str, ...]] = set()
    for text in report.problems:
        line, _, rest = text.strip().partition("\n")
        block = _block(rest)
        repeated = bool(block) and block in seen
        seen.add(block)
        found.append(Problem(f"{line.rstrip()} (the same output as above)" if repeated else line.rstrip(), () if repeated else block))
    return found


def _block(text: str) -> tuple[str, ...]:
    if not text.strip():
        return ()
    lines = [line[1:].removeprefix(" ") if line.startswith("|") else line for line in visible_lines(text, _WIDTH)]
    if len(lines) > _FIRST + _LAST:
        left = len(lines) - _FIRST - _LAST
        lines = [*lines[:_FIRST], f"… {left:,} lines left out", *lines[-_LAST:]]
    return tuple(lines)


def one_line(problem: Problem) -> str:
    """For places that have only one line: the sentence and the end of the output, where an error says its name."""
    return f"{problem.line} … {problem.block[-1].strip()}" if problem.block else problem.line
