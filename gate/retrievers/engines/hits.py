"""What an engine found → a ranking. One place for the order of equal scores, which engines leave to chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gate.runs import Chunk, Ranking


class Hit(NamedTuple):
    """A found unit. ``score``: higher is better. ``doc``: the document it belongs to, empty where the unit is the document."""

    id: str
    score: float
    doc: str = ""
    start: int | None = None
    end: int | None = None


def ranking_of(hits: Sequence[Hit], ms: float | None = None) -> Ranking:
    """By score descending, then id ascending. Only among the hits that were fetched: which of several equal ones at the end of them got in
    was the engine's choice."""
    return as_found(sorted(hits, key=lambda hit: (-hit.score, hit.id)), ms)


def as_found(hits: Sequence[Hit], ms: float | None = None) -> Ranking:
    """In the order that they have."""
    chunks = [Chunk(hit.id, hit.start, hit.end) for hit in hits] if any(hit.doc or hit.start is not None for hit in hits) else None
    return Ranking([hit.doc or hit.id for hit in hits], [hit.score for hit in hits], chunks, ms=ms)
