"""Reads golden.jsonl and the golden.yml beside it; lists every fault of the file, not only the first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.golden.model import SOURCES, SPLITS, GoldenSet, Query, Span

_HIGHEST = 1000  # 2 to this power, the gain of ndcg-exp, still is a float
_KEYS = {"id", "query", "relevant", "tags", "spans", "answerable", "split", "source", "cluster", "added", "failure_type", "note"}
_HEADER_KEYS = {"version", "owner", "corpus_digest", "equivalences", "float_grades", "notes"}


class _Bad(Exception):
    """One fault of one line."""


class _Ids:
    """Turns ids into strings, and remembers which were numbers: ``1`` and ``"1"`` in one file is a fault."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.numbers: set[str] = set()
        self.strings: set[str] = set()

    def take(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise _Bad(f"{self.kind} id must be a string, not {_kind(value)}")
        if isinstance(value, int):
            self.numbers.add(str(value))
            return str(value)
        if not value.strip():
            raise _Bad(f"{self.kind} id is empty")
        if "\n" in value or "\r" in value:
            raise _Bad(f"{self.kind} id {value[:40]!r} contains a line break")
        self.strings.add(value)
        return value

    def faults(self) -> list[str]:
        return [f"{self.kind} id {both!r} is given as a number and as a string" for both in sorted(self.numbers & self.strings)]

    def warnings(self) -> list[str]:
        found = []
        if self.numbers:
            found.append(f"{len(self.numbers)} {self.kind} ids are numbers; they were read as strings")
        folded: dict[str, str] = {}
        for name in sorted(self.strings):
            other = folded.setdefault(_fold(name), name)
            if other != name:
                found.append(f"{self.kind} ids {other!r} and {name!r} differ only in case, white space or Unicode form")
        return found


def _fold(name: str) -> str:
    if name.isascii():
        return name.casefold().strip()
    import unicodedata

    text = unicodedata.normalize("NFKC", name).casefold()
    return "".join(c for c in text if unicodedata.category(c) != "Cf").strip()


def _kind(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _grade(value: Any, float_grades: bool) -> float:
    if isinstance(value, bool) or not jsonio.finite(value):
        raise _Bad(f"a grade must be a finite number, not {_kind(value) if not isinstance(value, float) else value}")
    if not float_grades and value != int(value):
        raise _Bad(f"grade {value} is not a whole number (set `float_grades: true` in golden.yml if that is meant)")
    if abs(value) > _HIGHEST:
        raise _Bad(f"grade {value:g} is out of range (−{_HIGHEST} to {_HIGHEST})")
    return float(value)


def _strings(record: dict[str, Any], key: str) -> tuple[str, ...]:
    value = record.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise _Bad(f"`{key}` must be a list of non-empty strings")
    return tuple(dict.fromkeys(value))


def _text(record: dict[str, Any], key: str, allowed: tuple[str, ...] = ()) -> str:
    value = record.get(key, "")
    if not isinstance(value, str):
        raise _Bad(f"`{key}` must be a string, not {_kind(value)}")
    if allowed and value and value not in allowed:
        raise _Bad(f"`{key}` is {value!r}; it must be one of {', '.join(allowed)}")
    return value


class _Reader:
    def __init__(self, path: Path, float_grades: bool) -> None:
        self.path = path
        self.float_grades = float_grades
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.queries: dict[str, Query] = {}
        self.query_ids, self.doc_ids = _Ids("query"), _Ids("document")

    def gains(self, relevant: Any, where: str) -> dict[str, float]:
        if isinstance(relevant, dict):
            return {self.doc_ids.take(doc): _grade(grade, self.float_grades) for doc, grade in relevant.items()}
        if not isinstance(relevant, list):
            raise _Bad(f"`relevant` must be a list of document ids or an object of grades, not {_kind(relevant)}")
        docs = [self.doc_ids.take(doc) for doc in relevant]
        if len(set(docs)) < len(docs):
            self.warnings.append(f"{where}: `relevant` names a document twice; it counts once")
        return dict.fromkeys(docs, 1.0)

    def spans(self, value: Any) -> tuple[Span, ...]:
        if not isinstance(value, list):
            raise _Bad(f"`spans` must be a list, not {_kind(value)}")
        found = []
        for item in value:
            if not isinstance(item, dict) or not {"doc", "start", "end"} <= item.keys():
                raise _Bad("a span needs doc, start and end")
            start, end = item["start"], item["end"]
            if type(start) is not int or type(end) is not int or not 0 <= start < end:
                raise _Bad(f"span {start!r}–{end!r} must be whole numbers with 0 <= start < end")
            found.append(Span(self.doc_ids.take(item["doc"]), start, end, _grade(item.get("grade", 1), self.float_grades)))
        return tuple(found)

    def query(self, record: Any, where: str, line: int) -> Query:
        if not isinstance(record, dict):
            raise _Bad(f"a line must be an object, not {_kind(record)}")
        missing = [key for key in ("id", "query", "relevant") if key not in record]
        if missing:
            raise _Bad(f"{', '.join(f'`{key}`' for key in missing)} missing")
        unknown = sorted(map(str, record.keys() - _KEYS))
        if unknown:
            self.warnings.append(f"{where}: unknown keys ignored: {', '.join(unknown)}")
        text = record["query"]
        if not isinstance(text, str) or not text.strip():
            raise _Bad("`query` must be a string with some text")
        answerable = record.get("answerable", True)
        if not isinstance(answerable, bool):
            raise _Bad("`answerable` must be true or false")
        gains, spans = self.gains(record["relevant"], where), self.spans(record.get("spans", []))
        if not answerable and (gains or spans):
            raise _Bad("a query that is not answerable must have an empty `relevant` and no spans")
        return Query(id=self.query_ids.take(record["id"]), text=text, gains=gains, spans=spans,
                     tags=_strings(record, "tags"), answerable=answerable, split=_text(record, "split", SPLITS) or "dev",
                     source=_text(record, "source", SOURCES), cluster=_text(record, "cluster"), line=line)

    def take(self, line: int, text: str) -> None:
        where = f"{self.path}:{line}"
        try:
            query = self.query(jsonio.loads(text), where, line)
        except (_Bad, jsonio.NotJson) as fault:
            self.problems.append(f"{where}: {fault}")
            return
        earlier = self.queries.setdefault(query.id, query)
        if earlier is not query:
            same = earlier.label_digest == query.label_digest
            note = f"{where}: query id {query.id!r} was already given in line {earlier.line}"
            (self.warnings if same else self.problems).append(note + (" with the same content" if same else " with other content"))


def _header(path: Path) -> tuple[dict[str, Any], list[str]]:
    """golden.yml beside the set: its values and what is wrong with it."""
    beside = [p for p in (path.parent / f"{path.stem}.yml", path.parent / "golden.yml") if jsonio.is_file(p)]
    if not beside:
        return {}, []
    from gate.yamlio import load_yaml

    document = load_yaml(beside[0])
    problems = [document.at(key, "unknown key") for key in document.value if key not in _HEADER_KEYS]
    for key in ("version", "owner", "corpus_digest", "equivalences"):
        if not isinstance(document.value.get(key, ""), str):
            problems.append(document.at(key, f"`{key}` must be a string (quote it)"))
    if not isinstance(document.value.get("float_grades", False), bool):
        problems.append(document.at("float_grades", "`float_grades` must be true or false"))
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
    problems += reader.problems
    problems += [f"{path}: {fault}" for ids in (reader.query_ids, reader.doc_ids) for fault in ids.faults()]
    if not problems and not reader.queries:
        problems.append(f"{path}: no query in it")
    if problems:
        raise InvalidInput(problems, "mend these lines; the format is described in README, «Golden set»")
    warnings: Iterable[str] = [f"{path}: {w}" for ids in (reader.query_ids, reader.doc_ids) for w in ids.warnings()]
    return GoldenSet(queries=tuple(reader.queries.values()), path=str(path), version=header.get("version", ""),
                     owner=header.get("owner", ""), corpus_digest=header.get("corpus_digest", ""),
                     blank_lines=last - count, warnings=(*reader.warnings, *warnings))
