"""The protocol that every retriever follows, and the loop that asks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from gate.golden.model import Query
from gate.runs import Ranking


class Retriever(Protocol):
    """Answers golden queries. Made by :func:`gate.retrievers.build.build_retriever`; used as a context manager."""

    notes: list[str]
    """Sentences for the reader of the report; complete when all answers have come."""

    def describe(self) -> Mapping[str, Any]:
        """Plain values for the record: kind and parameters. No secrets, no paths of this machine."""
        ...

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        """Yield (query id, ranking) as answers come. A query that failed has ``Ranking.error``; raises RetrieverFailed when going on
        is pointless. What was yielded before stays valid."""
        ...

    def __enter__(self) -> Retriever: ...

    def __exit__(self, *exc: object) -> None: ...
