"""A golden set in memory. Pure values; reading is in :mod:`gate.golden.read`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gate.jsonio import digest

SPLITS = ("dev", "blind")
SOURCES = ("log", "sme", "synthetic")


class Span(NamedTuple):
    """Characters ``start`` (inclusive) to ``end`` (exclusive) of a document that hold an answer."""

    doc: str
    start: int
    end: int
    grade: float = 1.0


class Query(NamedTuple):
    """One question and what should be found for it. ``gains``: document id → grade; a grade ≤ 0 is judged, worth nothing."""

    id: str
    text: str
    gains: Mapping[str, float]
    spans: tuple[Span, ...] = ()
    tags: tuple[str, ...] = ()
    answerable: bool = True
    split: str = "dev"
    source: str = ""
    cluster: str = ""
    line: int = 0

    @property
    def label_digest(self) -> str:
        """Digest of everything that decides this query's scores and strata."""
        value = {"text": self.text, "gains": dict(self.gains), "tags": sorted(self.tags), "answerable": self.answerable,
                 "split": self.split, "cluster": self.cluster,
                 "spans": sorted([s.doc, s.start, s.end, s.grade] for s in self.spans)}
        return digest(value).removeprefix("sha256:")


@dataclass(frozen=True)
class GoldenSet:
    """All queries in file order, with where they came from. ``warnings`` are things to mend that do not stop a run."""

    queries: tuple[Query, ...]
    path: str = ""
    version: str = ""
    owner: str = ""
    corpus_digest: str = ""
    blank_lines: int = 0
    warnings: tuple[str, ...] = ()
    by_id: Mapping[str, Query] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", {query.id: query for query in self.queries})

    @property
    def labels(self) -> dict[str, str]:
        """Query id → label digest: what a baseline remembers of the golden set it was scored with."""
        return {query.id: query.label_digest for query in self.queries}

    @property
    def digest(self) -> str:
        """Digest of all labels, independent of the order of lines and of formatting."""
        return digest(self.labels)
