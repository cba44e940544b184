"""Containers never outlive the gate: removed at its end, on a signal, or, after a kill that no process can answer, at the next start."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from gate.docker.own import Own

LABEL = "retrieval-gate"
_living: dict[str, None] = {}  # ids, in the order of their start
_watching = False


def owner_of(own: Own | None) -> str:
    """Who starts a container, for its label: the gate's container, or its process on this machine."""
    if own is not None:
        return f"container:{own.id}"
    return f"process:{socket.gethostname()}:{os.getpid()}:{_born(os.getpid())}"


def _born(pid: int) -> str:
    """When a process started, in the kernel's ticks: numbers of processes are given again. Empty where nobody says so."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    return ""


def _gone(client: Any, owner: str) -> bool:
    """Whether an owner is certainly no more. Of another machine nobody knows."""
    from docker.errors import NotFound

    kind, _, rest = owner.partition(":")
    if kind == "container":
        try:
            return client.containers.get(rest).status not in ("running", "paused")
        except NotFound:
            return True
    host, _, process = rest.rpartition(":")[0].rpartition(":")
    if kind != "process" or host != socket.gethostname() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return _born(int(process)) != rest.rpartition(":")[2]


def remove_leftovers(client: Any) -> int:
    """Remove what gates that were killed have left behind; how many containers that were."""
    from docker.errors import APIError, NotFound

    count = 0
    for container in client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
        if _gone(client, container.labels.get(LABEL, "")):
            with contextlib.suppress(NotFound, APIError):  # another gate may be about to remove it as well
                container.remove(force=True, v=True)
                count += 1
    return count


def watch(container_id: str) -> None:
    """From now on this container goes when the process does."""
    global _watching
    _living[container_id] = None
    if not _watching:
        _watching = True
        atexit.register(_remove_all)
        # The gate is the first process of its container, where a signal without a handler does nothing at all.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _ended)


def unwatch(container_id: str) -> None:
    """It has been removed."""
    _living.pop(container_id, None)


def _ended(number: int, frame: FrameType | None) -> None:
    # At once and not on the way out: a runner that cancels waits for seconds, and a query may take longer.
    _remove_all()
    raise SystemExit(128 + number)


def _remove_all() -> None:
    if not _living:
        return
    import docker

    # A client of its own: the signal may have come in the middle of what another one does.
    with contextlib.suppress(Exception):
        client = docker.from_env(timeout=5)
        for container_id in list(_living):
            with contextlib.suppress(Exception):
                client.api.remove_container(container_id, force=True, v=True)
            unwatch(container_id)
