"""Vectors that a function of the builder's makes while a snapshot is built, and what is kept of them."""

import json
import sqlite3
import textwrap

import numpy as np
import pytest

from gate.cli import main
from gate.snapshot.manifest import read_manifest

EMBED = """
import json
import numpy as np

def embed(texts):
    with open("asked.txt", "a") as log:
        log.writelines(json.dumps(text) + "\\n" for text in texts)
    return [[len(text), text.count("e"), 1] for text in texts]

def doubles(texts):
    return np.asarray(embed(texts), "float64")

def fails(texts):
    raise RuntimeError("no model")

def short(texts):
    return [[1.0]]

def nan(texts):
    return [[float("nan")] for _ in texts]

def words(texts):
    return [["a"] for _ in texts]

constant = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "own_embedding", raising=False)
    (tmp_path / "own_embedding.py").write_text(textwrap.dedent(EMBED))
    corpus(tmp_path, {"a": ("A", "bees"), "b": ("", "ants"), "c": ("", "ants")})
    (tmp_path / "g.jsonl").write_text('{"id": "q1", "query": "bee", "relevant": ["a"]}\n')
    return tmp_path


def corpus(folder, texts):
    (folder / "c.jsonl").write_text("".join(json.dumps({"_id": i, "title": t, "text": x}) + "\n" for i, (t, x) in texts.items()))


def build(*more, function="own_embedding:embed", out="s"):
    return main(["snapshot", "build", "--kind", "dense", "--corpus", "c.jsonl", "--out", out, "--replace", "--model", "m",
                 "--embed-function", function, *more])


def asked(folder):
    path = folder / "asked.txt"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def test_titles_texts_and_queries_are_embedded_with_their_prefixes_each_text_once(here):
    assert build("--queries", "g.jsonl", "--passage-prefix", "p: ", "--query-prefix", "q: ") == 0
    assert asked(here) == ["p: A\nbees", "p: ants", "q: bee"]
    assert np.load(here / "s" / "vectors.npy").tolist() == [[9, 2, 1], [7, 0, 1], [7, 0, 1]]
    assert np.load(here / "s" / "query_vectors.npy").tolist() == [[6, 2, 1]]
    assert read_manifest(here / "s").embedding == {"model": "m", "revision": "", "dimensions": 3, "dtype": "float32",
                                                   "passage_prefix": "p: ", "query_prefix": "q: ", "text": "title and text"}
    digest = read_manifest(here / "s").tree_digest
    (here / "c.yml").write_text(f"golden: g.jsonl\nsnapshot: {{path: s, digest: '{digest}'}}\nretriever: {{kind: dense}}\n")
    assert main(["run", "--config", "c.yml"]) == 0


def test_an_unchanged_text_is_not_embedded_again(here):
    assert build("--embed-cache", "vectors.cache") == 0 and len(asked(here)) == 2
    first = read_manifest(here / "s").tree_digest
    assert build("--embed-cache", "vectors.cache") == 0 and asked(here) == []
    assert read_manifest(here / "s").tree_digest == first
    corpus(here, {"a": ("A", "bees"), "b": ("", "newts")})
    assert build("--embed-cache", "vectors.cache") == 0 and asked(here) == ["newts"]


def test_another_model_revision_function_or_prefix_is_another_vector(here):
    for more in ([], ["--revision", "2"], ["--passage-prefix", "x"]):
        assert build("--embed-cache", "vectors.cache", *more) == 0 and len(asked(here)) == 2
    assert build("--embed-cache", "vectors.cache", function="own_embedding:doubles") == 0 and len(asked(here)) == 2


def test_with_and_without_a_cache_the_snapshot_is_the_same(here):
    assert build() == 0 and build("--embed-cache", "vectors.cache", out="t") == 0 and build("--embed-cache", "vectors.cache", out="u") == 0
    assert len({read_manifest(here / name).tree_digest for name in "stu"}) == 1


def test_an_interrupted_build_goes_on_from_its_cache(here):
    corpus(here, {f"d{n}": ("", f"text {n}") for n in range(100)})
    source = (here / "own_embedding.py").read_text()
    stop = '    if "text 90" in texts:\n        raise OSError("gone")\n    with open'
    (here / "own_embedding.py").write_text(source.replace("    with open", stop))
    assert build("--embed-cache", "vectors.cache") == 2 and len(asked(here)) == 64
    __import__("sys").modules.pop("own_embedding")
    (here / "own_embedding.py").write_text(source + "# whole\n")
    assert build("--embed-cache", "vectors.cache") == 0 and len(asked(here)) == 36


@pytest.mark.parametrize(("function", "words"), [
    ("fails", "own_embedding:fails raised RuntimeError: no model ("), ("short", "returned shape (1, 1) of float64 for 2 texts"),
    ("nan", "returned NaN or Infinity"), ("words", "returned shape (2, 1) of"), ("constant", "must be MODULE:FUNCTION"),
    ("missing", "cannot be imported (AttributeError")])
def test_a_function_that_is_none_or_returns_no_vectors_is_told(here, capsys, function, words):
    assert build(function=f"own_embedding:{function}") == 2
    assert words in capsys.readouterr().err and not (here / "s").exists()


def test_rows_of_another_length_in_the_cache_are_told(here, capsys):
    assert build("--embed-cache", "vectors.cache") == 0
    with sqlite3.connect("vectors.cache") as rows:
        rows.execute("UPDATE vectors SET row = ? WHERE rowid = 1", (np.ones(2, "<f4").tobytes(),))
    assert build("--embed-cache", "vectors.cache") == 2
    assert "different lengths or types (2 float32, 3 float32)" in capsys.readouterr().err


@pytest.mark.parametrize("change", ["dtype = 'O'", "dtype = 'no type'", "row = x'00'"])
def test_a_damaged_cache_is_told(here, capsys, change):
    assert build("--embed-cache", "vectors.cache") == 0
    with sqlite3.connect("vectors.cache") as rows:
        rows.execute(f"UPDATE vectors SET {change}")
    assert build("--embed-cache", "vectors.cache") == 2
    assert "vectors.cache: cannot be used as a cache of vectors" in capsys.readouterr().err


@pytest.mark.parametrize(("more", "words"), [
    (["--vectors", "v.npy"], "give one of the two"), (["--query-vectors", "v.npy"], "embeds the queries as well"),
    (["--embed-cache", "c.jsonl"], "cannot be used as a cache"), (["--embed-cache", "no/such/folder"], "cannot be used as a cache"),
    (["--model", " "], "has no name")])
def test_options_that_contradict_each_other(here, capsys, more, words):
    assert build(*more) == 2
    assert words in capsys.readouterr().err


def test_a_name_that_is_no_function_is_told_with_where_it_is_looked_for(here, capsys):
    for name in ("embed", "no_such_module:embed", ":x", "x:"):
        assert build(function=name) == 2
        assert f"--embed-function {name}" in (err := capsys.readouterr().err).replace("'", "") and "What to do" in err
