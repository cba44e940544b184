"""The packages that a team's code needs, in a virtual environment of their own that outlives the run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput, RetrieverFailed
from gate.retrievers.limits import Limits
from gate.retrievers.team.installing import Installer
from gate.retrievers.team.output import Captured
from gate.retrievers.team.requirement_files import Requirements, normal, read_requirements
from gate.retrievers.team.sandbox import User
from gate.retrievers.team.tree import Strange, digest_of, take_over
from gate.world import CACHE

SCHEMA = 1
_MOST_RECORD = 1024**2
_FACTS = "import sys, sysconfig; print(sys.version, sysconfig.get_platform(), getattr(sys, '_base_executable', sys.executable), sep='\\n')"


class Packages:
    """``file``: the requirements; ``cache``: where environments are kept; ``variables``: of the step, for pip; ``build``: whether packages
    may be built, which runs their code; ``root``: the repository, out of which no file may lie."""

    def __init__(self, file: Path, cache: Path, variables: Mapping[str, str], limits: Limits, build: bool = False,
                 root: Path | None = None) -> None:
        self.file, self.limits, self.build, self.root = file, limits, build, root
        self.place = cache.absolute() / "environments"
        self._variables = variables
        self._wanted: Requirements | None = None
        self._found: Mapping[str, str] = {}
        self._user: User | None = None

    def describe(self) -> dict[str, Any]:
        """The digest of what is asked for, of all that is installed, and the versions of the packages that are asked for by name."""
        if self._wanted is None:
            return {}
        named = {name: self._found[name] for name in self._wanted.names if name in self._found}
        return {"requirements": self._wanted.digest[:19], "installed": jsonio.digest(dict(self._found))[:19], "packages": named}

    def needed(self) -> list[Path]:
        """What the retriever's user must reach. Makes the folder of the environments."""
        with contextlib.suppress(OSError, InvalidInput):  # which `provide` tells
            self._make_place()
        return [self.place, self.file]

    def provide(self, executable: str, user: User | None) -> tuple[str, list[str]]:
        """The interpreter of an environment with the packages, and notes. ``executable``: the Python that it is made from.

        Raises :class:`InvalidInput` for a file that cannot be satisfied, :class:`RetrieverFailed` when there is no index or no room.
        """
        self._user = user
        wanted = self._wanted = read_requirements(self.file, self.build, self.root)
        facts = self._asked(executable)
        name = jsonio.digest([SCHEMA, wanted.digest, facts, self.build])[7:39]
        notes: list[str] = []
        try:
            with self._locked(name):
                found = self._stored(name, notes)
                self._found = self._made(name, executable) if found is None else found
        except OSError as error:
            raise RetrieverFailed(f"{self.place}: cannot be written ({error.strerror})",
                                  f"name a folder for environments with the variable {CACHE}, or make room") from None
        return str(self.place / name / "bin" / "python"), notes

    @staticmethod
    def _asked(executable: str) -> str:
        """Version and build, platform, and place of the Python itself, which an environment holds links to."""
        try:
            done = subprocess.run([executable, "-I", "-c", _FACTS], capture_output=True, text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            said = Captured.of(str(getattr(error, "stderr", None) or error)).text()
            raise RetrieverFailed(f"{executable}: cannot be started\n{said}", "see what it said") from None
        return done.stdout

    def _make_place(self) -> None:
        # The cache may lie in a checkout, where a pull request can put a link that leads anywhere.
        for folder in (self.place.parent, self.place):
            if folder.is_symlink():
                raise InvalidInput(f"{folder}: is a link, and nothing is written through one", "remove it")
        self.place.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """One gate at a time makes or checks an environment."""
        self._make_place()
        handle = os.open(self.place / f"{name}.lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + self.limits.run_seconds
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise RetrieverFailed(f"{self.place / name}: another gate has been making this environment for "
                                              f"{self.limits.run_seconds:g} s", "see whether it hangs") from None
                    time.sleep(0.1)
            yield
        finally:
            os.close(handle)

    def _stored(self, name: str, notes: list[str]) -> dict[str, str] | None:
        """What is installed in the environment of that name, None when there is none that is still what it was."""
        record, folder = self.place / f"{name}.json", self.place / name
        if not os.path.lexists(record) and not os.path.lexists(folder):
            return None
        with contextlib.suppress(OSError, ValueError, Strange):
            if jsonio.is_file(record) and record.stat().st_size <= _MOST_RECORD and not folder.is_symlink():
                said = jsonio.loads(record.read_text(encoding="utf-8"))
                whole = isinstance(said, dict) and said.get("schema") == SCHEMA and said.get("tree") == digest_of(folder, self._user)
                if whole and isinstance(said.get("packages"), dict):
                    return {str(key): str(value) for key, value in said["packages"].items()}
        notes.append(f"the stored environment of {self.file.name} was not what had been installed; it was made anew")
        return None

    def _made(self, name: str, executable: str) -> dict[str, str]:
        folder, record = self.place / name, self.place / f"{name}.json"
        record.unlink(missing_ok=True)
        for left in (folder, *self.place.glob(f"{name}.*.part")):  # of a run that was ended in the middle of it
            if left.is_symlink():
                left.unlink()
            elif left.exists():
                shutil.rmtree(left)
        part = Path(tempfile.mkdtemp(prefix=f"{name}.", suffix=".part", dir=self.place))
        try:
            Installer(self.file, executable, self._variables, self._user, self.limits, self.build).install(part)
            take_over(part, self._user)
            packages = _installed(part)
            tree = digest_of(part, self._user)
            os.rename(part, folder)
        except Strange as fault:
            raise RetrieverFailed(f"{self.file}: what was installed cannot be used: {fault}", "see which package brings it") from None
        finally:
            shutil.rmtree(part, ignore_errors=True)
        # Last: an environment without it does not count.
        jsonio.write_atomic(record, jsonio.pretty({"schema": SCHEMA, "tree": tree, "packages": packages}).encode())
        return packages


def _installed(folder: Path) -> dict[str, str]:
    """Name → version of what is installed below ``folder``, by the names of the folders in which that is recorded."""
    found = (path.name.removesuffix(".dist-info").partition("-") for path in folder.glob("lib/python*/site-packages/*.dist-info"))
    return dict(sorted((normal(name), version) for name, _, version in found))
