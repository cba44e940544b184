"""The program in which a team's function runs, one that retrieves or one that embeds. Started by its path; uses the standard library
and some files beside it.

Arguments: the descriptor to read questions from, the descriptor to write answers to. Both carry JSON lines; the first
question sets the process up. See child.py for the other side.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import importlib
import importlib.util
import io
import json
import os
import sys
from collections.abc import Callable
from typing import Any

TEXT = 16_000


def beside(name: str) -> Any:
    """A module of this directory. Not by sys.path, where its files would stand before the team's of the same name."""
    spec = importlib.util.spec_from_file_location(f"_gate_{name}", os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Missing(Exception):
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


def load(setup: dict[str, Any], callee: Any, kind: Any) -> Any:
    """Import ``module:attribute`` from the team's directory, which comes first, as with ``python file.py``, and make it the
    ``kind`` of thing that is asked."""
    path = setup["path"]
    os.chdir(path)
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
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
    loop, who = callee.Loop(), f"`{setup['function']}`"
    try:
        if setup["factory"]:
            setup["stage"] = "factory"
            found, who = callee.made(found, loop), f"what {who} returned"
        return kind(found, loop)
    except callee.Refused as fault:
        raise callee.Refused(f"{who} {fault}") from None


def attempt(traces: Any, refusals: tuple[type[BaseException], ...], action: Callable[..., Any], *arguments: Any) -> Any:
    """What ``action`` gives, or an answer that says why it gave nothing."""
    try:
        return action(*arguments)
    except refusals as fault:
        return {"unusable": str(fault)[:TEXT], "missing": isinstance(fault, Missing)}
    except BaseException as error:  # sys.exit() in a function is an error of one query as well
        return {"raised": traces.tell(error)}


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
    beside("launcher").harden(setup)
    traces, callee = beside("traces").Traces(setup["path"]), beside("callee")
    kind, answers = (callee.Embedding, beside("vectors")) if setup["embeds"] else (callee.Callee, beside("results"))
    keys = None if setup["embeds"] else answers.Keys(*setup["keys"])
    function = attempt(traces, (Missing, callee.Refused), load, setup, callee, kind)
    if isinstance(function, dict):
        pipes.answer({"mark": setup["mark"], "stage": setup.get("stage", "import"), **function})
        return
    pipes.answer({"mark": setup["mark"], "ready": True, "counted": function.counted})

    def ask(question: dict[str, Any]) -> Any:
        if setup["embeds"]:
            return answers.converted(function(question["texts"]), len(question["texts"]))
        return answers.converted(function(question["query"], question["n"]), question["n"], keys)

    while (question := pipes.ask()) is not None:
        answer = attempt(traces, (answers.Unusable,), ask, question)
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
