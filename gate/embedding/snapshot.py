"""Kind ``snapshot``: query vectors that were frozen together with the documents'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gate.errors import InvalidInput
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.snapshot.reader import Snapshot

if TYPE_CHECKING:
    import numpy as np


def read(section: Section, paths: Paths) -> None:
    """It has no settings."""


def build(options: None, given: Given) -> SnapshotVectors:
    """Raises :class:`InvalidInput` without a snapshot."""
    if given.snapshot is None:
        raise InvalidInput("query vectors are taken from the snapshot, and there is none",
                           "set `snapshot.path` and `snapshot.digest`, or `retriever.embedding`")
    return SnapshotVectors(given.snapshot)


class SnapshotVectors:
    """Opened when entered."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.notes: list[str] = []
        self._vectors: Any = None
        self._rows: dict[str, tuple[int, str]] = {}

    def describe(self) -> Mapping[str, Any]:
        embedding = self.snapshot.manifest.embedding or {}
        return {"kind": "snapshot", **{key: embedding.get(key) for key in ("model", "revision", "dimensions", "dtype")}}

    def of(self, queries: Sequence[Query], width: int = 0) -> np.ndarray:
        from gate.snapshot.vectors import text_mark

        problems = [f"query {query.id!r} has no vector in the snapshot" for query in queries if query.id not in self._rows]
        problems += [f"query {query.id!r}: its text is not the one that its stored vector was made from" for query in queries
                     if query.id in self._rows and self._rows[query.id][1] != text_mark(query.text)]
        if problems:
            raise InvalidInput(problems, "embed the queries of this golden set and build the snapshot again with --query-vectors "
                                         "and --queries, or set `retriever.embedding` to embed them in the run")
        rows: np.ndarray = self._vectors[[self._rows[query.id][0] for query in queries]]
        return rows

    def __enter__(self) -> SnapshotVectors:
        from gate.snapshot import vectors as arrays

        path = self.snapshot.path
        self._rows = arrays.read_query_rows(path)
        self._vectors = arrays.read_vectors(path / arrays.QUERY_VECTORS, len(self._rows), f"{arrays.QUERY_IDS} has")
        return self

    def __exit__(self, *exc: object) -> None:
        self._vectors = None
