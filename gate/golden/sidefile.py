"""Files that golden.yml names beside it, one JSON object a line: where they may lie, and how every fault of them is gathered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from gate import jsonio
from gate.errors import InvalidInput
from gate.golden.ids import BadLine, kind_of


class Named(Protocol):
    """What a line becomes; ``id`` is empty where the line gives none."""

    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=Named)


class Faults(NamedTuple):
    """What is wrong, and what is odd, in the order of the lines; each names file and line."""

    problems: list[str]
    warnings: list[str]


def misplaced(folder: Path, name: str) -> str:
    """What is wrong with a side file called ``name`` in the golden set's folder; empty when nothing is.

    It has to lie inside that folder, links followed: whoever reviews the labels must see it, and no other file is to be read.
    """
    try:
        if "\0" in name or not (folder / name).resolve().is_relative_to(folder.resolve()):
            return f"{name[:60]!r} is not inside the golden set's folder"
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name too long
        return f"{name[:60]!r} is no path"
    return "" if jsonio.is_file(folder / name) else f"{name[:60]!r}: no such file"


def side_lines(path: Path, keys: Collection[str], what: str, read: Callable[[dict[str, Any], int], Item],
               faults: Faults) -> Iterator[tuple[str, Item]]:
    """``file:line`` and what ``read`` makes of it, for every line without a fault; the others, and unknown keys, go to ``faults``.

    ``what``: how a line's id is called. ``read`` raises :class:`BadLine`.
    """
    named: dict[str, int] = {}
    try:
        for number, text in jsonio.read_lines(path):
            where = f"{path}:{number}"
            try:
                record = jsonio.loads(text)
                if not isinstance(record, dict):
                    raise BadLine(f"a line must be an object, not {kind_of(record)}")
                item = read(record, number)
                if item.id and named.setdefault(item.id, number) != number:
                    raise BadLine(f"{what} {item.id!r} was already given in line {named[item.id]}")
            except (BadLine, jsonio.NotJson) as fault:
                faults.problems.append(f"{where}: {fault}")
                continue
            if unknown := sorted(map(str, record.keys() - set(keys))):
                faults.warnings.append(f"{where}: unknown keys ignored: {', '.join(unknown)[:200]}")
            yield where, item
    except InvalidInput as error:  # not UTF-8, a damaged gzip file
        faults.problems.extend(error.problems)


def name_of(record: dict[str, Any]) -> str:
    """The line's own id, empty where it gives none."""
    name = record.get("id", "")
    if not isinstance(name, str):
        raise BadLine(f"`id` must be a string, not {kind_of(name)}")
    return name
