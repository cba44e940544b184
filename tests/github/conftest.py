"""A fake GitHub over real HTTP, and a client whose waiting is noted instead of done."""

from __future__ import annotations

import pytest

from gate.github.repository import Repository
from gate.github.transport import Transport
from tests.fake_github import FakeGitHub


class Naps(list):
    """What would have been slept, in seconds."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def naps():
    return Naps()


@pytest.fixture
def fake():
    """Stopped and checked at the end: no request against GitHub's description, none unknown, no fault left over."""
    with FakeGitHub() as running:
        yield running
    running.assert_clean()


@pytest.fixture
def repo(fake):
    made = fake.add_repo("acme/search")
    fake.grant(made, "maria", "write")
    return made


@pytest.fixture
def connect(fake, naps):
    """A transport for a token (by default the job's own, which may do everything)."""

    def to(token: str | None = None, **options) -> Transport:
        options = {"sleep": naps, "random": lambda: 0.0} | options
        return Transport(options.pop("url", fake.url), fake.job_token if token is None else token, **options)

    return to


@pytest.fixture
def repository(connect, repo):
    return Repository(connect(), repo.full_name)
