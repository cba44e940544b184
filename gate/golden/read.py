"""Reads golden.jsonl and the golden.yml beside it; lists every fault of the file, not only the first."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.golden.ids import LONGEST_NAME, BadLine, Ids, kind_of
from gate.golden.model import SOURCES, SPLITS, GoldenSet, Query, Span

# Each tag is a table of its own in every report: far above any real set, far below what fills a runner.
MOST_TAGS = 10_000
_HIGHEST = 1000  # 2 to this power, the gain of ndcg-exp, still is a float
_KEYS = {"id", "query", "relevant", "tags", "spans", "answerable", "split", "source", "cluster", "added", "failure_type", "note"}
_NEEDED = {"id", "query", "relevant"}
_PLAIN = {*_NEEDED, "tags"}  # what most lines have, and nothing else
_HEADER_KEYS = {"version", "owner", "corpus_digest", "equivalences", "versions", "float_grades", "notes"}
_SIDE_FILES = ("equivalences", "versions")


def _grade(value: Any, float_grades: bool) -> float:
    if isinstance(value, bool) or not jsonio.finite(value):
        raise BadLine(f"a grade must be a finite number, not {kind_of(value) if not isinstance(value, float) else value}")
    if not float_grades and value != int(value):
        raise BadLine(f"grade {value} is not a whole number (set `float_grades: true` in golden.yml if that is meant)")
    if abs(value) > _HIGHEST:
        raise BadLine(f"grade {value:g} is out of range (−{_HIGHEST} to {_HIGHEST})")
    return _shared(float(value)) if value else float(value)  # 0.0 equals -0.0, and they are not the same text


def _strings(record: dict[str, Any], key: str) -> tuple[str, ...]:
    value = record.get(key, [])
    if not isinstance(value, list) or not (set(map(type, value)) <= {str} and all(map(str.strip, value))):
        raise BadLine(f"`{key}` must be a list of non-empty strings")
    if value and max(map(len, value)) > LONGEST_NAME:
        raise BadLine(f"`{key}` holds a text of more than {LONGEST_NAME} characters")
    return _shared(tuple(dict.fromkeys(value)))


@lru_cache(maxsize=1 << 12)
def _shared(value: Any) -> Any:
    """The first value that was equal to this one: thousands of queries have the same few tags and grades."""
    return value


def _text(record: dict[str, Any], key: str, allowed: tuple[str, ...] = ()) -> str:
    if key not in record:
        return ""
    value = record.get(key, "")
    if not isinstance(value, str):
        raise BadLine(f"`{key}` must be a string, not {kind_of(value)}")
    if allowed and value and value not in allowed:
        raise BadLine(f"`{key}` is {value!r}; it must be one of {', '.join(allowed)}")
    return value


class _Reader:
    def __init__(self, path: Path, float_grades: bool) -> None:
        self.path, self.name = path, str(path)
        self.float_grades = float_grades
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.queries: dict[str, Query] = {}
        self.query_ids, self.doc_ids = Ids("query"), Ids("document")

    def gains(self, relevant: Any, where: str) -> dict[str, float]:
        if isinstance(relevant, dict):
            docs = self.doc_ids.take_all(relevant)
            return {doc: _grade(grade, self.float_grades) for doc, grade in zip(docs, relevant.values(), strict=True)}
        if not isinstance(relevant, list):
            raise BadLine(f"`relevant` must be a list of document ids or an object of grades, not {kind_of(relevant)}")
        docs = self.doc_ids.take_all(relevant)
        found = dict.fromkeys(docs, 1.0)
        if len(found) < len(docs):
            self.warnings.append(f"{where}: `relevant` names a document twice; it counts once")
        return found

    def spans(self, value: Any, where: str) -> tuple[Span, ...]:
        if not isinstance(value, list):
            raise BadLine(f"`spans` must be a list, not {kind_of(value)}")
        found: dict[tuple[str, int, int], Span] = {}
        for item in value:
            if not isinstance(item, dict) or not {"doc", "start", "end"} <= item.keys():
                raise BadLine("a span needs doc, start and end")
            start, end = item["start"], item["end"]
            if type(start) is not int or type(end) is not int or not 0 <= start < end:
                raise BadLine(f"span {start!r}–{end!r} must be whole numbers with 0 <= start < end")
            span = Span(self.doc_ids.take(item["doc"]), start, end, _grade(item.get("grade", 1), self.float_grades))
            earlier = found.setdefault(span[:3], span)
            twice = f"span {start}–{end} of document {span.doc!r} is given twice"
            if earlier != span:
                raise BadLine(f"{twice}, with grades {earlier.grade:g} and {span.grade:g}")
            if earlier is not span:
                self.warnings.append(f"{where}: {twice}; it counts once")
        return tuple(found.values())

    def query(self, record: Any, where: str, line: int) -> Query:
        if not isinstance(record, dict):
            raise BadLine(f"a line must be an object, not {kind_of(record)}")
        if not record.keys() >= _NEEDED:
            missing = [key for key in ("id", "query", "relevant") if key not in record and not (key == "relevant" and record.get("spans"))]
            if missing:
                raise BadLine(f"{', '.join(f'`{key}`' for key in missing)} missing")
        if not record.keys() <= _KEYS:
            self.warnings.append(f"{where}: unknown keys ignored: {', '.join(sorted(map(str, record.keys() - _KEYS)))[:200]}")
        text = record["query"]
        if not isinstance(text, str) or not text.strip():
            raise BadLine("`query` must be a string with some text")
        if record.keys() <= _PLAIN:
            gains = self.gains(record["relevant"], where)
            return Query(self.query_ids.take(record["id"]), text, gains, (), _strings(record, "tags"), line=line)
        answerable = record.get("answerable", True)
        if not isinstance(answerable, bool):
            raise BadLine("`answerable` must be true or false")
        gains = self.gains(record.get("relevant", []), where)
        spans = self.spans(record["spans"], where) if "spans" in record else ()
        if not answerable and (gains or spans):
            raise BadLine("a query that is not answerable must have an empty `relevant` and no spans")
        for doc in sorted({span.doc for span in spans} & gains.keys()) if spans else ():
            if (gains[doc] > 0) != any(span.grade > 0 for span in spans if span.doc == doc):
                raise BadLine(f"`relevant` and `spans` contradict each other: only one says that document {doc!r} is worth something")
        return Query(id=self.query_ids.take(record["id"]), text=text, gains=gains, spans=spans,
                     tags=_strings(record, "tags"), answerable=answerable, split=_text(record, "split", SPLITS) or "dev",
                     source=_text(record, "source", SOURCES), cluster=_text(record, "cluster"), line=line)

    def take(self, line: int, text: str) -> None:
        where = f"{self.name}:{line}"
        try:
            query = self.query(jsonio.loads(text), where, line)
        except (BadLine, jsonio.NotJson) as fault:
            self.problems.append(f"{where}: {fault}")
            return
        earlier = self.queries.setdefault(query.id, query)
        if earlier is not query:
            same = earlier.label_digest == query.label_digest
            note = f"{where}: query id {query.id!r} was already given in line {earlier.line}"
            (self.warnings if same else self.problems).append(note + (" with the same content" if same else " with other content"))


    def group(self, path: Path) -> tuple[str, ...]:
        """Give the queries that were read their equivalence groups; returns what is wrong with the groups."""
        from gate.golden.groups import left_out, read_groups, with_groups

        groups = read_groups(path, self.doc_ids)
        for name, query in self.queries.items():
            self.queries[name] = with_groups(query, groups)
            self.warnings += [f"{self.path}:{query.line}: {sentence}" for sentence in left_out(query, groups)]
        self.warnings += groups.warnings
        return groups.problems

    def version(self, path: Path) -> tuple[str, ...]:
        """Give the queries, which have their groups, the versions they ask for; returns what is wrong with the versions."""
        from gate.golden.versions import read_versions, with_versions

        versions = read_versions(path, self.doc_ids)
        for name, query in self.queries.items():
            self.queries[name] = with_versions(query, versions)
        self.warnings += versions.warnings
        if versions.of and not any(query.versions for query in self.queries.values()):
            self.warnings.append(f"{path}: no query asks for a current version that it names, so nothing is said of versions")
        return versions.problems


def _header(path: Path) -> tuple[dict[str, Any], list[str]]:
    """golden.yml beside the set: its values and what is wrong with it."""
    beside = [p for p in (path.parent / f"{path.stem}.yml", path.parent / "golden.yml") if jsonio.is_file(p)]
    if not beside:
        return {}, []
    from gate.yamlio import load_yaml

    folders = {path.parent.resolve(), path.resolve().parent}
    if not any(beside[0].resolve().is_relative_to(folder) for folder in folders):
        raise InvalidInput(f"{beside[0]}: is a link that leads out of the golden set's folder", "put the file itself in its place")
    document = load_yaml(beside[0])
    problems = [document.at(key, f"unknown key {str(key)[:40]!r}; this file is read as what is said about {path.name}")
                for key in document.value if key not in _HEADER_KEYS]
    for key in ("version", "owner", "corpus_digest", *_SIDE_FILES):
        if not isinstance(document.value.get(key, ""), str):
            problems.append(document.at(key, f"`{key}` must be a string (quote it)"))
            document.value.pop(key)
    if not isinstance(document.value.get("float_grades", False), bool):
        problems.append(document.at("float_grades", "`float_grades` must be true or false"))
    for key in _SIDE_FILES:
        if document.value.get(key):
            from gate.golden.sidefile import misplaced

            if fault := misplaced(path.parent, document.value[key]):
                problems.append(document.at(key, f"`{key}` {fault}"))
                document.value.pop(key)
    return document.value, problems


def read_golden(path: str | Path) -> GoldenSet:
    """Read a golden set. Raises :class:`InvalidInput` that lists every fault as ``file:line: what``."""
    path = Path(path)
    header, problems = _header(path)
    reader = _Reader(path, header.get("float_grades") is True)
    last = count = 0
    for last, text in jsonio.read_lines(path):
        count += 1
        reader.take(last, text)
    if header.get("equivalences"):
        problems += reader.group(path.parent / header["equivalences"])
    if header.get("versions"):
        problems += reader.version(path.parent / header["versions"])
    return _golden_set(reader, header, problems, last - count)


def golden_of(records: Iterable[Any], name: str = "golden") -> GoldenSet:
    """A golden set from objects in memory, each what a line of golden.jsonl holds.

    Faults and their texts are those of :func:`read_golden`: ``name`` stands for the file, an object's position (from 1) for its line.
    """
    reader = _Reader(Path(name), float_grades=False)
    for number, record in enumerate(records, 1):
        try:
            # As text, so that a set in memory is accepted exactly when its file would be: a NaN is refused, a tuple is a list.
            text = json.dumps(record)
        except (TypeError, ValueError, RecursionError) as error:
            reader.problems.append(f"{name}:{number}: cannot be a line of JSON ({error})")
        else:
            reader.take(number, text)
    return _golden_set(reader, {}, [], 0)


def _golden_set(reader: _Reader, header: dict[str, Any], problems: list[str], blank_lines: int) -> GoldenSet:
    """What was read, or InvalidInput with every fault of header, lines and ids."""
    path = reader.path
    problems = [*problems, *reader.problems]
    problems += [f"{path}: {fault}" for ids in (reader.query_ids, reader.doc_ids) for fault in ids.faults()]
    tags = {tag for query in reader.queries.values() for tag in query.tags}
    if len(tags) > MOST_TAGS:
        problems.append(f"{path}: {len(tags)} different tags, at most {MOST_TAGS} are accepted")
    if not problems and not reader.queries:
        problems.append(f"{path}: no query in it")
    if problems:
        raise InvalidInput(problems, "mend these lines; the format is described in README, «Golden set»")
    warnings: Iterable[str] = [f"{path}: {w}" for ids in (reader.query_ids, reader.doc_ids) for w in ids.warnings()]
    return GoldenSet(queries=tuple(reader.queries.values()), path=str(path), version=header.get("version", ""),
                     owner=header.get("owner", ""), corpus_digest=header.get("corpus_digest", ""),
                     blank_lines=blank_lines, warnings=(*reader.warnings, *warnings))
