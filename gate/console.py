"""What the command line prints. It may be a step of a workflow, whose log obeys some lines, and a terminal obeys escape sequences: text
that came out of files is made harmless on its way out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from gate import jsonio
from gate.terminal import color_wanted, columns


def harmless(text: str) -> str:
    """The same lines without control characters and without anything that a workflow runner takes for a command."""
    from gate.reports.escape import guard
    from gate.retrievers.team.output import readable

    return "\n".join(map(guard, readable(text)))


def tell(text: str) -> None:
    """Lines for people, on standard error."""
    print(harmless(text), file=sys.stderr)


def show(text: str, color: bool = False) -> None:
    """Lines that were asked for, on standard output. ``color``: painted where the terminal takes it."""
    lines = harmless(text.rstrip("\n"))
    if color:
        from gate.reports.paint import painted

        if color_wanted(os.environ, sys.stdout is not None and sys.stdout.isatty()):
            lines = "\n".join(map(painted, lines.split("\n")))
    print(lines)


def show_report(render: Callable[[bool, int], str]) -> None:
    """What ``render`` makes of (painted, columns of the terminal or 0), on standard output. It has made its text harmless: escape
    sequences in it are ours."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    print(render(color_wanted(os.environ, terminal), columns(os.environ, terminal)), end="")


def show_json(value: Any) -> None:
    """One line of JSON. The old form of a command counts anywhere in a line, also inside a string."""
    print(jsonio.dumps(value).replace("##[", "#\\u0023["))


def show_markdown(text: str) -> None:
    """Markdown as it is, but for the old form of a command."""
    print(text.replace("##[", "## ["), end="")
