"""Kind ``bm25``: the lexical index of a snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gate.errors import InvalidInput
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.named import ranking_of
from gate.runs import Ranking

if TYPE_CHECKING:
    import numpy as np

    from gate.retriever_settings import RetrieverSettings
    from gate.snapshot.analysis import Analyser
    from gate.snapshot.reader import Snapshot


def read(section: Section, paths: Paths) -> None:
    """It has no settings: everything is the snapshot's."""


def build(settings: RetrieverSettings, given: Given) -> Bm25Retriever:
    """See :mod:`gate.retrievers`."""
    assert given.snapshot is not None
    return Bm25Retriever(given.snapshot)


def best(scores: np.ndarray, depth: int) -> np.ndarray:
    """Positions of the ``depth`` highest scores above 0, ties by position."""
    import numpy as np

    found = np.flatnonzero(scores > 0)
    if len(found) > depth:
        # Everything that ties with the last one stays in until the stable sort has put ties in order.
        lowest = np.partition(scores[found], len(found) - depth)[len(found) - depth]
        found = found[scores[found] >= lowest]
    return found[np.argsort(-scores[found], kind="stable")][:depth]


class Bm25Retriever:
    """Order: score descending, then unit id ascending. A unit that shares no term with the query is not a result."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.notes: list[str] = []
        self._analyser: Analyser | None = None
        self._index: Any = None

    def describe(self) -> Mapping[str, Any]:
        index = self.snapshot.manifest.index
        return {"kind": "bm25", **{key: index.get(key) for key in ("library", "version", "k1", "b", "method")}}

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        if self._analyser is None or self._index is None:
            raise RuntimeError("use the retriever as a context manager")
        index = self._index
        for query in queries:
            start = time.monotonic()
            numbers = index.get_tokens_ids(self._analyser.terms(query.text))
            scores = index.get_scores_from_ids(numbers)
            top = best(scores, depth)
            ranking = ranking_of(self.snapshot, query, top, scores[top])
            ranking.ms = (time.monotonic() - start) * 1000
            yield query.id, ranking

    def __enter__(self) -> Bm25Retriever:
        from gate.snapshot.analysis import from_options
        from gate.snapshot.lexical import open_index

        path, manifest = self.snapshot.path, self.snapshot.manifest
        if not manifest.has_words:
            raise InvalidInput(f"{path}: is a {manifest.kind} snapshot, a bm25 retriever needs a bm25 one",
                               "set `retriever.kind`, or build the snapshot with --kind bm25 or hybrid")
        options = manifest.index.get("analyser")
        self._analyser = from_options(options if isinstance(options, dict) else {})
        self._index = open_index(path / "index", len(self.snapshot.ids))
        return self

    def __exit__(self, *exc: object) -> None:
        self._index = None
