"""Starts what stands in for an engine, in a process of its own with the packages of ``.engines``."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

PYTHON = Path(os.environ.get("RETRIEVAL_GATE_ENGINES", ROOT / ".engines")) / "bin" / "python"


def needs(*modules):
    """A skip that says what is missing, unless ``.engines`` has the modules."""
    if not PYTHON.exists():
        pytest.skip("there is no .engines with real engines and clients (`make test` makes it)")
    done = subprocess.run([PYTHON, "-c", f"import {', '.join(modules)}"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f".engines lacks something: {done.stderr.strip().splitlines()[-1]}")


class Standin:
    """``url``: where it listens. A stand-in that was killed can be started again on its port, empty."""

    def __init__(self, file, *arguments, python=PYTHON):
        self._command = [python, Path(__file__).parent / file]
        self._arguments, self.port, self._process = [str(argument) for argument in arguments], 0, None

    def start(self):
        self._process = subprocess.Popen([*self._command, str(self.port), *self._arguments], stdout=subprocess.PIPE, text=True)
        said = self._process.stdout.readline().split()
        assert said[:1] == ["ready"], f"{self._command[1].name} did not start"
        self.port = int(said[1])
        return self

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self._process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc):
        self.kill()


def by_client(script, *arguments):
    """Run a few lines with an official client, in ``.engines``; what they print."""
    done = subprocess.run([PYTHON, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
