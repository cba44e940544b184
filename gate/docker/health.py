"""Whether what listens on a port of this machine is ready. Nothing here speaks to the engine."""

from __future__ import annotations

import socket
from typing import NamedTuple

HOST = "127.0.0.1"
# How long to look for the end of a container after nothing answered any more. Seconds.
GRACE = 2.0
# Longer than a proxy needs to notice that nobody is behind it, short enough to ask often. Seconds.
_GLANCE = 0.2
_PATIENCE = 2.0


class Health(NamedTuple):
    """How to tell that a container is ready: a path that answers, a command in it that succeeds, else a port that takes connections."""

    http: str = ""
    command: tuple[str, ...] = ()


def port_open(port: int) -> bool:
    """Whether somebody listens. The engine's proxy takes every connection and drops it when nothing in the container does, so it has to
    last a moment or say something."""
    try:
        with socket.create_connection((HOST, port), _PATIENCE) as connection:
            connection.settimeout(_GLANCE)
            try:
                return bool(connection.recv(1))
            except TimeoutError:
                return True
    except OSError:
        return False


def port_taken(port: int) -> bool:
    """Whether a port is in use already, before anything was started."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError:  # a low port: the engine will say so
            return False
        except OSError:
            return True
    return False


def answers(port: int, path: str) -> str:
    """Empty when ``GET path`` is answered with a status below 400, else what happened instead. No proxy, no redirect."""
    import http.client

    connection = http.client.HTTPConnection(HOST, port, timeout=_PATIENCE)
    try:
        connection.request("GET", path, headers={"User-Agent": "retrieval-gate"})
        status = connection.getresponse().status
        return "" if status < 400 else f"GET {path} was answered with {status}"
    except (OSError, http.client.HTTPException) as error:
        return f"GET {path} was not answered ({type(error).__name__})"
    finally:
        connection.close()
