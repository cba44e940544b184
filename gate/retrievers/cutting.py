"""A ranking cut to the depth that was asked for."""

from __future__ import annotations

from gate.runs import Ranking


def cut(ranking: Ranking, depth: int) -> bool:
    """Keep the first ``depth`` results, in place. True when there were more."""
    if len(ranking.docs) <= depth:
        return False
    ranking.docs = ranking.docs[:depth]
    ranking.scores = None if ranking.scores is None else ranking.scores[:depth]
    ranking.chunks = None if ranking.chunks is None else ranking.chunks[:depth]
    return True
