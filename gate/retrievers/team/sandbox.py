"""What a retriever's process may see and reach: its user, its environment, its own directory, and how it is ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

USER = "retriever"
NOBODY = 65534
# An allow-list, because nobody can list the names under which secrets come.
_PASSED = ("PATH", "LANG", "LC_ALL", "TZ")
# More threads change the last bits of sums, and with them the order of near ties; whoever needs them sets the variable.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")
_PR_DUMPABLE, _PR_CHILD_SUBREAPER = 4, 36


@dataclass(frozen=True)
class User:
    """Who a child runs as; never the gate's own user."""

    uid: int
    gid: int


def other_user() -> User | None:
    """User ``retriever`` where it exists, else nobody; None when the gate is not root and cannot choose."""
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        return User(NOBODY, NOBODY)
    return User(entry.pw_uid, entry.pw_gid) if entry.pw_uid else User(NOBODY, NOBODY)


def first_closed(path: Path, user: User) -> Path | None:
    """The first directory (or the path itself) on the way to ``path`` that ``user`` cannot pass, by its permission bits.

    Both ways count: as it is written and, when links are on it, as it really is.
    """
    for way in dict.fromkeys((Path(os.path.abspath(path)), Path(os.path.realpath(path)))):
        for place in (*reversed(way.parents), way):
            try:
                facts = place.stat()
            except OSError:
                return place
            shift = 6 if facts.st_uid == user.uid else 3 if facts.st_gid == user.gid else 0
            needed = (1 if stat.S_ISDIR(facts.st_mode) else 0) | (4 if place == way else 0)
            if (facts.st_mode >> shift) & needed != needed:
                return place
    return None


def closed_ways(paths: Iterable[Path], user: User) -> list[str]:
    """A sentence for each place that ``user`` cannot pass on the way to ``paths``."""
    closed: dict[Path, Path] = {}
    for path in paths:
        if (place := first_closed(path, user)) is not None:
            closed.setdefault(place, path)
    return [f"{place}: is closed to the retriever's user (uid {user.uid}), who needs it on the way to {path}"
            for place, path in closed.items()]


def interpreter_files(executable: str) -> list[Path]:
    """What a Python needs to start, as far as it is known: of another one than this, only itself."""
    return [Path(executable), *([Path(os.__file__)] if executable == sys.executable else [])]


def in_ci() -> bool:
    """Whether this is an automatic run, where code and secrets belong to different people."""
    return bool(os.environ.get("GITHUB_ACTIONS") or os.environ.get("CI"))


def environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    """All that the child finds in its environment."""
    kept = {name: os.environ[name] for name in _PASSED if name in os.environ}
    threads = {name: os.environ.get(name, "1") for name in _THREADS}
    place = {"HOME": str(home), "TMPDIR": str(home), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return {"LANG": "C.UTF-8"} | kept | threads | place | dict(more)


class Home:
    """A directory of the child's own, for HOME and TMPDIR; gone after ``remove``."""

    def __init__(self, user: User | None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="retriever-"))
        if user is not None:
            os.chown(self.path, user.uid, user.gid)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _prctl(option: int, value: int) -> bool:
    """Linux only; False elsewhere."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0)
    except (AttributeError, OSError, ImportError):
        return False


class Guard:
    """What the gate changes about itself while a child lives.

    As the same user, it makes its memory and /proc/<pid>/environ unreadable for that user. As another user, it adopts orphans:
    what the child leaves behind in a session of its own becomes a child of the gate, and can be found and ended. Both belong to the
    process, and hold until the last child is gone. Made before the child is started.
    """

    _lock = threading.Lock()
    _living: ClassVar[list[Guard]] = []

    def __init__(self, user: User | None) -> None:
        self.user = user
        with Guard._lock:
            Guard._living.append(self)
            if user is not None:
                _prctl(_PR_CHILD_SUBREAPER, 1)
            elif os.geteuid() != 0:
                _prctl(_PR_DUMPABLE, 0)

    def release(self, seconds: float = 3.0) -> bool:
        """The child is gone: kill what outlived its group. False when something is still there.

        Only direct children of this process are signalled, since the number of a child that nobody has waited for cannot be
        given to another process; and only those of the other user. While a sibling lives, which runs as the same one, nobody can tell
        whose an orphan is: it is left to the last of them.
        """
        with Guard._lock:
            Guard._living.remove(self)
            if any(other.user == self.user for other in Guard._living):
                return True
            if self.user is None:
                if os.geteuid() != 0:
                    _prctl(_PR_DUMPABLE, 1)
                return True
            gone = self._sweep(seconds)
            if not any(other.user for other in Guard._living):
                _prctl(_PR_CHILD_SUBREAPER, 0)
            return gone

    def _sweep(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.user is not None and (left := list(_children(self.user.uid))):
            for pid in left:
                _end(pid)
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True


def _end(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, os.WNOHANG)


def _children(uid: int) -> Iterable[int]:
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    own = str(os.getpid())
    for name in names:
        try:
            # Not the owner of /proc/<pid>: a process can make that root.
            status = Path("/proc", name, "status").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        facts = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if facts.get("PPid", "").strip() == own and str(uid) in facts.get("Uid", "").split():
            yield int(name)
