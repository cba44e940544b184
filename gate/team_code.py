"""The source code of the team that decides a retriever's answers, as far as it can be found without running it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gate import jsonio

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings

_PYTHON = (".py",)
# What an interpreter reads beside the file that a command names; a compiled program is named itself.
_SCRIPTS = (*_PYTHON, ".awk", ".cjs", ".jl", ".js", ".lua", ".mjs", ".php", ".pl", ".pm", ".r", ".rb", ".sh", ".ts")
# Of the kinds whose options name a folder of the team's code.
_ENDINGS = {"python": _PYTHON, "command": _SCRIPTS, "function": _PYTHON}
# Installed packages: the file of the requirements stands for them, or the machine's owner does.
_PASSED = ("__pycache__", "node_modules", "site-packages", "venv")


def code_digests(retriever: RetrieverSettings) -> dict[str, str]:
    """Path below the folder that code is imported from or started in → digest, for the retriever, its legs, and a function that embeds.
    A file that cannot be read is left out: what runs could not read it either."""
    found: dict[str, str] = {}
    for number, (folder, endings) in enumerate(sorted(set(_folders(retriever)))):
        for file in _files(folder, endings):
            try:
                found[f"{number}/{file.relative_to(folder).as_posix()}"] = jsonio.sha256(file.read_bytes())
            except OSError:
                continue
    return found


def _folders(retriever: RetrieverSettings) -> Iterator[tuple[Path, tuple[str, ...]]]:
    for kind, options in retriever.parts():
        if kind in _ENDINGS:
            yield options.path, _ENDINGS[kind]


def _files(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    for place, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if not name.startswith(".") and name not in _PASSED]
        for name in names:
            if name.lower().endswith(endings) and jsonio.is_file(file := Path(place, name)):
                yield file
