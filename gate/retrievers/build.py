"""Settings → the retriever they describe."""

from __future__ import annotations

from collections.abc import Collection

from gate.errors import InvalidInput
from gate.retrievers import KINDS, NEEDS_SNAPSHOT
from gate.retrievers.base import Retriever
from gate.settings import Settings
from gate.snapshot.reader import Snapshot


def build_retriever(settings: Settings, snapshot: Snapshot | None, aside: Collection[str] = ()) -> Retriever:
    """The retriever of ``settings``; ``snapshot`` comes from :func:`gate.snapshot.reader.open_snapshot`. ``aside``: ids of golden queries
    that will not be asked, so that a run file which answers them is not told that it holds strangers.

    Raises :class:`InvalidInput`.
    """
    wanted = settings.retriever
    if wanted.kind in NEEDS_SNAPSHOT and snapshot is None:
        raise InvalidInput(f"a {wanted.kind} retriever needs a snapshot", "set `snapshot.path` and `snapshot.digest`")
    if wanted.kind == "bm25" and snapshot is not None:
        from gate.retrievers.bm25 import Bm25Retriever

        return Bm25Retriever(snapshot)
    if wanted.kind == "dense" and snapshot is not None:
        from gate.retrievers.dense import DenseRetriever

        return DenseRetriever(snapshot)
    if wanted.kind == "run" and wanted.file is not None:
        from gate.retrievers.runfile import RunFileRetriever

        return RunFileRetriever(wanted.file, aside)
    if wanted.kind == "python":
        from gate.retrievers.python import PythonRetriever

        return PythonRetriever(wanted.function, wanted.path, wanted.limits, snapshot.path if snapshot else None)
    raise InvalidInput(f"retriever kind {wanted.kind!r} must be one of {', '.join(KINDS)}")
