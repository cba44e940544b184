"""An opened snapshot: verified first, read lazily afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.settings import SnapshotSettings
from gate.snapshot.manifest import UNITS, Manifest
from gate.snapshot.verify import verify

_KEYS = ("id", "doc", "title", "text")


@dataclass(frozen=True)
class Snapshot:
    """A verified directory. Made by :func:`open_snapshot`, so that an unverified one never yields a number."""

    path: Path
    manifest: Manifest

    def units(self) -> Iterator[dict[str, Any]]:
        """The lines of ``units.jsonl``: id, doc, title, text, and parent, start, end where they exist."""
        path = self.path / UNITS
        for number, text in jsonio.read_lines(path):
            try:
                unit = jsonio.loads(text)
            except ValueError as fault:
                raise InvalidInput(f"{path}:{number}: {fault}") from None
            if not isinstance(unit, dict) or not all(isinstance(unit.get(key), str) for key in _KEYS):
                raise InvalidInput(f"{path}:{number}: a unit needs the strings {', '.join(_KEYS)}")
            yield unit

    @cached_property
    def _columns(self) -> tuple[tuple[str, ...], dict[str, str], set[str]]:
        ids, titles, names = [], {}, set()
        for unit in self.units():
            ids.append(unit["id"])
            titles[unit["id"]] = unit["title"]
            names.update(str(unit[key]) for key in ("id", "doc", "parent") if unit.get(key))
        if len(ids) != self.manifest.units or len(titles) != len(ids):
            raise InvalidInput(f"{self.path / UNITS}: holds {len(ids)} units ({len(titles)} different), the manifest says "
                               f"{self.manifest.units}", "build the snapshot again")
        return tuple(ids), titles, names

    @property
    def ids(self) -> tuple[str, ...]:
        """Unit ids in the order of the index, which is ascending."""
        return self._columns[0]

    def titles(self) -> Mapping[str, str]:
        """Unit id → title."""
        return self._columns[1]

    def names(self) -> Set[str]:
        """Everything a golden set may call a document: units, documents, and what those were cut from."""
        return self._columns[2]

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {unit["id"]: unit["text"] for unit in self.units()}

    def texts(self) -> Mapping[str, str]:
        """Unit id → text; read when first asked for."""
        return self._texts

    def excerpts(self, ids: Collection[str], chars: int) -> dict[str, str]:
        """Of units, or of documents by their first unit: id → the first ``chars`` characters of its text. The file is read through once and
        nothing else of it is kept."""
        wanted, found = set(ids), {}
        for unit in self.units():
            for name in (unit["id"], unit["doc"]):
                if name in wanted and unit["text"]:
                    found.setdefault(name, unit["text"][:chars])
        return found

    def describe(self) -> dict[str, Any]:
        """What a record keeps: the essential facts and the tree digest."""
        return self.manifest.facts() | {"tree_digest": self.manifest.tree_digest}


def open_snapshot(settings: SnapshotSettings) -> Snapshot:
    """Verify the snapshot against its pinned digest and open it. Raises :class:`InvalidInput`."""
    return Snapshot(settings.path, verify(settings.path, settings.digest))
