"""A directory with a team's retriever in it, and the interpreter to run it with."""

import os
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

from gate.golden.model import Query
from gate.retrievers.child import PARTS, WORKER
from gate.retrievers.limits import Limits
from gate.retrievers.python import PythonRetriever
from gate.retrievers.sandbox import closed_ways, interpreter_files, other_user

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
