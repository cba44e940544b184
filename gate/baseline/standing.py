"""What other runs of the default branch have stored, asked by a run that is about to store something itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from gate.baseline.choose import Candidate, Manifest, Wanted, record_facts, refusal
from gate.baseline.lookups import Lookups
from gate.baseline.shelf import Item, Loaded, Shelf
from gate.errors import InvalidInput
from gate.github.artifacts import ArtifactTooLarge, WrongDigest
from gate.github.failures import Gone, NotFound

# How many of the newest items are looked at.
MAX_LOOKED_AT = 3
UNUSABLE = (InvalidInput, ArtifactTooLarge, WrongDigest, NotFound, Gone)


class Standing(NamedTuple):
    """An item that is what this gate's runs on the default branch store. Its run may still be under way, and no base has to contain it."""

    item: Item
    loaded: Loaded

    @property
    def manifest(self) -> Manifest:
        return self.loaded.manifest


def newest_standing(items: Sequence[Item], wanted: Wanted, shelf: Shelf, lookups: Lookups, most: int = MAX_LOOKED_AT) -> Standing | None:
    """The first of ``items`` (newest first) that is acceptable as far as can be told while its run is under way; None when the first
    ``most`` are not, or there is none."""
    return next((found for item in items[:most] if (found := _standing(item, wanted, shelf, lookups)) is not None), None)


def _standing(item: Item, wanted: Wanted, shelf: Shelf, lookups: Lookups) -> Standing | None:
    if item.fault or refusal(Candidate(item.origin), wanted):
        return None
    run = lookups.run(item)
    if run is None or refusal(Candidate(item.origin, run, on_default=lookups.on_default(item.head_sha)), wanted):
        return None
    try:
        loaded = shelf.load(item)
    except UNUSABLE:
        return None
    candidate = Candidate(item.origin, run, manifest=loaded.manifest, record=record_facts(loaded.record))
    if run.conclusion not in ("", "success"):
        candidate = replace(candidate, jobs=lookups.jobs(item.run_id))
    return None if refusal(candidate, wanted) else Standing(item, loaded)
