"""Kinds ``bm25`` and ``dense``: exact, in one order, over nothing but the snapshot."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.embedding.snapshot import SnapshotVectors
from gate.errors import InvalidInput
from gate.golden.model import Query
from gate.golden.read import read_golden
from gate.retriever_settings import RetrieverSettings
from gate.retrievers import python, runfile
from gate.retrievers.base import Given
from gate.retrievers.bm25 import Bm25Retriever, best
from gate.retrievers.build import build_retriever
from gate.retrievers.dense import DenseRetriever, search
from gate.retrievers.python import PythonRetriever
from gate.runs import read_run
from gate.snapshot.build import build_bm25, build_dense
from gate.snapshot.corpus import read_corpus
from tests.snapshot.support import ROOT, collections, corpus_of, opened


def dense_of(snapshot):
    return DenseRetriever(snapshot, SnapshotVectors(snapshot))


def ask(retriever, *texts, depth=10):
    with retriever:
        return dict(retriever.retrieve([Query(f"q{i}", text, {"x": 1.0}) for i, text in enumerate(texts, 1)], depth))


@pytest.fixture
def lexical(tmp_path):
    corpus = corpus_of(tmp_path, ("b", "Bees", "bees make honey"), ("a", "Ants", "ants make hills"),
                       ("c", "", "err-4417 on gw-lys-02"), ("d", "", "ants make hills ants"), ("e", "", ""))
    build_bm25(corpus, tmp_path / "lexical")
    return tmp_path / "lexical"


def test_bm25_finds_words_of_the_text_and_of_the_title(lexical):
    found = ask(Bm25Retriever(opened(lexical)), "HONEY!", "bees", "err 4417", "gw-lys-02")
    assert [ranking.docs for ranking in found.values()] == [["b"], ["b"], ["c"], ["c"]]
    assert all(ranking.scores[0] > 0 and ranking.ms >= 0 for ranking in found.values())


@pytest.mark.parametrize("text", ["zebra", "the of", "?!", "", "\ud800"])
def test_bm25_returns_nothing_for_a_query_without_a_known_word(lexical, text):
    assert ask(Bm25Retriever(opened(lexical)), text)["q1"].docs == []


def test_bm25_orders_ties_by_id(tmp_path):
    names = ["z", "B", "a", "ä", "10", "9"]
    build_bm25(corpus_of(tmp_path, *((name, "", "same words") for name in names)), tmp_path / "snap")
    found = ask(Bm25Retriever(opened(tmp_path / "snap")), "words", depth=4)["q1"]
    assert found.docs == sorted(names)[:4] and len(set(found.scores)) == 1


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(1, 70))
def test_the_best_are_those_of_a_full_sort(values, depth):
    scores = np.array(values, "float32")
    expected = [i for i in sorted(range(len(values)), key=lambda i: (-values[i], i)) if values[i] > 0][:depth]
    assert best(scores, depth).tolist() == expected


def test_bm25_agrees_with_the_formula(lexical):
    # Lucene's form; lengths 4 (b: title and text), 4, 5, 4, 0 after analysis.
    found = ask(Bm25Retriever(opened(lexical)), "honey")["q1"]
    lengths = {"b": 4, "a": 4, "c": 7, "d": 4, "e": 0}
    idf = np.log(1 + (5 - 1 + 0.5) / (1 + 0.5))
    expected = idf / (1 + 1.5 * (0.25 + 0.75 * lengths["b"] / (sum(lengths.values()) / 5)))
    assert found.scores == pytest.approx([expected], rel=1e-5)


def test_bm25_finds_most_of_the_example(tmp_path):
    build_bm25(read_corpus(ROOT / "examples" / "wiki"), tmp_path / "snap")
    golden = read_golden(ROOT / "examples" / "golden.jsonl")
    with Bm25Retriever(opened(tmp_path / "snap")) as retriever:
        found = dict(retriever.retrieve(golden.queries, 10))
    asked = [query for query in golden.queries if query.gains]
    assert sum(any(doc in query.gains for doc in found[query.id].docs) for query in asked) / len(asked) > 0.7


@pytest.mark.parametrize(("name", "array"), [
    ("indices", np.array([0, 99], "int32")), ("indptr", np.array([0, -4, 2], "int64")), ("indptr", np.array([[0]], "int64")),
    ("data", np.array([np.nan], "float32")), ("data", np.array([1.0])), ("data", np.array([{}], object))])
def test_an_index_that_does_not_fit_together_is_refused(lexical, name, array):
    found = opened(lexical)
    np.save(lexical / "index" / f"{name}.csc.index.npy", array, allow_pickle=True)
    with pytest.raises(InvalidInput, match="bm25s index"), Bm25Retriever(found):
        pass


@pytest.mark.parametrize("vocabulary", ["{}", '{"a": -1}', '{"a": 99999}', '{"a": "b"}', "[]", "not json"])
def test_a_vocabulary_that_does_not_fit_is_refused(lexical, vocabulary):
    found = opened(lexical)
    (lexical / "index" / "vocab.index.json").write_text(vocabulary)
    with pytest.raises(InvalidInput, match="bm25s index"), Bm25Retriever(found):
        pass


@pytest.mark.parametrize("change", [{"num_docs": 10**12}, {"num_docs": "5"}, {"surprise": 1}, {"method": "bm25+"}])
def test_parameters_that_do_not_fit_are_refused(lexical, change):
    found = opened(lexical)
    path = lexical / "index" / "params.index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InvalidInput, match="bm25s index"), Bm25Retriever(found):
        pass


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["float16", "float32"]), st.booleans())
def test_dense_search_is_exact(seed, dtype, cosine):
    rng = np.random.default_rng(seed)
    rows, width, depth = int(rng.integers(1, 200)), int(rng.integers(1, 40)), int(rng.integers(1, 30))
    vectors, questions = rng.normal(size=(rows, width)).astype(dtype), rng.normal(size=(5, width)).astype(dtype)
    wide, asked = vectors.astype(float), questions.astype(float)
    if cosine:
        wide, asked = wide / np.linalg.norm(wide, axis=1, keepdims=True), asked / np.linalg.norm(asked, axis=1, keepdims=True)
    for (found, scores), question in zip(search(vectors, questions, depth, cosine), asked, strict=True):
        expected = wide @ question
        assert scores == pytest.approx(np.sort(expected)[::-1][:depth], abs=1e-9)
        assert scores == pytest.approx(expected[found], abs=1e-9) and len(set(found.tolist())) == len(found)


def test_dense_search_does_not_depend_on_blocks_or_on_the_other_queries(monkeypatch):
    rng = np.random.default_rng(7)
    vectors = np.repeat(rng.normal(size=(50, 33)), 4, axis=0).astype("float32")  # every row four times: ties all over
    questions = rng.normal(size=(9, 33)).astype("float32")
    whole = [(rows.tolist(), scores.tolist()) for rows, scores in search(vectors, questions, 21, True)]
    monkeypatch.setattr("gate.retrievers.dense._CELLS", 7 * 33)
    alone = [search(vectors, question[None], 21, True)[0] for question in questions]
    assert whole == [(rows.tolist(), scores.tolist()) for rows, scores in alone]
    for rows, scores in whole:
        assert rows == sorted(rows, key=lambda row: (-scores[rows.index(row)], row))


def test_a_vector_of_zeros_scores_zero_and_is_not_a_number_less():
    (rows, scores), = search(np.array([[0, 0], [1, 0]], "float32"), np.array([[0, 0]], "float32"), 5, True)
    assert (rows.tolist(), scores.tolist()) == ([0, 1], [0.0, 0.0])


@pytest.fixture
def vectors(tmp_path):
    corpus = corpus_of(tmp_path, ("b", "", ""), ("a", "", ""), ("c", "", ""))
    np.save(tmp_path / "docs.npy", np.array([[0, 1], [1, 0], [0.6, 0.8]], "float16"))
    np.save(tmp_path / "queries.npy", np.array([[1, 0], [0, 2]], "float16"))
    (tmp_path / "queries.jsonl").write_text('{"_id":"q2","text":"east"}\n{"_id":"q1","text":"north"}\n')
    build_dense(corpus, tmp_path / "docs.npy", tmp_path / "dense", model="compass", query_vectors=tmp_path / "queries.npy",
                queries=tmp_path / "queries.jsonl")
    return tmp_path / "dense"


def test_dense_takes_the_query_vector_from_the_snapshot(vectors):
    found = ask(dense_of(opened(vectors)), "north", "east", depth=2)
    assert (found["q1"].docs, found["q2"].docs) == (["b", "c"], ["a", "c"])
    assert found["q1"].scores == pytest.approx([1.0, 0.8], abs=1e-3)


def test_queries_without_a_vector_are_all_named_and_so_is_a_changed_text(vectors):
    with pytest.raises(InvalidInput) as caught:
        ask(dense_of(opened(vectors)), "north", "east of here", "south", "west")
    assert caught.value.problems == ("query 'q3' has no vector in the snapshot", "query 'q4' has no vector in the snapshot",
                                     "query 'q2': its text is not the one that its stored vector was made from")
    assert "--query-vectors" in caught.value.cure


def test_a_snapshot_without_query_vectors_says_how_to_get_them(tmp_path):
    np.save(tmp_path / "docs.npy", np.ones((1, 2), "float32"))
    build_dense(corpus_of(tmp_path, ("a", "", "")), tmp_path / "docs.npy", tmp_path / "snap", model="m")
    with pytest.raises(InvalidInput, match="holds no query vectors"), dense_of(opened(tmp_path / "snap")):
        pass


def test_a_snapshot_of_the_other_kind_is_refused(lexical, vectors):
    with pytest.raises(InvalidInput, match="is a bm25 snapshot"), dense_of(opened(lexical)):
        pass
    with pytest.raises(InvalidInput, match="is a dense snapshot"), Bm25Retriever(opened(vectors)):
        pass


def settings_of(kind, tmp_path):
    options = {"python": python.Options("a:b", tmp_path), "run": runfile.Options(tmp_path / "r.jsonl")}
    return RetrieverSettings(kind, options.get(kind))


def test_settings_choose_the_retriever(lexical, tmp_path):
    found = Given(opened(lexical))
    kinds = {kind: build_retriever(settings_of(kind, tmp_path), found).describe() for kind in ("bm25", "run", "python")}
    version = found.snapshot.manifest.index["version"]
    assert kinds["bm25"] == {"kind": "bm25", "library": "bm25s", "version": version, "k1": 1.5, "b": 0.75, "method": "lucene"}
    assert kinds["run"]["kind"] == "run" and kinds["python"] == {"kind": "python", "function": "a:b"}
    built = build_retriever(settings_of("python", tmp_path), found)
    assert isinstance(built, PythonRetriever) and built.snapshot == lexical


def test_an_index_without_a_snapshot_is_refused(tmp_path):
    for kind in ("bm25", "dense"):
        with pytest.raises(InvalidInput, match=f"a {kind} retriever needs a snapshot"):
            build_retriever(settings_of(kind, tmp_path), Given())


@pytest.mark.parametrize("name", ["squad2-dev", "xquad-en", "anthropic-docs"])
def test_dense_reproduces_the_published_runs(tmp_path, name):
    data = collections()
    corpus = read_corpus(data / "collections" / name / "corpus.jsonl")
    build_dense(corpus, data / "embeddings" / name / "docs.npy", tmp_path / "snap",
                model="all-MiniLM-L6-v2", query_vectors=data / "embeddings" / name / "queries.npy",
                queries=data / "collections" / name / "queries.jsonl")
    golden = read_golden(data / "collections" / name / "golden.jsonl")
    published = read_run(data / "runs" / name / "dense.jsonl.gz").rankings
    with dense_of(opened(tmp_path / "snap")) as retriever:
        for query_id, ranking in retriever.retrieve(golden.queries, 30):
            theirs = published[query_id]
            assert ranking.scores == pytest.approx(theirs.scores[:30], abs=2e-3)
            assert len(set(ranking.docs[:10]) & set(theirs.docs[:10])) >= 9


def test_a_retriever_holds_nothing_of_the_machine_in_its_description(vectors):
    assert dense_of(opened(vectors)).describe() == {
        "kind": "dense", "similarity": "cosine", "model": "compass", "revision": "", "dimensions": 2, "dtype": "float16"}


def test_dot_products_of_huge_vectors_stay_in_order():
    vectors = np.array([[3e38, -3e38], [3e38, 3e38], [1, 1]], "float32")
    (rows, scores), = search(vectors, np.array([[3e38, 3e38]], "float32"), 3, False)
    assert rows.tolist() == [1, 2, 0] and np.isfinite(scores).all()
