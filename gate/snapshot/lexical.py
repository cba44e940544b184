"""The bm25s index of a snapshot: written reproducibly, read without trusting it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput

_VOCABULARY = "vocab.index.json"
_PARAMETERS = "params.index.json"
_CURE = "build the snapshot again with this version of the gate"


def library_version() -> str:
    """Version of bm25s."""
    import bm25s

    return str(bm25s.__version__)


def write_index(directory: Path, terms: Iterable[Sequence[str]], k1: float, b: float, method: str) -> None:
    """Index ``terms`` (a list for each unit) into ``directory``."""
    import bm25s

    # Four bytes a word instead of a string of its own: the difference between a large corpus and a runner that has run out of memory.
    seen: dict[str, int] = {}
    met = [array("i", [seen.setdefault(term, len(seen)) for term in unit]) for unit in terms]
    # bm25s would number terms in the order of a set, which differs from process to process.
    vocabulary = {term: number for number, term in enumerate(sorted(seen))}
    if not vocabulary:
        raise InvalidInput("the corpus has no word in it that could be indexed")
    sorted_number = [vocabulary[term] for term in seen]
    index = bm25s.BM25(k1=k1, b=b, method=method, backend="numpy", csc_backend="numpy")
    numbers = [array("i", [sorted_number[number] for number in unit]) for unit in met]
    index.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
    index.save(str(directory), show_progress=False)
    # bm25s writes JSON with orjson where that happens to be installed, and then with other white space.
    (directory / _VOCABULARY).write_text(jsonio.dumps(vocabulary), encoding="utf-8")
    parameters = jsonio.loads((directory / _PARAMETERS).read_text(encoding="utf-8"))
    (directory / _PARAMETERS).write_text(jsonio.pretty(parameters), encoding="utf-8")


def _faults(index: Any, units: int) -> list[str]:
    import numpy as np

    data, rows, starts = (index.scores[key] for key in ("data", "indices", "indptr"))
    kinds = (data.dtype.name, rows.dtype.kind, starts.dtype.kind)
    if any(array.ndim != 1 for array in (data, rows, starts)) or kinds != ("float32", "i", "i"):
        return ["its arrays have the wrong shape or type"]
    problems = []
    if index.scores["num_docs"] != units:
        problems.append(f"it was built over {str(index.scores['num_docs'])[:20]} units, the manifest says {units}")
    terms = len(index.vocab_dict)
    numbers = list(index.vocab_dict.values())
    if len(starts) != terms + 1 or not all(type(n) is int and 0 <= n < terms for n in numbers):
        problems.append("its vocabulary does not fit its postings")
    elif starts[0] != 0 or starts[-1] != len(data) or len(rows) != len(data) or (np.diff(starts) < 0).any():
        problems.append("its postings overlap or are cut")
    if len(rows) and (rows.min() < 0 or rows.max() >= units):
        problems.append("it points at units that do not exist")
    if not np.isfinite(data).all():
        problems.append("it holds weights that are not finite")
    return problems


def open_index(directory: Path, units: int) -> Any:
    """A ``bm25s.BM25``, memory-mapped, that is sure to fit ``units`` units. Raises :class:`InvalidInput`."""
    import bm25s

    try:
        index = bm25s.BM25.load(str(directory), mmap=True, load_corpus=False, show_progress=False, backend="numpy",
                                csc_backend="numpy", dtype="float32", int_dtype="int32")
        problems = _faults(index, units)
    except Exception as error:  # the library expects its own files: others can bring it to raise anything
        problems = [f"cannot be read ({type(error).__name__}: {str(error)[:200]})"]
    if problems:
        raise InvalidInput([f"{directory}: bm25s index: {problem}" for problem in problems], _CURE)
    return index
