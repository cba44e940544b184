"""Images pinned by their digest: read from a configuration, fetched when they are not there, verified."""

from __future__ import annotations

import re
from typing import Any

from gate.docker.engine import plain, spoken
from gate.errors import RetrieverFailed
from gate.fields import Section

_PINNED = re.compile(r"(?:[a-z0-9][a-zA-Z0-9._/:-]{0,255}@)?sha256:[0-9a-f]{64}\Z")
_TAG = re.compile(r":[^:/]+\Z")
# What registries and engines say, and what to do then.
_CURES = ((re.compile(r"unauthorized|authentication required|denied|forbidden", re.IGNORECASE),
           "an image that is not public has to be there already: let a step before the gate log in and `docker pull` it"),
          (re.compile(r"not found|manifest unknown|no such image|does not exist", re.IGNORECASE),
           "see whether the registry still has this digest, and whether the name is the one it was pushed under"),
          (re.compile(r"no such host|dial tcp|lookup|timeout|timed out|connection refused|unreachable", re.IGNORECASE),
           "the registry cannot be reached from this machine: start the run again, or `docker pull` the image beforehand"))


def read_image(section: Section) -> str:
    """``image:``. A tag alone is a fault: what it names can change without a commit."""
    image = section.text("image", "", required=True)
    if image and not _PINNED.match(image):
        section.problem("image", f"`image` is {image[:100]!r}, which may be another image tomorrow; write name@sha256:… (`docker pull "
                                 "NAME` prints the digest), or sha256:… alone for the id of an image on this machine")
    return image


def digest_of(image: str) -> str:
    """``sha256:…`` of a pinned image."""
    return image.rpartition("@")[2]


def fetch_image(client: Any, image: str) -> str:
    """The id of the pinned image, pulled when the engine does not have it. Raises :class:`RetrieverFailed`."""
    from docker.errors import ImageNotFound

    with spoken(f"{image}: cannot be looked up"):
        try:
            found = client.images.get(image)
        except ImageNotFound:
            _pull(client, image)
            found = client.images.get(image)
    digest, known = digest_of(image), found.attrs.get("RepoDigests") or []
    if found.id != digest and not any(digest_of(name) == digest for name in known):
        raise RetrieverFailed(f"{image}: the engine gave the image {found.id} for it, which has another digest",
                              "remove that image and let it be pulled again")
    return str(found.id)


def _pull(client: Any, image: str) -> None:
    from docker.errors import APIError

    name, _, digest = image.rpartition("@")
    if not name:
        raise RetrieverFailed(f"{image}: no image on this machine has this id, and an id says nothing about a registry",
                              "build it before the gate starts, or pin an image of a registry as name@sha256:…")
    try:
        for line in client.api.pull(_TAG.sub("", name), tag=digest, stream=True, decode=True):
            if isinstance(line, dict) and line.get("error"):
                raise _not_pulled(image, str(line["error"]))
    except APIError as error:
        raise _not_pulled(image, plain(error)) from None


def _not_pulled(image: str, said: str) -> RetrieverFailed:
    cure = next((cure for words, cure in _CURES if words.search(said)), "see whether `docker pull` gets it")
    return RetrieverFailed(f"{image}: cannot be pulled: {plain(said)}", cure)
