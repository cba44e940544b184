"""Snapshots whose digests all fit and whose files are almost valid: a pull request can pin whatever it has built."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.embedding.snapshot import SnapshotVectors
from gate.errors import InvalidInput
from gate.golden.model import Query
from gate.retrievers.bm25 import Bm25Retriever
from gate.retrievers.dense import DenseRetriever
from gate.settings import SnapshotSettings
from gate.snapshot.build import build_bm25, build_dense
from gate.snapshot.files import measure, walk
from gate.snapshot.manifest import NAME, Manifest
from gate.snapshot.reader import open_snapshot
from tests.fuzz.mutate import damaged, fuzz, mutated, raw, typed
from tests.snapshot.support import corpus_of

QUERIES = [Query("q1", "ants make hills", {"a": 1.0}), Query("q2", "honey", {"b": 1.0})]
RETRIEVERS = {"bm25": Bm25Retriever, "dense": lambda snapshot: DenseRetriever(snapshot, SnapshotVectors(snapshot))}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Kind → a good snapshot of three documents."""
    folder = tmp_path_factory.mktemp("snapshots")
    corpus = corpus_of(folder, ("a", "Ants", "ants make hills"), ("b", "Bees", "bees make honey"), ("c", "", "err-4417 here"))
    build_bm25(corpus, folder / "bm25")
    rows = [{"id": query.id, "query": query.text} for query in QUERIES]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    np.save(folder / "docs.npy", np.eye(3, dtype="float32"))
    np.save(folder / "queries.npy", np.eye(2, 3, dtype="float32"))
    build_dense(corpus, folder / "docs.npy", folder / "dense", model="m", query_vectors=folder / "queries.npy",
                queries=folder / "queries.jsonl")
    return folder


def seal(folder: Path, **lies) -> SnapshotSettings:
    """Write the manifest that fits the files, as whoever built them on purpose would, and pin it."""
    old = json.loads((folder / NAME).read_text())
    keys = ("kind", "corpus_digest", "units", "documents", "index", "chunker", "embedding")
    files = {name: measure(path) for name, path in walk(folder, []) if name != NAME}
    try:
        made = Manifest(**({key: old[key] for key in keys} | lies), files=files).to_json()
    except (TypeError, ValueError):  # lies that no manifest can be made of
        made = old | lies
    (folder / NAME).write_bytes(raw(made))
    return SnapshotSettings(folder, made["tree_digest"])


def asked(kind: str, pin: SnapshotSettings):
    """Every step that a run takes."""
    snapshot = open_snapshot(pin)
    with RETRIEVERS[kind](snapshot) as retriever:
        return dict(retriever.retrieve(QUERIES, 3)), snapshot.titles(), snapshot.names()


def changed(built: Path, kind: str, name: str, data: bytes, **lies) -> SnapshotSettings:
    work = built / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(built / kind, work)
    (work / name).write_bytes(data)
    return seal(work, **lies)


JSON_FILES = [("bm25", "index/params.index.json"), ("bm25", "index/vocab.index.json"), ("dense", "query_ids.json")]
ARRAYS = [("bm25", f"index/{name}.csc.index.npy") for name in ("data", "indices", "indptr")] + [("dense", "vectors.npy"),
                                                                                               ("dense", "query_vectors.npy")]


@pytest.mark.parametrize("kind", ["bm25", "dense"])
def test_what_the_fuzz_starts_from_is_valid(built, kind):
    found, titles, names = asked(kind, changed(built, kind, NAME, (built / kind / NAME).read_bytes()))
    assert found["q1"].docs[0] == "a" and titles["a"] == "Ants" and "c" in names


@pytest.mark.parametrize(("kind", "name"), JSON_FILES)
@fuzz
@given(data=st.data())
def test_json_of_an_index(built, kind, name, data):
    good = (built / kind / name).read_bytes()
    content = data.draw(mutated(json.loads(good)).map(raw) | damaged(good))
    typed(asked, kind, changed(built, kind, name, content))


@pytest.mark.parametrize(("kind", "name"), ARRAYS)
@fuzz
@given(data=st.data())
def test_arrays(built, kind, name, data):
    typed(asked, kind, changed(built, kind, name, data.draw(damaged((built / kind / name).read_bytes()))))


@pytest.mark.parametrize("kind", ["bm25", "dense"])
@fuzz
@given(data=st.data())
def test_units(built, kind, data):
    good = (built / kind / "units.jsonl").read_bytes()
    units = [json.loads(line) for line in good.splitlines()]
    content = data.draw(mutated(units).map(lambda value: b"".join(raw(unit) + b"\n" for unit in value or [None])
                                           if isinstance(value, list) else b"{}") | damaged(good))
    typed(asked, kind, changed(built, kind, "units.jsonl", content))


@pytest.mark.parametrize("kind", ["bm25", "dense"])
@fuzz
@given(data=st.data())
def test_facts_of_a_manifest(built, kind, data):
    facts = {key: json.loads((built / kind / NAME).read_text())[key] for key in ("units", "documents", "index", "chunker", "embedding")}
    lies = data.draw(mutated(facts))
    lies = {key: lies[key] for key in facts if key in lies} if isinstance(lies, dict) else {}
    typed(asked, kind, changed(built, kind, NAME, (built / kind / NAME).read_bytes(), **lies))


class Pwned:
    def __reduce__(self):
        return Path.touch, (Path(self.where),)


@pytest.mark.parametrize(("kind", "name"), ARRAYS + JSON_FILES)
def test_a_pickle_in_place_of_a_file_is_never_loaded(built, kind, name, tmp_path):
    bomb = Pwned()
    bomb.where = str(tmp_path / "pwned")
    as_array = tmp_path / "a.npy"
    np.save(as_array, np.array([bomb, bomb], dtype=object), allow_pickle=True)
    for data in (pickle.dumps(bomb), as_array.read_bytes()):
        with pytest.raises(InvalidInput):
            asked(kind, changed(built, kind, name, data))
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(("kind", "name"), ARRAYS)
def test_a_header_that_announces_ten_gigabytes_takes_no_memory(built, kind, name):
    shape = "(2500000000,)" if kind == "bm25" else "(2500000, 1000)"
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + b"\0" * 64
    with pytest.raises(InvalidInput):
        asked(kind, changed(built, kind, name, data))
