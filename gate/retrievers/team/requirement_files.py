"""What a requirements file asks for, read before pip reads it: nothing that could change without the file, nothing that runs unasked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gate import jsonio
from gate.errors import InvalidInput
from gate.paths import inside

_MOST_BYTES, _MOST_FILES = 1024**2, 50
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_NESTED = re.compile(r"(?:-r|-c|--requirement|--constraint)(?:\s+|=|(?<=-[rc]))(.+)\Z")
_VARIABLE = re.compile(r"\$\{[A-Z0-9_]+\}")
_PLACE = re.compile(r"(?:[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?\s*@\s*)?(?P<place>(?:[A-Za-z][A-Za-z0-9+.-]*:|\.{0,2}/|\.{1,2}\Z|~).*)\Z")


class Requirements(NamedTuple):
    """``digest``: of all files together, in the order in which they are named; ``names``: of the packages they name, normalised."""

    files: tuple[Path, ...]
    digest: str
    names: tuple[str, ...]


def normal(name: str) -> str:
    """As the index compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_requirements(path: Path, build: bool, root: Path | None = None) -> Requirements:
    """``path`` and the files it names. ``build``: packages may be built; ``root``: no file lies outside of it. Raises InvalidInput with
    every fault as ``file:line: what``."""
    texts: dict[Path, str] = {}
    names: dict[str, None] = {}
    problems: list[str] = []
    waiting = [(path, "")]
    while waiting:
        file, named_at = waiting.pop(0)
        if file in texts:
            continue
        if len(texts) == _MOST_FILES or (root is not None and not inside(file, root)):
            problems.append(f"{named_at}: names a file outside of the repository" if len(texts) < _MOST_FILES else
                            f"{named_at}: more than {_MOST_FILES} files")
            continue
        if not jsonio.is_file(file) or file.stat().st_size > _MOST_BYTES:
            what = f"names {file.name}, which is" if named_at else "is"
            problems.append(f"{named_at or file}: {what} no file of at most {_MOST_BYTES} bytes")
            continue
        texts[file] = file.read_bytes().decode("utf-8", "replace")
        for number, line in _lines(texts[file]):
            place = f"{file}:{number}"
            if _VARIABLE.search(line):
                problems.append(f"{place}: pip would fill ${{…}} from the settings of the index, which may hold a password, and send it to "
                                "wherever the line says; write what is meant")
            elif nested := _NESTED.match(line):
                waiting.append((file.parent / nested[1].strip("\"' "), place))
            elif fault := _fault(line, build):
                problems.append(f"{place}: {fault}")
            elif not line.startswith("-") and (found := _NAME.match(line)):
                names[normal(found[0])] = None
    if problems:
        raise InvalidInput(problems, "list packages of an index by name and version; what they may be is in docs/retrievers.md, «python»")
    return Requirements(tuple(texts), jsonio.digest(list(texts.values())), tuple(names))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines as pip joins them, without comments; each with the number of its first."""
    whole, first = "", 0
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        first = first or number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            whole += line[:-1]
            continue
        whole = re.sub(r"(^|\s)#.*$", "", whole + line).strip()
        if whole:
            yield first, whole
        whole, first = "", 0
    if whole := whole.strip():
        yield first, whole


def _fault(line: str, build: bool) -> str:
    if re.match(r"(-e|--editable)\b", line):
        return "an editable package is code of the repository, which is found below `retriever.path` without being installed"
    if line.startswith("--no-binary") and not build:
        return "`--no-binary` builds packages, which runs their code: set `build: true` if that is meant"
    if line.startswith("-") or not (found := _PLACE.match(line)):
        return ""
    place = found["place"].split("#")[0].split(";")[0].strip()
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)", place)
    if scheme is None or scheme[0].lower() == "file":
        return "a file of the machine may change without this one; name packages of an index"
    if not place.endswith(".whl") and not build:
        return "this package would have to be built, which runs its code: set `build: true` if that is meant, or name a wheel"
    return ""
