"""What gets indexed: a ``corpus.jsonl`` or a folder of Markdown and text files → documents and the units cut from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.figures import plural
from gate.snapshot.chunking import IDS, Chunking, cut, faults
from gate.snapshot.folder import from_folder
from gate.snapshot.markdown import split
from gate.snapshot.model import BadDocument, Corpus, Document

_CURE = "fix the corpus; its format is described in README, «Snapshots»"


def _string(record: dict[str, Any], key: str, default: str | None = None) -> str:
    value = record.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadDocument(f"`{key}` must be a string, not {type(value).__name__}" if key in record else f"`{key}` is missing")
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
            raise BadDocument(f"`_id` (or `id`) must be a non-empty string of one line, not {value!r}"[:200])
        return value

    def take(self, number: int, text: str) -> None:
        try:
            record = jsonio.loads(text)
            if not isinstance(record, dict):
                raise BadDocument("a line must be an object with `_id` and `text`")
            document = Document(self.id(record), _string(record, "title", ""), _string(record, "text"))
            first = self.seen.setdefault(document.id, number)
            if first != number:
                raise BadDocument(f"id {document.id!r} was already given in line {first}")
            _check_encodable(document)
            self.documents.append(document)
        except (BadDocument, ValueError) as fault:
            self.problems.append(f"{self.path}:{number}: {fault}")


def _check_encodable(document: Document) -> None:
    try:
        (document.id + document.title + document.text).encode()
    except UnicodeEncodeError:
        raise BadDocument("half a surrogate pair (\\ud800–\\udfff), which is not text") from None


def _from_lines(path: Path, how: Chunking) -> Corpus:
    lines = _Lines(path)
    for number, text in jsonio.read_lines(path):
        lines.take(number, text)
    if not lines.problems and not lines.documents:
        lines.problems.append(f"{path}: no document in it")
    if lines.problems:
        raise InvalidInput(lines.problems, _CURE)
    named = plural(lines.numbers, "id is written as a number and was", "ids are written as numbers and were")
    warnings = (f"{path}: {named} read as text",) if lines.numbers else ()
    units = tuple(unit for document in lines.documents for unit in cut(_titled(document, how), how, given=document.title))
    return Corpus(tuple(lines.documents), units, how.facts(), warnings, {"form": "lines", "name": path.name})


def _titled(document: Document, how: Chunking) -> Document:
    """A document without a title is called by its first heading, where headings are looked for."""
    if document.title or how.kind != "heading":
        return document
    return Document(document.id, split(document.text)[0], document.text)


def read_corpus(path: str | Path, chunker: str | Chunking = "", ids: str = "stem") -> Corpus:
    """Read ``corpus.jsonl`` or a folder of ``.md`` and ``.txt`` files, and cut its documents.

    ``chunker``: a :class:`Chunking` or the name of one with its usual parameters; by default a folder is cut at headings, and lines are not
    cut. A file's id is its name without the ending (``ids="stem"``) or its path in the folder (``"path"``: ``a/index``), a line names its
    own. Front matter gives a title and is not indexed. Raises :class:`InvalidInput` that lists every fault.
    """
    path = Path(path)
    how = chunker if isinstance(chunker, Chunking) else Chunking(chunker or ("heading" if path.is_dir() else "none"))
    problems = faults(how) + ([f"ids {ids!r} must be one of {', '.join(IDS)}"] if ids not in IDS else [])
    if problems:
        raise InvalidInput(problems)
    if path.is_dir():
        corpus = from_folder(path, how, ids)
    elif ids != "stem" and path.exists():
        raise InvalidInput(f"{path}: is not a folder, and names its ids itself", "leave out --ids")
    else:
        corpus = _from_lines(path, how)
    _check_ids(corpus)
    return corpus


def _check_ids(corpus: Corpus) -> None:
    """Two cuts can lead to one id only where documents have ``#`` in theirs."""
    seen: dict[str, str] = {}
    same = [(unit, seen[unit.id]) for unit in corpus.units if seen.setdefault(unit.id, unit.parent) != unit.parent]
    problems = [f"the documents {one!r} and {unit.parent!r} both have a part with the id {unit.id!r}" for unit, one in same]
    # Text and title would be those of the one, and labels and results mean the other.
    whole = {document.id for document in corpus.documents}
    problems += [f"a part of the document {unit.parent!r} has the id of the document {unit.id!r}" for unit in corpus.units
                 if unit.parent not in ("", unit.id) and unit.id in whole]
    if problems:
        raise InvalidInput(problems, "rename one of the documents; `#` in an id separates a document from its part")
