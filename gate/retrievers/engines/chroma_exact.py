"""Exact search over the vectors of a Chroma collection, and what its metadata say about a unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gate.errors import RetrieverFailed
from gate.retrievers.engines.hits import Hit

if TYPE_CHECKING:
    import numpy as np

    from gate.retrievers.engines.chroma_api import Collection

_BATCH = 64


class Exact:
    """The vectors of a collection, searched without an index."""

    def __init__(self, collection: Collection, where: Mapping[str, Any], keys: Mapping[str, str]) -> None:
        import numpy as np

        from gate.retrievers.dense import search

        hits: list[Hit] = []
        parts = []
        for page in collection.pages(["embeddings", "metadatas"], where):
            hits += [hit_of(unit, 0.0, meta, keys) for unit, meta in with_metadata(page["ids"], page.get("metadatas"))]
            if page["ids"]:
                parts.append(_rows(page, collection.name))
        order = sorted(range(len(hits)), key=lambda row: hits[row].id)
        self._hits, self._space, self._search = [hits[row] for row in order], collection.space, search
        vectors = np.concatenate(parts)[order] if parts else np.empty((0, 1), np.float32)
        if self._space == "l2":
            # -|x - q|² = 2(x·q - |x|²/2) - |q|²: the nearest is the one with the largest product.
            wide = vectors.astype(np.float64)
            vectors = np.hstack([wide, -(wide * wide).sum(axis=1, keepdims=True) / 2])
        self._vectors = vectors

    def search(self, questions: np.ndarray, depth: int) -> Iterator[list[Hit]]:
        """The best for each row of ``questions``, in their order."""
        import numpy as np

        flat = self._space == "l2"
        for start in range(0, len(questions), _BATCH):
            asked = questions[start:start + _BATCH].astype(np.float64)
            lengths = (asked * asked).sum(axis=1)
            if flat:
                asked = np.hstack([asked, np.ones((len(asked), 1))])
            found = self._search(self._vectors, asked, depth, self._space == "cosine") if self._hits else [((), ())] * len(asked)
            for (rows, scores), length in zip(found, lengths, strict=True):
                yield [self._hits[row]._replace(score=float(2 * score - length if flat else score))
                       for row, score in zip(rows, scores, strict=True)]


def _rows(page: Mapping[str, Any], name: str) -> np.ndarray:
    import numpy as np

    try:
        rows = np.asarray(page.get("embeddings"), np.float32)
    except (TypeError, ValueError):
        rows = np.empty(0, np.float32)
    if rows.ndim != 2 or len(rows) != len(page["ids"]):
        raise RetrieverFailed(f"{name}: Chroma gave some units without vectors of one length", "leave `search: exact` and `ann_loss` out")
    return rows


def with_metadata(ids: Sequence[str], metadata: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each id with its metadata, which Chroma leaves out when nobody asked and gives as null where there is none."""
    for place, unit in enumerate(ids):
        held = metadata[place] if metadata else None
        yield unit, held if isinstance(held, dict) else {}


def hit_of(unit: str, score: float, held: Mapping[str, Any], keys: Mapping[str, str]) -> Hit:
    """``keys``: field of a hit (doc, start, end) → metadata key. Metadata are anybody's: what is no place in a document is left out."""
    start, end = (held.get(keys.get(name, "")) for name in ("start", "end"))
    placed = type(start) is type(end) is int and 0 <= start <= end
    return Hit(unit, score, str(held.get(keys.get("doc", ""), "")), start if placed else None, end if placed else None)
