"""Workflow commands and command files. Everything printed next to them that came from elsewhere goes through
:func:`neutralise`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gate.errors import InvalidInput

LEVELS = ("error", "warning", "notice")
# The runner cuts a message here.
MAX_MESSAGE = 4096


def escape_data(text: str) -> str:
    """Text after the second ``::``."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """A value between the command's name and ``::``."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def command(name: str, data: str = "", **properties: str | int | None) -> str:
    """One command line; properties that are None or empty are left out."""
    shown = ",".join(f"{key}={escape_property(str(value))}" for key, value in properties.items() if value not in (None, ""))
    return f"::{name}{' ' + shown if shown else ''}::{escape_data(data)}"


def annotation(level: str, message: str, *, title: str = "", file: str = "", line: int | None = None) -> str:
    """An error, warning or notice; ``file`` is relative to the repository's root, ``line`` counts only with it."""
    if level not in LEVELS:
        raise ValueError(f"annotation level {level!r} is none of {', '.join(LEVELS)}")
    return command(level, message[:MAX_MESSAGE], file=file, line=line if file else None, title=title)


def neutralise(text: str) -> str:
    """Untrusted text for the log. No line can be a command: each gets a bar in front (the new form counts only at the start of a
    line), and the old form, which counts anywhere in a line, is broken apart. CR, escape sequences and other control characters
    become visible."""
    lines = []
    # Only LF ends a line for us; what other programs take for a line end must not start one in the log.
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        safe = "".join(char if char.isprintable() or char == "\t" else _visible(char) for char in line)
        lines.append("| " + safe.replace("##[", "##\u200b["))
    return "\n".join(lines)


def _visible(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@contextmanager
def group(title: str, write: Callable[[str], object] = print) -> Iterator[None]:
    """A foldable part of the log."""
    write(command("group", title))
    try:
        yield
    finally:
        write("::endgroup::")


@contextmanager
def stop_commands(
    write: Callable[[str], object] = print, token: Callable[[], str] = lambda: secrets.token_hex(20)
) -> Iterator[None]:
    """Lines inside are no commands to the runner, whatever they look like. Whoever writes them cannot guess the random end
    token."""
    end = token()
    write(command("stop-commands", end))
    try:
        yield
    finally:
        write(f"::{end}::")


def output_text(values: Mapping[str, str], token: Callable[[], str] = lambda: secrets.token_hex(16)) -> str:
    """The text for GITHUB_OUTPUT. With a delimiter that nobody can foresee a value cannot end itself and begin another
    output."""
    delimiter = f"gate_{token()}"
    blocks = []
    for name, value in values.items():
        if not name or any(char in name for char in "=<\r\n") or delimiter in name or delimiter in value:
            raise InvalidInput(f"output {name!r} cannot be written: its name or value contains what ends it")
        blocks.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    return "".join(blocks)


def set_outputs(
    path: str | Path | None, values: Mapping[str, str], token: Callable[[], str] = lambda: secrets.token_hex(16)
) -> None:
    """Append outputs to the file GITHUB_OUTPUT names; does nothing where there is none (outside of Actions)."""
    _append(path, output_text(values, token))


def append_summary(path: str | Path | None, text: str) -> None:
    """Append Markdown to the job summary. The caller keeps it under 1 MiB: the runner drops a larger one whole."""
    _append(path, text if text.endswith("\n") else text + "\n")


def _append(path: str | Path | None, text: str) -> None:
    if not path:
        return
    # A lone surrogate (from broken JSON escapes) must not cost the whole report. newline="": no translation of line ends.
    with open(path, "a", encoding="utf-8", errors="replace", newline="") as stream:
        stream.write(text)
