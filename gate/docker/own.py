"""Which of the engine's containers the gate itself runs in, proven and not guessed; and what its paths are called outside."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from gate.docker.engine import SOCKET
from gate.errors import RetrieverFailed

_ID = re.compile(r"\b[0-9a-f]{64}\b")
_MARK_BYTES = 4096


class Own(NamedTuple):
    """``mounts``: place in this container → the engine's own path of it."""

    id: str
    mounts: dict[str, str]

    def outside(self, path: Path) -> str:
        """The engine's path of a path here. Raises :class:`RetrieverFailed` when it lies in no mount: the engine cannot hand it on."""
        place = PurePosixPath(os.path.realpath(path))
        for parent in (place, *place.parents):
            if (source := self.mounts.get(str(parent))) is not None:
                return str(PurePosixPath(source) / place.relative_to(parent))
        raise RetrieverFailed(f"{path}: lies in the gate's own container and in no folder that it shares with the runner, so no other "
                              "container can see it", "keep the snapshot in the workspace")


def socket_of(environ: dict[str, str] | os._Environ[str]) -> str:
    """The path of the engine's socket; empty when it is reached otherwise."""
    host = environ.get("DOCKER_HOST", "")
    return SOCKET if not host else host.removeprefix("unix://") if host.startswith("unix://") else ""


def handed_in(path: str) -> bool:
    """Whether a socket was mounted into this container: then the engine is outside, and the gate is in one of its containers."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return bool(path) and os.path.realpath(path) in {fields[4] for line in lines if len(fields := line.split(" ")) > 4}


def find_own(client: Any) -> Own | None:
    """The container that this process runs in; None when it runs beside the engine, as on a laptop. Raises :class:`RetrieverFailed` when
    it must be in one of the engine's containers and none of them turns out to be it."""
    if not handed_in(socket_of(os.environ)):
        return None
    with _marked() as (place, mark):
        for name in _candidates(client):
            if _holds(client, name, place, mark):
                return _own(client, name)
    raise RetrieverFailed("the gate runs in a container, but in none that its Docker engine knows, so it cannot start another one beside "
                          "itself", "run it where the engine that started it is the one whose socket it has (a hosted runner, a machine "
                                    "with Docker), or start your container in the workflow and use kind `http`")


def _own(client: Any, name: str) -> Own:
    facts = client.containers.get(name).attrs
    mounts = {str(mount["Destination"]): str(mount["Source"]) for mount in facts.get("Mounts") or ()
              if mount.get("Destination") and mount.get("Source")}
    return Own(str(facts["Id"]), mounts)


@contextlib.contextmanager
def _marked() -> Iterator[tuple[str, bytes]]:
    """A file with a random content that only this container has: in its own layer, not in a mount that others may share."""
    mark = secrets.token_bytes(32)
    own_layer = os.stat("/").st_dev
    for folder in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/opt", "/"):
        try:
            if os.stat(folder).st_dev != own_layer:
                continue
            handle, path = tempfile.mkstemp(prefix="retrieval-gate-", dir=folder)
        except OSError:
            continue
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(mark)
            yield path, mark
        finally:
            os.unlink(path)
        return
    raise RetrieverFailed("the gate finds no place in its container for a file by which it would know itself", "give it a writable /tmp")


def _candidates(client: Any) -> Iterable[str]:
    """Likely ones first: the host name is the container's id unless the network is another's, and then the mounts may still say it."""
    likely = [socket.gethostname()]
    for file in ("/proc/self/mountinfo", "/proc/self/cgroup"):
        with contextlib.suppress(OSError):
            likely += _ID.findall(Path(file).read_text(encoding="utf-8", errors="replace"))
    seen = dict.fromkeys(likely)
    yield from seen
    for container in client.containers.list(ignore_removed=True):
        if container.id not in seen:
            yield container.id


def _holds(client: Any, name: str, place: str, mark: bytes) -> bool:
    """Whether the container has the marked file."""
    import requests
    from docker.errors import DockerException

    try:
        return read_file(client.containers.get(name), place, _MARK_BYTES) == mark
    except (DockerException, requests.RequestException, tarfile.TarError):
        return False


def read_file(container: Any, path: str, most: int) -> bytes:
    """A file of a container, whether it runs or not; at most ``most`` bytes of it."""
    stream, _ = container.get_archive(path)
    data = bytearray()
    for piece in stream:
        data += piece
        if len(data) > most + 64 * 1024:
            break
    with tarfile.open(fileobj=BytesIO(bytes(data)), mode="r:") as archive:
        member = archive.next()
        file = archive.extractfile(member) if member is not None and member.isreg() else None
        return b"" if file is None else file.read(most)
