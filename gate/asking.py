"""Asks a configured retriever a list of queries, once or several times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.errors import RetrieverFailed
from gate.golden.model import Query
from gate.retrievers.build import build_retriever
from gate.runs import Ranking
from gate.settings import Settings

if TYPE_CHECKING:
    from gate.snapshot.reader import Snapshot

Progress = Callable[[int, int], None]


class Answers(NamedTuple):
    """What came back. ``failure``: why it stopped early, with what was answered until then; ``printed``: what the retriever's own code
    wrote, made harmless for a log."""

    rankings: Mapping[str, Ranking]
    retriever: Mapping[str, Any]
    failure: RetrieverFailed | None
    notes: tuple[str, ...]
    printed: str


def ask(settings: Settings, snapshot: Snapshot | None, queries: Sequence[Query], aside: Collection[str],
        progress: Progress | None) -> Answers:
    """Start the retriever, ask every query, end it. ``aside``: ids of golden queries that are not asked."""
    rankings: dict[str, Ranking] = {}
    failure = None
    retriever = build_retriever(settings, snapshot, aside)
    try:
        with retriever:
            for query_id, ranking in retriever.retrieve(queries, settings.depth):
                rankings[query_id] = ranking
                if progress:
                    progress(len(rankings), len(queries))
    except RetrieverFailed as error:
        failure = error
    captured = getattr(retriever, "captured", None)  # only retrievers that run somebody's program have output
    return Answers(rankings, dict(retriever.describe()), failure, tuple(retriever.notes), captured.text() if captured is not None else "")


def ask_again(settings: Settings, snapshot: Snapshot | None, queries: Sequence[Query], aside: Collection[str],
              progress: Progress | None) -> tuple[list[Answers], RetrieverFailed | None]:
    """The repeats after the first run, each by a retriever of its own: an index that is built at the start, and what it caches, are part
    of the noise. A repeat that fails ends it; it is a failure of the whole, since the floor would not be known."""
    found: list[Answers] = []
    # A run file says the same every time; that it does would be no measurement.
    for number in range(2, settings.repeat + 1 if settings.retriever.kind != "run" else 0):
        found.append(again := ask(settings, snapshot, queries, aside, progress))
        if again.failure:
            first, *more = again.failure.problems
            return found, RetrieverFailed([f"repeat {number} of {settings.repeat}: {first}", *more], again.failure.cure)
    return found, None
