"""The program in which a team's retrieval function runs. Started by its path; uses the standard library and traces.py.

Arguments: the descriptor to read questions from, the descriptor to write answers to. Both carry JSON lines; the first
question sets the process up. See child.py for the other side.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import importlib
import importlib.util
import inspect
import io
import json
import math
import operator
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

TEXT = 16_000
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38


class Unusable(Exception):
    """What the function is, or what it returned, cannot be used."""


class Missing(Unusable):
    """The function is not where the configuration says."""


class Pipes:
    """The protocol, moved away from the low numbers and closed in every program that the function starts."""

    def __init__(self, questions: int, answers: int) -> None:
        self.reader = os.fdopen(self.away(questions), "rb")
        self.answers = self.away(answers)

    @staticmethod
    def away(fd: int) -> int:
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
        os.close(fd)
        return moved

    def ask(self) -> Any:
        line = self.reader.readline()
        return json.loads(line) if line else None

    def answer(self, value: dict[str, Any]) -> None:
        data = memoryview((json.dumps(value, allow_nan=False) + "\n").encode())
        while data:
            data = data[os.write(self.answers, data):]


def limit(what: int, value: int | None) -> None:
    if value is not None:
        hard = resource.getrlimit(what)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))


def harden(setup: dict[str, Any]) -> None:
    """Limits that cannot be raised again, no new privileges, and no life after the gate's."""
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


def load(setup: dict[str, Any]) -> Callable[[str, int], Any]:
    """Import ``module:function`` from the team's directory, which comes first, as with ``python file.py``."""
    path = setup["path"]
    os.chdir(path)
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if os.path.basename(home) not in ("site-packages", "dist-packages"):
        sys.path[:] = [entry for entry in sys.path if entry != home]
    sys.path.insert(0, path)
    name, _, attribute = setup["function"].partition(":")
    sys.argv[:] = [name]
    found = importlib.import_module(name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise Missing(f"`{name}` has no `{attribute}`")
        found = getattr(found, part)
    if not callable(found):
        raise Unusable(f"`{setup['function']}` is {shown(found)}, which cannot be called")
    if inspect.iscoroutinefunction(found):
        raise Unusable(f"`{setup['function']}` is async; give a plain function, for instance one that calls asyncio.run")
    try:
        inspect.signature(found).bind("a query", 1)
    except TypeError as error:
        raise Unusable(f"`{setup['function']}` must accept two arguments, query and number of results ({error})") from None
    except ValueError:
        pass  # written in C: its signature is not known, the first call will tell
    function: Callable[[str, int], Any] = found
    return function


def shown(value: object) -> str:
    try:
        text = repr(value)
    except BaseException:
        text = "something without a repr"
    return f"{text[:100]} ({type(value).__name__})"


def number(value: Any, position: int) -> float:
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__") or not math.isfinite(float(value)):
        raise Unusable(f"result {position} has the score {shown(value)}, which is not a finite number")
    return float(value)


def identifier(value: Any, position: int) -> str:
    if not isinstance(value, str) or not value:
        raise Unusable(f"result {position} is {shown(value)}, not a document id; ids are non-empty strings")
    return str(value)


def item(value: Any, position: int) -> str | dict[str, Any]:
    """A result as it goes over the pipe."""
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return {"doc": identifier(value[0], position), "score": number(value[1], position)}
    if not isinstance(value, dict):
        return identifier(value, position)
    found: dict[str, Any] = {"doc": identifier(value.get("doc", value.get("id")), position)}
    if value.get("score") is not None:
        found["score"] = number(value["score"], position)
    if value.get("chunk") is not None:
        found["chunk"] = str(value["chunk"])
    for key in ("start", "end"):
        if value.get(key) is not None:
            try:
                found[key] = operator.index(value[key])
            except TypeError:
                raise Unusable(f"result {position} has the {key} {shown(value[key])}, which is not a whole number") from None
    return found


def converted(result: Any, n: int) -> dict[str, Any]:
    if not isinstance(result, (list, tuple)):
        raise Unusable(f"the function returned {shown(result)}, not a list")
    return {"ranked": [item(value, position) for position, value in enumerate(result[:n], 1)], "returned": len(result)}


def call(function: Callable[[str, int], Any], query: str, n: int) -> dict[str, Any]:
    return converted(function(query, n), n)


def attempt(traces: Any, action: Callable[..., Any], *arguments: Any) -> Any:
    """What ``action`` gives, or an answer that says why it gave nothing."""
    try:
        return action(*arguments)
    except Unusable as fault:
        return {"unusable": str(fault)[:TEXT], "missing": isinstance(fault, Missing)}
    except BaseException as error:  # sys.exit() in a function is an error of one query as well
        return {"raised": traces.tell(error)}


def beside(name: str) -> Any:
    """A module of this directory. Not by sys.path, where its files would stand before the team's of the same name."""
    spec = importlib.util.spec_from_file_location(f"_gate_{name}", os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()


def main() -> None:
    pipes = Pipes(int(sys.argv[1]), int(sys.argv[2]))
    own = os.getpid()
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    setup = pipes.ask()
    if setup is None:
        return
    harden(setup)
    traces = beside("traces").Traces(setup["path"])
    function = attempt(traces, load, setup)
    if isinstance(function, dict):
        pipes.answer({"mark": setup["mark"], **function})
        return
    pipes.answer({"mark": setup["mark"], "ready": True})
    while (question := pipes.ask()) is not None:
        query, n = question["query"], question["n"]
        answer = attempt(traces, call, function, query, n)
        if os.getpid() != own:
            os._exit(0)  # a fork that forgot to leave must not answer as well
        pipes.answer({"mark": question["mark"], **answer})


if __name__ == "__main__":
    try:
        main()
    finally:
        # Threads and exit handlers of somebody else's code must not keep the process.
        flush()
        os._exit(0)
