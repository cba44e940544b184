"""Small corpora, opened snapshots, and the public collections where they are at hand."""

import os
from pathlib import Path

import pytest

from gate.settings import SnapshotSettings
from gate.snapshot.build import build_bm25
from gate.snapshot.corpus import read_corpus
from gate.snapshot.manifest import read_manifest
from gate.snapshot.reader import open_snapshot

ROOT = Path(__file__).resolve().parents[2]


def collections():
    """The folder with collections/ and embeddings/, or a skip."""
    for place in (os.environ.get("RETRIEVAL_GATE_DATA", ""), ROOT.parent / "shared" / "data"):
        if place and (Path(place) / "collections").is_dir():
            return Path(place)
    pytest.skip("the public collections are not here (set RETRIEVAL_GATE_DATA)")


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def corpus_of(folder, *records):
    """A corpus.jsonl of (id, title, text)."""
    import json

    path = folder / "corpus.jsonl"
    path.write_text("".join(json.dumps({"_id": i, "title": t, "text": x}) + "\n" for i, t, x in records))
    return read_corpus(path)


def opened(directory):
    return open_snapshot(SnapshotSettings(directory, read_manifest(directory).tree_digest))


@pytest.fixture
def snapshot(tmp_path):
    corpus = corpus_of(tmp_path, ("b", "Bees", "bees make honey"), ("a", "Ants", "ants make hills"), ("c", "", "err-4417 here"))
    build_bm25(corpus, tmp_path / "snap")
    return tmp_path / "snap"
