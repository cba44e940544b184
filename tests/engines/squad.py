"""squad2-dev, or another public collection, as a frozen dense snapshot with its query vectors, and what asks an engine for it."""

import json

from gate.golden.model import Query
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.settings import parse_settings
from gate.snapshot.build import build_dense
from gate.snapshot.corpus import read_corpus
from gate.snapshot.manifest import read_manifest
from gate.world import World
from tests.snapshot.support import opened


def frozen(data, folder, name="squad2-dev"):
    """The snapshot's folder."""
    source, vectors = data / "collections" / name, data / "embeddings" / name
    build_dense(read_corpus(source / "corpus.jsonl"), vectors / "docs.npy", folder, model="all-MiniLM-L6-v2", similarity="cosine",
                query_vectors=vectors / "queries.npy", queries=source / "queries.jsonl")
    return folder


def questions(data, count):
    with open(data / "collections" / "squad2-dev" / "golden.jsonl") as lines:
        records = [json.loads(next(lines)) for _ in range(count)]
    return [Query(record["id"], record["query"], dict.fromkeys(record["relevant"], 1.0)) for record in records]


def config(snapshot, retriever, golden="golden.jsonl"):
    """The text of a configuration: JSON is YAML."""
    return json.dumps({"golden": str(golden), "depth": 20, "retriever": retriever,
                       "snapshot": {"path": str(snapshot), "digest": read_manifest(snapshot).tree_digest}}, indent=1)


def retriever(settings, snapshot=None, variables=None):
    """As a run would build it: ``settings`` are those of ``retriever:``."""
    rest = {"golden": "g.jsonl", "snapshot": {"path": "s", "digest": "sha256:" + "0" * 64}, "retriever": settings}
    parsed = parse_settings(json.dumps(rest).encode(), "c.yml", "c.yml").retriever
    return build_retriever(parsed, Given(opened(snapshot) if snapshot else None, (), World(variables or {})))


def ask(settings, queries, snapshot=None, depth=20, variables=None):
    """(the retriever after its last answer, rankings by id)."""
    built = retriever(settings, snapshot, variables)
    with built:
        return built, dict(built.retrieve(queries, depth))


def same(found, exact, slack=1e-5):
    """Whether two rankings agree to the document, but for neighbours whose scores in ``exact`` are closer than what single precision
    keeps: those may have changed places, or one of them may be in the list instead of the other at its end."""
    scores = dict(zip(exact.docs, exact.scores, strict=True))
    last = min(exact.scores, default=0.0)
    values = [scores.get(doc, last) for doc in found.docs]
    return len(found.docs) == len(exact.docs) and len(set(found.docs)) == len(found.docs) and all(
        abs(value - wanted) <= slack for value, wanted in zip(values, exact.scores, strict=True)) and all(
        doc in scores or abs(found.scores[-1] - found.scores[place]) <= slack for place, doc in enumerate(found.docs))
