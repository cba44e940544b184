"""A process that is asked one question at a time over two pipes and is trusted with nothing.

Questions and answers are JSON lines. Every question carries a random mark that its answer must repeat; whatever else arrives is a
fault, so that a process left over from an earlier question cannot answer a later one.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.retrievers.team.output import Captured
from gate.retrievers.team.sandbox import Guard, User

WORKER = Path(__file__).with_name("worker.py")
LAUNCHER = Path(__file__).with_name("launcher.py")
# What the worker reads as well.
PARTS = (LAUNCHER, *(Path(__file__).with_name(f"{name}.py") for name in ("traces", "results", "vectors", "callee")))
MAX_ANSWER = 8 * 1024**2
_BLOCK = 64 * 1024
# Without a pidfd, a death that no pipe shows (a fork holds the pipes open) is looked for this often. Seconds.
_LOOK = 0.05
# After the last question. Seconds.
_GRACE = 0.5


class ChildFault(Exception):
    """No answer to a question; the child is of no use any more. ``kind``: hang, died, or protocol."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Child:
    """Starts ``command`` followed by two numbers: the descriptors to read questions from and to write answers to.

    Raises OSError when it cannot be started. The child has its own session, the given environment, ``/`` as directory, an empty
    standard input, and one pipe for standard output and error, which ends up in ``output``. ``plain``: questions come on its standard
    input instead and answers go to its standard output, and no numbers are added. It ends with the thread that made it.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], user: User | None, output: Captured,
                 plain: bool = False) -> None:
        self.output = output
        self._plain, self.way = plain, "standard output" if plain else "the answer pipe"
        self._guard = Guard(user)
        self._buffer = bytearray()
        inner_read, self._questions = os.pipe()
        self._answers, inner_write = os.pipe()
        self._prints, prints_write = os.pipe()
        identity: dict[str, Any] = {} if user is None else {"user": user.uid, "group": user.gid, "extra_groups": []}
        try:
            ways: dict[str, Any] = {"stdin": inner_read, "stdout": inner_write} if plain else \
                {"stdin": subprocess.DEVNULL, "stdout": prints_write, "pass_fds": (inner_read, inner_write)}
            self._process = subprocess.Popen(
                [*command, *([] if plain else [str(inner_read), str(inner_write)])], env=dict(environment), cwd="/",
                stderr=prints_write, start_new_session=True, umask=0o077, **ways, **identity)
        except BaseException:
            for fd in (self._questions, self._answers, self._prints):
                os.close(fd)
            self._guard.release()
            raise
        finally:
            for fd in (inner_read, inner_write, prints_write):
                os.close(fd)
        self._pidfd = self._open_pidfd()
        self._selector = selectors.DefaultSelector()
        for fd in (self._questions, self._answers, self._prints):
            os.set_blocking(fd, False)
        for fd in (self._answers, self._prints, *([] if self._pidfd is None else [self._pidfd])):
            self._selector.register(fd, selectors.EVENT_READ)

    def _open_pidfd(self) -> int | None:
        try:
            return os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            return None

    @property
    def pid(self) -> int:
        return self._process.pid

    def _code(self) -> int | None:
        """Its status, or the negative number of the signal that ended it; None while it lives. It is not reaped: until then nobody else
        gets its number, or its group's."""
        if hasattr(os, "waitid"):
            found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return None if found is None else found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return self._process.poll()  # macOS before Python 3.13

    def _end(self) -> str:
        """How it ended; empty while it lives."""
        if (code := self._code()) is None:
            return ""
        if code >= 0:
            return f"ended by itself with status {code}"
        return f"was ended by {_signal_name(-code)}"

    def alive(self) -> bool:
        return not self._end()

    def stray(self) -> bool:
        """True when something arrived that nobody asked for."""
        self._read(self._answers)
        return bool(self._buffer)

    def _read(self, fd: int) -> bool:
        """Take what is there, at most one block. False at the end of the pipe."""
        try:
            data = os.read(fd, _BLOCK)
        except BlockingIOError:
            return True
        if fd == self._prints:
            self.output.add(data)
        else:
            self._buffer += data
        return bool(data)

    def _drain(self) -> None:
        """Output that is already in the pipe; not to its end, which a process that got away could delay for ever."""
        deadline = time.monotonic() + _GRACE
        before = -1
        while before != self.output.total and time.monotonic() < deadline:
            before = self.output.total
            self._read(self._prints)

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n")
        if end > MAX_ANSWER or (end < 0 and len(self._buffer) > MAX_ANSWER):
            raise ChildFault("protocol", f"an answer longer than {MAX_ANSWER} bytes")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[:end + 1]
        return line

    def _send(self, pending: memoryview) -> memoryview:
        try:
            return pending[os.write(self._questions, pending):]
        except BlockingIOError:
            return pending
        except BrokenPipeError:
            # It reads no more; the wait for the answer finds out why.
            return pending[len(pending):]

    def exchange(self, message: Mapping[str, Any], mark: str, seconds: float, name: str = "mark") -> dict[str, Any]:
        """Send ``message`` and wait for the object whose ``name`` is ``mark``. Raises :class:`ChildFault`."""
        deadline = time.monotonic() + seconds
        pending = memoryview((jsonio.dumps({**message, name: mark}) + "\n").encode("utf-8", "replace"))
        pending = self._send(pending)
        if pending:
            self._selector.register(self._questions, selectors.EVENT_WRITE)
        try:
            while True:
                if (line := self._line()) is not None:
                    return self._opened(line, name, mark)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ChildFault("hang", f"gave no answer within {seconds:g} s")
                ready = {key.fd for key, _ in self._selector.select(left if self._pidfd is not None else min(left, _LOOK))}
                if self._prints in ready and not self._read(self._prints):
                    self._selector.unregister(self._prints)
                if self._questions in ready:
                    pending = self._send(pending)
                    if not pending:
                        self._selector.unregister(self._questions)
                if self._answers in ready and not self._read(self._answers):
                    self._selector.unregister(self._answers)
                if (self._pidfd in ready or self._pidfd is None) and (how := self._end()):
                    self._last_words(how)
        finally:
            if self._questions in self._selector.get_map():
                self._selector.unregister(self._questions)

    def run(self, seconds: float) -> int:
        """Wait for its end while its output is read; its status. Raises :class:`ChildFault` when that takes too long or a signal ended
        it."""
        deadline = time.monotonic() + seconds
        while (code := self._code()) is None:
            if (left := deadline - time.monotonic()) <= 0:
                raise ChildFault("hang", f"took longer than {seconds:g} s")
            for key, _ in self._selector.select(left if self._pidfd is not None else min(left, _LOOK)):
                if key.fd != self._pidfd and not self._read(key.fd):
                    self._selector.unregister(key.fd)
        self._drain()
        if code < 0:
            raise ChildFault("died", self._end())
        return code

    def _last_words(self, how: str) -> None:
        """It is dead: an answer it had finished still counts, else raise."""
        while b"\n" not in self._buffer:
            before = len(self._buffer)
            self._read(self._answers)
            if len(self._buffer) == before or before > MAX_ANSWER:
                raise ChildFault("died", f"its process {how}")

    def _opened(self, line: bytes, name: str, mark: str) -> dict[str, Any]:
        try:
            answer = jsonio.loads(line.decode())
        except ValueError:
            where = f"{self.way}, where only answers belong: {line[:80]!r}" if self._plain else self.way
            raise ChildFault("protocol", f"a line that is not JSON on {where}") from None
        if not isinstance(answer, dict) or answer.get(name) != mark:
            raise ChildFault("protocol", "an answer to another question than the one that was asked")
        return answer

    def close(self, grace: float = _GRACE) -> bool:
        """End it and everything it started. False when something of it could not be ended."""
        os.close(self._questions)  # the end of the questions is the request to leave
        deadline = time.monotonic() + grace
        while self.alive() and (left := deadline - time.monotonic()) > 0:
            # Reading goes on: a full pipe would keep it from leaving.
            for key, _ in self._selector.select(min(left, _LOOK)):
                if key.fd == self._pidfd or not self._read(key.fd):
                    self._selector.unregister(key.fd)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        gone = self._guard.release()
        self._drain()
        self._selector.close()
        for fd in (self._answers, self._prints, *([] if self._pidfd is None else [self._pidfd])):
            os.close(fd)
        return gone
