"""What a search for the baseline walks over, wherever baselines are kept: items with their claims, and how to read one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gate.baseline.choose import Manifest, Origin, Refusal, RunFacts
from gate.baseline.record import Record


@dataclass(frozen=True)
class Item:
    """One stored baseline, nothing of it verified. ``label``: what sentences call it; ``id``: what a carried copy names as its source,
    0 where nothing does; ``fault``: what speaks against it before anything is looked up; ``source``: its place's own object."""

    label: str
    id: int
    run_id: int
    origin: Origin
    url: str
    expires_at: str = ""
    fault: Refusal | None = None
    source: Any = None

    @property
    def head_sha(self) -> str:
        return self.origin.head_sha


class Loaded(NamedTuple):
    """An item's content, each part whole in itself. ``latest`` gives the record of the storing run, or raises InvalidInput with why
    there is none that can be used; ``history`` the bytes of its history, None where it has none."""

    manifest: Manifest
    record: Record
    data: bytes
    latest: Callable[[], Record]
    history: Callable[[], bytes | None]


class Words(NamedTuple):
    """How a place is spoken of. ``name``: of this gate's baselines in it; ``more``: many of its items; ``unusable``: a sentence."""

    name: str
    more: str
    unusable: str


class Shelf(Protocol):
    """One gate's place in a store."""

    words: Words

    def items(self) -> list[Item]:
        """All there is, newest first."""

    def load(self, item: Item) -> Loaded:
        """Its content. Raises InvalidInput, NotFound, Gone, ArtifactTooLarge or WrongDigest for what cannot be used."""

    def forgotten(self, item: Item) -> RunFacts | None:
        """What may be taken for true of a run that GitHub does not know any more; None when an item is nothing without its run."""
