"""The units and vectors of a dense snapshot, in batches, for an engine whose index is still empty (``load: true``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from gate.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

    from gate.snapshot.reader import Snapshot


def loadable(snapshot: Snapshot | None) -> Snapshot:
    """The snapshot. Raises :class:`InvalidInput` when there is none, or none with vectors."""
    if snapshot is None or not snapshot.manifest.has_vectors:
        raise InvalidInput("`retriever.load` fills the engine from a dense snapshot, and "
                           f"{'the snapshot holds no vectors' if snapshot else 'there is no snapshot'}",
                           "build one (`snapshot build --kind dense`) and set `snapshot.path` and `snapshot.digest`, or fill the engine "
                           "yourself")
    return snapshot


def dimensions(snapshot: Snapshot) -> int:
    """Of its vectors."""
    from gate.snapshot.vectors import VECTORS, open_array

    return int(open_array(snapshot.path / VECTORS).shape[1])


def batches(snapshot: Snapshot, size: int) -> Iterator[tuple[list[dict[str, Any]], np.ndarray]]:
    """(at most ``size`` units as in ``units.jsonl``, their vectors as float32 rows) until all have come. Nothing is held longer."""
    import numpy as np

    from gate.snapshot.vectors import VECTORS, read_vectors

    vectors = read_vectors(snapshot.path / VECTORS, len(snapshot.ids), "the snapshot has")
    units, start = snapshot.units(), 0
    while part := list(islice(units, size)):
        yield part, np.asarray(vectors[start:start + len(part)], np.float32)
        start += len(part)
