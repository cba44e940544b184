"""Zip files in memory: made so that equal content gives equal bytes, read as what they are when a stranger made them."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gate.errors import InvalidInput

_EPOCH = (1980, 1, 1, 0, 0, 0)
_END, _END_SIZE = b"PK\x05\x06", 22
_ZIP64_LOCATOR, _ZIP64_SIZE = b"PK\x06\x07", 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_CHUNK = 256 * 1024
# A little text squeezes further than any ratio that makes sense for large data.
_RATIO_FREE = 1024**2


class BadArchive(InvalidInput):
    """A zip that is damaged or that no honest tool would have made."""


@dataclass(frozen=True)
class Caps:
    """What an archive may hold. Bytes; ``ratio``: inflated to packed, beyond the first MiB."""

    entries: int = 32
    file: int = 256 * 1024**2
    total: int = 512 * 1024**2
    ratio: int = 100
    directory: int = 64 * 1024


def make_zip(files: Mapping[str, bytes]) -> bytes:
    """A zip of ``files``, sorted by name, without times or owners. What is gzipped already is stored as it is."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3  # the same on every system
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".gz") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return out.getvalue()


def read_zip(data: bytes, expected: Collection[str], caps: Caps | None = None, name: str = "archive",
             optional: Collection[str] = ()) -> dict[str, bytes]:
    """The expected files, and the optional ones that it holds, straight from memory; nothing is ever written to disk.

    Sizes are counted while inflating, since headers lie. Other entries are tolerated unread, as long as they look harmless: a
    later version may add some. Raises :class:`BadArchive` also when an expected file is missing."""
    caps = caps or Caps()
    try:
        _check_directory(data, caps)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            _check_entries(entries, caps)
            by_name = {entry.filename: entry for entry in entries}
            missing = sorted(set(expected) - by_name.keys())
            if missing:
                raise BadArchive(f"holds no {', '.join(missing)}")
            left, found = caps.total, {}
            for wanted in (*expected, *(each for each in optional if each in by_name)):
                found[wanted] = _inflate(archive, by_name[wanted], min(caps.file, left), caps.ratio)
                left -= len(found[wanted])
            return found
    except BadArchive as fault:
        raise BadArchive(f"{name}: {fault.problems[0]}", "make it again; do not trust where it came from") from None
    # zipfile raises NotImplementedError for exotic versions and RuntimeError for encryption that its flags hid.
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        struct.error,
        ValueError,
        NotImplementedError,
        RuntimeError,
        OSError,
    ) as fault:
        raise BadArchive(f"{name}: not a readable zip ({type(fault).__name__})", "make or download it again") from None


def _check_directory(data: bytes, caps: Caps) -> None:
    """Before zipfile builds an object for each entry: the central directory must be where zipfile will look for it, and
    small."""
    end = data[-_END_SIZE:]
    if len(end) < _END_SIZE or end[:4] != _END or end[20:] != b"\0\0":
        raise BadArchive("not a zip, cut, or with something behind its end")
    if data[-_END_SIZE - _ZIP64_SIZE :][:4] == _ZIP64_LOCATOR:
        raise BadArchive("zip64, which nothing of this size needs")
    (size,) = struct.unpack("<L", end[12:16])
    if size > caps.directory:
        raise BadArchive(f"its directory has {size} bytes, more than the gate reads ({caps.directory})")


def _check_entries(entries: list[zipfile.ZipInfo], caps: Caps) -> None:
    if len(entries) > caps.entries:
        raise BadArchive(f"holds {len(entries)} entries, more than the gate reads ({caps.entries})")
    seen = set()
    for entry in entries:
        # orig_filename: zipfile cuts a name at NUL, so two names could become one.
        name, shown = entry.orig_filename, ascii(entry.orig_filename[:80])
        parts = name.split("/")
        if (
            not name
            or name.startswith("/")
            or "\\" in name
            or "\0" in name
            or ":" in name
            or any(part in ("", ".", "..") for part in parts)
        ):
            raise BadArchive(f"entry {shown} has a name that could lead out of a directory")
        if entry.filename in seen:
            raise BadArchive(f"entry {shown} is there twice")
        seen.add(entry.filename)
        if entry.flag_bits & 0x1 or entry.flag_bits & 0x40:
            raise BadArchive(f"entry {shown} is encrypted")
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            raise BadArchive(f"entry {shown} is a link, a directory or a device, not a file")
        if entry.compress_type not in _METHODS:
            raise BadArchive(f"entry {shown} is packed by a method the gate does not read")


def _inflate(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int, ratio: int) -> bytes:
    """One entry; never holds more than ``limit`` bytes and one chunk."""
    out = bytearray()
    allowed = min(limit, max(_RATIO_FREE, entry.compress_size * ratio))
    with archive.open(entry) as stream:
        while chunk := stream.read(_CHUNK):
            out += chunk
            if len(out) > allowed:
                raise BadArchive(f"entry {ascii(entry.filename[:80])} inflates to more than {allowed} bytes")
    return bytes(out)
