import shutil

import pytest

from tests.retrievers.support import Shelf, Team


@pytest.fixture
def team(monkeypatch):
    # On a developer's machine the gate may fall back to its own user; in CI it must not, which has a test of its own.
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    made = Team()
    yield made
    made.remove()


@pytest.fixture
def shelf(team):
    made = Shelf(team)
    yield made
    shutil.rmtree(made.place)
