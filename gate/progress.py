"""How far a run is: a bar on a terminal, a line every few seconds in a job log."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TextIO

from gate.terminal import columns

Progress = Callable[[int, int], None]
_EVERY, _BAR_EVERY = 5.0, 0.1
_WIDTH = 30


def shown_on(stream: TextIO, clock: Callable[[], float] = time.monotonic, did: str = "answered", what: str = "queries") -> Progress:
    """Tells ``stream``. Counts are (answered, of how many)."""
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    narrow = terminal and 0 < columns(os.environ, True) < _WIDTH + 50
    started = last = clock()
    first: int | None = None

    def say(done: int, total: int) -> None:
        nonlocal last, first
        now = clock()
        first = done - 1 if first is None else first  # what an earlier run answered took no time of this one
        if done < total and now - last < (_BAR_EVERY if terminal else _EVERY):
            return
        last = now
        left = (now - started) / max(done - first, 1) * (total - done)
        rest = f", about {left:.0f} s left" if done < total and now - started >= 1 else ""
        if not terminal:
            print(f"{did} {done} of {total} {what}{rest}", file=stream, flush=True)
            return
        full = _WIDTH * done // max(total, 1)
        bar = "" if narrow else f"[{'#' * full}{'.' * (_WIDTH - full)}] "
        print(f"\r\x1b[K{bar}{done} of {total} {what}{rest}", end="" if done < total else "\n",
              file=stream, flush=True)

    return say
