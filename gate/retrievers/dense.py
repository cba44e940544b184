"""Kind ``dense``: exact search over the vectors of a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.embedding.base import EmbeddingSettings, QueryVectors, open_vectors, read_embedding
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
    from gate.snapshot.reader import Snapshot

_BATCH = 64
# Numbers of a block, about 32 MiB in float64, whatever the number of dimensions.
_CELLS = 2**22


def unit_rows(rows: np.ndarray, cosine: bool) -> np.ndarray:
    """Rows as float64, of length 1 for cosine; a row of zeros stays as it is and so scores 0."""
    import numpy as np

    rows = rows.astype(np.float64)
    if cosine:
        length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        rows /= np.where(length > 0, length, 1.0)
    return rows


class _Best:
    """The best ``depth`` rows for one query so far, by score descending, then row ascending."""

    def __init__(self, depth: int) -> None:
        import numpy as np

        self.depth = depth
        self.rows, self.scores = np.empty(0, np.int64), np.empty(0, np.float64)

    @property
    def lowest(self) -> float:
        return float(self.scores[-1]) if len(self.scores) >= self.depth else float("-inf")

    def add(self, rows: np.ndarray, scores: np.ndarray) -> None:
        import numpy as np

        rows, scores = np.concatenate([self.rows, rows]), np.concatenate([self.scores, scores])
        order = np.lexsort((rows, -scores))[:self.depth]
        self.rows, self.scores = rows[order], scores[order]


def search(vectors: np.ndarray, questions: np.ndarray, depth: int, cosine: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Exact top ``depth`` of ``vectors`` (rows × dimensions) for each row of ``questions``: positions and float64 scores.

    A matrix product in float32 finds the candidates; they are then scored again one by one in float64. What BLAS returns in the
    last bits depends on the machine, the threads and the batch, and would decide between neighbours that are all but equal.
    """
    import numpy as np

    asked = unit_rows(questions, cosine)
    lengths = np.sqrt((asked * asked).sum(axis=1))
    found = [_Best(depth) for _ in asked]
    step = max(1, _CELLS // vectors.shape[1])
    for start in range(0, len(vectors), step):
        exact = unit_rows(vectors[start:start + step], cosine)
        # Rounding of the float32 product stays below dimensions × 2^-23 × both lengths.
        longest = 1.0 if cosine else float(np.sqrt((exact * exact).sum(axis=1)).max())
        # Dot products of huge vectors would overflow it.
        narrow = "float64" if longest * float(lengths.max()) > 1e30 else "float32"
        rough = np.matmul(asked.astype(narrow), exact.astype(narrow).T).astype(np.float64)
        for best, question, row, length in zip(found, asked, rough, lengths, strict=True):
            slack = 4.0 * (exact.shape[1] + 8) * 2.0**-23 * longest * float(length)
            floor = best.lowest
            if len(row) > depth:
                floor = max(floor, float(np.partition(row, len(row) - depth)[len(row) - depth]))
            near = np.flatnonzero(row >= floor - slack)
            best.add(near + start, (exact[near] * question).sum(axis=1))
    return [(best.rows, best.scores) for best in found]


class Options(NamedTuple):
    """``embedding``: where query vectors come from."""

    embedding: EmbeddingSettings = EmbeddingSettings()


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    return Options(read_embedding(section.section("embedding", section.mapping("embedding")), paths))


def build(settings: RetrieverSettings, given: Given) -> DenseRetriever:
    """See :mod:`gate.retrievers`."""
    assert given.snapshot is not None
    return DenseRetriever(given.snapshot, open_vectors(settings.options.embedding, given))


class DenseRetriever:
    """Cosine or dot product, whichever the manifest says. Order: score descending, then unit id ascending."""

    def __init__(self, snapshot: Snapshot, questions: QueryVectors) -> None:
        self.snapshot, self._questions = snapshot, questions
        self._notes: list[str] = []
        self._vectors: Any = None

    @property
    def notes(self) -> list[str]:
        return [*self._questions.notes, *self._notes]

    def describe(self) -> Mapping[str, Any]:
        found = self._questions.describe()
        # Vectors of the snapshot are a part of it, and so is what made them.
        vectors = {key: found[key] for key in found if key != "kind"} if found["kind"] == "snapshot" else {"embedding": found}
        return {"kind": "dense", "similarity": self.snapshot.manifest.index.get("similarity"), **vectors}

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        if self._vectors is None:
            raise RuntimeError("use the retriever as a context manager")
        questions = self._questions.of(queries, self._vectors.shape[1])
        if len(queries) and questions.shape[1] != self._vectors.shape[1]:
            raise InvalidInput(f"query vectors have {questions.shape[1]} dimensions, documents {self._vectors.shape[1]}",
                               "embed queries and documents with the same model")
        cosine = self.snapshot.manifest.index.get("similarity") == "cosine"
        for start in range(0, len(queries), _BATCH):
            batch = queries[start:start + _BATCH]
            for query, (rows, scores) in zip(batch, search(self._vectors, questions[start:start + _BATCH], depth, cosine), strict=True):
                yield query.id, ranking_of(self.snapshot, query, rows, scores)

    def __enter__(self) -> DenseRetriever:
        from gate.snapshot import vectors as arrays

        path, manifest = self.snapshot.path, self.snapshot.manifest
        if not manifest.has_vectors or manifest.index.get("similarity") not in arrays.SIMILARITIES:
            raise InvalidInput(f"{path}: is a {manifest.kind} snapshot, a dense retriever needs a dense one",
                               "set `retriever.kind`, or build the snapshot with --kind dense or hybrid")
        self._questions.__enter__()
        self._vectors = arrays.read_vectors(path / arrays.VECTORS, len(self.snapshot.ids), "the snapshot has")
        return self

    def __exit__(self, *exc: object) -> None:
        self._questions.__exit__(*exc)
        self._vectors = None
