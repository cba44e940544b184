"""Half an index would be taken for the whole one by the next run: what fails on the way is removed again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gate.errors import GateError
from gate.retrievers.engines.wire import Wire
from gate.retrievers.pool import QueryFailed


@contextlib.contextmanager
def made(wire: Wire, path: str, create: bool) -> Iterator[None]:
    """``create``: the index or collection at ``path`` is this run's own; else it is somebody's. Entered when it has been created: of two
    runs that start together one is refused, and must not remove what the other is filling."""
    try:
        yield
    except BaseException:
        if create:
            with contextlib.suppress(QueryFailed, GateError):  # the fault itself is what has to be told
                wire.known("DELETE", path, 10.0)
        raise
