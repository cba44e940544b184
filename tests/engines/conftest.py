import subprocess
import sys

import pytest

from gate.golden.read import read_golden
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.settings import parse_settings
from gate.snapshot.manifest import read_manifest
from gate.snapshot.reader import Snapshot
from gate.world import World
from tests.conftest import ROOT
from tests.engines import squad as squads
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
def snapshot(data, tmp_path_factory):
    """The folder of squad2-dev as a dense snapshot."""
    return squads.frozen(data, tmp_path_factory.mktemp("squad") / "snapshot")


@pytest.fixture(scope="session")
def squad(data, snapshot):
    """That snapshot, opened, and its golden set."""
    return Snapshot(snapshot, read_manifest(snapshot)), read_golden(data / "collections" / "squad2-dev" / "golden.jsonl")


@pytest.fixture(scope="session")
def asked(data):
    return squads.questions(data, 100)


@pytest.fixture(scope="session")
def exact(snapshot, asked):
    """What the gate's own exact search finds."""
    return squads.ask({"kind": "dense"}, asked, snapshot)[1]


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
