"""What an explanation holds. Plain values."""

from __future__ import annotations

from typing import NamedTuple

from gate.golden.model import Query


class Side(NamedTuple):
    """A document in one ranking: rank from 1 among the results, score where the run has scores. None: it did not come back."""

    rank: int | None = None
    score: float | None = None


class Place(NamedTuple):
    """A document on both sides. ``grade``: None when nobody judged it for the query."""

    doc: str
    grade: float | None
    before: Side
    after: Side
    title: str = ""


class Fact(NamedTuple):
    """``seen``: what the data show, a sentence; ``likely``: what an engineer would make of it, empty where that is left to the reader."""

    kind: str
    seen: str
    likely: str = ""


class Score(NamedTuple):
    """The query's value of a metric on both sides; None where it has none."""

    metric: str
    before: float | None
    after: float | None


class Explanation(NamedTuple):
    """``unit``: what ranks and the top ``k`` count; ``relevant``: the query's relevant documents; ``instead``: what came into the
    candidate's top k; ``facts``: strongest first."""

    query: Query
    k: int
    unit: str
    score: Score
    relevant: tuple[Place, ...]
    instead: tuple[Place, ...]
    facts: tuple[Fact, ...]
