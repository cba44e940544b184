"""Fetching an image. A registry cannot be had here, so what one says is made up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from docker.errors import APIError, ImageNotFound

from gate.docker.images import fetch_image
from gate.errors import RetrieverFailed

DIGEST = "sha256:" + "d" * 64
ID = "sha256:" + "1" * 64


class Engine:
    """``says``: lines of the pull, or what it raises; afterwards the image is there, with ``digests``."""

    def __init__(self, says=(), digests=(f"acme/search@{DIGEST}",), there=False) -> None:
        self.images = self.api = self
        self.says, self.digests, self.there, self.pulled = says, list(digests), there, []

    def get(self, name: str):
        if not self.there:
            raise ImageNotFound(name)
        return SimpleNamespace(id=ID, attrs={"RepoDigests": self.digests})

    def pull(self, name: str, tag: str, stream: bool, decode: bool):
        self.pulled.append((name, tag))
        if isinstance(self.says, Exception):
            raise self.says
        self.there = True
        return iter(self.says)


def failure(engine: Engine, image: str = f"acme/search@{DIGEST}") -> RetrieverFailed:
    with pytest.raises(RetrieverFailed) as caught:
        fetch_image(engine, image)
    return caught.value


@pytest.mark.parametrize(("image", "name"), [(f"acme/search@{DIGEST}", "acme/search"), (f"acme/search:v2@{DIGEST}", "acme/search"),
                                             (f"localhost:5000/search@{DIGEST}", "localhost:5000/search")])
def test_an_image_is_pulled_by_its_digest_when_it_is_not_there(image, name):
    engine = Engine([{"status": "Pulling"}])
    assert fetch_image(engine, image) == ID and engine.pulled == [(name, DIGEST)]
    assert fetch_image(engine, image) == ID and len(engine.pulled) == 1


def test_an_id_of_a_local_image_is_as_good_and_never_looked_for_in_a_registry():
    assert fetch_image(Engine(there=True), ID) == ID
    engine = Engine()
    assert "build it before the gate starts" in failure(engine, "sha256:" + "2" * 64).cure and not engine.pulled


@pytest.mark.parametrize(("said", "cure"), [
    ("manifest for acme/search@… not found: manifest unknown", "still has this digest"),
    ("unauthorized: authentication required", "log in and `docker pull` it"),
    ("pull access denied for acme/search, repository does not exist or may require 'docker login'", "log in and `docker pull` it"),
    ("Get https://ghcr.io/v2/: dial tcp: lookup ghcr.io: no such host", "cannot be reached from this machine"),
    ("something new", "see whether `docker pull` gets it"),
])
def test_a_pull_that_fails_says_what_the_registry_said_and_what_to_do(said, cure):
    for engine in (Engine([{"status": "x"}, {"error": said}]), Engine(APIError("x", explanation=said))):
        error = failure(engine)
        assert said in error.problems[0] and cure in error.cure and error.exit_code == 3


def test_an_image_with_another_digest_is_refused():
    error = failure(Engine(digests=["acme/search@sha256:" + "e" * 64], there=True))
    assert "has another digest" in error.problems[0]
