"""A directory with a team's retriever in it, and the interpreter to run it with."""

import base64
import hashlib
import os
import shutil
import sys
import tempfile
import textwrap
import zipfile
from pathlib import Path

from gate.golden.model import Query
from gate.retrievers.limits import Limits
from gate.retrievers.python import PythonRetriever
from gate.retrievers.team.child import PARTS, WORKER
from gate.retrievers.team.packages import Packages
from gate.retrievers.team.sandbox import closed_ways, interpreter_files, other_user

QUICK = Limits(query_seconds=10, run_seconds=60, start_seconds=20, memory_mb=1024)


def reachable_interpreter():
    """This Python, or one that the retriever's user can start; None when there is none."""
    user = other_user()
    for candidate in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        if os.path.exists(candidate) and (user is None or not closed_ways(interpreter_files(candidate), user)):
            return candidate
    return None


def why_no_other_user():
    """Why the retriever cannot run as a user of its own here; empty when it can."""
    user = other_user()
    if user is None:
        return "only root can give the retriever another user"
    if reachable_interpreter() is None:
        return closed_ways([Path(sys.executable)], user)[0]
    return next(iter(closed_ways([WORKER, *PARTS], user)), "")


def queries(count):
    return [Query(f"q{number}", f"text {number}", {"d1": 1.0}) for number in range(1, count + 1)]


class Team:
    """Writes ``search.py`` and asks it."""

    def __init__(self):
        # pytest's own directories are closed to other users.
        self.path = Path(tempfile.mkdtemp(prefix="team-"))
        self.path.chmod(0o755)
        self.last = None

    def write(self, source, name="search.py"):
        file = self.path / name
        file.write_text(textwrap.dedent(source), encoding="utf-8")
        file.chmod(0o644)

    def retriever(self, source, limits=QUICK, function="search:retrieve", **more):
        self.write(source)
        more.setdefault("executable", reachable_interpreter() or sys.executable)
        self.last = PythonRetriever(function, self.path, limits, **more)
        return self.last

    def ask(self, source, count=1, depth=10, **more):
        with self.retriever(source, **more) as retriever:
            return dict(retriever.retrieve(queries(count), depth))

    @property
    def notes(self):
        """What the retriever said, apart from the gate's own user where the repository is closed to others."""
        return [note for note in self.last.notes if "ran as the gate's own user" not in note]

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


INSTALLING = Limits(query_seconds=20, run_seconds=120, start_seconds=60, memory_mb=4096)
ASKING = "import tinysearch\ndef retrieve(query, n):\n    return [tinysearch.__version__, tinysearch.__file__]\n"


def wheel(folder, name="tinysearch", version="1.0"):
    """A package as an index would give it."""
    info = f"{name}-{version}.dist-info"
    files = {f"{name}.py": f"__version__ = {version!r}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}
    rows = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text)}"
            for path, text in files.items()]
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,", ""]))


class Shelf:
    """A folder of wheels in place of an index, a cache, and a team that installs from the one into the other."""

    def __init__(self, team):
        self.team = team
        self.place = Path(tempfile.mkdtemp(prefix="shelf-"))
        self.cache, self.wheels = self.place / "cache", self.place / "wheels"
        self.wheels.mkdir()
        self.place.chmod(0o755)
        wheel(self.wheels)
        self.variables = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "SECRET": "x"}

    def packages(self, listed, build=False, limits=INSTALLING, **more):
        self.team.write(listed, "requirements.txt")
        return Packages(self.team.path / "requirements.txt", self.cache, self.variables, limits, build, **more)

    def ask(self, source=ASKING, listed="tinysearch\n", count=1, **more):
        given = {name: more.pop(name) for name in ("build", "root") if name in more}
        limits = more.setdefault("limits", INSTALLING)
        return self.team.ask(source, count, packages=self.packages(listed, limits=limits, **given), **more)

    @property
    def environment(self):
        found, = (path for path in (self.cache / "environments").iterdir() if path.is_dir() and path.suffix != ".part")
        return found
