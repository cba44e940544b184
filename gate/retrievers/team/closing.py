"""What else lies about in a job and is none of the retriever's business: closed to its user while its process lives.

Another user is not enough by itself. The runner's folders are readable for all, and actions/checkout leaves a token in one of them (up
to v5 in the checkout's own .git/config) unless it is told not to.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from gate.retrievers.team.sandbox import User, first_closed

# The runner's command files and the event's payload: closed with the folder they are in.
_FILES = ("GITHUB_EVENT_PATH", "GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
_FOLDERS = ("RUNNER_TEMP", "HOME")
_CREDENTIALS = "git-credentials-"
_MOST = 1024**2


def private_folders(environ: Mapping[str, str], needed: Iterable[Path]) -> list[Path]:
    """Folders of the job that hold none of the ``needed`` paths, neither as they are written nor as they really are: a virtual
    environment's interpreter is a link out of it."""
    wanted = [way for path in needed for way in (Path(os.path.abspath(path)), path.resolve())]
    named = [Path(environ[name]).parent for name in _FILES if environ.get(name)]
    named += [Path(environ[name]) for name in _FOLDERS if environ.get(name)]
    folders = dict.fromkeys(folder.resolve() for folder in named if folder.is_absolute())
    return [folder for folder in folders if not any(path.is_relative_to(folder) for path in wanted)]


def token_files(path: Path) -> list[Path]:
    """Files in which actions/checkout keeps a token for the repository around ``path``: .git/config up to v5, since v6 the file that
    it includes."""
    place, found = path.resolve(), []
    for config in (folder / ".git" / "config" for folder in (place, *place.parents)):
        if not config.is_file():
            continue  # nothing, or something like a pipe, which would keep us waiting
        try:
            with open(config, encoding="utf-8", errors="replace") as stream:
                lines = [line.strip() for line in stream.read(_MOST).splitlines()]
        except OSError:
            continue
        if any(line.lower().startswith("extraheader") for line in lines):
            found.append(config)
        included = [Path(value.strip().strip('"')) for key, _, value in (line.partition("=") for line in lines)
                    if key.strip().lower() == "path" and _CREDENTIALS in value]
        found += [file for file in dict.fromkeys(included) if file.is_file()]
    return found


class Closing:
    """Takes from ``user`` the rights on ``places`` until ``release``. Who owns them keeps theirs. What cannot be closed stays open."""

    def __init__(self, user: User, places: Iterable[Path]) -> None:
        self._closed: list[tuple[int, int]] = []
        for place in places:
            with contextlib.suppress(OSError):
                self._close(place, user)

    def _close(self, place: Path, user: User) -> None:
        # By descriptor and never through a link: what is closed is what is opened again.
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            facts = os.fstat(handle)
            mode = stat.S_IMODE(facts.st_mode)
            os.fchmod(handle, mode & ~0o007 & (~0o070 if facts.st_gid == user.gid else ~0))
        except BaseException:
            os.close(handle)
            raise
        self._closed.append((handle, mode))

    def release(self) -> None:
        while self._closed:
            handle, mode = self._closed.pop()
            with contextlib.suppress(OSError):
                os.fchmod(handle, mode)
            os.close(handle)


def readable(files: Iterable[Path], user: User | None) -> list[Path]:
    """Those that the retriever can read, by their permission bits; None: it runs as the gate's own user."""
    return [file for file in files if (os.access(file, os.R_OK) if user is None else first_closed(file, user) is None)]
