"""What a terminal takes: whether colour, and how many columns."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress


def color_wanted(environ: Mapping[str, str], terminal: bool) -> bool:
    """By NO_COLOR (https://no-color.org), FORCE_COLOR, TERM, and whether there is a terminal at all."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return terminal and environ.get("TERM") != "dumb"


def columns(environ: Mapping[str, str], terminal: bool) -> int:
    """Of the terminal that standard output is; 0 where it is none: what is piped is not broken. As shutil.get_terminal_size has them, which
    costs more to import than the parser of all commands."""
    if not terminal:
        return 0
    with suppress(ValueError):
        if (found := int(environ.get("COLUMNS", ""))) > 0:
            return found
    with suppress(ValueError, OSError, AttributeError):  # no terminal, or no output at all
        return os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    return 0
