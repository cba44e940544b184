import subprocess
import sys

import pytest

from gate.golden.read import read_golden
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.settings import parse_settings
from gate.snapshot.build import build_dense
from gate.snapshot.corpus import read_corpus
from gate.snapshot.reader import Snapshot
from gate.world import World
from tests.conftest import ROOT
from tests.engines.processes import Chroma, Postgres
from tests.retrievers.frozen import clustered

SNAPSHOT = 'snapshot: {path: s, digest: "sha256:' + "0" * 64 + '"}\n'


@pytest.fixture(scope="session")
def postgres():
    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def chroma():
    server = Chroma()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A snapshot of 400 units × 16 dimensions, and the queries that it has vectors for."""
    return clustered(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def squad(data, tmp_path_factory):
    """squad2-dev as a dense snapshot, and its golden set."""
    folder, collection = tmp_path_factory.mktemp("squad"), data / "collections" / "squad2-dev"
    embeddings = data / "embeddings" / "squad2-dev"
    manifest = build_dense(read_corpus(collection / "corpus.jsonl"), embeddings / "docs.npy", folder / "snapshot", model="all-MiniLM-L6-v2",
                           query_vectors=embeddings / "queries.npy", queries=collection / "queries.jsonl")
    return Snapshot(folder / "snapshot", manifest), read_golden(collection / "golden.jsonl")


class Asked:
    """What a retriever answered, said about itself and noted."""

    def __init__(self, rankings, retriever) -> None:
        self.rankings, self.facts, self.notes = rankings, dict(retriever.describe()), list(retriever.notes)

    def __getitem__(self, query):
        return self.rankings[query]


@pytest.fixture
def made():
    """Build the retriever of some lines of YAML."""

    def one(text: str, snapshot=None, **variables):
        settings = parse_settings(f"golden: g.jsonl\n{SNAPSHOT}retriever:\n{text}".encode(), "c.yml", "c.yml").retriever
        return build_retriever(settings, Given(snapshot, (), World(variables)))

    return one


@pytest.fixture
def ask(made):
    """The same, and ask it."""

    def one(text: str, queries, snapshot=None, depth=10, **variables) -> Asked:
        retriever = made(text, snapshot, **variables)
        with retriever:
            rankings = dict(retriever.retrieve(queries, depth))
        return Asked(rankings, retriever)

    return one


@pytest.fixture
def gate(tmp_path):
    """Start the command line as a process of its own."""

    def start(*arguments, **variables) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-m", "gate", *map(str, arguments)], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **variables})

    return start
