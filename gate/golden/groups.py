"""Equivalence groups: documents that answer alike, so that any of them counts, once. Reads the file that golden.yml names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gate.golden.ids import BadLine, Ids
from gate.golden.model import Query
from gate.golden.sidefile import Faults, name_of, side_lines

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


def read_groups(path: Path, ids: Ids) -> Groups:
    """Read ``{"id"?, "docs": [document, …]}`` a line. Lists every fault; ``ids`` reads the document ids as those of the golden set."""
    found: dict[str, Group] = {}
    faults = Faults([], [])
    for where, group in side_lines(path, _KEYS, "group id", partial(_group, ids), faults):
        faults.problems.extend(f"{where}: document {doc!r} is already in {found[doc].name}" for doc in group.docs if doc in found)
        if len(group.docs) == 1:
            faults.warnings.append(f"{where}: a group of one document says nothing")
        found |= dict.fromkeys([doc for doc in group.docs if doc not in found], group)
    return Groups(found, tuple(faults.problems), tuple(faults.warnings))


def _group(ids: Ids, record: dict[str, Any], line: int) -> Group:
    name, docs = name_of(record), record.get("docs")
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
