"""What the first k results consist of, apart from whether they are right. Pure.

Results are counted as they came back, chunk by chunk, whatever a cutoff counts elsewhere: that is what fills a page or a prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from operator import eq
from typing import NamedTuple

from gate.golden.model import Query
from gate.runs import Ranking


class Top(NamedTuple):
    """Counts over the first k results of one query.

    ``results``: how many there are. ``repeated``: of these, results of a document that stands above already, or of another member of one
    of the query's equivalence groups. ``unjudged``: results of documents that nobody has judged for this query. ``neighbours``: pairs of
    neighbouring results with scores; ``tied``: of these, pairs with equal ones.
    """

    results: int = 0
    repeated: int = 0
    unjudged: int = 0
    neighbours: int = 0
    tied: int = 0


class Makeup(NamedTuple):
    """Shares over the first k results of all queries together, each from 0 to 1; None where there is nothing to take a share of."""

    repeated: float | None
    unjudged: float | None
    tie_rate: float | None


NOTHING = Top()
_shared = lru_cache(maxsize=1 << 12)(Top)  # most rankings have the same few counts


def top_of(query: Query, ranking: Ranking, k: int) -> tuple[Top, tuple[str, ...]]:
    """The counts of one ranking; and, of a query whose results were judged, the unjudged documents among its first k results, each once.

    Judged were the results of a query of which a document is judged worthless. Where somebody has only named what is right, nothing tells
    an unjudged document from a worthless one.
    """
    docs, known = ranking.docs[:k], query.documents
    distinct = set(docs)
    strangers = distinct.difference(known)
    n = len(docs)
    if len(distinct) == n and not query.groups:
        repeated, unjudged = 0, len(strangers)
    else:
        group = {doc: members[0] for members in query.groups for doc in members}
        repeated = n - len({group.get(doc, doc) for doc in docs})
        unjudged = sum(doc in strangers for doc in docs)
    scores = ranking.scores[:k] if ranking.scores else ()
    tied = 0 if len(set(scores)) == len(scores) else sum(map(eq, scores, scores[1:]))
    top = _shared(n, repeated, unjudged, max(len(scores) - 1, 0), tied)
    if not strangers or min(known.values(), default=1.0) > 0:
        return top, ()
    return top, tuple(doc for doc in dict.fromkeys(docs) if doc in strangers)


def makeup(tops: Iterable[Top]) -> Makeup:
    """All queries together: a query with few results weighs little."""
    counts = Counter(tops)  # few different ones, whatever the number of queries
    results, repeated, unjudged, neighbours, tied = (sum(top[at] * n for top, n in counts.items()) for at in range(5))
    return Makeup(repeated / results if results else None, unjudged / results if results else None,
                  tied / neighbours if neighbours else None)


def condense(query: Query, ranking: Ranking) -> Ranking:
    """The ranking without the documents that nobody has judged for this query."""
    known = query.documents
    if ranking.chunks is None:
        return Ranking(list(filter(known.__contains__, ranking.docs)))
    kept = [at for at, doc in enumerate(ranking.docs) if doc in known]
    return Ranking([ranking.docs[at] for at in kept], chunks=[ranking.chunks[at] for at in kept])
