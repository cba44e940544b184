"""Reciprocal rank fusion: several rankings of one query → one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gate.runs import Chunk, Ranking

_Key = tuple[str, str]


def fuse(rankings: Sequence[Ranking], weights: Sequence[float], k: float) -> Ranking:
    """Each ranking gives weight / (k + rank) to what it holds, rank from 1 among different results; best sum first, equal sums by id
    (Cormack, Clarke and Büttcher, SIGIR 2009, with weights).

    ``docs`` and ``candidates`` hold the union of all rankings. Where every ranking names chunks, chunks are fused, else documents. ``ms``
    and ``cost`` are sums, None where a ranking does not tell its own.
    """
    chunked = any(ranking.docs for ranking in rankings) and all(ranking.chunks is not None for ranking in rankings if ranking.docs)
    sums: dict[_Key, float] = {}
    places: dict[_Key, Chunk] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        seen: set[_Key] = set()
        for place, doc in enumerate(ranking.docs):
            chunk = ranking.chunks[place] if chunked and ranking.chunks else Chunk()
            key = (doc, chunk.chunk if chunk.chunk or chunk.start is None else f"{chunk.start}-{chunk.end}")
            if key not in seen:
                seen.add(key)
                sums[key] = sums.get(key, 0.0) + weight / (k + len(seen))
                places.setdefault(key, chunk)
    order = sorted(sums, key=lambda key: (-sums[key], key))
    docs = [doc for doc, _ in order]
    times, costs = [ranking.ms for ranking in rankings], [ranking.cost for ranking in rankings]
    return Ranking(docs, [sums[key] for key in order], [places[key] for key in order] if chunked else None,
                   candidates=list(dict.fromkeys(docs)),
                   ms=None if None in times else sum(time for time in times if time is not None),
                   cost=None if None in costs else sum(cost for cost in costs if cost is not None))
