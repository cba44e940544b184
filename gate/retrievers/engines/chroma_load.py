"""A collection of Chroma that is made from a snapshot."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gate.errors import RetrieverFailed
from gate.figures import plural
from gate.retrievers.engines.index_load import batches

if TYPE_CHECKING:
    from gate.retrievers.engines.chroma_api import Collection, Place
    from gate.snapshot.reader import Snapshot

_BATCH = 1000


def load(collection: Collection, place: Place, snapshot: Snapshot, hnsw: Mapping[str, Any], keys: Mapping[str, str]) -> str:
    """Make the collection where it is missing, fill it where it is empty; a sentence about what was done, empty when there was nothing to
    do. ``keys``: field of a unit (doc, start, end) → metadata key. What was made and could not be filled is deleted again."""
    made = not collection.find()
    if made:
        space = "cosine" if snapshot.manifest.index.get("similarity") == "cosine" else "ip"
        # Stored as a whole, once all are in: units that wait for the threshold are put into the graph anew at every start of the server,
        # in an order that several threads make up.
        parameters = {"space": space, "sync_threshold": max(2, snapshot.manifest.units), **hnsw}
        collection.ask("POST", place.collections, {"name": place.collection, "configuration": {"hnsw": parameters}})
        if not collection.find():
            raise RetrieverFailed(f"{collection.name}: was made and cannot be found", "see what Chroma logged")
    elif collection.count():
        return ""
    try:
        for units, vectors in batches(snapshot, _BATCH):
            body: dict[str, Any] = {"ids": [unit["id"] for unit in units], "embeddings": vectors.tolist()}
            if keys:
                body["metadatas"] = [{key: unit[field] for field, key in keys.items() if unit.get(field) is not None} or None
                                     for unit in units]
            collection.ask("POST", f"{collection.path}/add", body)
    except BaseException:
        if made:
            with contextlib.suppress(RetrieverFailed):
                collection.ask("DELETE", place.named)
        raise
    return f"{collection.name}: was filled with the {plural(snapshot.manifest.units, 'unit')} of the snapshot; its HNSW index was built " \
           "in this run, and no two builds are quite alike"
