"""What ``--add PATH[=NAME]`` of ``snapshot build --kind files`` names: files, and folders with all that is in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gate.errors import InvalidInput
from gate.snapshot.build import ENGINE
from gate.snapshot.files import MAX_FILES, walk
from gate.snapshot.manifest import unsafe_path


class Listed(NamedTuple):
    """``files``: (path, name in the snapshot). ``warnings``: what of a folder a snapshot cannot hold."""

    files: list[tuple[Path, str]]
    warnings: tuple[str, ...]


def _split(text: str) -> tuple[Path, str]:
    path, equals, name = text.rpartition("=")
    if not equals or os.path.lexists(text):
        return Path(text), Path(text).resolve().name
    return Path(path), name


def _files(path: Path, name: str, problems: list[str]) -> Iterator[tuple[Path, str]]:
    if path.is_symlink():
        problems.append(f"{path}: is a symbolic link, which a snapshot must not contain")
    elif path.is_dir():
        yield from ((file, f"{name}/{inside}") for inside, file in walk(path, problems))
    elif path.is_file():
        yield path, name
    else:
        problems.append(f"{path}: is neither a file nor a directory" if path.exists() else f"{path}: no such file or directory")


def listed(add: Sequence[str], out: Path) -> Listed:
    """Everything that ``add`` names. Raises :class:`InvalidInput` with every fault; ``out`` must not lie in what is added."""
    problems = [] if add else ["there is no file of an engine in it: name what to freeze with --add"]
    files: dict[str, Path] = {}
    empty: list[str] = []
    for text in add:
        path, name = _split(text)
        try:
            if path.is_dir() and out.resolve().is_relative_to(path.resolve()):
                problems.append(f"{path}: the snapshot would be written into what it is made of ({out})")
                continue
            found = list(_files(path, name, problems))
            empty += [place for place, folders, names in os.walk(path) if not folders and not names]
        except OSError as error:
            problems.append(f"{error.filename or path}: cannot be read ({error.strerror})")
            continue
        for file, inside in found:
            if fault := unsafe_path(f"{ENGINE}/{inside}"):
                problems.append(f"{file}: its name in the snapshot, {inside[:80]!r}, {fault}")
            elif files.setdefault(inside, file) != file:
                problems.append(f"{file}: has the same name in the snapshot, {inside!r}, as {files[inside]}")
    folders = {parent.as_posix() for inside in files for parent in Path(inside).parents}
    problems += [f"{files[inside]}: has the name of a folder in the snapshot, {inside!r}" for inside in sorted(folders & files.keys())]
    if len(files) > MAX_FILES - 10:
        problems.append(f"{len(files)} files are to be added, a snapshot holds {MAX_FILES}: pack folders into one file (tar) and add that")
    if add and not files and not problems:
        problems.append("there is no file in what --add names")
    if problems:
        raise InvalidInput(problems, "add regular files and folders of them: --add PATH or --add PATH=NAME")
    warnings = tuple(f"{place}: is empty, and a snapshot holds files only; an engine that needs the folder must get it from a dump or a tar"
                     for place in empty)
    return Listed([(file, inside) for inside, file in sorted(files.items())], warnings)
