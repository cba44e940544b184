"""The protocol that every retriever follows, and what one is built from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gate.golden.model import Query
from gate.runs import Ranking
from gate.world import World

if TYPE_CHECKING:
    from gate.snapshot.reader import Snapshot


class Given(NamedTuple):
    """What a retriever gets besides its settings. ``aside``: ids of golden queries that will not be asked."""

    snapshot: Snapshot | None = None
    aside: Collection[str] = ()
    world: World = World()


class Retriever(Protocol):
    """Answers golden queries. Made by :func:`gate.retrievers.build.build_retriever`; used as a context manager."""

    notes: list[str]
    """Sentences for the reader of the report; complete when all answers have come."""

    def describe(self) -> Mapping[str, Any]:
        """Plain values for the record: kind and parameters. No secrets, no paths of this machine. Complete after the last answer."""
        ...

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        """Yield (query id, ranking) as answers come, in any order. A query that failed has ``Ranking.error``; raises RetrieverFailed when
        going on is pointless. What was yielded before stays valid."""
        ...

    def __enter__(self) -> Retriever: ...

    def __exit__(self, *exc: object) -> None: ...
