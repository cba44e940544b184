"""Zip archives on disk."""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from typing import BinaryIO

from gate.snapshot.entries import BadArchive, Entries

# zipfile reads the directory whole and makes an object of every entry before it can be asked for their number.
_DIRECTORY = 16 * 1024**2
_END, _END_SIZE, _COMMENT = b"PK\x05\x06", 22, 65535
_LOCATOR, _LOCATOR_SIZE, _END64, _END64_SIZE = b"PK\x06\x07", 20, b"PK\x06\x06", 56
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, NotImplementedError, RuntimeError, OSError, LookupError,
           ArithmeticError)
_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a named pipe",
          stat.S_IFSOCK: "a socket"}


def read_zip_file(stream: BinaryIO, entries: Entries) -> None:
    """Every file of a zip. Raises :class:`BadArchive`."""
    try:
        _check_directory(stream)
        archive = zipfile.ZipFile(stream)
        for entry in archive.infolist():
            _one(archive, entry, entries)
    except BadArchive:
        raise
    except UnicodeError:
        raise BadArchive("has a name that is not UTF-8") from None
    except _DAMAGE as fault:
        raise BadArchive(f"not a readable zip ({type(fault).__name__})") from None


def _one(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, entries: Entries) -> None:
    name = entry.orig_filename  # zipfile cuts a name at NUL, so two names could become one
    mode = stat.S_IFMT(entry.external_attr >> 16)
    kind = "folder" if name.endswith("/") and mode in (0, stat.S_IFDIR) else "file" if mode in (0, stat.S_IFREG) else _KINDS.get(
        mode, "a folder with the name of a file")
    if not entry.flag_bits & 0x800 and not name.isascii():
        raise BadArchive(f"entry {ascii(name[:80])} has a name that is not UTF-8")
    if not (path := entries.accept(name, kind)):
        return
    if entry.flag_bits & 0x41:
        raise BadArchive(f"entry {ascii(name[:80])} is encrypted")
    if entry.compress_type not in _METHODS:
        raise BadArchive(f"entry {ascii(name[:80])} is packed by a method that the gate does not read")
    with archive.open(entry) as content:

        def read(size: int) -> bytes:
            block = content.read(size)
            entries.spend(len(block))
            return block

        entries.write(path, read)


def _check_directory(stream: BinaryIO) -> None:
    size = stream.seek(0, os.SEEK_END)
    tail_at = max(0, size - _END_SIZE - _COMMENT - _LOCATOR_SIZE)
    stream.seek(tail_at)
    tail = stream.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise BadArchive("not a zip, or cut")
    announced, = struct.unpack("<L", tail[at + 12:at + 16])
    locator = tail[max(0, at - _LOCATOR_SIZE):at]
    if len(locator) == _LOCATOR_SIZE and locator[:4] == _LOCATOR:
        stream.seek(min(size, struct.unpack("<Q", locator[8:16])[0]))
        record = stream.read(_END64_SIZE)
        if record[:4] == _END64 and len(record) == _END64_SIZE:
            announced = max(struct.unpack("<Q", record[40:48])[0], 0 if announced == 0xFFFFFFFF else announced)
    if announced > _DIRECTORY:
        raise BadArchive(f"its directory has {announced} bytes, more than the gate reads ({_DIRECTORY})")
    stream.seek(0)
