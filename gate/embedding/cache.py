"""Query vectors that were made before, in a file for each model. Nothing in it is believed without its digest.

A file is a line of JSON (schema, key, count, dimensions, type, reported, digest), then the SHA-256 of each text, 32 bytes, then the
vectors, little-endian float32, in the same order. The digest is over the line without it and everything behind.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio
from gate.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

SCHEMA = 1
MAX_BYTES = 1024**3
_MAX_HEAD = 64 * 1024
_MARK = 32
_TYPE = "<f4"
LONGEST_REPORT = 300


def mark_of(text: str) -> bytes:
    """What a vector is found by: the digest of its text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class Stored(NamedTuple):
    """``rows``: mark → row of ``vectors`` (float32, None when there is none). ``reported``: what the model called itself when it was asked
    last."""

    rows: Mapping[bytes, int]
    vectors: np.ndarray | None = None
    reported: str = ""

    def joined(self, marks: Sequence[bytes], vectors: np.ndarray | None, reported: str) -> Stored:
        """With further ones, none of which it has yet."""
        import numpy as np

        if vectors is None or not len(vectors):
            return self._replace(reported=reported or self.reported)
        whole = vectors if self.vectors is None else np.concatenate([self.vectors, vectors])
        rows = {**self.rows, **{mark: len(self.rows) + number for number, mark in enumerate(marks)}}
        return Stored(rows, whole, reported or self.reported)


class VectorCache:
    """``key``: everything but the text that decides a vector; it has a file of its own in ``folder``."""

    def __init__(self, folder: Path, key: Mapping[str, Any]) -> None:
        self._key = jsonio.digest(key)
        self.path = folder / "embeddings" / f"{self._key[7:39]}.vectors"

    def load(self) -> tuple[Stored, str]:
        """What is in the file; with it nothing and the reason, as a sentence, when the file cannot be trusted."""
        try:
            if not os.path.lexists(self.path):
                return Stored({}), ""
            self._refuse_links()
            with open(self.path, "rb", opener=jsonio.regular) as stream:
                data = stream.read(MAX_BYTES + 1)
            return self._read(data), ""
        except (OSError, ValueError, InvalidInput) as fault:
            why = fault.strerror if isinstance(fault, OSError) else str(fault).partition("\n")[0]
            return Stored({}), f"the cache of query vectors {self.path.name} was not used and is made anew: {why}"

    def save(self, stored: Stored) -> str:
        """Write what is there now. Why it could not be written, as a sentence; the run goes on without."""
        if stored.vectors is None:
            return ""
        marks = b"".join(sorted(stored.rows, key=stored.rows.__getitem__))
        data = stored.vectors.astype(_TYPE).tobytes()
        head = {"schema": SCHEMA, "key": self._key, "count": len(stored.rows), "dimensions": stored.vectors.shape[1], "type": _TYPE,
                "reported": stored.reported[:LONGEST_REPORT]}
        head["digest"] = _digest(head, marks + data)
        try:
            self._refuse_links()
            jsonio.write_atomic(self.path, jsonio.dumps(head).encode() + b"\n" + marks + data)
            self._hand_over()
        except (InvalidInput, ValueError, OSError) as fault:
            why = str(fault).partition("\n")[0]
            return f"query vectors were not kept for the next run: {why}"
        return ""

    def _hand_over(self) -> None:
        """In a job the gate is root and the runner is not, who has to carry the folder away and to delete it."""
        if os.geteuid() == 0:
            folder = self.path.parent
            owner = folder.parent.parent.stat()
            for place in (folder.parent, folder, self.path):
                os.chown(place, owner.st_uid, owner.st_gid, follow_symlinks=False)

    def _refuse_links(self) -> None:
        # The folder may lie in a checkout, where a pull request can put a link that leads anywhere.
        for place in (self.path.parent.parent, self.path.parent, self.path):
            if place.is_symlink():
                raise ValueError(f"{place.name} is a link")

    def _read(self, data: bytes) -> Stored:
        import numpy as np

        end = data.find(b"\n", 0, _MAX_HEAD)
        head = jsonio.loads(data[:end].decode()) if end > 0 else None
        if not isinstance(head, dict) or head.get("schema") != SCHEMA or len(data) > MAX_BYTES:
            raise ValueError("it is no file of this version")
        count, width, reported = head.get("count"), head.get("dimensions"), head.get("reported")
        if head.get("key") != self._key or head.get("type") != _TYPE:
            raise ValueError("it was made for another model, or on another kind of machine")
        body = data[end + 1:]
        if type(count) is not int or type(width) is not int or not isinstance(reported, str) or count < 1 or width < 1 \
                or len(body) != count * (_MARK + 4 * width):
            raise ValueError("its size is not the one it says")
        if head.pop("digest", None) != _digest(head, body):
            raise ValueError("its content does not have the digest it says")
        marks = [body[at:at + _MARK] for at in range(0, count * _MARK, _MARK)]
        vectors = np.frombuffer(body, _TYPE, count * width, count * _MARK).reshape(count, width).astype(np.float32)
        if len(set(marks)) < count or not np.isfinite(vectors).all():
            raise ValueError("it holds a text twice, or vectors with NaN or Infinity")
        return Stored({mark: row for row, mark in enumerate(marks)}, vectors, reported[:LONGEST_REPORT])


def _digest(head: Mapping[str, Any], body: bytes) -> str:
    return jsonio.sha256(jsonio.dumps(head).encode() + b"\n" + body)
