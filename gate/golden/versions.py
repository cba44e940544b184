"""Versions: which document is the current one, and which are outdated. Reads the file that golden.yml names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gate.golden.ids import BadLine, Ids
from gate.golden.model import Query, Version
from gate.golden.sidefile import Faults, name_of, side_lines

_KEYS = {"id", "current", "older"}


class Line(NamedTuple):
    """One line. ``older``: at least one document id, sorted, none twice."""

    current: str
    older: tuple[str, ...]
    id: str = ""
    line: int = 0


class Versions(NamedTuple):
    """``of``: current document → its line; a document is in one line at most. ``problems`` and ``warnings`` name file and line."""

    of: Mapping[str, Line]
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_versions(path: Path, ids: Ids) -> Versions:
    """Read ``{"id"?, "current": document, "older": [document, …]}`` a line. Lists every fault; ``ids`` reads the document ids as those of
    the golden set."""
    found: dict[str, Line] = {}
    taken: dict[str, int] = {}
    faults = Faults([], [])
    for where, line in side_lines(path, _KEYS, "id", partial(_line, ids), faults):
        docs = (line.current, *line.older)
        faults.problems.extend(f"{where}: document {doc!r} is already in line {taken[doc]}" for doc in docs if doc in taken)
        taken |= dict.fromkeys([doc for doc in docs if doc not in taken], line.line)
        found[line.current] = line
    return Versions(found, tuple(faults.problems), tuple(faults.warnings))


def _line(ids: Ids, record: dict[str, Any], number: int) -> Line:
    if missing := [key for key in ("current", "older") if key not in record]:
        raise BadLine(f"{', '.join(f'`{key}`' for key in missing)} missing")
    name, older = name_of(record), record["older"]
    if not isinstance(older, list) or not older:
        raise BadLine("`older` must be a list of document ids")
    current, outdated = ids.take(record["current"]), tuple(sorted({ids.take(doc) for doc in older}))
    if current in outdated:
        raise BadLine(f"document {current!r} is both the current version and an older one")
    return Line(current, outdated, name, number)


def with_versions(query: Query, versions: Versions) -> Query:
    """The query with every version line whose current document it asks for: a relevant one, with a grade no lower than that of any older
    one. Who labels an outdated version higher wants that one, and is not judged by this.

    What the query's equivalence groups call alike with the current document stands for it, except the outdated ones.
    """
    known = query.documents
    wanted = []
    for doc, grade in known.items():
        line = versions.of.get(doc)
        if line is not None and grade > 0 and all(known.get(old, grade) <= grade for old in line.older):
            alike = {doc, *(member for group in query.groups if doc in group for member in group)} - set(line.older)
            wanted.append(Version(tuple(sorted(alike)), line.older))
    return query._replace(versions=tuple(sorted(wanted))) if wanted else query
