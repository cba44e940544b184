"""From a ranking to the gold units it finds: each unit is credited once, at its first rank."""

from __future__ import annotations

from gate.golden.model import Query
from gate.runs import Ranking
from gate.scoring.metrics import Credit, Gold

UNITS = ("doc", "chunk")


def gold_of(query: Query) -> Gold:
    """The positive grades of the query's gold units, best first."""
    return Gold(tuple(sorted((grade for grade in query.gains.values() if grade > 0), reverse=True)))


def ranked_units(ranking: Ranking, unit: str) -> list[str]:
    """What the cutoff k counts. ``doc``: distinct documents in order; ``chunk``: every chunk, repeats included."""
    return ranking.docs if unit == "chunk" else list(dict.fromkeys(ranking.docs))


def credits_of(query: Query, ranked: list[str]) -> list[Credit]:
    """Ranks (from 1) and grades of the gold documents in ``ranked``, in rank order; a repeated document counts at its first rank."""
    # Going through the ranking happens in C, and only what was found is looked up.
    found = query.gains.keys() & ranked
    return sorted((ranked.index(doc) + 1, query.gains[doc]) for doc in found if query.gains[doc] > 0)
