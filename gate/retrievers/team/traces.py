"""An exception of somebody's code, as the gate shows it. Loaded by worker.py in the retriever's process: standard library only."""

from __future__ import annotations

import importlib
import linecache
import os
import sys
import traceback
from typing import Any

LINES, CHAIN, TEXT = 12, 4, 16_000
_IMPORT = (os.path.dirname(importlib.__file__) + os.sep, "<frozen importlib")
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# What stands between the worker and a coroutine.
_LOOP = tuple(os.path.join(os.path.dirname(os.__file__), "asyncio", name) for name in ("runners.py", "base_events.py"))


def _whole(text: str) -> str:
    """Half a surrogate pair would make the answer unreadable."""
    return text.encode("utf-8", "backslashreplace").decode()


class Traces:
    """``root``: the team's directory. Files below it are shown relative to it.

    Frames of the worker and of the import machinery are left out: they are the same for every mistake, and push its place away.
    """

    def __init__(self, root: str) -> None:
        self.root = root.rstrip(os.sep) + os.sep
        self._passed = (_HERE, *_IMPORT, *_LOOP)

    def tell(self, error: BaseException) -> dict[str, Any]:
        """``error``: its own words; ``where``: file:line; ``lines``: the end of the traceback; and what decides the advice."""
        try:
            lines = self._lines(error)
            if len(lines) > LINES:
                lines = [f"… {len(lines) - LINES} lines left out", *lines[-LINES:]]
            words = self._words(error)[1 if self._unread(error) else 0:]
            return {"error": _whole("\n".join(words)[:TEXT]), "where": _whole(self._where(error)),
                    "lines": [_whole(line[:TEXT // LINES]) for line in lines], **self._facts(error)}
        except BaseException:  # a __str__ that fails, no memory left
            return {"error": type(error).__name__, "kind": "memory" if isinstance(error, MemoryError) else ""}

    def _place(self, file: str) -> str:
        return file.removeprefix(self.root)

    def _own(self, file: str | None) -> bool:
        return file is not None and file.startswith(self.root) and f"{os.sep}site-packages{os.sep}" not in file

    @staticmethod
    def _unread(error: BaseException) -> bool:
        return isinstance(error, SyntaxError) and error.filename is not None

    def _frames(self, error: BaseException) -> list[tuple[str, int, str]]:
        found, step = [], error.__traceback__
        while step is not None:
            code = step.tb_frame.f_code
            if not code.co_filename.startswith(self._passed):
                found.append((code.co_filename, step.tb_lineno, code.co_name))
            step = step.tb_next
        return found

    def _words(self, error: BaseException) -> list[str]:
        if self._unread(error) and isinstance(error, SyntaxError):
            return [f"{self._where(error)}: {(error.text or '').strip()}".rstrip(": "), f"{type(error).__name__}: {error.msg}"]
        return "".join(traceback.format_exception_only(type(error), error)).rstrip("\n").split("\n")

    def _lines(self, error: BaseException, depth: int = 1) -> list[str]:
        """What led to it, a line for each frame, its own words, and those of a group's members."""
        before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        found = [*self._lines(before, depth + 1), "which led to:"] if before is not None and depth < CHAIN else []
        for file, line, name in self._frames(error):
            found.append(f"{self._place(file)}:{line} in {name}: {linecache.getline(file, line).strip()}".rstrip(": "))
        found += self._words(error)
        members = getattr(error, "exceptions", ())
        for member in members[:3] if isinstance(members, tuple) and depth < CHAIN else ():
            found += self._lines(member, depth + 1)
        return found

    def _where(self, error: BaseException) -> str:
        """The last line of the team's own code, else the last one."""
        if self._unread(error) and isinstance(error, SyntaxError):
            return f"{self._place(str(error.filename))}:{error.lineno}"
        frames = self._frames(error)
        file, line, _ = ([frame for frame in frames if self._own(frame[0])] or frames or [("", 0, "")])[-1]
        return f"{self._place(file)}:{line}" if file else ""

    def _facts(self, error: BaseException) -> dict[str, Any]:
        """``kind``; ``name`` of a module or variable, or Python's version; ``own``: the module is one of the team's."""
        if isinstance(error, SyntaxError):
            return {"kind": "syntax", "name": "{}.{}".format(*sys.version_info)}
        if isinstance(error, ImportError):
            top = self.root + str(error.name).partition(".")[0]
            own = self._own(error.path) or bool(error.name) and (os.path.isdir(top) or os.path.isfile(top + ".py"))
            return {"kind": "module" if isinstance(error, ModuleNotFoundError) else "import", "name": str(error.name or ""), "own": own}
        last = os.path.basename(self._frames(error)[-1][0]) if error.__traceback__ and self._frames(error) else ""
        if isinstance(error, KeyError) and last in ("os.py", "<frozen os>"):
            return {"kind": "variable", "name": str(error.args[0])}
        return {"kind": "exit" if isinstance(error, SystemExit) else "memory" if isinstance(error, MemoryError) else ""}
