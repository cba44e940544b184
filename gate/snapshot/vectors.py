"""Vectors of a dense snapshot: read defensively from ``.npy``, written in the order of ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate import jsonio
from gate.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

SIMILARITIES = ("cosine", "dot")
VECTORS = "vectors.npy"
QUERY_VECTORS = "query_vectors.npy"
QUERY_IDS = "query_ids.json"
_ROWS = 16_384
_TYPES = ("float16", "float32")


def open_array(path: Path) -> np.ndarray:
    """Memory-map a two-dimensional float array. Never unpickles. Raises :class:`InvalidInput`."""
    import numpy as np

    try:
        # Not numpy.load, which opens archives and pickles as well.
        array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # a header is Python text: besides OSError and ValueError its tokenizer has errors of its own
        raise InvalidInput(f"{path}: not a plain .npy array ({str(error)[:200]})",
                           "save it with numpy.save(path, array.astype('float32'))") from None
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.name not in _TYPES or 0 in array.shape:
        seen = f"shape {array.shape}, type {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise InvalidInput(f"{path}: must be rows × dimensions of {' or '.join(_TYPES)}, not {seen}"[:400],
                           "save it with numpy.save(path, array.astype('float32'))")
    return array


def read_vectors(path: Path, rows: int, owner: str) -> np.ndarray:
    """:func:`open_array` that must have ``rows`` rows, all finite; ``owner`` starts the words of the error."""
    return _checked(open_array(path), str(path), rows, owner)


def rows_of(vectors: str | Path | np.ndarray, rows: int, owner: str) -> np.ndarray:
    """:func:`read_vectors`, or the same of an array that was just made."""
    if isinstance(vectors, (str, Path)):
        return read_vectors(Path(vectors), rows, owner)
    return _checked(vectors, "the vectors that were made", rows, owner)


def _checked(array: np.ndarray, path: str, rows: int, owner: str) -> np.ndarray:
    import numpy as np

    problems = [f"{path}: {len(array)} rows, but {owner} {rows}"] if len(array) != rows else []
    bad: list[int] = []
    for start in range(0, len(array), _ROWS):
        finite = np.isfinite(array[start:start + _ROWS]).all(axis=1)
        bad += (np.flatnonzero(~finite) + start).tolist()
    if bad:
        problems.append(f"{path}: {len(bad)} rows hold NaN or Infinity (first: row {', '.join(map(str, bad[:5]))})")
    if problems:
        raise InvalidInput(problems, "embed again; row i must belong to line i")
    return array


def check_lengths(arrays: Sequence[np.ndarray]) -> None:
    """Raises :class:`InvalidInput` unless every row has length 1, as far as float16 can tell."""
    import numpy as np

    for array in arrays:
        for start in range(0, len(array), _ROWS):
            lengths = np.sqrt((array[start:start + _ROWS].astype(np.float64) ** 2).sum(axis=1))
            if len(odd := np.flatnonzero(np.abs(lengths - 1) > 0.01)):
                raise InvalidInput(f"the vectors are said to be normalised, but row {start + odd[0]} has the length {lengths[odd[0]]:.4g}",
                                   "leave out --normalised, or normalise them")


def read_queries(path: Path) -> list[tuple[str, str]]:
    """(id, text) of every line ``{"_id"|"id", "text"|"query"}``, so that a golden set can be given as well."""
    problems: list[str] = []
    found: dict[str, str] = {}
    for number, line in jsonio.read_lines(path):
        try:
            record = jsonio.loads(line)
        except ValueError as fault:
            problems.append(f"{path}:{number}: {fault}")
            continue
        record = record if isinstance(record, dict) else {}
        name, text = record.get("_id", record.get("id")), record.get("text", record.get("query"))
        name = str(name) if type(name) is int else name
        if not isinstance(name, str) or not name.strip() or not isinstance(text, str):
            problems.append(f"{path}:{number}: a query needs the strings `id` (or `_id`) and `text` (or `query`)")
        elif name in found:
            problems.append(f"{path}:{number}: query id {name!r} was already given")
        else:
            found[name] = text
    if problems or not found:
        raise InvalidInput(problems or [f"{path}: no query in it"])
    return list(found.items())


def write_rows(path: Path, array: np.ndarray, order: Sequence[int]) -> None:
    """Write the rows of ``array`` in ``order``, little-endian, block by block."""
    import numpy as np

    out = np.lib.format.open_memmap(path, mode="w+", dtype=array.dtype.newbyteorder("<"), shape=array.shape)
    for start in range(0, len(order), _ROWS):
        out[start:start + _ROWS] = array[list(order[start:start + _ROWS])]
    out.flush()


def text_mark(text: str) -> str:
    """What ties a stored query vector to the words it was made from."""
    return jsonio.sha256(text.encode("utf-8", "surrogatepass"))[7:23]


def write_queries(directory: Path, array: np.ndarray, queries: Sequence[tuple[str, str]]) -> None:
    """``query_vectors.npy``, and ``query_ids.json``: [id, mark of the text] of every row."""
    order = sorted(range(len(queries)), key=lambda row: queries[row][0])
    write_rows(directory / QUERY_VECTORS, array, order)
    rows = [[queries[row][0], text_mark(queries[row][1])] for row in order]
    (directory / QUERY_IDS).write_text(jsonio.pretty(rows), encoding="utf-8", newline="\n")


def read_query_rows(directory: Path) -> dict[str, tuple[int, str]]:
    """Query id → (row, mark of its text)."""
    path = directory / QUERY_IDS
    try:
        rows: Any = jsonio.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"{directory}: the snapshot holds no query vectors",
                           "build it with --query-vectors and --queries, so that a run needs no embedding model, or set "
                           "`retriever.embedding` to embed them in the run") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path}: cannot be read ({error})") from None
    if not isinstance(rows, list) or not all(isinstance(row, list) and [type(x) for x in row] == [str, str] for row in rows):
        raise InvalidInput(f"{path}: must be a list of [query id, mark of its text]")
    if len({row[0] for row in rows}) < len(rows):
        raise InvalidInput(f"{path}: names a query twice")
    return {row[0]: (number, row[1]) for number, row in enumerate(rows)}
