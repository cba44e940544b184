"""Query vectors that are made in the run, or were made in an earlier one and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gate.embedding.cache import Stored, VectorCache, mark_of
from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.figures import plural
from gate.golden.model import Query
from gate.reported import LEAST_COSINE, REPORTED

if TYPE_CHECKING:
    import numpy as np

# Services round differently from call to call, and stay far above this.
SAME = 0.999
_PROBE = "probe"


class Embedder(Protocol):
    """Makes vectors of texts. ``reported``: what the model called itself in its last answer; empty where it does not."""

    notes: list[str]
    reported: str

    def facts(self) -> Mapping[str, Any]:
        """Plain values for the record: kind, model and its parameters."""
        ...

    def key(self) -> Mapping[str, Any] | None:
        """Everything but the text that decides a vector; None where that is not known, and nothing is kept."""
        ...

    def batches(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        """Rows for all texts in their order, in several arrays, float32 and finite. Raises :class:`RetrieverFailed`."""
        ...

    def close(self) -> None: ...


class MadeVectors:
    """See :class:`gate.embedding.base.QueryVectors`. ``prefix``: what stands before every query.

    ``verify``: how many kept vectors are made again and compared, None: one, when something is made anyway. ``probe``: ask the model what
    it calls itself even when every vector was kept.
    """

    def __init__(self, embedder: Embedder, cache: Path, prefix: str = "", verify: int | None = None, probe: bool = False) -> None:
        self._embedder, self._prefix, self._verify, self._probe = embedder, prefix, verify, probe
        self._cache_folder = cache
        self._notes: list[str] = []
        self._reported, self._width, self._least = "", 0, 1.0

    @property
    def notes(self) -> list[str]:
        return [*self._notes, *self._embedder.notes]

    def describe(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = dict(self._embedder.facts())
        more = {"query_prefix": self._prefix, "dimensions": self._width, REPORTED: self._reported}
        drift = {LEAST_COSINE: self._least} if self._least < SAME else {}
        return facts | {name: value for name, value in more.items() if value} | drift

    def of(self, queries: Sequence[Query], width: int = 0) -> np.ndarray:
        import numpy as np

        texts = {mark_of(text): text for text in (self._prefix + query.text for query in queries)}
        key = self._embedder.key()
        cache = None if key is None else VectorCache(self._cache_folder, {**key, "prefix": self._prefix})
        stored, why = cache.load() if cache else (Stored({}), "")
        self._notes += [why] if why else []
        if width and stored.vectors is not None and stored.vectors.shape[1] != width:
            # Else a model that was wrong once would be believed for ever: what is kept is never asked for again.
            self._notes.append(f"the query vectors that were kept have {stored.vectors.shape[1]} dimensions, those of the documents "
                               f"{width}: all are made anew")
            stored = Stored({})
        missing = [mark for mark in texts if mark not in stored.rows]
        known = [mark for mark in texts if mark in stored.rows]
        verify = min(1, len(missing)) if self._verify is None else self._verify
        again = known[:verify]
        if missing or again:
            if missing and known:
                self._notes.append(f"{plural(len(missing), 'query')} {'was' if len(missing) == 1 else 'were'} embedded in this run; the "
                                   f"vectors of {len(known)} were kept from an earlier one")
            stored = self._made(texts, missing, again, stored, cache)
        elif texts and self._probe:
            for _ in self._embedder.batches([_PROBE]):
                pass
            self._compare_reports(stored)
            self._save(cache, stored._replace(reported=self._embedder.reported or stored.reported))
        self._reported = self._embedder.reported or stored.reported
        if stored.vectors is None:
            return np.empty((0, 1), np.float32)
        self._width = stored.vectors.shape[1]
        return stored.vectors[[stored.rows[mark_of(self._prefix + query.text)] for query in queries]]

    def _made(self, texts: Mapping[bytes, str], missing: Sequence[bytes], again: Sequence[bytes], stored: Stored,
              cache: VectorCache | None) -> Stored:
        """``stored`` with the missing ones, which are kept as they come: what was paid for outlives a failure."""
        import numpy as np

        parts: list[np.ndarray] = []
        width = None if stored.vectors is None else stored.vectors.shape[1]
        other, joined = 0, stored
        try:
            for rows in self._embedder.batches([texts[mark] for mark in (*missing, *again)]):
                if width not in (None, rows.shape[1]):
                    other = rows.shape[1]
                    break
                width = rows.shape[1]
                parts.append(rows)
        finally:
            made = np.concatenate(parts) if parts else np.empty((0, width or 1), np.float32)
            fresh = missing[:len(made)]
            joined = stored.joined(fresh, made[:len(fresh)], self._embedder.reported)
            if parts:
                self._save(cache, joined)
        if other and (stored.vectors is None or parts):
            raise RetrieverFailed(f"the embedding model gave vectors with {width} and with {other} dimensions",
                                  "see whether several models answer at this address")
        if other:
            self._notes.append(f"the embedding model gives vectors with {other} dimensions now and gave {width} before: all were made anew")
            return self._made(texts, list(texts), [], Stored({}), cache)
        self._compare_reports(stored)
        if again and stored.vectors is not None:
            self._compare_vectors(stored.vectors[[stored.rows[mark] for mark in again]], made[len(missing):])
        return joined

    def _save(self, cache: VectorCache | None, stored: Stored) -> None:
        if cache and (why := cache.save(stored)):
            self._notes.append(why)

    def _compare_reports(self, stored: Stored) -> None:
        now = self._embedder.reported
        if stored.reported and now and now != stored.reported:
            self._notes.append(f"the embedding model calls itself {now} now, and {stored.reported} when the kept query vectors were made")

    def _compare_vectors(self, kept: np.ndarray, made: np.ndarray) -> None:
        import numpy as np

        kept, made = kept.astype(np.float64), made.astype(np.float64)
        lengths = np.sqrt((kept * kept).sum(axis=1) * (made * made).sum(axis=1))
        # A vector of zeros has no direction; it is like another one only.
        alike = (kept == made).all(axis=1).astype(np.float64)
        cosines = np.where(lengths > 0, (kept * made).sum(axis=1) / np.where(lengths > 0, lengths, 1.0), alike)
        if (smallest := float(cosines.min())) < SAME:
            self._least = smallest

    def __enter__(self) -> MadeVectors:
        return self

    def __exit__(self, *exc: object) -> None:
        self._embedder.close()


def read_verify(section: Section) -> int | None:
    """``verify`` of a section; None where it is left out."""
    return None if section.raw("verify") is None else section.integer("verify", 0, 0, 1000)
