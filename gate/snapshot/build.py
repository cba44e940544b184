"""Corpus → snapshot directory. The same corpus and options give the same bytes, whatever the machine and the order of files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import __version__, jsonio
from gate.errors import InvalidInput
from gate.snapshot.files import FileFacts, copy, measure, walk
from gate.snapshot.manifest import NAME, UNITS, Manifest, read_manifest
from gate.snapshot.model import Corpus, Unit

if TYPE_CHECKING:
    import numpy as np

METHODS = ("lucene", "robertson", "atire")
ENGINE = "engine"
"""The folder of an engine's own files."""
_SECTIONS = ("a section's id is made of its heading, which is text", "build with --chunker fixed or none")


def sorted_units(corpus: Corpus) -> list[Unit]:
    """Units by id: the order of the index, so that equal scores can be ranked by position."""
    return sorted(corpus.units, key=lambda unit: unit.id)


def _created() -> str:
    """From SOURCE_DATE_EPOCH or not at all: a clock would make equal snapshots differ."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        return datetime.fromtimestamp(int(epoch), UTC).isoformat() if epoch else ""
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"SOURCE_DATE_EPOCH is {epoch[:40]!r}, which is no number of seconds since 1970",
                           "set it to whole seconds, or not at all") from None


def _is_snapshot(out: Path) -> bool:
    """Other programs call a file of theirs manifest.json as well, and whatever stands beside it is not the gate's to remove."""
    try:
        return bool(read_manifest(out))
    except InvalidInput:
        return False


def _not_its_own(out: Path) -> list[str]:
    """What somebody else has put there."""
    strange: list[str] = []
    found = [name for name, _ in walk(out, strange)]
    return sorted(set(found) - {NAME, *read_manifest(out).files}) + strange


def _check_target(out: Path, replace: bool) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InvalidInput(f"{out}: is not a directory", "name another directory with --out")
    if out.is_dir() and _is_snapshot(out):
        if not replace:
            raise InvalidInput(f"{out}: holds a snapshot already", "build with --replace to put the new one in its place, or name "
                                                                   "another directory with --out")
        if more := _not_its_own(out):
            named = ", ".join(more[:5]) + (", …" if len(more) > 5 else "")
            raise InvalidInput(f"{out}: holds more than a snapshot ({named}), which --replace would remove",
                               "move it elsewhere, or name another directory with --out")
    elif out.is_dir() and any(out.iterdir()):
        raise InvalidInput(f"{out}: is not empty, and no snapshot", "name a new directory with --out, or remove this one first")


def write_units(path: Path, corpus: Corpus, text: bool = True) -> FileFacts:
    """Write ``units.jsonl``; ``text``: with titles and texts."""
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(jsonio.dumps(unit.to_json(text)) + "\n" for unit in sorted_units(corpus))
    return measure(path)


def _write(corpus: Corpus, out: str | Path, kind: str, index: Mapping[str, Any], embedding: Mapping[str, Any] | None,
           fill: Callable[[Path], None], replace: bool, text: bool = True) -> Manifest:
    """Build beside, then rename: half a snapshot never has the name that somebody looks for."""
    out = Path(out)
    if out.name in ("", ".."):  # `.` and `..` are no names that something could be renamed to
        out = Path(os.path.abspath(out))
    _check_target(out, replace)
    beside = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        beside.mkdir(parents=True)
        write_units(beside / UNITS, corpus, text)
        fill(beside)
        manifest = Manifest(
            kind=kind, corpus_digest=corpus.digest, units=len(corpus.units), documents=len(corpus.documents), index=index,
            chunker=corpus.chunker, embedding=embedding, built_by=f"retrieval-gate {__version__}", created=_created(), text=text,
            source=corpus.source, files={name: measure(path) for name, path in walk(beside, [])})
        (beside / NAME).write_text(jsonio.pretty(manifest.to_json()), encoding="utf-8", newline="\n")
        if out.is_dir():
            shutil.rmtree(out)
        os.replace(beside, out)
        return manifest
    except OSError as error:
        raise InvalidInput(f"{out}: cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


class _Part(NamedTuple):
    """One index of a snapshot: its facts, and what writes it into a directory."""

    index: Mapping[str, Any]
    fill: Callable[[Path], None]


def _words(corpus: Corpus, k1: float, b: float, method: str) -> _Part:
    from gate.snapshot.analysis import Analyser
    from gate.snapshot.lexical import library_version, write_index

    problems = [f"k1 must be a number from 0 to 10, not {k1!r}"] if not 0 <= k1 <= 10 else []
    problems += [f"b must be a number from 0 to 1, not {b!r}"] if not 0 <= b <= 1 else []
    problems += [f"method must be one of {', '.join(METHODS)}, not {method!r}"] if method not in METHODS else []
    if problems:
        raise InvalidInput(problems)
    analyser = Analyser()

    def fill(directory: Path) -> None:
        texts = (f"{unit.title}\n{unit.text}" for unit in sorted_units(corpus))
        write_index(directory / "index", map(analyser.terms, texts), float(k1), float(b), method)

    return _Part({"library": "bm25s", "version": library_version(), "k1": float(k1), "b": float(b), "method": method,
                  "text": "title and text", "analyser": analyser.options()}, fill)


def build_bm25(corpus: Corpus, out: str | Path, *, k1: float = 1.5, b: float = 0.75, method: str = "lucene",
               replace: bool = False) -> Manifest:
    """Index title and text of every unit with bm25s into the new directory ``out``.

    ``replace``: an older snapshot at ``out`` may go. Raises :class:`InvalidInput`.
    """
    words = _words(corpus, k1, b, method)
    return _write(corpus, out, "bm25", words.index, None, words.fill, replace)


class Questions:
    """Query vectors to be frozen, and the queries of their rows; none when nothing is given. Raises :class:`InvalidInput`."""

    def __init__(self, vectors: str | Path | np.ndarray | None, queries: str | Path | None) -> None:
        from gate.snapshot import vectors as arrays

        if (vectors is None) != (queries is None):
            raise InvalidInput("query vectors and queries belong together: give both or neither")
        self.name = "the query vectors" if not isinstance(vectors, (str, Path)) else str(vectors)
        self.queries = arrays.read_queries(Path(queries)) if queries is not None else []
        self.rows = None if vectors is None else arrays.rows_of(vectors, len(self.queries), "the queries have")

    def write(self, directory: Path) -> None:
        from gate.snapshot import vectors as arrays

        if self.rows is not None:
            arrays.write_queries(directory, self.rows, self.queries)


class Vectors(NamedTuple):
    """Document vectors to be frozen (an array or ``.npy``, units × dimensions, float16 or float32, row i belongs to unit i of the corpus).

    ``query_vectors`` and ``queries`` (the same, and the JSON lines ``{"_id"|"id", "text"|"query"}`` of its rows) let a run do without an
    embedding model. ``more``: further facts about the embedding.
    """

    vectors: str | Path | np.ndarray
    model: str
    revision: str = ""
    similarity: str = "cosine"
    query_vectors: str | Path | np.ndarray | None = None
    queries: str | Path | None = None
    more: Mapping[str, Any] | None = None


def _checked(corpus: Corpus, given: Vectors, text: bool) -> tuple[_Part, dict[str, Any]]:
    """The part, and the facts of the embedding."""
    from gate.snapshot import vectors as arrays

    problems = [] if given.model.strip() else ["the embedding model has no name: give it with --model"]
    if given.similarity not in arrays.SIMILARITIES:
        problems.append(f"similarity must be one of {', '.join(arrays.SIMILARITIES)}, not {given.similarity!r}")
    if not text and corpus.chunker.get("kind") == "heading":
        raise InvalidInput([*problems, f"text cannot be kept out of this snapshot: {_SECTIONS[0]}"], _SECTIONS[1])
    if problems:
        raise InvalidInput(problems)
    chunks = "" if len(corpus.units) == len(corpus.documents) else f", cut into {corpus.chunker.get('kind')} chunks,"
    documents = arrays.rows_of(given.vectors, len(corpus.units), f"the corpus{chunks} has")
    asked = Questions(given.query_vectors, given.queries)
    if asked.rows is not None and asked.rows.shape[1] != documents.shape[1]:
        raise InvalidInput(f"{asked.name}: {asked.rows.shape[1]} dimensions, but the documents have {documents.shape[1]}",
                           "embed queries and documents with the same model")
    if given.more and given.more.get("normalised"):
        arrays.check_lengths([rows for rows in (documents, asked.rows) if rows is not None])

    def fill(directory: Path) -> None:
        order = sorted(range(len(corpus.units)), key=lambda row: corpus.units[row].id)
        arrays.write_rows(directory / arrays.VECTORS, documents, order)
        asked.write(directory)

    embedding = {"model": given.model, "revision": given.revision, "dimensions": int(documents.shape[1]), "dtype": documents.dtype.name,
                 **(given.more or {})}
    return _Part({"library": "numpy", "search": "exact", "similarity": given.similarity}, fill), embedding


def build_dense(corpus: Corpus, vectors: str | Path | np.ndarray, out: str | Path, *, model: str, text: bool = True, replace: bool = False,
                **more: Any) -> Manifest:
    """Freeze document vectors. ``more``: the other fields of :class:`Vectors`; ``text=False`` keeps titles and texts out.

    Raises :class:`InvalidInput` for wrong shapes, other types, NaN and Infinity, and vectors that are said to be ``normalised`` and are
    not.
    """
    part, embedding = _checked(corpus, Vectors(vectors, model, **more), text)
    return _write(corpus, out, "dense", part.index, embedding, part.fill, replace, text)


def build_hybrid(corpus: Corpus, vectors: Vectors, out: str | Path, *, k1: float = 1.5, b: float = 0.75, method: str = "lucene",
                 replace: bool = False) -> Manifest:
    """Both in one: what :func:`build_bm25` writes and what :func:`build_dense` writes, over the same units."""
    words, (part, embedding) = _words(corpus, k1, b, method), _checked(corpus, vectors, True)

    def fill(directory: Path) -> None:
        words.fill(directory)
        part.fill(directory)

    index = {**words.index, **{key: part.index[key] for key in ("search", "similarity")}}
    return _write(corpus, out, "hybrid", index, embedding, fill, replace)


def build_files(corpus: Corpus, files: Sequence[tuple[Path, str]], out: str | Path, *, engine: str, parameters: Mapping[str, Any],
                embedding: Mapping[str, Any] | None = None, questions: Questions | None = None, replace: bool = False) -> Manifest:
    """Freeze an engine's own ``files`` (path, name below ``engine/``, of :func:`gate.snapshot.additions.listed`) with the corpus's units.

    ``engine`` and ``parameters``: what made them, for instance ``pgvector 0.8.5`` and {"m": 16}. Raises :class:`InvalidInput`.
    """
    if not engine.strip():
        raise InvalidInput("nobody says which engine these files belong to", "name it with its version: --engine \"pgvector 0.8.5\"")
    if embedding is not None and questions is not None and questions.rows is not None:
        embedding = {**embedding, "dimensions": int(questions.rows.shape[1]), "dtype": questions.rows.dtype.name}

    def fill(directory: Path) -> None:
        for path, name in files:
            copy(path, directory / ENGINE / name)
        if questions is not None:
            questions.write(directory)

    return _write(corpus, out, "files", {"engine": engine, "parameters": dict(parameters)}, embedding, fill, replace)
