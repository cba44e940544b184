"""What gets indexed: a ``corpus.jsonl`` or a folder of Markdown and text files → documents and the units cut from them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.snapshot.markdown import split

CHUNKERS = ("none", "heading")
SUFFIXES = (".md", ".txt")
MAX_FILE_BYTES = 64 * 1024**2
_CURE = "mend the corpus; its format is described in README, «Snapshots»"


@dataclass(frozen=True, slots=True)
class Document:
    """A text as its authors know it, before any chunking."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """What is indexed and found. ``doc`` is what a golden set names; ``parent`` the document it was cut from, where it was cut.

    ``start`` and ``end`` count characters of the document (no BOM, line ends as ``\\n``): ``document.text[start:end] == text``.
    """

    id: str
    doc: str
    title: str
    text: str
    parent: str = ""
    start: int | None = None
    end: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The line of ``units.jsonl``."""
        record: dict[str, Any] = {"id": self.id, "doc": self.doc, "title": self.title, "text": self.text}
        optional = {"parent": self.parent or None, "start": self.start, "end": self.end}
        return record | {key: value for key, value in optional.items() if value is not None}


@dataclass(frozen=True)
class Corpus:
    """Documents and units, each in the order of reading; ``chunker`` says how the one became the other."""

    documents: tuple[Document, ...]
    units: tuple[Unit, ...]
    chunker: Mapping[str, Any] = field(default_factory=lambda: {"kind": "none"})
    warnings: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Digest of (id, title, text) of all documents: the same for every order, place and chunker.

        It is taken before chunking, because a new chunker over the same corpus is a change under test, while another corpus
        behind the index is a change that somebody has to approve.
        """
        total = hashlib.sha256()
        for document in sorted(self.documents, key=lambda d: d.id):
            total.update(jsonio.dumps([document.id, document.title, document.text]).encode() + b"\n")
        return "sha256:" + total.hexdigest()


class _Bad(Exception):
    """One fault of one line or file."""


def _string(record: dict[str, Any], key: str, default: str | None = None) -> str:
    value = record.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise _Bad(f"`{key}` must be a string, not {type(value).__name__}" if key in record else f"`{key}` is missing")
    return value


class _Lines:
    """Reads ``{"_id"|"id", "title"?, "text"}`` lines and remembers what is wrong with them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.documents: list[Document] = []
        self.problems: list[str] = []
        self.numbers = 0
        self.seen: dict[str, int] = {}

    def id(self, record: dict[str, Any]) -> str:
        value = record.get("_id", record.get("id"))
        if type(value) is int:
            self.numbers += 1
            return str(value)
        if not isinstance(value, str) or not value.strip() or "\n" in value or "\r" in value:
            raise _Bad(f"`_id` (or `id`) must be a non-empty string of one line, not {value!r}"[:200])
        return value

    def take(self, number: int, text: str) -> None:
        try:
            record = jsonio.loads(text)
            if not isinstance(record, dict):
                raise _Bad("a line must be an object with `_id` and `text`")
            document = Document(self.id(record), _string(record, "title", ""), _string(record, "text"))
            first = self.seen.setdefault(document.id, number)
            if first != number:
                raise _Bad(f"id {document.id!r} was already given in line {first}")
            _check_encodable(document)
            self.documents.append(document)
        except (_Bad, ValueError) as fault:
            self.problems.append(f"{self.path}:{number}: {fault}")


def _check_encodable(document: Document) -> None:
    try:
        (document.id + document.title + document.text).encode()
    except UnicodeEncodeError:
        raise _Bad("half a surrogate pair (\\ud800–\\udfff), which is not text") from None


def _from_lines(path: Path) -> Corpus:
    lines = _Lines(path)
    for number, text in jsonio.read_lines(path):
        lines.take(number, text)
    if not lines.problems and not lines.documents:
        lines.problems.append(f"{path}: no document in it")
    if lines.problems:
        raise InvalidInput(lines.problems, _CURE)
    warnings = (f"{path}: {lines.numbers} ids are numbers; they were read as strings",) if lines.numbers else ()
    units = tuple(Unit(d.id, d.id, d.title, d.text) for d in lines.documents)
    return Corpus(tuple(lines.documents), units, {"kind": "none"}, warnings)


def _files(folder: Path, problems: list[str]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names + folders):
            path = Path(place, name)
            if path.is_symlink():
                # A link could pull any file of this machine into an index that is published.
                problems.append(f"{path}: is a symbolic link, which a corpus must not contain")
            elif name in names and not name.startswith(".") and path.suffix.lower() in SUFFIXES:
                yield path


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise _Bad(f"larger than the gate reads ({MAX_FILE_BYTES} bytes)")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _Bad(f"not UTF-8 (byte {error.start + 1})") from None
    except OSError as error:
        raise _Bad(f"cannot be read ({error.strerror})") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _cut(path: Path, text: str, chunker: str) -> tuple[Document, list[Unit]]:
    stem = path.stem
    title, sections = split(text) if path.suffix.lower() == ".md" else ("", [])
    document = Document(stem, title or stem, text)
    if chunker == "none" or path.suffix.lower() != ".md":
        return document, [Unit(stem, stem, document.title, text)]
    units = []
    for section in sections:
        name = f"{stem}#{section.slug}"
        full = f"{document.title} › {section.heading}" if section.heading else document.title
        units.append(Unit(name, name, full, section.text, stem, section.start, section.end))
    return document, units


def _from_folder(folder: Path, chunker: str) -> Corpus:
    problems: list[str] = []
    by_stem: dict[str, Path] = {}
    documents: list[Document] = []
    units: list[Unit] = []
    for path in _files(folder, problems):
        other = by_stem.setdefault(path.stem, path)
        if other != path:
            problems.append(f"{path}: has the same document id {path.stem!r} as {other}")
            continue
        try:
            document, cut = _cut(path, _read(path), chunker)
        except _Bad as fault:
            problems.append(f"{path}: {fault}")
            continue
        documents.append(document)
        units += cut
    if not problems and not units:
        problems.append(f"{folder}: no {' or '.join(SUFFIXES)} file with text in it")
    if problems:
        raise InvalidInput(problems, "a document's id is its file name without the ending; rename, move or mend these files")
    return Corpus(tuple(documents), tuple(units), {"kind": chunker, "level": 2} if chunker == "heading" else {"kind": "none"})


def read_corpus(path: str | Path, chunker: str = "heading") -> Corpus:
    """Read ``corpus.jsonl`` (a document is one unit) or a folder of ``.md`` and ``.txt`` files.

    ``chunker`` applies to Markdown files: ``heading`` cuts at ``## `` into units ``<stem>#<slug>``, ``none`` keeps documents
    whole. Raises :class:`InvalidInput` that lists every fault.
    """
    path = Path(path)
    if chunker not in CHUNKERS:
        raise InvalidInput(f"chunker {chunker!r} must be one of {', '.join(CHUNKERS)}")
    return _from_folder(path, chunker) if path.is_dir() else _from_lines(path)
