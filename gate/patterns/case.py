"""The queries of a comparison as patterns are looked for in them. Plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gate.golden.model import GoldenSet, Query
from gate.runs import Run
from gate.statistics.tests01 import mcnemar

FEWEST = 3
ALPHA = 0.05
NEAR_TOP = 3
TAG = "tag "


class Pattern(NamedTuple):
    """``kind``: a name, or :data:`TAG` and the tag. ``queries``: those that show it, worst first. ``seen``: a sentence; ``cause``: what it
    usually comes from and where to look; empty where a pattern above has said it."""

    kind: str
    queries: tuple[str, ...]
    seen: str
    cause: str

    @property
    def of_tag(self) -> bool:
        """Whether a tag is what the queries have in common."""
        return self.kind.startswith(TAG)


class Side(NamedTuple):
    """What is kept of one run's rankings: by query the first ``k`` documents and how many there were; and ``alone``, those of these
    documents that the other run returns for none of the queries, at no rank. Rankings of long runs stay in their file until somebody
    asks, and are not to be held here."""

    run: Run
    top: Mapping[str, Sequence[str]]
    counts: Mapping[str, int]
    alone: frozenset[str]


def sides_of(before: Run, after: Run, ids: Sequence[str], k: int) -> tuple[Side, Side]:
    """Both sides of these queries."""
    old, new = _read(before, ids, k), _read(after, ids, k)
    high, now_high = ({doc for docs in side.top.values() for doc in docs} for side in (old, new))
    gone, come = high - now_high, now_high - high
    return old._replace(alone=frozenset(gone - _among(after, ids, gone))), new._replace(alone=frozenset(come - _among(before, ids, come)))


def _read(run: Run, ids: Sequence[str], k: int) -> Side:
    top: dict[str, Sequence[str]] = {}
    counts: dict[str, int] = {}
    for i in ids:
        docs = _docs(run, i)
        top[i], counts[i] = docs[:k], len(docs)
    return Side(run, top, counts, frozenset())


def _among(run: Run, ids: Sequence[str], wanted: set[str]) -> set[str]:
    """Those that the run returns for any of the queries."""
    return {doc for i in ids for doc in _docs(run, i) if doc in wanted} if wanted else set()


def _docs(run: Run, query_id: str) -> Sequence[str]:
    return run.rankings[query_id].docs if query_id in run.rankings else ()


class Case(NamedTuple):
    """``worse``: ids, worst first; ``lost``: those of them that no longer find anything; ``rest``: the other paired ones;
    ``moved``: those whose score changed, in either direction, with that direction. ``whole``: whether these are all queries, and not a
    part of a long set."""

    golden: GoldenSet
    before: Side
    after: Side
    worse: tuple[str, ...]
    lost: tuple[str, ...]
    rest: tuple[str, ...]
    moved: tuple[tuple[str, bool], ...]
    k: int
    whole: bool = True

    @property
    def none(self) -> str:
        """What «for no query» is called here: of the others nobody has looked."""
        return "no query" if self.whole else "none of these queries"

    @property
    def told(self) -> tuple[tuple[str, ...], str]:
        """The queries to look at, the lost ones where there are enough, and what to call one of them."""
        return (self.lost, "lost query") if len(self.lost) >= FEWEST else (self.worse, "worse query")

    def fell(self, has: Callable[[Query], bool]) -> bool:
        """Whether more queries with a property got worse than better, beyond chance: noise moves some kinds of queries more than others,
        and in both directions alike."""
        down = [worse for i, worse in self.moved if has(self.golden.by_id[i])]
        return 2 * sum(down) > len(down) and mcnemar(len(down) - sum(down), sum(down))[1] / 2 <= ALPHA


def relevant_of(query: Query) -> set[str]:
    """Whatever the query is credited for: documents, members of groups, documents with spans."""
    return {doc for doc, grade in query.documents.items() if grade > 0}
