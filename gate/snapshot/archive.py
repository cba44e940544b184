"""A snapshot that comes as one archive: downloaded, held against its digest, unpacked."""

from __future__ import annotations

from gate.errors import InvalidInput
from gate.snapshot.download import Download, Wanted
from gate.snapshot.sources.base import Room
from gate.snapshot.unpack import unpack


def fetch_archive(room: Room, wanted: Wanted, sha256: str = "", *, drop: int = 0, within: str = "", pinned_by: str = "") -> None:
    """Fill the room's folder. ``sha256``: 64 hex digits that the archive must have, "" for any; ``pinned_by``: who says so. ``drop``,
    ``within``: see :func:`unpack`. Raises :class:`InvalidInput` with both digests when another file came."""
    place = room.keep / f"{room.key}.part"
    download = Download(wanted, place, sleep=room.sleep)
    real = download.run()
    if sha256 and real != sha256 and (download.resumed or not download.whole):
        # Perhaps two versions of the file in one, or its beginning alone: once from the start before anybody is accused.
        download.forget()
        real = download.run()
    try:
        if sha256 and real != sha256:
            raise InvalidInput(f"{wanted.shown}: is sha256:{real}, but {pinned_by or 'the configuration pins'} sha256:{sha256}",
                               "do not trust it; make it again" if pinned_by else "another file is there now: put the pinned one back, or, "
                               "when the new one is meant, set `sha256` and `snapshot.digest` to it")
        unpack(place, room.into, wanted.shown, drop=drop, within=within)
    finally:
        download.forget()
