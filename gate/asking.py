"""Asks a configured retriever a list of queries, once or several times."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio
from gate.errors import RetrieverFailed
from gate.figures import plural
from gate.golden.model import Query
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.runs import Ranking
from gate.services.running import Services
from gate.settings import Settings
from gate.unquoted import unquoted, unquoted_problems
from gate.world import World

if TYPE_CHECKING:
    from gate.journal import Journal
    from gate.progress import Progress
    from gate.snapshot.reader import Snapshot


class Answers(NamedTuple):
    """What came back, in the order of the queries. ``failure``: why it stopped early, with what was answered until then; ``printed``: what
    the retriever's own code wrote, made harmless for a log."""

    rankings: Mapping[str, Ranking]
    retriever: Mapping[str, Any]
    failure: RetrieverFailed | None
    notes: tuple[str, ...]
    printed: str


class Asker(NamedTuple):
    """One retriever's settings, what it is given, who is told how far it is, and where answers are kept while the run lasts."""

    settings: Settings
    snapshot: Snapshot | None
    world: World
    progress: Progress | None = None
    journal: Journal | None = None

    def ask(self, queries: Sequence[Query], aside: Collection[str], number: int = 1) -> Answers:
        """Start the retriever, ask every query that the journal has no answer to, end it. ``aside``: ids of golden queries that are not
        asked; ``number``: of the repeat."""
        rankings = self.journal.answered(queries, number) if self.journal else {}
        notes = [f"the answers to {len(rankings)} of {plural(len(queries), 'query')} are those of an earlier run that was interrupted"] \
            if rankings else []
        by_id, failure = {query.id: query for query in queries}, None
        retriever = build_retriever(self.settings.retriever, Given(self.snapshot, aside, self.world))
        # Started anew for every repeat: an index that is built while it is restored is part of the noise, too.
        services = Services(self.settings.services, self.snapshot.path if self.snapshot else None, self.world)
        try:
            with services, retriever:
                for query_id, ranking in retriever.retrieve([query for query in queries if query.id not in rankings], self.settings.depth):
                    if ranking.error:
                        services.check()
                        ranking = ranking if self.settings.show_queries else unquoted(ranking)
                    rankings[query_id] = ranking
                    if self.journal:
                        self.journal.add(by_id[query_id], ranking, number)
                    if self.progress:
                        self.progress(len(rankings), len(queries))
        except RetrieverFailed as error:
            failure = error if self.settings.show_queries else RetrieverFailed(unquoted_problems(error.problems, queries), error.cure)
        captured = getattr(retriever, "captured", None)  # only retrievers that run somebody's program have output
        ordered = {query.id: rankings[query.id] for query in queries if query.id in rankings}
        described = dict(retriever.describe()) | ({"services": services.describe()} if self.settings.services else {})
        return Answers(ordered, described, failure, (*notes, *services.notes, *retriever.notes), captured.text() if captured else "")

    def again(self, queries: Sequence[Query], aside: Collection[str]) -> tuple[list[Answers], RetrieverFailed | None]:
        """The repeats after the first run, each by a retriever of its own: an index that is built at the start, and what it caches, are
        part of the noise. A repeat that fails ends it; it is a failure of the whole, since the floor would not be known."""
        found: list[Answers] = []
        # A run file says the same every time; that it does would be no measurement.
        for number in range(2, self.settings.repeat + 1 if self.settings.retriever.kind != "run" else 0):
            found.append(again := self.ask(queries, aside, number))
            if again.failure:
                first, *more = again.failure.problems
                return found, RetrieverFailed([f"repeat {number} of {self.settings.repeat}: {first}", *more], again.failure.cure)
        return found, None


def answer_key(settings: Settings) -> str:
    """Digest of what decides the answer to a query, as far as it is known before the retriever is started: its settings, the files that
    they name, the team's own code and requirements, the pinned snapshot, the depth."""
    from gate.team_code import code_digests

    named = [file for _, options in settings.retriever.parts() for file in getattr(options, "files", ())]
    files = [_digest(file) for file in named if jsonio.is_file(file)]
    services = [(each.name, each.digest) for each in settings.services]
    return jsonio.digest({"retriever": settings.retriever.digest, "files": files, "code": code_digests(settings.retriever),
                          "depth": settings.depth, "services": services,
                          "snapshot": settings.snapshot.digest if settings.snapshot else ""})


def _digest(file: Path) -> str:
    """Read piece by piece: the snapshot file of an engine may be larger than memory."""
    with open(file, "rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
