import os
import socket
import subprocess
import sys

import pytest
from docker.errors import NotFound

from gate.docker.leftovers import _gone, owner_of
from gate.docker.own import Own


class Engine:
    """Knows the container «alive», which runs, and «stopped», which does not."""

    def __init__(self) -> None:
        self.containers = self

    def get(self, name):
        if name not in ("alive", "stopped"):
            raise NotFound(name)
        self.status = "running" if name == "alive" else "exited"
        return self


def of_process(pid: int, born: str = "1", host: str = "") -> str:
    return f"process:{host or socket.gethostname()}:{pid}:{born}"


@pytest.fixture
def ended():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_gate_that_runs_is_not_gone():
    assert not _gone(Engine(), owner_of(None))
    assert not _gone(Engine(), owner_of(Own("alive", {})))


def test_one_whose_process_or_container_has_ended_is_gone(ended):
    assert _gone(Engine(), of_process(ended))
    assert _gone(Engine(), owner_of(Own("stopped", {}))) and _gone(Engine(), owner_of(Own("removed", {})))


def test_a_number_that_another_process_has_now_does_not_keep_it():
    assert _gone(Engine(), of_process(os.getpid(), born="1"))


@pytest.mark.parametrize("owner", ["", "process", "process:", "process::x:", "something:else",
                                   of_process(999_999_999, host="another-machine")])
def test_of_what_nobody_can_know_nothing_is_removed(owner):
    assert not _gone(Engine(), owner)
