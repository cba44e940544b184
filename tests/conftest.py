"""What all tests share."""

from __future__ import annotations

import json
import os
from pathlib import Path

import hypothesis
import pytest

from gate.golden.model import GoldenSet, Query
from gate.runs import Ranking, Run

ROOT = Path(__file__).resolve().parent.parent

# A busy machine is no fault of what is tested.
hypothesis.settings.register_profile("gate", deadline=None)
hypothesis.settings.load_profile("gate")

# In CI a retriever that cannot be given another user is refused, on a laptop it is not. Tests say themselves which they mean; the
# Python of the machine that runs them may lie under a closed home.
for name in ("CI", "GITHUB_ACTIONS"):
    os.environ.pop(name, None)


def public_data() -> Path:
    """The folder of public collections, or a skip that says what is missing."""
    folder = Path(os.environ.get("RETRIEVAL_GATE_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "expected.json").is_file():
        pytest.skip("the public collections are not on this machine (set RETRIEVAL_GATE_DATA to their folder)")
    return folder


@pytest.fixture(scope="session")
def data() -> Path:
    return public_data()


@pytest.fixture
def write(tmp_path):
    """Write a file of lines (values become JSON) below tmp_path and return its path."""

    def to(name: str, *lines) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
        return path

    return to


def golden_set(relevant: dict, **fields) -> GoldenSet:
    """``{"q": ["a"]}`` or ``{"q": {"a": 2}}`` → a golden set. ``fields``: per-query values by name, e.g. tags={"q": ("x",)}."""
    queries = []
    for number, (i, docs) in enumerate(relevant.items(), 1):
        gains = dict.fromkeys(docs, 1.0) if not isinstance(docs, dict) else {d: float(g) for d, g in docs.items()}
        more = {name: values[i] for name, values in fields.items() if i in values}
        queries.append(Query(id=i, text=f"question {i}", gains=gains, line=number, **more))
    return GoldenSet(tuple(queries), path="golden.jsonl")


def run_of(rankings: dict) -> Run:
    """``{"q": ["a", "b"]}`` → a run."""
    return Run({i: Ranking(list(docs)) for i, docs in rankings.items()})


@pytest.fixture
def fake():
    """A GitHub of one's own, which at the end has met no request that the real one does not know."""
    from tests.fake_github import FakeGitHub

    with FakeGitHub() as server:
        yield server
        server.assert_clean()


@pytest.fixture
def story(fake, tmp_path, capsys):
    """A repository with a gate, before its first run. Modules about another kind of repository have a ``story`` of their own."""
    from tests.story import Story

    return Story(fake, tmp_path, capsys)


@pytest.fixture
def started(story):
    """A story whose main has its baseline."""
    assert story.on_push().code == 0
    return story
