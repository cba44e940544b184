"""Fills a collection of Qdrant that is not there yet: from a snapshot file of Qdrant's own, or from the units of a frozen snapshot."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate.errors import InvalidInput
from gate.retrievers.engines.half_made import made
from gate.retrievers.engines.index_load import batches, dimensions, loadable
from gate.retrievers.engines.stored import stored_unit
from gate.retrievers.engines.wire import Wire

if TYPE_CHECKING:
    from gate.retrievers.qdrant import Options
    from gate.snapshot.reader import Snapshot

_SPACE = uuid.UUID("5d1c2c8e-7f0f-4f2b-9a53-0c6d2f4a9b11")
_SECONDS = 120.0
_NUMBERS = 250_000  # of one request: some five megabytes of JSON
_DISTANCE = {"cosine": "Cosine", "dot": "Dot"}


def point_id(unit: str) -> str:
    """The same one for the same unit, since Qdrant takes nothing but numbers and UUIDs."""
    return str(uuid.uuid5(_SPACE, unit))


def fill(wire: Wire, path: str, options: Options, snapshot: Snapshot | None, create: bool) -> None:
    """Every unit as a point. ``create``: the collection is not there yet."""
    snapshot = loadable(snapshot)
    size = dimensions(snapshot)
    params = {"size": size, "distance": _DISTANCE[str(snapshot.manifest.index.get("similarity"))]}
    if create:
        wire.ask("PUT", path, _SECONDS, {**options.create, "vectors": {options.using: params} if options.using else params})
    with made(wire, path, create):
        for units, rows in batches(snapshot, max(1, min(256, _NUMBERS // size))):
            points = []
            for unit, row in zip(units, rows, strict=True):
                vector = [float(number) for number in row]
                points.append({"id": point_id(unit["id"]), "vector": {options.using: vector} if options.using else vector,
                               "payload": stored_unit(unit, options.keys, text=False)})
            wire.ask("PUT", f"{path}/points", _SECONDS, {"points": points}, params={"wait": "true"})


def restore(wire: Wire, path: str, file: Path, seconds: float) -> None:
    """Upload a snapshot file; Qdrant makes the collection from it and checks its digest. Raises InvalidInput when it cannot be read."""
    try:
        with open(file, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            form = Form("snapshot", file.name, stream)
            with made(wire, path, True):
                wire.ask("POST", f"{path}/snapshots/upload", seconds, form, kind=form.kind,
                         params={"priority": "snapshot", "wait": "true", "checksum": digest})
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read ({error.strerror})", "set `retriever.restore.snapshot` to the snapshot file, which "
                           "an earlier step of the job may have fetched") from None


class Form:
    """A form of one file, read piece by piece: snapshots are larger than memory. ``kind``: its Content-Type."""

    def __init__(self, field: str, name: str, stream: Any) -> None:
        border = secrets.token_hex(16)
        plain = "".join(char for char in name if char.isascii() and char.isprintable() and char not in '"\\') or "file"
        head = (f'--{border}\r\nContent-Disposition: form-data; name="{field}"; filename="{plain}"\r\n'
                "Content-Type: application/octet-stream\r\n\r\n").encode()
        tail = f"\r\n--{border}--\r\n".encode()
        self.kind = f"multipart/form-data; boundary={border}"
        self._length = len(head) + os.fstat(stream.fileno()).st_size + len(tail)
        self._parts = [io.BytesIO(head), stream, io.BytesIO(tail)]

    def __len__(self) -> int:
        return self._length

    def read(self, size: int = -1) -> bytes:
        while self._parts:
            if part := self._parts[0].read(size):
                return part
            self._parts.pop(0)
        return b""
