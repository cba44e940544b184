"""Fills an index of Elasticsearch or OpenSearch that is not there yet: from a bulk file, or from the units of a frozen snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.retrievers.engines.half_made import made
from gate.retrievers.engines.index_load import batches, dimensions, loadable
from gate.retrievers.engines.stored import stored_unit
from gate.retrievers.engines.wire import Wire

if TYPE_CHECKING:
    from gate.retrievers.elasticsearch import Options
    from gate.snapshot.reader import Snapshot

_SECONDS = 120.0
_MERGE = 900.0
_ACTIONS = 1000
_BYTES = 4 * 1024**2
_NUMBERS = 250_000
_MOST_FAULTS = 1000
_CURE = "make the file anew: two lines a document, {\"index\": {\"_id\": …}} and the document itself"



def actions(path: Path, index: str) -> Iterator[tuple[int, str, bytes]]:
    """(line, id, both lines) of every document of a bulk file. Raises InvalidInput for a line that is anything but a document of this index
    with an id of its own: without one, sending twice would store twice."""
    head: tuple[int, str, dict[str, Any]] | None = None
    for number, _, line in jsonio.read_bytes(path):
        try:
            record = jsonio.loads(jsonio.text_of(line, path, number))
        except ValueError as fault:
            raise InvalidInput(f"{path}:{number}: {fault}", _CURE) from None
        if not isinstance(record, dict):
            raise InvalidInput(f"{path}:{number}: is no object", _CURE)
        if head is None:
            meta = next(iter(record.values())) if len(record) == 1 and set(record) <= {"index", "create"} else None
            if not isinstance(meta, dict):
                raise InvalidInput(f"{path}:{number}: must be {{\"index\": …}} or {{\"create\": …}}", _CURE)
            if meta.get("_index", index) != index:
                raise InvalidInput(f"{path}:{number}: is for the index {str(meta['_index'])[:80]!r}, not {index!r}",
                                   "leave `_index` out of the file")
            if not isinstance(meta.get("_id"), str) or not meta["_id"]:
                raise InvalidInput(f"{path}:{number}: has no `_id`", _CURE)
            head = (number, meta["_id"], {key: value for key, value in meta.items() if key != "_index"})
        else:
            # Stored, not created: when the answer to a request is lost, it can be sent again.
            yield head[0], head[1], f"{jsonio.dumps({'index': head[2]})}\n{jsonio.dumps(record)}\n".encode()
            head = None
    if head is not None:
        raise InvalidInput(f"{path}:{head[0]}: the document that belongs to it is missing", _CURE)


def bulk_ids(path: Path, index: str) -> set[str]:
    """Of all documents in the file."""
    return {own for _, own, _ in actions(path, index)}


def restore(wire: Wire, path: str, options: Options) -> None:
    """Create the index and store every document of the bulk file."""
    assert options.bulk is not None
    bulk_ids(options.bulk, options.index)  # all faults of the file before the index exists
    wire.ask("PUT", path, _SECONDS, _definition(options.mapping) if options.mapping else {})
    with made(wire, path, True):
        _send(wire, path, actions(options.bulk, options.index), str(options.bulk))


def load(wire: Wire, path: str, options: Options, snapshot: Snapshot | None, create: bool) -> None:
    """Every unit of the snapshot as a document: its ids, title and text, and its vector where there is a field for it."""
    snapshot = loadable(snapshot)
    if create:
        wire.ask("PUT", path, _SECONDS, _definition(options.mapping) if options.mapping else generated(options, snapshot))
    with made(wire, path, create):
        _send(wire, path, _units(options, snapshot), "the snapshot")


def _units(options: Options, snapshot: Snapshot) -> Iterator[tuple[int, str, bytes]]:
    number = 0
    for units, rows in batches(snapshot, max(1, min(_ACTIONS, _NUMBERS // dimensions(snapshot)))):
        for unit, row in zip(units, rows, strict=True):
            number += 1
            record = stored_unit(unit, options.keys, text=True)
            if options.vector_field:
                record[options.vector_field] = [float(value) for value in row]
            yield number, unit["id"], f"{jsonio.dumps({'index': {'_id': unit['id']}})}\n{jsonio.dumps(record)}\n".encode()


def generated(options: Options, snapshot: Snapshot) -> dict[str, Any]:
    """One shard, no copies: scores of words depend on how documents are spread. Vectors as they are, not quantised."""
    keys = options.keys
    properties: dict[str, Any] = {"title": {"type": "text"}, "text": {"type": "text"}}
    properties |= {key: {"type": "keyword"} for key in (keys.document, keys.chunk) if key}
    properties |= {key: {"type": "integer"} for key in (keys.start, keys.end) if key}
    settings: dict[str, Any] = {"number_of_shards": 1, "number_of_replicas": 0}
    cosine, size = snapshot.manifest.index.get("similarity") == "cosine", dimensions(snapshot)
    if options.vector_field and options.opensearch:
        settings["knn"] = True
        properties[options.vector_field] = {"type": "knn_vector", "dimension": size, "method": {
            "name": "hnsw", "engine": "lucene", "space_type": "cosinesimil" if cosine else "innerproduct",
            "parameters": {"m": 16, "ef_construction": 100}}}
    elif options.vector_field:
        properties[options.vector_field] = {"type": "dense_vector", "dims": size, "index": True,
                                            "similarity": "cosine" if cosine else "max_inner_product",
                                            "index_options": {"type": "hnsw", "m": 16, "ef_construction": 100}}
    return {"settings": {"index": settings}, "mappings": {"properties": properties}}


def _definition(path: Path) -> Any:
    try:
        value = jsonio.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror})", "set `retriever.mapping` to a JSON file") from None
    except ValueError as fault:
        raise InvalidInput(f"{path}: {fault}", "it must be the JSON that creates the index: `settings` and `mappings`") from None
    if not isinstance(value, dict) or not value.keys() <= {"settings", "mappings", "aliases"}:
        raise InvalidInput(f"{path}: must be an object with `settings` and `mappings`", "it must be the JSON that creates the index")
    return value


def _send(wire: Wire, path: str, documents: Iterator[tuple[int, str, bytes]], source: str) -> None:
    """In pieces; then make it all visible, in one segment: how an index is cut into segments decides what its graphs look like."""
    faults: list[str] = []
    part: list[tuple[int, str, bytes]] = []
    size = 0
    for document in documents:
        part.append(document)
        size += len(document[2])
        if len(part) >= _ACTIONS or size >= _BYTES:
            faults += _bulk(wire, path, part, source)
            part, size = [], 0
            if len(faults) >= _MOST_FAULTS:
                break
    if part:
        faults += _bulk(wire, path, part, source)
    if faults:
        raise InvalidInput(faults, "fix the documents or the `mapping` of the index, which was deleted again")
    wire.ask("POST", f"{path}/_refresh", _SECONDS)
    wire.ask("POST", f"{path}/_forcemerge", _MERGE, params={"max_num_segments": "1"})
    wire.ask("POST", f"{path}/_refresh", _SECONDS)


def _bulk(wire: Wire, path: str, part: Sequence[tuple[int, str, bytes]], source: str) -> list[str]:
    answer = wire.ask("POST", f"{path}/_bulk", _SECONDS, b"".join(lines for _, _, lines in part))
    items = answer.get("items") if isinstance(answer, dict) else None
    if not isinstance(items, list) or len(items) != len(part):
        raise InvalidInput(f"{source}: the engine did not say what became of every document")
    faults = []
    for (number, own, _), item in zip(part, items, strict=True):
        done = next(iter(item.values())) if isinstance(item, dict) and item else {}
        error = done.get("error") if isinstance(done, dict) else "no answer"
        if error or not 200 <= int(done.get("status", 0)) < 300:
            reason = error.get("reason") if isinstance(error, dict) else error
            faults.append(f"{source}:{number}: {own[:80]!r} was not stored: {wire.shown(str(reason))}")
    return faults
