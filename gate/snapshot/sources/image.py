"""Source ``image``: a folder of a container image. The image is unpacked by the engine; nothing in it is ever started."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from gate.errors import InvalidInput, SnapshotUnavailable
from gate.fields import Section
from gate.snapshot.sources.base import Room, read_size

_IMAGE = re.compile(r"(?=[^@]{1,200}@)[a-z0-9][A-Za-z0-9._:/-]*@sha256:[0-9a-f]{64}\Z")
# Without a word from the engine.
_PULL_SECONDS, _SECONDS = 1800, 300


class Options(NamedTuple):
    """``image``: name@sha256:…; ``path``: the snapshot's folder in it; ``limit``: its bytes at most."""

    image: str
    path: str
    limit: int

    @property
    def shown(self) -> str:
        name, _, digest = self.image.partition("@")
        return f"{self.path} of image {name}@{digest[:19]}…"


def read(section: Section) -> Options:
    """Faults are remembered in the section."""
    image, path = section.text("image", "", required=True), section.text("path", "/snapshot")
    if image and not _IMAGE.match(image):
        section.problem("image", f"`image` must be name@sha256: and 64 hex digits, not {image[:120]!r}: a tag can be moved; `docker buildx "
                                 "imagetools inspect NAME:TAG` prints the digest")
    plain = PurePosixPath(path)
    if not plain.is_absolute() or ".." in plain.parts or len(plain.parts) < 2 or not path.isprintable():
        section.problem("path", f"`path` must be a folder of the image as an absolute path, and not its root, not {path[:80]!r}")
    return Options(image, plain.as_posix(), read_size(section))


def fetch(options: Options, room: Room) -> None:
    """See :mod:`gate.snapshot.sources`."""
    import docker
    import requests
    from docker.errors import DockerException, ImageNotFound, NotFound

    from gate.snapshot.unpack import unpack

    archive = room.scratch / "image.tar"
    cure = "see that a Docker engine runs here and that the image is there; where its registry needs a login, let an earlier step pull it"
    try:
        client = docker.from_env(timeout=_PULL_SECONDS)
        answers: list[Any] = []
        client.api.hooks["response"].append(lambda answer, *_, **__: answers.append(answer))
        try:
            image = client.images.get(options.image)
        except ImageNotFound:
            image = client.images.pull(options.image)
        client.api.timeout = _SECONDS
        # A name for the command is needed where the image has none; the container is made and never started.
        container = client.containers.create(image.id, ["nothing"], network_disabled=True, labels={"retrieval-gate": "snapshot"})
        try:
            blocks, _ = container.get_archive(options.path)
            _write(options, archive, blocks)
        except NotFound:
            raise InvalidInput(f"{options.shown}: the image has no such path", "name the folder of the snapshot in the image") from None
        finally:
            for answer in answers:
                answer.close()  # the engine does not remove what it is still copying out of
            with suppress(DockerException, requests.RequestException):
                container.remove(force=True, v=True)
    except (DockerException, requests.RequestException, OSError) as error:
        said = " ".join(str(getattr(error, "explanation", "") or error).split())[:300]
        raise SnapshotUnavailable(f"{options.shown}: the engine did not hand it over ({said})", cure) from None
    unpack(archive, room.into, options.shown)


def _write(options: Options, archive: Any, blocks: Any) -> None:
    from gate.snapshot.entries import write_all

    size = 0
    with open(archive, "wb", buffering=0) as stream:
        for block in blocks:
            size += len(block)
            if size > options.limit:
                raise InvalidInput(f"{options.shown}: is larger than `max_mb` allows ({options.limit // 1024**2} MB)",
                                   "raise `max_mb` when this is the image that is meant")
            write_all(stream, block)
