"""Proves, before anything is asked, that the index of a running engine is the frozen one: the snapshot's units, the snapshot's vectors.

An engine's kind has ``check: vectors | ids | count | none`` among its settings (:func:`read_check`), an object with the three methods of
:class:`Engine`, and calls :func:`check_index` when it is entered.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gate.errors import InvalidInput
from gate.fields import Section
from gate.figures import plural

if TYPE_CHECKING:
    import numpy as np

    from gate.snapshot.reader import Snapshot

LEVELS = ("vectors", "ids", "count", "none")
SAMPLE = 256
"""Vectors that are compared; always those of the same units."""
_COSINE, _LENGTH = 0.999, 0.01
_SHOWN = 5
_CURE = ("load the index anew from the units of this snapshot (where the kind can, `load: true` into a new name does it), or build and pin "
         "the snapshot of what the engine holds; `check:` says how much is compared")


class Engine(Protocol):
    """What a running engine says about its index. Its methods raise RetrieverFailed when it does not answer."""

    name: str
    """Of the table, collection or index, in words: ``table docs``."""

    def count(self) -> int:
        """How many units it holds."""
        ...

    def ids(self) -> Iterable[str]:
        """Their ids, in any order, page by page."""
        ...

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Id → vector of at most SAMPLE units; without those that it does not hold or that have none."""
        ...


class Checked(NamedTuple):
    """``level``: what was compared, for describe(). ``notes``: for the reader of the report."""

    level: str
    notes: tuple[str, ...] = ()


def read_check(section: Section) -> str:
    """``check:`` of a retriever; empty: as much as the snapshot allows. Faults are remembered in the section."""
    return section.choice("check", LEVELS, "")


def check_index(snapshot: Snapshot | None, level: str, engine: Engine, key: str = "") -> Checked:
    """Compare. ``level``: of :func:`read_check`; ``key``: the setting, not set, that would say which document a unit is a part of.

    The memory needed is a byte a unit, besides the ids that the snapshot holds anyway. Raises :class:`InvalidInput` with counts and a few
    ids when the index is another one, or when there is nothing to compare it with and the configuration asks for it.
    """
    if snapshot is None:
        if level in ("", "none"):
            return Checked("none", (f"{engine.name}: nothing proves that the index is the same as in the baseline's run, since no "
                                    "`snapshot:` is configured",))
        raise InvalidInput(f"`retriever.check` is {level}, and there is no snapshot to compare {engine.name} with",
                           "set `snapshot.path` and `snapshot.digest`, or leave `check` out")
    dense = snapshot.manifest.has_vectors
    if level == "vectors" and not dense:
        raise InvalidInput(f"`retriever.check` is vectors, and the {snapshot.manifest.kind} snapshot holds none",
                           "set it to ids, or build a dense snapshot")
    level = level or ("vectors" if dense else "ids")
    if level == "none":
        return Checked(level, (f"{engine.name}: was not compared with the snapshot (`check: none`)",))
    _compare_counts(snapshot, engine) if level == "count" else _compare_ids(snapshot, engine)
    if level == "vectors":
        _compare_vectors(snapshot, engine)
    if key and level != "count" and snapshot.ids != snapshot.docs:
        part = next(row for row, unit in enumerate(snapshot.ids) if unit != snapshot.docs[row])
        return Checked(level, (f"{engine.name}: its results are called like {snapshot.ids[part]!r}, and a golden set names the document "
                               f"{snapshot.docs[part]!r} that this is a part of: set `retriever.{key}`",))
    return Checked(level)


def _some(ids: Sequence[str], of: int) -> str:
    return ", ".join(repr(unit)[:80] for unit in ids[:_SHOWN]) + (", …" if of > _SHOWN else "")


def _compare_counts(snapshot: Snapshot, engine: Engine) -> None:
    held, wanted = engine.count(), snapshot.manifest.units
    if held != wanted:
        raise InvalidInput(f"{engine.name}: holds {plural(held, 'unit')}, the snapshot {wanted}", _CURE)


def _compare_ids(snapshot: Snapshot, engine: Engine) -> None:
    wanted = snapshot.ids
    seen, held, unknown, twice = bytearray(len(wanted)), 0, 0, 0
    strange: list[str] = []
    again: list[str] = []
    for unit in engine.ids():
        held += 1
        place = bisect_left(wanted, unit)
        if place == len(wanted) or wanted[place] != unit:
            unknown += 1
            strange += [unit] if unknown <= _SHOWN else []
        elif seen[place]:
            twice += 1
            again += [unit] if twice <= _SHOWN else []
        else:
            seen[place] = 1
    lacking = seen.count(0)
    if not (lacking or unknown or twice):
        return
    problems = [f"{engine.name}: holds {plural(held, 'unit')}, the snapshot {len(wanted)}; it is not the frozen index"]
    if lacking:
        some = [wanted[place] for place in _zeros(seen)]
        problems.append(f"{engine.name}: lacks {lacking} of them: {_some(some, lacking)}")
    if unknown:
        problems.append(f"{engine.name}: {unknown} are unknown to the snapshot: {_some(strange, unknown)}")
    if twice:
        problems.append(f"{engine.name}: {twice} are there more than once: {_some(again, twice)}")
    raise InvalidInput(problems, _CURE)


def _zeros(marks: bytearray) -> list[int]:
    found, place = [], marks.find(0)
    while place >= 0 and len(found) < _SHOWN:
        found.append(place)
        place = marks.find(0, place + 1)
    return found


def sample_rows(ids: Sequence[str], size: int = SAMPLE) -> list[int]:
    """Positions of the ``size`` units whose ids have the smallest SHA-256: the same ones in every run, and no pattern that an index could
    have been spared by. Ascending."""
    import heapq

    marks = ((hashlib.sha256(unit.encode("utf-8", "surrogatepass")).digest(), row) for row, unit in enumerate(ids))
    return sorted(row for _, row in heapq.nsmallest(size, marks))


def _compare_vectors(snapshot: Snapshot, engine: Engine) -> None:
    from gate.snapshot.vectors import VECTORS, open_array

    rows = sample_rows(snapshot.ids)
    ids = [snapshot.ids[row] for row in rows]
    frozen = open_array(snapshot.path / VECTORS)[rows]
    held = engine.vectors(ids)
    cosine = snapshot.manifest.index.get("similarity") == "cosine"
    problems, others = [], []
    if absent := [unit for unit in ids if unit not in held]:
        problems.append(f"{engine.name}: {len(absent)} of {plural(len(ids), 'sampled unit')} have no vector: {_some(absent, len(absent))}")
    width = {len(vector) for vector in held.values()} - {frozen.shape[1]}
    if width:
        problems.append(f"{engine.name}: its vectors have {', '.join(map(str, sorted(width)))} dimensions, the snapshot's "
                        f"{frozen.shape[1]}")
    else:
        others = [unit for unit, vector in zip(ids, frozen, strict=True) if unit in held and not same_vector(held[unit], vector, cosine)]
    if others:
        problems.append(f"{engine.name}: {len(others)} of {plural(len(ids), 'sampled vector')} are not the snapshot's: "
                        f"{_some(others, len(others))}; the same ids, embedded by another model or from another text")
    if problems:
        raise InvalidInput(problems, _CURE)


def same_vector(held: Sequence[float], frozen: np.ndarray, cosine: bool) -> bool:
    """Whether both point the same way (cosine at least 0.999: above what half precision and 8-bit numbers lose) and, where length counts,
    are equally long within 1 %. A vector of zeros is like another one only."""
    import numpy as np

    one, other = np.asarray(held, np.float64), frozen.astype(np.float64)
    lengths = float(np.sqrt(one @ one)), float(np.sqrt(other @ other))
    if 0.0 in lengths:
        return lengths[0] == lengths[1]
    return float(one @ other) >= _COSINE * lengths[0] * lengths[1] and (cosine or abs(lengths[0] / lengths[1] - 1) <= _LENGTH)
