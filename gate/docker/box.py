"""One container with next to no rights: made, started, waited for, asked how it is, removed."""

from __future__ import annotations

import contextlib
import tarfile
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from gate.docker import leftovers
from gate.docker.dock import Dock, Wanted
from gate.docker.engine import plain, spoken
from gate.docker.health import GRACE, Health, answers, port_open
from gate.docker.images import fetch_image
from gate.docker.own import read_file
from gate.docker.pipe import Pipe
from gate.errors import RetrieverFailed
from gate.retrievers.team.output import Captured, quoted
from gate.web.masking import Mask

# Enough for a thread pool in every library; a fork bomb ends here.
PIDS = 1024
_LOG = {"max-size": "8m", "max-file": "1"}
_LAST_LINES = 15
_TAIL = 400
_LOOK = 0.1
_MOST_PROOF = 16 * 1024**2
PROOF = "manifest.json"
_KILLED = 137
_BEFORE = "ended before it was ready"


class Box:
    """Made, not started. ``remove`` it whatever happens. Every method may raise :class:`RetrieverFailed`. ``hidden`` takes the secrets of
    its environment out of a text."""

    def __init__(self, dock: Dock, wanted: Wanted) -> None:
        from docker.types import LogConfig, Mount

        self.wanted, self._client = wanted, dock.client
        self.hidden = Mask(wanted.secrets)
        image = fetch_image(dock.client, wanted.image)
        mounts = [Mount(wanted.mount[1], dock.path(wanted.mount[0]), type="bind", read_only=True)] if wanted.mount else []
        memory = f"{wanted.memory_mb}m"
        with spoken(f"{wanted.name}: cannot be made"):
            self._container = dock.client.containers.create(
                image, list(wanted.command) or None, entrypoint=list(wanted.entrypoint) or None, environment=dict(wanted.environment),
                user=wanted.user, cap_drop=["ALL"], cap_add=list(wanted.capabilities) or None,
                security_opt=["no-new-privileges:true"], read_only=not wanted.writable,
                tmpfs=dict.fromkeys(wanted.tmpfs, f"size={memory}"), mounts=mounts, mem_limit=memory, memswap_limit=memory,
                pids_limit=PIDS, labels={leftovers.LABEL: leftovers.owner_of(dock.own)}, use_config_proxy=False,
                log_config=LogConfig(type="json-file", config=_LOG), stdin_open=wanted.stdin, **dock.network(wanted))
        leftovers.watch(self._container.id)
        try:
            self._prove()
        except BaseException:
            self.remove()
            raise

    def _prove(self) -> None:
        """That the container sees the very snapshot that was verified: an engine on another machine, or a runner in a container, mounts
        what it finds under that name at home, or nothing."""
        if self.wanted.mount is None:
            return
        folder, place = self.wanted.mount
        with spoken(f"{self.wanted.name}: its snapshot cannot be looked at"):
            try:
                seen = read_file(self._container, f"{place}/{PROOF}", _MOST_PROOF)
            except (tarfile.TarError, FileNotFoundError):
                seen = b""
            try:
                meant = (folder / PROOF).read_bytes()
            except OSError:
                meant = None
        if seen != meant:
            raise RetrieverFailed(f"{self.wanted.name}: would see something else than the snapshot at {place}: the Docker engine has other "
                                  "files under that path than the gate", "run the gate on the machine of the Docker engine")

    def fill(self, folder: Path, place: str) -> None:
        """Copy a folder of this machine to ``place``, where every user of the container may change it. Before the start."""
        def opened(item: tarfile.TarInfo) -> tarfile.TarInfo | None:
            item.uid = item.gid = 0
            item.uname = item.gname = ""
            item.mode = 0o777 if item.isdir() else 0o666
            return item if item.isdir() or item.isreg() else None

        with tempfile.TemporaryFile() as archive:
            with tarfile.open(fileobj=archive, mode="w") as writer:
                writer.add(folder.resolve(), place.strip("/"), filter=opened)
            archive.seek(0)
            with spoken(f"{self.wanted.name}: {folder.name} cannot be copied to {place}"):
                self._container.put_archive("/", archive)

    def start(self) -> int:
        """The port by which it is reached at 127.0.0.1; 0 without one."""
        with spoken(f"{self.wanted.name}: cannot be started"):
            self._container.start()
            self._container.reload()
        port = self.wanted.port
        published = (self._container.attrs["NetworkSettings"].get("Ports") or {}).get(f"{port}/tcp") or []
        self.port = int(published[0]["HostPort"]) if published else port
        return self.port

    def attach(self) -> Pipe:
        """Its standard input and output, before the start: so nothing of them is missed."""
        with spoken(f"{self.wanted.name}: its standard input cannot be had"):
            return Pipe(self._container.attach_socket(params={"stdin": 1, "stdout": 1, "stream": 1}))

    def wait(self, health: Health, seconds: float, setting: str) -> None:
        """Until it is ready, at most ``seconds``. ``setting``: the name of that limit."""
        deadline, so_far = time.monotonic() + seconds, ""
        while so_far := self._unready(health):
            self.check(_BEFORE)
            if time.monotonic() > deadline:
                raise self._failed(f"was not ready within {seconds:g} s (`{setting}`): {so_far}",
                                   f"see what it printed; it has to listen on 0.0.0.0; or raise `{setting}`")
            time.sleep(_LOOK)
        self.check(_BEFORE)

    def _unready(self, health: Health) -> str:
        if health.command:
            code, said = self.run(health.command, 10.0)
            last = said.text(1).removeprefix("| ")
            return "" if code == 0 else f"`{health.command[0]}` ended with status {code}{f': {last}' if last else ''}"
        if health.http:
            return answers(self.port, health.http)
        return "" if not self.port or port_open(self.port) else f"nothing listens on port {self.wanted.port}"

    def run(self, command: Sequence[str], seconds: float) -> tuple[int, Captured]:
        """Run a command inside; its status, and what it printed. A status of -1: it was not over within ``seconds``."""
        output = Captured()
        try:
            with spoken(f"{self.wanted.name}: `{command[0]}` cannot be run in it"):
                return self._executed(command, seconds, output), output
        except RetrieverFailed:
            self.check(grace=GRACE)  # nothing can be run in what has ended
            raise

    def _executed(self, command: Sequence[str], seconds: float, output: Captured) -> int:
        api, failures = self._client.api, []
        started = api.exec_create(self._container.id, list(command))["Id"]

        def follow() -> None:
            try:
                for piece in api.exec_start(started, stream=True):
                    output.add(piece)
            except Exception as error:  # told to whoever waits for it
                failures.append(error)

        reader = threading.Thread(target=follow, daemon=True)
        reader.start()
        reader.join(seconds)
        if reader.is_alive():
            return -1
        if failures:
            raise failures[0]
        code = api.exec_inspect(started)["ExitCode"]
        return -1 if code is None else int(code)

    def check(self, how: str = "ended", grace: float = 0.0) -> None:
        """Raises when it does not run any more: with its status, what it printed, and the setting when memory was the reason. ``grace``:
        how long it is looked at, in seconds; who loses a connection knows of the end before the engine does."""
        deadline = time.monotonic() + grace
        while self._runs():
            if time.monotonic() >= deadline:
                return
            time.sleep(_LOOK)
        state, setting = self._container.attrs["State"], self.wanted.memory_setting
        if state.get("ExitCode") == _KILLED and not state.get("OOMKilled"):
            time.sleep(_LOOK)  # that it was memory may be known a moment later
            self._runs()
            state = self._container.attrs["State"]
        if state.get("OOMKilled"):
            raise self._failed(f"{how}: it needed more memory than it may have (`{setting}` is {self.wanted.memory_mb})",
                               f"load less, or raise `{setting}`")
        killed = f" (killed; often: out of memory, `{setting}` is {self.wanted.memory_mb})" if state.get("ExitCode") == _KILLED else ""
        reason = f"; {plain(state['Error'])}" if state.get("Error") else ""
        raise self._failed(f"{how} with status {state.get('ExitCode')}{killed}{reason}", "see what it printed, and fix it")

    def _runs(self) -> bool:
        with spoken(f"{self.wanted.name}: cannot be looked up"):
            self._container.reload()
        return self._container.status in ("running", "created", "restarting", "paused")

    def failed(self, sentence: str, cure: str, printed: str) -> RetrieverFailed:
        """One problem: its first line is a sentence, the others are what came with it."""
        text = "\n".join((f"{self.wanted.name}: {sentence}", *(["It printed:", printed] if printed else [])))
        return RetrieverFailed(self.hidden(text), cure)

    def _failed(self, sentence: str, cure: str) -> RetrieverFailed:
        printed = self.printed()
        return self.failed(sentence, cure, quoted(printed, _LAST_LINES) if printed.strip() else "")

    def printed(self) -> str:
        """The last lines of its standard output and error, without its secrets. Empty when nobody can say any more."""
        with contextlib.suppress(Exception):
            return self.hidden(bytes(self._container.logs(tail=_TAIL)).decode("utf-8", "replace"))
        return ""

    def remove(self) -> None:
        """With its volumes. Never raises: it is called while something else is on its way up."""
        from docker.errors import NotFound

        for _ in range(3):
            try:
                self._container.remove(force=True, v=True)
            except NotFound:
                pass
            except Exception:
                time.sleep(_LOOK)
                continue
            leftovers.unwatch(self._container.id)
            return
