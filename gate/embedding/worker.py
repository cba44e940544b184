"""The program in which a team's embedding function runs: that of retrievers (../retrievers/team/worker.py) with another kind of question.

Standard library only. A question carries ``texts``; its answer ``vectors``, base64 of little-endian float32, and ``dimensions``.
"""

from __future__ import annotations

import base64
import faulthandler
import importlib.util
import inspect
import io
import math
import os
import struct
import sys
from types import SimpleNamespace
from typing import Any


def _retrievers_worker() -> Any:
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "retrievers", "team", "worker.py")
    spec = importlib.util.spec_from_file_location("_gate_worker", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Unusable(Exception):
    """What the function returned is no list of vectors."""


class Embedding:
    """Takes texts and gives what the team's function gives, awaited where that is needed."""

    def __init__(self, found: Any, loop: Any, refused: type[Exception]) -> None:
        self._function, self._loop = found, loop
        if inspect.isclass(found) or not callable(found):
            raise refused(f"is {repr(found)[:100]} ({type(found).__name__}), which cannot be called with a list of texts")
        try:
            inspect.signature(found).bind(["a text"])
        except TypeError as error:
            raise refused(f"must accept one argument, a list of texts ({error})") from None
        except ValueError:
            pass  # written in C: the first call will tell

    def __call__(self, texts: list[str]) -> Any:
        result = self._function(texts)
        return self._loop.wait(result) if inspect.isawaitable(result) else result


def _row(value: Any, position: int) -> list[float]:
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, (list, tuple)) or not value:
        raise Unusable(f"the vector of text {position} is {repr(value)[:60]} ({type(value).__name__}), not a list of numbers")
    for number in value:
        if isinstance(number, (bool, str, bytes)) or not hasattr(number, "__float__") or not math.isfinite(float(number)):
            raise Unusable(f"the vector of text {position} holds {repr(number)[:60]} ({type(number).__name__}), which is no finite number")
    return [float(number) for number in value]


def converted(result: Any, count: int) -> dict[str, Any]:
    """As it goes over the pipe."""
    result = result.tolist() if hasattr(result, "tolist") else result
    if not isinstance(result, (list, tuple)):
        raise Unusable(f"the function returned {repr(result)[:60]} ({type(result).__name__}), not a list of vectors")
    if len(result) != count:
        raise Unusable(f"the function got {count} texts and returned {len(result)} vectors")
    rows = [_row(value, position) for position, value in enumerate(result, 1)]
    if len(widths := sorted({len(row) for row in rows})) != 1:
        raise Unusable(f"the vectors have {' and '.join(map(str, widths))} dimensions; all must have the same")
    try:
        data = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
    except OverflowError:
        raise Unusable("a vector holds numbers that float32 cannot") from None
    return {"vectors": base64.b64encode(data).decode(), "dimensions": widths[0]}


def main() -> None:
    worker = _retrievers_worker()
    pipes, own = worker.Pipes(int(sys.argv[1]), int(sys.argv[2])), os.getpid()
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    try:
        setup = pipes.ask()
        if setup is None:
            return
        worker.beside("launcher").harden(setup)
        traces, callee = worker.beside("traces").Traces(setup["path"], __file__), worker.beside("callee")
        kind = SimpleNamespace(Loop=callee.Loop, Refused=callee.Refused, made=callee.made,
                               Callee=lambda found, loop: Embedding(found, loop, callee.Refused))
        function = worker.attempt(traces, (worker.Missing, callee.Refused), worker.load, setup, kind)
        if isinstance(function, dict):
            pipes.answer({"mark": setup["mark"], "stage": setup.get("stage", "import"), **function})
            return
        pipes.answer({"mark": setup["mark"], "ready": True})
        while (question := pipes.ask()) is not None:
            texts = question["texts"]
            answer = worker.attempt(traces, (Unusable,), lambda texts: converted(function(texts), len(texts)), texts)
            if os.getpid() != own:
                os._exit(0)  # a fork that forgot to leave must not answer as well
            pipes.answer({"mark": question["mark"], **answer})
    finally:
        worker.flush()


if __name__ == "__main__":
    try:
        main()
    finally:
        # Threads and exit handlers of somebody else's code must not keep the process.
        os._exit(0)
