"""Where the gate stands to the Docker engine, and what that means for the containers that it starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gate.docker import leftovers
from gate.docker.engine import connect, spoken
from gate.docker.health import port_taken
from gate.docker.own import Own, find_own
from gate.errors import RetrieverFailed
from gate.figures import plural


class Wanted(NamedTuple):
    """A container as it is wanted. ``name``: what it is called in messages; ``mount``: folder of this machine and its place inside,
    read-only; ``secrets``: values that
    are never shown; ``fixed``: the port has to have the same number outside; ``writable``: its root file system, thrown away with
    it; ``alone``: without a network."""

    name: str
    image: str
    command: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    secrets: tuple[str, ...] = ()
    user: str = ""
    memory_mb: int = 2048
    memory_setting: str = "memory_mb"
    port: int = 0
    fixed: bool = False
    mount: tuple[Path, str] | None = None
    writable: bool = False
    tmpfs: tuple[str, ...] = ("/tmp",)
    capabilities: tuple[str, ...] = ()
    stdin: bool = False
    alone: bool = False


class Dock:
    """The engine and where the gate stands to it. Raises :class:`RetrieverFailed` when there is none, or the gate cannot tell where it is.

    In a container, the gate shares its network with what it starts, so that both are at 127.0.0.1. Beside the engine, ports are published
    there and nowhere else."""

    def __init__(self) -> None:
        self.client = connect()
        with spoken("the Docker engine"):
            self.own: Own | None = find_own(self.client)
            count = leftovers.remove_leftovers(self.client)
        were = "was" if count == 1 else "were"
        self.notes = [f"{plural(count, 'container')} that a killed run had left behind {were} removed"] if count else []

    def close(self) -> None:
        self.client.close()

    def network(self, wanted: Wanted) -> dict[str, Any]:
        """Arguments that put a container where the gate can reach it."""
        if wanted.alone:
            return {"network_mode": "none"}
        if wanted.port and (self.own or wanted.fixed) and port_taken(wanted.port):
            raise RetrieverFailed(f"{wanted.name}: port {wanted.port} is in use already",
                                  "end what listens there, or choose another port")
        if self.own is not None:
            return {"network_mode": f"container:{self.own.id}"}
        return {"ports": {f"{wanted.port}/tcp": ("127.0.0.1", wanted.port if wanted.fixed else None)}} if wanted.port else {}

    def path(self, folder: Path) -> str:
        """A folder of this machine as the engine calls it."""
        return str(folder.resolve()) if self.own is None else self.own.outside(folder)
