"""What a program of the team's answered, which may be anything → a ranking within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.retrievers.cutting import cut
from gate.retrievers.team.results import MOST_CANDIDATES
from gate.runs import BadRanking, Ranking, parse_ranking

# Rankings are kept until the report: ids without a bound would fill the gate's memory instead of the retriever's.
LONGEST_ID = 10_000
_KEYS = ("ranked", "scores", "candidates", "cost", "ms")


def ranking_of(answer: Mapping[str, Any], depth: int) -> tuple[Ranking, bool]:
    """The ranking, cut to ``depth``, and whether there were more results. What is wrong with it is its ``error``. ``returned`` of an answer
    says how many results there were before it was cut by whoever sent it."""
    try:
        ranking = parse_ranking({"ranked": None} | {key: answer[key] for key in _KEYS if key in answer})
    except BadRanking as fault:
        return Ranking([], error=str(fault)), False
    if fault := _out_of_bounds(ranking):
        return Ranking([], error=fault), False
    returned = answer.get("returned")
    return ranking, cut(ranking, depth) or (type(returned) is int and returned > depth)


def _out_of_bounds(ranking: Ranking) -> str:
    candidates = ranking.candidates or ()
    if len(candidates) > MOST_CANDIDATES:
        return f"{len(candidates)} candidates came back; at most {MOST_CANDIDATES} are kept"
    longest = max(map(len, (*ranking.docs, *candidates, *(chunk.chunk for chunk in ranking.chunks or ()))), default=0)
    if longest > LONGEST_ID:
        return f"a result has an id of {longest} characters; the gate keeps ids of at most {LONGEST_ID}"
    for name, value in (("cost", ranking.cost), ("ms", ranking.ms)):
        if value is not None and value < 0:
            return f"`{name}` is {value:g}, and must not be negative"
    return ""
