"""Vectors made while a snapshot is built, by a function of whoever builds it, in this process. What it returned is kept in a file."""

from __future__ import annotations

import sqlite3
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.progress import shown_on
from gate.snapshot.model import Corpus

if TYPE_CHECKING:
    import numpy as np

_BATCH = 64
_CURE = "the function gets a list of texts and must return as many rows of numbers"


def load(name: str) -> Callable[[list[str]], Any]:
    """The function ``module:function``, looked for in the working directory first. Raises :class:`InvalidInput`."""
    module, colon, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), attribute) if colon and module and attribute else None
    except Exception as error:  # somebody's module can raise anything
        raise InvalidInput(f"--embed-function {name}: cannot be imported ({type(error).__name__}: {str(error)[:300]})",
                           "it is looked for in the working directory, and then where Python looks") from None
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise InvalidInput(f"--embed-function {name!r}: must be MODULE:FUNCTION", "for instance search.embedding:embed")
    return found  # type: ignore[no-any-return]


class Cache:
    """Rows by the digest of whatever they were made from. ``path`` None: for this process only. A context manager."""

    def __init__(self, path: Path | None, key: Sequence[str]) -> None:
        self._path, self._key = path, list(key)
        try:
            self._rows = sqlite3.connect(path or ":memory:")
            self._rows.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, dtype TEXT NOT NULL, row BLOB NOT NULL)")
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *exc: object) -> None:
        self._rows.close()

    def key(self, text: str) -> str:
        return jsonio.digest([*self._key, text])

    def get(self, text: str) -> np.ndarray | None:
        import numpy as np

        try:
            found = self._rows.execute("SELECT dtype, row FROM vectors WHERE key = ?", (self.key(text),)).fetchone()
            return None if found is None else np.frombuffer(found[1], found[0])
        except (sqlite3.Error, TypeError, ValueError) as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> InvalidInput:
        return InvalidInput(f"{self._path}: cannot be used as a cache of vectors ({error})", "name a new file with --embed-cache")

    def put(self, texts: Sequence[str], rows: np.ndarray) -> None:
        """Kept at once: an interrupted build goes on from here."""
        rows = rows.astype(rows.dtype.newbyteorder("<"))
        kept = [(self.key(text), rows.dtype.str, row.tobytes()) for text, row in zip(texts, rows, strict=True)]
        try:
            with self._rows:
                self._rows.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", kept)
        except sqlite3.Error as error:
            raise self._broken(error) from None


def _asked(function: Callable[[list[str]], Any], name: str, texts: list[str]) -> np.ndarray:
    import numpy as np

    try:
        rows = np.asarray(function(list(texts)))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise InvalidInput(f"{name} raised {type(error).__name__}: {str(error)[:300]} ({last.filename}:{last.lineno})", _CURE) from None
    if rows.ndim != 2 or len(rows) != len(texts) or rows.shape[1] == 0 or rows.dtype.kind not in "fiu":
        raise InvalidInput(f"{name} returned shape {rows.shape} of {rows.dtype} for {len(texts)} texts"[:300], _CURE)
    rows = rows if rows.dtype in (np.float16, np.float32) else rows.astype(np.float32)
    if not np.isfinite(rows).all():
        raise InvalidInput(f"{name} returned NaN or Infinity, or a number that float32 cannot hold", _CURE)
    return rows


def embedded(texts: Sequence[str], function: Callable[[list[str]], Any], name: str, cache: Cache) -> np.ndarray:
    """A row a text, in their order; equal texts and those of the cache are not asked for again. Raises :class:`InvalidInput`."""
    import numpy as np

    rows = {text: row for text in dict.fromkeys(texts) if (row := cache.get(text)) is not None}
    missing = [text for text in dict.fromkeys(texts) if text not in rows]
    tell = shown_on(sys.stderr, did="embedded", what="texts")
    for start in range(0, len(missing), _BATCH):
        batch = missing[start:start + _BATCH]
        made = _asked(function, name, batch)
        cache.put(batch, made)
        rows.update(zip(batch, made, strict=True))
        tell(min(start + _BATCH, len(missing)), len(missing))
    shapes = {f"{len(row)} {row.dtype.name}" for row in rows.values()}
    if len(shapes) > 1:
        raise InvalidInput(f"{name} returned rows of different lengths or types ({', '.join(sorted(shapes)[:4])})",
                           "a changed model needs another --revision, or an empty --embed-cache")
    return np.stack([rows[text] for text in texts])


def embed_all(options: Namespace, corpus: Corpus, more: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray | None, dict[str, Any]]:
    """Vectors of all units, and of the queries where there are some, and the facts about how they were made."""
    from gate.snapshot.vectors import read_queries

    if not options.model.strip():
        raise InvalidInput("the embedding model has no name: give it with --model")
    name, before, asking = options.embed_function, options.passage_prefix, options.query_prefix
    queries = [text for _, text in read_queries(options.queries)] if options.queries is not None else []
    function = load(name)
    with Cache(options.embed_cache, [name, options.model, options.revision]) as cache:
        passages = [before + (f"{unit.title}\n{unit.text}" if unit.title else unit.text) for unit in corpus.units]
        made = embedded([*passages, *(asking + text for text in queries)], function, name, cache)
    facts = {**more, "text": "title and text"}
    return made[:len(passages)], made[len(passages):] if queries else None, facts
