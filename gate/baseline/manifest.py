"""The small file beside a record in its artifact, and the artifact's zip as a whole."""

from __future__ import annotations

from dataclasses import asdict, fields

from gate import jsonio
from gate.baseline.choose import Manifest
from gate.baseline.record import MAX_PACKED, Record, unpack
from gate.baseline.timeline import HISTORY_FILE
from gate.baseline.timeline import MAX_BYTES as MAX_HISTORY
from gate.errors import InvalidInput
from gate.github.archives import Caps, make_zip, read_zip

MANIFEST_FILE, RECORD_FILE, LATEST_FILE = "manifest.json", "record.json.gz", "latest.json.gz"
_CAPS = Caps(file=MAX_PACKED, total=MAX_PACKED + 1024**2)
_MAX_MANIFEST = 64 * 1024


def manifest_bytes(manifest: Manifest) -> bytes:
    """The file."""
    return jsonio.pretty(asdict(manifest)).encode()


def pack_artifact(manifest: Manifest, record_bytes: bytes, latest_bytes: bytes = b"", history: bytes = b"") -> bytes:
    """The zip to upload; the record's bytes go in as they are, so a carried record stays the same to the bit. ``latest_bytes``: the
    packed record of the storing run itself, where it is another one; ``history``: :mod:`gate.baseline.timeline`'s file."""
    files = {MANIFEST_FILE: manifest_bytes(manifest), RECORD_FILE: record_bytes}
    return make_zip(files | {name: data for name, data in ((LATEST_FILE, latest_bytes), (HISTORY_FILE, history)) if data})


def unpack_artifact(data: bytes, name: str) -> tuple[Manifest, Record, bytes]:
    """Manifest, record and the record's bytes from a stranger's zip. Raises InvalidInput for everything that is not what we
    write."""
    found = read_zip(data, (MANIFEST_FILE, RECORD_FILE), _CAPS, name)
    manifest = read_manifest(found[MANIFEST_FILE], name)
    return manifest, unpack(found[RECORD_FILE], f"{name}, {RECORD_FILE}"), found[RECORD_FILE]


def latest_bytes_of(data: bytes) -> bytes:
    """The packed record of the storing run from the same zip."""
    return read_zip(data, (LATEST_FILE,), Caps(file=MAX_PACKED, total=MAX_PACKED), LATEST_FILE)[LATEST_FILE]


def history_bytes_of(data: bytes) -> bytes | None:
    """The history's file from the same zip; None where it holds none."""
    return read_zip(data, (), Caps(file=MAX_HISTORY, total=MAX_HISTORY), HISTORY_FILE, (HISTORY_FILE,)).get(HISTORY_FILE)


def read_manifest(data: bytes, name: str) -> Manifest:
    """A manifest from a stranger's bytes. Raises InvalidInput for everything that is not what we write."""
    try:
        if len(data) > _MAX_MANIFEST:
            raise jsonio.NotJson("too long")
        value = jsonio.loads(data.decode())
    except (UnicodeDecodeError, jsonio.NotJson) as fault:
        raise InvalidInput(f"{name}: {MANIFEST_FILE} is not JSON ({fault})") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{name}: {MANIFEST_FILE} is no object")
    # Keys that we do not know come from a later version with the same schema; they change nothing for us.
    known = {field.name: field for field in fields(Manifest)}
    given = {key: item for key, item in value.items() if key in known}
    wrong = [key for key, item in given.items() if type(item) is not (int if known[key].type == "int" else str)]
    wrong += [
        key
        for key in ("schema", "gate", "repository_id", "head_sha", "record_digest", "snapshot_digest", "state")
        if key not in given
    ]
    if wrong:
        raise InvalidInput(f"{name}: {MANIFEST_FILE} has no usable {', '.join(sorted(wrong))}")
    return Manifest(**given)
