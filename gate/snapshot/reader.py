"""An opened snapshot: verified first, read lazily afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from gate import jsonio
from gate.errors import InvalidInput
from gate.snapshot.manifest import UNITS, Manifest
from gate.snapshot.obtain import obtain
from gate.snapshot_settings import SnapshotSettings
from gate.world import World

_KEYS = ("id", "doc", "title", "text")


class _Columns(NamedTuple):
    """Of all units, by row: ``places`` are (start, end) in the document, (0, its length) of a unit that is a whole one."""

    ids: tuple[str, ...]
    docs: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    titles: Mapping[str, str]
    names: Set[str]


@dataclass(frozen=True)
class Snapshot:
    """A verified directory. Made by :func:`open_snapshot`, so that an unverified one never yields a number."""

    path: Path
    manifest: Manifest
    notes: tuple[str, ...] = ()

    def units(self) -> Iterator[dict[str, Any]]:
        """The lines of ``units.jsonl``: id, doc, title, text (both empty where they were kept out), and parent, start, end where they
        exist."""
        path, keys = self.path / UNITS, _KEYS if self.manifest.text else _KEYS[:2]
        for number, text in jsonio.read_lines(path):
            try:
                unit = jsonio.loads(text)
            except ValueError as fault:
                raise InvalidInput(f"{path}:{number}: {fault}") from None
            if not isinstance(unit, dict) or not all(isinstance(unit.get(key), str) for key in keys) or not (unit["id"] and unit["doc"]):
                raise InvalidInput(f"{path}:{number}: a unit needs the strings {', '.join(keys)}, and the first two not empty")
            start, end = unit.get("start"), unit.get("end")
            if (start, end) != (None, None) and not (type(start) is type(end) is int and 0 <= start <= end):
                raise InvalidInput(f"{path}:{number}: `start` and `end` must be whole numbers with 0 <= start <= end")
            yield unit if self.manifest.text else {"title": "", "text": "", **unit}

    @cached_property
    def _columns(self) -> _Columns:
        ids, docs, places, titles, names = [], [], [], dict[str, str](), set()
        documents: dict[str, str] = {}
        for unit in self.units():
            ids.append(unit["id"])
            docs.append(unit["doc"])
            places.append((unit.get("start", 0), unit.get("end", len(unit["text"]))))
            titles[unit["id"]] = unit["title"]
            # A section's title begins with its document's.
            for name in {unit["doc"], str(unit.get("parent") or unit["doc"])}:
                documents.setdefault(name, titles[unit["id"]].partition(" › ")[0])
            names.update(str(unit[key]) for key in ("id", "doc", "parent") if unit.get(key))
        if len(ids) != self.manifest.units or len(titles) != len(ids):
            raise InvalidInput(f"{self.path / UNITS}: holds {len(ids)} units ({len(titles)} different), the manifest says "
                               f"{self.manifest.units}", "build the snapshot again")
        return _Columns(tuple(ids), tuple(docs), tuple(places), documents | titles if self.manifest.text else {}, names)

    @property
    def ids(self) -> tuple[str, ...]:
        """Unit ids in the order of the index, which is ascending."""
        return self._columns.ids

    @property
    def docs(self) -> tuple[str, ...]:
        """What a golden set calls each unit: itself, or the document that it is a part of."""
        return self._columns.docs

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The characters ``(start, end)`` of its document that each unit is."""
        return self._columns.places

    def titles(self) -> Mapping[str, str]:
        """Title of each unit and document; empty where text was kept out."""
        return self._columns.titles

    def names(self) -> Set[str]:
        """Everything a golden set may call a document: units, documents, and what those were cut from."""
        return self._columns.names

    @cached_property
    def _texts(self) -> dict[str, str]:
        if not self.manifest.text:
            raise InvalidInput(f"{self.path}: was built without text", "build the snapshot without --without-text")
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


def open_snapshot(settings: SnapshotSettings, world: World | None = None) -> Snapshot:
    """Fetch the snapshot where that is needed, verify it against its pinned digest, and against its corpus where that is named, and open
    it. Raises what :func:`obtain` raises."""
    found = obtain(settings, world)
    if settings.corpus is not None:
        from gate.snapshot.provenance import check_corpus

        check_corpus(found.path, found.manifest, settings.corpus)
    return Snapshot(found.path, found.manifest, found.notes)
