"""Tar archives, plain or gzipped, read once from front to back."""

from __future__ import annotations

import tarfile
import zlib
from typing import BinaryIO

from gate.snapshot.entries import BLOCK, BadArchive, Entries

# What stands before one entry may take: its header, a long name, attributes. tarfile reads all of it into memory.
_HEADERS = 1024**2
_KINDS = {tarfile.SYMTYPE: "a symbolic link", tarfile.LNKTYPE: "a hard link", tarfile.CHRTYPE: "a device", tarfile.BLKTYPE: "a device",
          tarfile.FIFOTYPE: "a named pipe", tarfile.GNUTYPE_SPARSE: "a sparse file"}
_DAMAGE = (tarfile.TarError, EOFError, zlib.error, OSError, ValueError, ArithmeticError, LookupError, RecursionError, TypeError)


def read_tar(stream: BinaryIO, entries: Entries) -> None:
    """Every file of ``stream`` (inflated). Raises :class:`BadArchive`."""
    metered = _Metered(stream, entries)
    archive: tarfile.TarFile | None = None
    while True:
        metered.allowance = _HEADERS
        try:
            if archive is None:
                archive = tarfile.TarFile(fileobj=metered, mode="r", encoding="utf-8", errors="strict")  # type: ignore[arg-type]
            member = archive.next()
        except BadArchive:
            raise
        except UnicodeError:
            raise BadArchive("has a name that is not UTF-8") from None
        except _DAMAGE as fault:
            raise BadArchive(f"not a readable tar ({type(fault).__name__})") from None
        if member is None:
            return
        archive.members = []  # it would keep all of them
        metered.allowance = None
        _one(member, metered, entries)


def _one(member: tarfile.TarInfo, metered: _Metered, entries: Entries) -> None:
    kind = "file" if member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) else "folder" if member.isdir() else _KINDS.get(
        member.type, "of an unknown type")
    if kind == "file" and (member.sparse is not None or metered.tell() != member.offset_data):
        kind = "a sparse file"
    if member.size < 0:
        raise BadArchive(f"entry {ascii(member.name[:80])} says that it has {member.size} bytes")
    path, left = entries.accept(member.name, kind), member.size if kind == "file" else 0

    def read(size: int) -> bytes:
        nonlocal left
        block = metered.read(min(size, left))
        if left and not block:
            raise BadArchive(f"ends within its entry {ascii(member.name[:80])}")
        left -= len(block)
        return block

    if path:
        entries.write(path, read)
    while read(BLOCK):
        pass  # an entry that is not wanted


class _Metered:
    """A stream as tarfile needs one, forwards only. ``allowance``: bytes that may still be read; None for any number."""

    def __init__(self, stream: BinaryIO, entries: Entries) -> None:
        self._stream, self._entries, self._at = stream, entries, 0
        self.allowance: int | None = None

    def read(self, size: int) -> bytes:
        if self.allowance is not None:
            if not 0 <= size <= self.allowance:
                raise BadArchive(f"says that what precedes an entry has more than {_HEADERS} bytes")
            self.allowance -= size
        try:
            data = self._stream.read(size)
        except (EOFError, zlib.error, OSError) as fault:
            raise BadArchive(f"damaged or cut ({fault})") from None
        self._at += len(data)
        self._entries.spend(len(data))
        return data

    def tell(self) -> int:
        return self._at

    def seek(self, position: int) -> int:
        if position < self._at:
            raise BadArchive("has a size in it that leads backwards")
        while position > self._at and self.read(min(BLOCK, position - self._at)):
            pass
        return self._at
