"""The Docker engine: how it is reached, and what it refuses, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gate.errors import RetrieverFailed
from gate.retrievers.team.output import readable

SOCKET = "/var/run/docker.sock"
# Between two pieces of an answer. Seconds.
_PATIENCE = 120
_LONGEST = 500


def connect() -> Any:
    """A client of the engine that DOCKER_HOST names, or of the one on this machine. Raises :class:`RetrieverFailed`."""
    import docker
    from docker.errors import DockerException

    try:
        return docker.from_env(timeout=_PATIENCE)
    except DockerException as error:
        said = plain(error)
        if "Permission denied" in said or "PermissionError" in said:
            raise RetrieverFailed(f"the Docker engine may not be used by this user ({said})",
                                  "join the group `docker`, or run the gate as its image does") from None
        raise RetrieverFailed(f"no Docker engine answers ({said})",
                              f"start one; in a job the runner has to have one and hand {SOCKET} to the action (ubuntu-slim and "
                              "Kubernetes runners do not)") from None


def plain(error: object) -> str:
    """What the engine said, on one line: an error may quote what somebody's image or configuration holds."""
    text = str(getattr(error, "explanation", None) or error)
    line = " ".join(" ".join(readable(text)).split())
    return line if len(line) <= _LONGEST else line[:_LONGEST - 1] + "…"


@contextmanager
def spoken(doing: str) -> Iterator[None]:
    """Turns what goes wrong between the gate and the engine into a :class:`RetrieverFailed`. ``doing``: what was tried."""
    import requests
    import urllib3
    from docker.errors import DockerException

    try:
        yield
    except (DockerException, requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise RetrieverFailed(f"{doing}: {plain(error)}", "see what the Docker engine says of it") from None
