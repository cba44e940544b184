"""What every program of the team's passes through before it runs: limits that cannot be raised again. Standard library only.

Started by its path, it becomes the program of kind ``command``, or pip: the first question, on standard input, says what to start, and the
answer whether that can be done.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
from typing import Any

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38


def limit(what: int, value: int | None) -> None:
    if value is not None:
        hard = resource.getrlimit(what)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))


def harden(setup: dict[str, Any]) -> None:
    """No new privileges, no life after the gate's, and the limits. All of it outlasts an exec."""
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # not Linux: a laptop
    if os.getppid() != setup["parent"]:
        os._exit(1)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")  # when the machine runs out of memory, this process goes and not the gate
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, setup["file_bytes"])
    limit(resource.RLIMIT_NPROC, setup["processes"])
    with contextlib.suppress(OSError, ValueError):  # macOS has no such limit
        limit(resource.RLIMIT_AS, setup["memory_bytes"])


def first_line() -> bytes:
    """Byte by byte: what comes after it belongs to the program."""
    line = bytearray()
    while not line.endswith(b"\n"):
        if not (byte := os.read(0, 1)):
            os._exit(0)
        line += byte
    return bytes(line)


def answer(value: dict[str, Any]) -> None:
    data = memoryview((json.dumps(value) + "\n").encode())
    while data:
        data = data[os.write(1, data):]


def main() -> None:
    setup = json.loads(first_line())
    command, mark = setup["command"], setup["mark"]
    try:
        os.chdir(setup["path"])
    except OSError as error:
        answer({"mark": mark, "unusable": f"its directory cannot be entered ({error.strerror})"})
        return
    if (program := shutil.which(command[0])) is None:
        there = os.path.exists(command[0])
        reason = "there is no such program" if not there else "it may not be executed" if "/" in command[0] else "it is not on PATH"
        answer({"mark": mark, "unusable": reason})
        return
    harden(setup)
    answer({"mark": mark, "ready": True})
    if setup.get("quiet"):  # nobody asks it anything: all that it prints is output
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
    try:
        os.execv(program, command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be executed: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(126)


if __name__ == "__main__":
    main()
