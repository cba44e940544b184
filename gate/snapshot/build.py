"""Corpus → snapshot directory. The same corpus and options give the same bytes, whatever the machine and the order of files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gate import __version__, jsonio
from gate.errors import InvalidInput
from gate.snapshot.files import measure, walk
from gate.snapshot.manifest import NAME, UNITS, Manifest
from gate.snapshot.model import Corpus, Unit

METHODS = ("lucene", "robertson", "atire")


def sorted_units(corpus: Corpus) -> list[Unit]:
    """Units by id: the order of the index, so that equal scores can be ranked by position."""
    return sorted(corpus.units, key=lambda unit: unit.id)


def _created() -> str:
    """From SOURCE_DATE_EPOCH or not at all: a clock would make equal snapshots differ."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC).isoformat() if epoch.isdigit() else ""


def _check_target(out: Path, replace: bool) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InvalidInput(f"{out}: is not a directory", "name another directory with --out")
    if out.is_dir() and (out / NAME).is_file():
        if not replace:
            raise InvalidInput(f"{out}: holds a snapshot already", "build with --replace to put the new one in its place, or name "
                                                                   "another directory with --out")
    elif out.is_dir() and any(out.iterdir()):
        raise InvalidInput(f"{out}: is not empty, and no snapshot", "name a new directory with --out, or remove this one first")


def _write(corpus: Corpus, out: str | Path, kind: str, index: Mapping[str, Any], embedding: Mapping[str, Any] | None,
           fill: Callable[[Path], None], replace: bool) -> Manifest:
    """Build beside, then rename: half a snapshot never has the name that somebody looks for."""
    out = Path(out)
    _check_target(out, replace)
    beside = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        beside.mkdir(parents=True)
        with open(beside / UNITS, "w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(jsonio.dumps(unit.to_json()) + "\n" for unit in sorted_units(corpus))
        fill(beside)
        manifest = Manifest(
            kind=kind, corpus_digest=corpus.digest, units=len(corpus.units), documents=len(corpus.documents), index=index,
            chunker=corpus.chunker, embedding=embedding, built_by=f"retrieval-gate {__version__}", created=_created(),
            files={name: measure(path) for name, path in walk(beside, [])})
        (beside / NAME).write_text(jsonio.pretty(manifest.to_json()), encoding="utf-8", newline="\n")
        if out.is_dir():
            shutil.rmtree(out)
        os.replace(beside, out)
        return manifest
    except OSError as error:
        raise InvalidInput(f"{out}: cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def build_bm25(corpus: Corpus, out: str | Path, *, k1: float = 1.5, b: float = 0.75, method: str = "lucene",
               replace: bool = False) -> Manifest:
    """Index title and text of every unit with bm25s into the new directory ``out``.

    ``replace``: an older snapshot at ``out`` may go. Raises :class:`InvalidInput`.
    """
    from gate.snapshot.analysis import Analyser
    from gate.snapshot.lexical import library_version, write_index

    problems = [f"k1 must be a number from 0 to 10, not {k1!r}"] if not 0 <= k1 <= 10 else []
    problems += [f"b must be a number from 0 to 1, not {b!r}"] if not 0 <= b <= 1 else []
    problems += [f"method must be one of {', '.join(METHODS)}, not {method!r}"] if method not in METHODS else []
    if problems:
        raise InvalidInput(problems)
    analyser = Analyser()
    index = {"library": "bm25s", "version": library_version(), "k1": float(k1), "b": float(b), "method": method,
             "text": "title and text", "analyser": analyser.options()}

    def fill(directory: Path) -> None:
        texts = [f"{unit.title}\n{unit.text}" for unit in sorted_units(corpus)]
        write_index(directory / "index", [analyser.terms(text) for text in texts], float(k1), float(b), method)

    return _write(corpus, out, "bm25", index, None, fill, replace)


def build_dense(corpus: Corpus, vectors: str | Path, out: str | Path, *, model: str, revision: str = "",
                similarity: str = "cosine", query_vectors: str | Path | None = None, queries: str | Path | None = None,
                replace: bool = False) -> Manifest:
    """Freeze document vectors (``.npy``, units × dimensions, float16 or float32, row i belongs to unit i of the corpus as read).

    ``query_vectors`` and ``queries`` (``.npy`` and the JSON lines ``{"_id"|"id", "text"|"query"}`` of its rows) let a run do
    without an embedding model. Raises :class:`InvalidInput` for wrong shapes, other types, NaN and Infinity.
    """
    from gate.snapshot import vectors as arrays

    problems = [] if model.strip() else ["the embedding model has no name: give it with --model"]
    if similarity not in arrays.SIMILARITIES:
        problems.append(f"similarity must be one of {', '.join(arrays.SIMILARITIES)}, not {similarity!r}")
    if (query_vectors is None) != (queries is None):
        problems.append("query vectors and queries belong together: give both or neither")
    if problems:
        raise InvalidInput(problems)
    documents = arrays.read_vectors(Path(vectors), len(corpus.units), "the corpus has")
    asked = arrays.read_queries(Path(queries)) if queries is not None else []
    questions = arrays.read_vectors(Path(query_vectors), len(asked), "the queries have") if query_vectors is not None else None
    if questions is not None and questions.shape[1] != documents.shape[1]:
        raise InvalidInput(f"{query_vectors}: {questions.shape[1]} dimensions, but the documents have {documents.shape[1]}",
                           "embed queries and documents with the same model")
    embedding = {"model": model, "revision": revision, "dimensions": int(documents.shape[1]), "dtype": documents.dtype.name}

    def fill(directory: Path) -> None:
        order = sorted(range(len(corpus.units)), key=lambda row: corpus.units[row].id)
        arrays.write_rows(directory / arrays.VECTORS, documents, order)
        if questions is not None:
            arrays.write_queries(directory, questions, asked)

    index = {"library": "numpy", "search": "exact", "similarity": similarity}
    return _write(corpus, out, "dense", index, embedding, fill, replace)
