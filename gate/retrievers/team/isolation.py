"""Who the team's program runs as, and what is closed to it: once for all processes of a retriever."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from gate.errors import RetrieverFailed
from gate.retrievers.team.closing import Closing, private_folders, readable, token_files
from gate.retrievers.team.sandbox import User, closed_ways, in_ci, other_user


class Isolation:
    """``path``: the team's directory; ``needed``: what the program's user must reach; ``notes``: where the reader is told."""

    def __init__(self, path: Path, needed: Callable[[], Iterable[Path]], notes: list[str]) -> None:
        self.user: User | None = other_user()
        self._path, self._needed, self._notes = path, needed, notes
        self._closing: Closing | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """In CI, where code and secrets belong to different people: what is none of the program's business."""
        if not in_ci():
            return
        tokens = token_files(self._path)
        if self.user is not None and self._closing is None:
            folders = private_folders(os.environ, [*self._needed(), Path(tempfile.gettempdir())])
            self._closing = Closing(self.user, [*folders, *tokens])
        if left := readable(tokens, self.user):
            self._notes.append(f"{left[0]} holds a token that the checkout left there, and the retriever can read it: give "
                               "actions/checkout `persist-credentials: false`")

    def admit(self) -> None:
        """The other user must reach the interpreter, the code and the snapshot. In CI that is a must; on somebody's own machine,
        where the code is theirs as well, the gate falls back to their user and says so."""
        with self._lock:
            if self.user is None or not (closed := closed_ways(self._needed(), self.user)):
                return
            if in_ci():
                raise RetrieverFailed(closed, "open these directories for others (chmod o+rx), or move the files elsewhere")
            self._notes.append(f"the retriever ran as the gate's own user, not as one of its own: {closed[0]}")
            self.user = None

    def release(self) -> None:
        if self._closing is not None:
            self._closing.release()
