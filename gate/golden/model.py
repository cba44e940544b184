"""A golden set in memory. Pure values; reading is in :mod:`gate.golden.read`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from gate.jsonio import digest, digest_of_texts, dumps, quoted, sha256

SPLITS = ("dev", "blind")
SOURCES = ("log", "sme", "synthetic")


@lru_cache(maxsize=1 << 12)
def _tags(tags: tuple[str, ...]) -> str:
    return dumps(sorted(tags))


class Span(NamedTuple):
    """Characters ``start`` (inclusive) to ``end`` (exclusive) of a document that hold an answer."""

    doc: str
    start: int
    end: int
    grade: float = 1.0


class Version(NamedTuple):
    """The current version of a document, with what answers alike, and its outdated versions; ids sorted."""

    current: tuple[str, ...]
    older: tuple[str, ...]


class Query(NamedTuple):
    """One question and what should be found for it. ``gains``: document id → grade; a grade ≤ 0 is judged, worth nothing.

    ``groups``: the members of every equivalence group that ``gains`` names a member of. ``versions``: documents that the query wants in
    their current version. Everything that decides a score is here, so that scoring needs nothing else.
    """

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
    groups: tuple[tuple[str, ...], ...] = ()
    versions: tuple[Version, ...] = ()

    @property
    def blind(self) -> bool:
        """Whether its text, documents and rankings must be in no report."""
        return self.split == "blind"

    @property
    def units(self) -> dict[str, tuple[str, float]]:
        """Document → the gold unit that is found with it, and the unit's grade, without the documents that have spans.

        A unit is the document itself or its equivalence group, which goes by the name of one member and is worth the largest grade that any
        member was given. A document with spans is no unit, nor part of one: its spans are.
        """
        spanned = {span.doc for span in self.spans}
        found = {doc: (doc, grade) for doc, grade in self.gains.items() if doc not in spanned}
        for group in self.groups:
            members = [doc for doc in group if doc not in spanned]
            if given := [found[doc][1] for doc in members if doc in found]:
                found |= dict.fromkeys(members, (members[0], max(given)))
        return found

    @property
    def documents(self) -> Mapping[str, float]:
        """Every judged document → the best grade it can earn: its own, its group's, or that of its best span."""
        if not self.spans and not self.groups:
            return self.gains
        found = {doc: grade for doc, (_, grade) in self.units.items()}
        for span in self.spans:
            found[span.doc] = max(span.grade, found.get(span.doc, span.grade))
        return found

    @property
    def label_digest(self) -> str:
        """Digest of everything that decides this query's scores and strata."""
        if not (self.spans or self.groups or self.versions):
            return sha256(self._plainly().encode()).removeprefix("sha256:")
        value = {"text": self.text, "gains": dict(self.gains), "tags": sorted(self.tags), "answerable": self.answerable,
                 "split": self.split, "cluster": self.cluster,
                 "spans": sorted([s.doc, s.start, s.end, s.grade] for s in self.spans) if self.spans else []}
        if self.groups:  # only then, and likewise below: baselines remember the digests of queries without
            value["groups"] = sorted(sorted(group) for group in self.groups)
        if self.versions:
            value["versions"] = sorted([sorted(version.current), sorted(version.older)] for version in self.versions)
        return digest(value).removeprefix("sha256:")

    def _plainly(self) -> str:
        """The canonical JSON of most queries, put together from its parts: a large set is digested in half the time."""
        return (f'{{"answerable":{"true" if self.answerable else "false"},"cluster":{quoted(self.cluster)},"gains":{dumps(self.gains)},'
                f'"spans":[],"split":{quoted(self.split)},"tags":{_tags(self.tags)},"text":{quoted(self.text)}}}')


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

    @cached_property  # several comparisons ask for it
    def labels(self) -> dict[str, str]:
        """Query id → label digest: what a baseline remembers of the golden set it was scored with."""
        return {query.id: query.label_digest for query in self.queries}

    @property
    def digest(self) -> str:
        """Digest of all labels, independent of the order of lines and of formatting."""
        return digest_of_texts((i, self.by_id[i].label_digest) for i in sorted(self.by_id))
