"""The same corpus gives the same bytes, and what cannot be a snapshot is refused."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from gate import __version__
from gate.errors import InvalidInput
from gate.snapshot.build import build_bm25, build_dense
from gate.snapshot.corpus import read_corpus
from gate.snapshot.show import show
from gate.snapshot.verify import verify
from tests.snapshot.support import ROOT, collections, corpus_of, opened

THREE = (("b", "B", "two words"), ("a", "A", "one word"), ("c", "C", "three"))


def everything(directory):
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_building_twice_gives_the_same_bytes(tmp_path):
    corpus = read_corpus(ROOT / "examples" / "wiki")
    assert build_bm25(corpus, tmp_path / "one").tree_digest == build_bm25(corpus, tmp_path / "two").tree_digest
    assert everything(tmp_path / "one") == everything(tmp_path / "two")


def test_neither_hash_seeds_nor_the_order_of_lines_change_a_byte(tmp_path):
    digests = set()
    for seed, order in (("1", THREE), ("2", THREE[::-1])):
        folder = tmp_path / seed
        folder.mkdir()
        corpus_of(folder, *order)
        code = ("from gate.snapshot.corpus import read_corpus; from gate.snapshot.build import build_bm25; "
                f"print(build_bm25(read_corpus({str(folder / 'corpus.jsonl')!r}), {str(folder / 'out')!r}).tree_digest)")
        digests.add(subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}))
    assert len(digests) == 1


def test_a_snapshot_comes_back_as_it_was_built(tmp_path):
    manifest = build_bm25(corpus_of(tmp_path, *THREE), tmp_path / "snap", k1=1.2, b=0.5)
    found = opened(tmp_path / "snap")
    assert found.manifest == manifest
    assert found.ids == ("a", "b", "c")
    assert found.titles() == {"a": "A", "b": "B", "c": "C"}
    assert found.texts()["b"] == "two words"
    assert (manifest.units, manifest.documents, manifest.index["k1"], manifest.index["b"]) == (3, 3, 1.2, 0.5)
    assert manifest.built_by == f"retrieval-gate {__version__}"
    assert found.describe()["tree_digest"] == manifest.tree_digest


def test_parameters_and_content_move_the_digest_and_the_time_does_not(tmp_path, monkeypatch):
    corpus = corpus_of(tmp_path, *THREE)
    first = build_bm25(corpus, tmp_path / "one")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    dated = build_bm25(corpus, tmp_path / "two")
    assert (first.created, dated.created) == ("", "2023-11-14T22:13:20+00:00")
    assert first.tree_digest == dated.tree_digest != build_bm25(corpus, tmp_path / "three", k1=1.4).tree_digest


def test_a_folder_of_another_program_is_not_replaced(tmp_path):
    corpus, out = corpus_of(tmp_path, *THREE), tmp_path / "extension"
    out.mkdir()
    (out / "manifest.json").write_text('{"name": "a browser extension", "manifest_version": 3}')
    (out / "years.js").write_text("work")
    with pytest.raises(InvalidInput, match="is not empty, and no snapshot"):
        build_bm25(corpus, out, replace=True)
    build_bm25(corpus, tmp_path / "snap")
    (tmp_path / "snap" / "notes.txt").write_text("years")
    with pytest.raises(InvalidInput, match=r"holds more than a snapshot \(notes.txt\)"):
        build_bm25(corpus, tmp_path / "snap", replace=True)
    assert (out / "years.js").read_text() == "work" and (tmp_path / "snap" / "notes.txt").read_text() == "years"


@pytest.mark.parametrize("name", [".", "index/.."])
def test_the_working_directory_can_be_named_as_the_target(tmp_path, monkeypatch, name):
    corpus = corpus_of(tmp_path, *THREE)
    build_bm25(corpus, tmp_path / "snap")
    monkeypatch.chdir(tmp_path / "snap")
    built = build_bm25(corpus, name, k1=0.9, replace=True)
    assert opened(tmp_path / "snap").manifest == built
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.jsonl", "snap"}


@pytest.mark.parametrize("epoch", ["99999999999999", "²", "yesterday", "-1e9"])
def test_a_time_that_is_none_is_said(tmp_path, monkeypatch, epoch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(InvalidInput, match="SOURCE_DATE_EPOCH is .*no number of seconds"):
        build_bm25(corpus_of(tmp_path, *THREE), tmp_path / "snap")
    assert not list(tmp_path.glob(".snap*"))


def test_a_full_directory_is_only_overwritten_when_it_is_a_snapshot_and_that_is_meant(tmp_path):
    corpus = corpus_of(tmp_path, *THREE)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years")
    for replace in (False, True):
        with pytest.raises(InvalidInput, match="is not empty"):
            build_bm25(corpus, tmp_path / "full", replace=replace)
    build_bm25(corpus, tmp_path / "snap")
    with pytest.raises(InvalidInput, match="holds a snapshot already\nWhat to do: build with --replace"):
        build_bm25(corpus, tmp_path / "snap")
    build_bm25(corpus, tmp_path / "snap", k1=0.9, replace=True)
    assert verify(tmp_path / "snap").index["k1"] == 0.9


def test_a_build_that_fails_leaves_nothing_behind(tmp_path):
    corpus = corpus_of(tmp_path, ("a", "", "…"))
    with pytest.raises(InvalidInput, match="no word in it"):
        build_bm25(corpus, tmp_path / "snap")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.jsonl"]


def test_wrong_parameters_are_all_named(tmp_path):
    with pytest.raises(InvalidInput) as caught:
        build_bm25(corpus_of(tmp_path, *THREE), tmp_path / "snap", k1=-1, b=float("nan"), method="bm42")
    assert len(caught.value.problems) == 3


def test_show_says_what_it_is_without_control_characters(tmp_path):
    build_bm25(corpus_of(tmp_path, *THREE), tmp_path / "snap")
    text = show(tmp_path / "snap")
    assert "lower case yes" in text and "True" not in text and "snapshot verify" in text.splitlines()[-1]
    assert "3 of 3 documents" in text and verify(tmp_path / "snap").tree_digest in text
    path = tmp_path / "snap" / "manifest.json"
    value = json.loads(path.read_text())
    path.write_text(json.dumps(value | {"built_by": "\x1b[31mred"}))
    assert "\x1b" not in show(tmp_path / "snap")


def dense(tmp_path, vectors, out="snap", **more):
    np.save(tmp_path / "docs.npy", vectors)
    return build_dense(corpus_of(tmp_path, *THREE), tmp_path / "docs.npy", tmp_path / out, **{"model": "m", **more})


@pytest.mark.parametrize("dtype", ["float16", "float32", ">f4"])
def test_vectors_keep_their_type_and_follow_their_ids(tmp_path, dtype):
    vectors = np.array([[2, 2], [1, 1], [3, 3]], dtype)
    manifest = dense(tmp_path, np.asfortranarray(vectors), revision="r1")
    assert manifest.embedding == {"model": "m", "revision": "r1", "dimensions": 2, "dtype": np.dtype(dtype).name}
    stored = np.load(tmp_path / "snap" / "vectors.npy", allow_pickle=False)
    assert stored.dtype == np.dtype(dtype).newbyteorder("<") and stored[:, 0].tolist() == [1, 2, 3]
    assert manifest.tree_digest == dense(tmp_path, vectors, "again", revision="r1").tree_digest


@pytest.mark.parametrize(("vectors", "words"), [
    (np.array([[1, 2], [np.nan, 1], [np.inf, 0]], "float32"), r"2 rows hold NaN or Infinity \(first: row 1, 2\)"),
    (np.ones((2, 4), "float32"), "2 rows, but the corpus has 3"),
    (np.ones((3,), "float32"), "must be rows × dimensions"),
    (np.ones((3, 0), "float32"), "must be rows × dimensions"),
    (np.ones((3, 4), "float64"), "of float16 or float32"),
    (np.ones((3, 4), "int8"), "of float16 or float32"),
    (np.array([[{}], [{}], [{}]], object), "not a plain .npy array"),
])
def test_vectors_that_are_no_vectors_are_refused(tmp_path, vectors, words):
    with pytest.raises(InvalidInput, match=words):
        dense(tmp_path, vectors)


@pytest.mark.parametrize("data", [b"", b"\x93NUMPY", b"PK\x03\x04", b"not an array at all"])
def test_files_that_are_no_arrays_are_refused(tmp_path, data):
    (tmp_path / "v.npy").write_bytes(data)
    with pytest.raises(InvalidInput, match="not a plain .npy array"):
        build_dense(corpus_of(tmp_path, *THREE), tmp_path / "v.npy", tmp_path / "snap", model="m")


def test_query_vectors_need_their_queries_and_the_same_model(tmp_path):
    vectors = np.ones((3, 2), "float32")
    np.save(tmp_path / "q.npy", np.ones((1, 3), "float32"))
    (tmp_path / "queries.jsonl").write_text('{"_id":"q1","text":"x"}\n')
    with pytest.raises(InvalidInput, match="give both or neither"):
        dense(tmp_path, vectors, query_vectors=tmp_path / "q.npy")
    with pytest.raises(InvalidInput, match="3 dimensions, but the documents have 2"):
        dense(tmp_path, vectors, query_vectors=tmp_path / "q.npy", queries=tmp_path / "queries.jsonl")
    (tmp_path / "queries.jsonl").write_text('{"_id":"q1","text":"x"}\n{"id":"q2","query":"y"}\n')
    with pytest.raises(InvalidInput, match="1 rows, but the queries have 2"):
        dense(tmp_path, vectors, query_vectors=tmp_path / "q.npy", queries=tmp_path / "queries.jsonl")


def test_a_model_without_a_name_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="has no name"):
        dense(tmp_path, np.ones((3, 2), "float32"), model=" ")


@pytest.mark.parametrize("name", ["squad2-dev", "xquad-en", "anthropic-docs"])
def test_the_public_collections_can_be_built(tmp_path, name):
    data = collections()
    corpus = read_corpus(data / "collections" / name / "corpus.jsonl")
    vectors = data / "embeddings" / name
    manifest = build_dense(corpus, vectors / "docs.npy", tmp_path / "dense", model="all-MiniLM-L6-v2",
                           query_vectors=vectors / "queries.npy", queries=data / "collections" / name / "queries.jsonl")
    assert manifest.embedding["dimensions"] == 384 and verify(tmp_path / "dense") == manifest
    assert build_bm25(corpus, tmp_path / "bm25").corpus_digest == manifest.corpus_digest


def test_excerpts_are_the_beginnings_of_the_texts_that_are_asked_for(tmp_path):
    build_bm25(corpus_of(tmp_path, *THREE), tmp_path / "snap")
    assert opened(tmp_path / "snap").excerpts(["b", "stranger"], 5) == {"b": "two w"}
