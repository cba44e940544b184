"""A snapshot with both indexes in it: each retriever finds in it what it finds in one of its own, and fusing needs no other."""

import json

import numpy as np
import pytest

from gate.cli import main
from gate.errors import InvalidInput
from gate.golden.read import read_golden
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.settings import parse_settings
from gate.snapshot.build import Vectors, build_bm25, build_dense, build_hybrid
from gate.snapshot.corpus import read_corpus
from gate.snapshot.manifest import read_manifest
from gate.snapshot.reader import Snapshot
from tests.snapshot.support import corpus_of, opened


def asked(kind, snapshot, queries, depth=20, more=""):
    config = f'golden: g\nsnapshot: {{path: s, digest: "sha256:{"0" * 64}"}}\nretriever: {{kind: {kind}{more}}}\n'
    with build_retriever(parse_settings(config.encode(), "c.yml", "c.yml").retriever, Given(snapshot)) as retriever:
        return {i: (ranking.docs, ranking.scores, ranking.candidates) for i, ranking in retriever.retrieve(queries, depth)}


@pytest.fixture(scope="module")
def squad(data, tmp_path_factory):
    place, name = tmp_path_factory.mktemp("squad"), "squad2-dev"
    corpus = read_corpus(data / "collections" / name / "corpus.jsonl")
    vectors = data / "embeddings" / name
    given = Vectors(vectors / "docs.npy", "all-MiniLM-L6-v2", query_vectors=vectors / "queries.npy",
                    queries=data / "collections" / name / "queries.jsonl")
    build_bm25(corpus, place / "bm25")
    build_dense(corpus, out=place / "dense", **given._asdict())
    build_hybrid(corpus, given, place / "hybrid")
    golden = read_golden(data / "collections" / name / "golden.jsonl")
    return {kind: Snapshot(place / kind, read_manifest(place / kind)) for kind in ("bm25", "dense", "hybrid")}, golden.queries


@pytest.mark.parametrize("kind", ["bm25", "dense"])
def test_each_kind_finds_in_it_what_it_finds_in_its_own(squad, kind):
    snapshots, queries = squad
    assert asked(kind, snapshots["hybrid"], queries[:100]) == asked(kind, snapshots[kind], queries[:100])


def test_a_hybrid_of_both_is_fused_from_one_snapshot(squad):
    snapshots, queries = squad
    found = asked("hybrid", snapshots["hybrid"], queries[:50], more=", legs: [{kind: bm25}, {kind: dense}]")
    legs = [asked(kind, snapshots[kind], queries[:50], 100) for kind in ("bm25", "dense")]
    for query in queries[:50]:
        sums: dict[str, float] = {}
        for leg in legs:
            for rank, doc in enumerate(leg[query.id][0], 1):
                sums[doc] = sums.get(doc, 0.0) + 1 / (60 + rank)
        docs, scores, candidates = found[query.id]
        assert set(candidates) == set(sums) and scores == pytest.approx([sums[doc] for doc in docs])
        assert docs == sorted(sums, key=lambda doc: (-sums[doc], doc))[:20]


@pytest.fixture
def built(tmp_path):
    corpus_of(tmp_path, ("a", "Ants", "ants make hills"), ("b", "Bees", "bees make honey"))
    np.save(tmp_path / "v.npy", np.eye(2, dtype="float32"))
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "q1", "query": "honey", "relevant": ["b"]}) + "\n")
    np.save(tmp_path / "q.npy", np.array([[0, 1]], "float32"))

    def build(*more):
        return main(["snapshot", "build", "--kind", "hybrid", "--corpus", str(tmp_path / "corpus.jsonl"), "--vectors",
                     str(tmp_path / "v.npy"), "--query-vectors", str(tmp_path / "q.npy"), "--queries", str(tmp_path / "q.jsonl"),
                     "--model", "eye", "--out", str(tmp_path / "snap"), *more])

    return build


def test_the_command_builds_it_and_checks_it_against_its_corpus(built, tmp_path, capsys):
    assert built("--k1", "1.2") == 0
    manifest = read_manifest(tmp_path / "snap")
    assert manifest.kind == "hybrid" and manifest.index["k1"] == 1.2 and manifest.index["similarity"] == "cosine"
    assert manifest.embedding["model"] == "eye"
    capsys.readouterr()
    assert main(["snapshot", "verify", str(tmp_path / "snap"), "--corpus", str(tmp_path / "corpus.jsonl")]) == 0
    assert "building the index again gives the same bytes; its vectors are as they were frozen" in capsys.readouterr().out
    (tmp_path / "gate.yml").write_text(f"golden: q.jsonl\nsnapshot: {{path: snap, digest: {manifest.tree_digest}}}\n"
                                       "retriever: {kind: hybrid, legs: [{kind: bm25}, {kind: dense}]}\n")
    assert main(["run", "--config", str(tmp_path / "gate.yml"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["rr@10"]["candidate"] == 1.0


def test_its_text_cannot_be_kept_out(built, capsys):
    assert built("--without-text") == 2
    assert "made of the words of the text" in capsys.readouterr().err


def test_other_snapshots_still_hold_one_index(tmp_path):
    corpus = corpus_of(tmp_path, ("a", "", "words"))
    build_bm25(corpus, tmp_path / "bm25")
    with pytest.raises(InvalidInput, match="is a bm25 snapshot, a dense retriever needs a dense one") as error:
        asked("dense", opened(tmp_path / "bm25"), [])
    assert "--kind dense or hybrid" in error.value.cure
