"""A small dense snapshot, and an engine that is a dict."""

import json

import numpy as np

from gate.golden.model import Query
from gate.snapshot.build import build_dense
from gate.snapshot.corpus import read_corpus
from gate.snapshot.manifest import Manifest
from gate.snapshot.reader import Snapshot


def dense_snapshot(folder, vectors: dict, queries: dict | None = None, similarity="cosine", dtype="float32") -> Snapshot:
    """``vectors``: id → row; ``queries``: (id, text) → row."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"_id": unit, "text": f"text of {unit}"}) + "\n" for unit in vectors))
    np.save(folder / "docs.npy", np.asarray(list(vectors.values()), dtype))
    more = {}
    if queries:
        asked = folder / "queries.jsonl"
        asked.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in queries))
        np.save(folder / "queries.npy", np.asarray(list(queries.values()), dtype))
        more = {"query_vectors": folder / "queries.npy", "queries": asked}
    manifest: Manifest = build_dense(read_corpus(corpus), folder / "docs.npy", folder / "snapshot", model="m", similarity=similarity,
                                     **more)
    return Snapshot(folder / "snapshot", manifest)


class Held:
    """Follows gate.retrievers.engines.index_check.Engine."""

    name = "table docs"

    def __init__(self, vectors: dict, ids=None) -> None:
        self.held, self._ids = vectors, ids

    def count(self):
        return len(self.held)

    def ids(self):
        return iter(self._ids if self._ids is not None else list(self.held)[::-1])

    def vectors(self, ids):
        assert len(ids) <= 256
        return {unit: list(self.held[unit]) for unit in ids if unit in self.held}


def clustered(folder, units=400, queries=20):
    """(snapshot, queries): units u000… with an even number belong to "topic 0", those with an odd one to "topic 1"."""
    random = np.random.default_rng(3)
    vectors = {f"u{n:03}": random.normal(size=16) + 2 * (n % 2) for n in range(units)}
    asked = [Query(f"q{n:02}", f"question number {n}", {f"u{n:03}": 1.0}) for n in range(queries)]
    rows = {(query.id, query.text): vectors[f"u{n:03}"] + random.normal(size=16) * 0.3 for n, query in enumerate(asked)}
    return dense_snapshot(folder, vectors, rows), asked
