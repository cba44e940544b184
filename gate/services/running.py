"""Services while they run: started together, each waited for and filled, all of them removed whatever happens."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gate.docker.health import GRACE
from gate.errors import RetrieverFailed
from gate.world import World

if TYPE_CHECKING:
    from gate.docker.box import Box
    from gate.services.settings import Service

# Official images begin as root, give their data folder to a user, and become that user.
_BECOME_ANOTHER = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID")
_LAST_LINES = 15


class Services:
    """Used as a context manager: within it every service is ready and filled from ``snapshot``. ``notes``: sentences for the reader of the
    report. Raises :class:`RetrieverFailed`; also when it passes one on and a service has ended, whose fault it then is."""

    def __init__(self, services: Sequence[Service], snapshot: Path | None, world: World) -> None:
        self._services, self._snapshot, self._world = services, snapshot, world
        self._around = ExitStack()
        self._boxes: list[Box] = []
        self.notes: list[str] = []

    def describe(self) -> dict[str, str]:
        """Name → image."""
        return {each.name: each.container.image for each in self._services}

    def __enter__(self) -> Services:
        if self._services:
            with ExitStack() as around:
                self._start(around)
                self._around = around.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        with self._around:
            if kind is not None and issubclass(kind, RetrieverFailed):
                self.check(GRACE)

    def check(self, grace: float = 0.0) -> None:
        """Raises when a service has ended: whatever failed without it is its fault. ``grace``: how long they are looked at, in seconds."""
        for box in self._boxes:
            box.check(grace=grace)

    def _start(self, around: ExitStack) -> None:
        from gate.docker.box import Box
        from gate.docker.dock import Dock, Wanted
        from gate.docker.settings import filled

        dock = Dock()
        around.callback(dock.close)
        self.notes += dock.notes
        self._boxes = []
        snapshot = self._snapshot
        for each in self._services:
            container, key = each.container, f"services.{each.name}"
            environment = filled(container.env, self._world.variables, f"{key}.env")
            box = Box(dock, Wanted(
                f"service {each.name}", container.image, container.command, container.entrypoint,
                environment.values, environment.secrets, container.user, each.memory_mb, f"{key}.memory_mb",
                container.port, True, (snapshot, container.mount) if snapshot else None, True, tuple(filter(None, ("/tmp", each.data))),
                _BECOME_ANOTHER))
            around.callback(box.remove)
            self._boxes.append(box)
            for source, place in each.copy:
                if snapshot is None or not (snapshot / source).is_dir():
                    raise RetrieverFailed(f"service {each.name}: the snapshot has no folder {source!r} to copy (`{key}.copy`)",
                                          "name one that is in the manifest's list of files")
                box.fill(snapshot / source, place)
            box.start()
        for each, box in zip(self._services, self._boxes, strict=True):
            box.wait(each.health, each.start_seconds, f"services.{each.name}.start_seconds")
            _restore(each, box)


def _restore(service: Service, box: Box) -> None:
    setting = f"services.{service.name}.restore_seconds"
    deadline = time.monotonic() + service.restore_seconds
    for number, command in enumerate(service.restore, 1):
        which = f"restore command {number} of {len(service.restore)}"
        code, printed = box.run(command, max(0.0, deadline - time.monotonic()))
        if code == 0:
            continue
        box.check(f"ended while {which} was running", GRACE)
        text = printed.text(_LAST_LINES)
        if code == -1 and time.monotonic() >= deadline:
            raise box.failed(f"{which} was not over within {service.restore_seconds:g} s (`{setting}`)",
                             f"see what it waits for, or raise `{setting}`", text)
        raise box.failed(f"{which} ended with status {code}", f"fix `services.{service.name}.restore`, or the snapshot it reads", text)
