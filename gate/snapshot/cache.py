"""Fetched snapshots on disk, by their digest. Several configurations, jobs and processes share the folder; nothing in it is believed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gate.errors import InvalidInput, SnapshotUnavailable
from gate.snapshot.entries import full, no_room

# As long as a download may take, and a little.
_PATIENCE = 4000.0
_POLL = 0.5


class Cache:
    """``folder``: below it lie ``<64 hex>/`` a snapshot, ``downloads/`` what broke off, ``.<hex>.lock``, and rooms under work."""

    def __init__(self, folder: Path, sleep: Callable[[float], None] = time.sleep) -> None:
        folder = Path(os.path.abspath(folder))
        self.folder, self._sleep = folder / "snapshots", sleep
        for place in (folder, self.folder, self.folder / "downloads"):
            if place.is_symlink():
                # A pull request can bring a link along, and what it points at would be written to as root.
                raise InvalidInput(f"{place}: is a symbolic link, which the gate's cache must not be",
                                   "remove it, or name the folder that is meant in RETRIEVAL_GATE_CACHE")
            try:
                place.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                if full(error):
                    raise no_room(error) from None
                raise InvalidInput(f"{place}: cannot be made ({error.strerror})",
                                   "let RETRIEVAL_GATE_CACHE name a folder that may be written to") from None

    def entry(self, digest: str) -> Path:
        """Where the snapshot of a digest (``sha256:…``) is, or would be."""
        return self.folder / digest.removeprefix("sha256:")

    @property
    def downloads(self) -> Path:
        return self.folder / "downloads"

    def remove(self, entry: Path) -> None:
        """An entry that is of no use."""
        try:
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink(missing_ok=True)
            else:
                shutil.rmtree(entry)
        except OSError as error:
            raise InvalidInput(f"{entry}: is damaged and cannot be removed ({error.strerror})", "remove it, or name another folder in "
                                                                                                "RETRIEVAL_GATE_CACHE") from None

    def put(self, tree: Path, entry: Path) -> None:
        """Give a whole and verified snapshot its name; nobody ever meets half of one."""
        os.replace(tree, entry)
        _hand_over(self.folder.parent, [entry, *entry.rglob("*")])

    @contextmanager
    def lock(self, digest: str) -> Iterator[None]:
        """One process at a time fetches a digest; the others then find it there."""
        try:
            import fcntl
        except ImportError:  # elsewhere two may fetch the same, and the second rename finds the first's result
            yield
            return
        place = self.folder / f".{self.entry(digest).name}.lock"
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            handle = os.open(place, flags, 0o644)
        except OSError as error:
            if full(error):
                raise no_room(error) from None
            raise InvalidInput(f"{place}: cannot be opened ({error.strerror})", "remove it") from None
        try:
            waited = 0.0
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if waited >= _PATIENCE:
                        raise SnapshotUnavailable(f"another process has been fetching {digest[:19]}… for more than an hour",
                                                  f"end it, or remove {place.name} in the cache") from None
                    self._sleep(_POLL)
                    waited += _POLL
            yield
        finally:
            os.close(handle)
            with suppress(OSError):
                _hand_over(self.folder.parent, [self.folder.parent, self.folder, self.downloads, place, *self.downloads.iterdir()])

    @contextmanager
    def room(self) -> Iterator[Path]:
        """A folder to work in, on the same disk, gone at the end."""
        place = self.folder / f".{os.getpid()}-{os.urandom(6).hex()}.work"
        place.mkdir()
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _hand_over(cache: Path, paths: Iterable[Path]) -> None:
    """To whoever owns the folder around the cache: in the action the gate is root and the runner is not, and root's files would break the
    clean-up of a self-hosted runner."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    owner = cache.parent.stat()
    for path in paths if owner.st_uid else ():
        with suppress(OSError):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
