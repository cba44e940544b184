"""Equivalence groups: documents that answer alike, so that any of them counts, once. Reads the file that golden.yml names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gate import jsonio
from gate.errors import InvalidInput
from gate.golden.ids import BadLine, Ids, kind_of
from gate.golden.model import Query

_KEYS = {"id", "docs"}


class Group(NamedTuple):
    """One line. ``docs``: at least one document id, sorted, none twice."""

    docs: tuple[str, ...]
    id: str = ""
    line: int = 0

    @property
    def name(self) -> str:
        """As messages call it."""
        return f"group {self.id!r} (line {self.line})" if self.id else f"the group in line {self.line}"


class Groups(NamedTuple):
    """``of``: document → its group; a document is in one at most. ``problems`` and ``warnings`` name file and line."""

    of: Mapping[str, Group]
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def misplaced(folder: Path, name: str) -> str:
    """What is wrong with a groups file called ``name`` in the golden set's folder; empty when nothing is.

    It has to lie inside that folder, links followed: whoever reviews the labels must see it, and no other file is to be read.
    """
    try:
        if "\0" in name or not (folder / name).resolve().is_relative_to(folder.resolve()):
            return f"{name[:60]!r} is not inside the golden set's folder"
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name too long
        return f"{name[:60]!r} is no path"
    return "" if jsonio.is_file(folder / name) else f"{name[:60]!r}: no such file"


def read_groups(path: Path, ids: Ids) -> Groups:
    """Read ``{"id"?, "docs": [document, …]}`` a line. Lists every fault; ``ids`` reads the document ids as those of the golden set."""
    found: dict[str, Group] = {}
    named: dict[str, int] = {}
    problems: list[str] = []
    warnings: list[str] = []
    try:
        for line, text in jsonio.read_lines(path):
            where = f"{path}:{line}"
            try:
                record = jsonio.loads(text)
                group = _group(record, line, ids)
                if group.id and named.setdefault(group.id, line) != line:
                    raise BadLine(f"group id {group.id!r} was already given in line {named[group.id]}")
            except (BadLine, jsonio.NotJson) as fault:
                problems.append(f"{where}: {fault}")
                continue
            problems += [f"{where}: document {doc!r} is already in {found[doc].name}" for doc in group.docs if doc in found]
            if unknown := sorted(map(str, record.keys() - _KEYS)):
                warnings.append(f"{where}: unknown keys ignored: {', '.join(unknown)[:200]}")
            if len(group.docs) == 1:
                warnings.append(f"{where}: a group of one document says nothing")
            found |= dict.fromkeys([doc for doc in group.docs if doc not in found], group)
    except InvalidInput as error:  # not UTF-8, a damaged gzip file
        problems += error.problems
    return Groups(found, tuple(problems), tuple(warnings))


def _group(record: Any, line: int, ids: Ids) -> Group:
    if not isinstance(record, dict):
        raise BadLine(f"a line must be an object, not {kind_of(record)}")
    name, docs = record.get("id", ""), record.get("docs")
    if not isinstance(name, str):
        raise BadLine(f"`id` must be a string, not {kind_of(name)}")
    if not isinstance(docs, list) or not docs:
        raise BadLine("`docs` must be a list of document ids")
    return Group(tuple(sorted({ids.take(doc) for doc in docs})), name, line)


def with_groups(query: Query, groups: Groups) -> Query:
    """The query with every group that its relevant documents touch. A document that has spans stands for itself, and touches none."""
    spanned = {span.doc for span in query.spans}
    touched = {groups.of[doc].docs for doc in query.gains if doc in groups.of and doc not in spanned}
    return query._replace(groups=tuple(sorted(touched))) if touched else query


def left_out(query: Query, groups: Groups) -> list[str]:
    """Sentences about documents of this query that are in a group and have spans."""
    return [f"document {doc!r} has spans, so {groups.of[doc].name} does not stand for it: nobody said where the others hold the answer"
            for doc in sorted({span.doc for span in query.spans}) if doc in groups.of]
