"""The folder of the snapshot that a configuration pins: there already, in the cache, or fetched now. Always verified."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gate import console
from gate.errors import InvalidInput
from gate.snapshot.cache import Cache
from gate.snapshot.entries import no_room
from gate.snapshot.manifest import NAME, Manifest
from gate.snapshot.sources import module_of
from gate.snapshot.sources.base import Room
from gate.snapshot.verify import verify
from gate.snapshot_settings import SnapshotSettings, Source
from gate.world import World


class Obtained(NamedTuple):
    """``notes``: what a reader of the report should know about where it came from. ``how``: "path", "cache" or "fetched"."""

    path: Path
    manifest: Manifest
    how: str
    notes: tuple[str, ...] = ()


def obtain(settings: SnapshotSettings, world: World | None = None, sleep: Callable[[float], None] = time.sleep) -> Obtained:
    """Every file of it has the digest that is pinned.

    Raises :class:`InvalidInput` when it is another snapshot or no sound one, and :class:`SnapshotUnavailable` (or GitHub's errors) when
    it could not be fetched. A cache that is damaged is never a failure."""
    if settings.source is None:
        path = settings.path or Path()
        return Obtained(path, verify(path, settings.digest), "path")
    cache = Cache((world or World()).cache, sleep)
    entry, notes = cache.entry(settings.digest), []
    if manifest := _sound(entry, settings.digest)[0]:
        return Obtained(entry, manifest, "cache")
    with cache.lock(settings.digest):
        manifest, fault = _sound(entry, settings.digest)
        if manifest:  # somebody else has just fetched it
            return Obtained(entry, manifest, "cache")
        if fault:
            notes.append(f"the cached snapshot was damaged ({fault}) and has been fetched again")
            cache.remove(entry)
        try:
            manifest = _fetched(settings, settings.source, cache, world or World(), sleep)
        except OSError as error:  # of a folder, a note, a name: nothing that the source can be blamed for
            raise no_room(error) from None
    return Obtained(entry, manifest, "fetched", tuple(notes))


def _fetched(settings: SnapshotSettings, source: Source, cache: Cache, world: World, sleep: Callable[[float], None]) -> Manifest:
    entry = cache.entry(settings.digest)
    with cache.room() as place:
        into, scratch = place / "snapshot", place / "scratch"
        into.mkdir()
        scratch.mkdir()
        console.tell(f"fetching the snapshot: {source.options.shown}")
        module_of(source.kind).fetch(source.options, Room(into, scratch, cache.downloads, entry.name, world, sleep))
        tree = _top(into, source)
        manifest = _verified(tree, settings, source)
        cache.put(tree, entry)
    return manifest


def _sound(entry: Path, digest: str) -> tuple[Manifest | None, str]:
    """What the cache has, and why it is of no use; neither when it has nothing."""
    if not entry.is_symlink() and not entry.exists():
        return None, ""
    try:
        if entry.is_symlink():
            raise InvalidInput("it is a symbolic link")
        return verify(entry, digest), ""
    except InvalidInput as fault:
        return None, fault.problems[0].replace(f"{entry}/", "").replace(str(entry), "it")
    except OSError as fault:
        return None, fault.strerror or "unreadable"


def _top(tree: Path, source: Source) -> Path:
    """The folder with the manifest: what was unpacked, or the one folder that everything in it is in."""
    inside = list(tree.iterdir())
    if not (tree / NAME).exists() and len(inside) == 1 and inside[0].is_dir():
        tree = inside[0]
    if not (tree / NAME).exists():
        raise InvalidInput(f"{source.options.shown}: has no {NAME} at its top or in its only folder, so it is no snapshot",
                           "name the folder of the snapshot with `path` where the source has one, or pack that folder alone")
    return tree


def _verified(tree: Path, settings: SnapshotSettings, source: Source) -> Manifest:
    try:
        return verify(tree, settings.digest)
    except InvalidInput as fault:
        # Nobody knows the folder that it was unpacked to; what they know is where it came from.
        shown = source.options.shown
        raise InvalidInput([problem.replace(f"{tree}/", f"{shown}, ").replace(str(tree), shown) for problem in fault.problems],
                           fault.cure) from None
