"""Archives of strangers → files in an empty folder. Tar, gzipped tar and zip are told apart by content, not by name."""

from __future__ import annotations

from pathlib import Path

from gate.jsonio import GZIP
from gate.snapshot.entries import BadArchive, Caps, Entries

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ZSTD, _XZ, _BZ2 = b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh"
CURE = "pack the snapshot's folder again, as .tar.gz or .zip, with nothing but plain files in it"


def unpack(archive: Path, into: Path, shown: str, *, drop: int = 0, within: str = "", caps: Caps | None = None) -> int:
    """The number of files that were written below ``into``. ``shown``: the archive's name in messages; ``drop``, ``within``: see
    :class:`Entries`. Raises :class:`BadArchive` for everything that is no honest archive; what was written until then stays."""
    with open(archive, "rb") as stream:
        head = stream.read(512)
        entries = Entries(into, archive.stat().st_size, caps, drop, within)
        stream.seek(0)
        try:
            if head.startswith(_ZIP):
                from gate.snapshot.unzip import read_zip_file

                read_zip_file(stream, entries)
            elif head.startswith(GZIP) or head[257:262] == b"ustar":
                from gate.snapshot.untar import read_tar

                if head.startswith(GZIP):
                    import gzip

                    read_tar(gzip.GzipFile(fileobj=stream), entries)  # type: ignore[arg-type]
                else:
                    read_tar(stream, entries)
            else:
                raise BadArchive(_what_else(head))
        except BadArchive as fault:
            raise BadArchive(f"{shown}: {fault.problems[0]}", fault.cure or CURE) from None
    return len(entries.files)


def _what_else(head: bytes) -> str:
    if head.startswith((_ZSTD, _XZ, _BZ2)):
        return "is packed by zstd, xz or bzip2, which the gate does not read; .tar, .tar.gz and .zip it does"
    if head.lstrip()[:1] == b"<":
        return "is a web page, perhaps a login, and no archive"
    return "is neither a tar, nor a gzipped tar, nor a zip"


