"""Kind ``run``: rankings that an earlier step wrote into a run file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.errors import InvalidInput
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.cutting import cut
from gate.runs import Ranking, Run, read_run

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings


class Options(NamedTuple):
    """``file``: the run file."""

    file: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """Whatever it holds now."""
        return (self.file,)


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    file = section.text("file", "")
    if not file:
        section.problem("file", "`file` must name the run file that an earlier step wrote")
    return Options(paths.take(section, "file", file))


def build(settings: RetrieverSettings, given: Given) -> RunFileRetriever:
    """See :mod:`gate.retrievers`."""
    return RunFileRetriever(settings.options.file, given.aside)


class RunFileRetriever:
    """Reads the file when entered. A query the run lacks is not yielded: it scores 0 and the report lists it. ``aside``: ids of golden
    queries that are not asked."""

    def __init__(self, path: Path, aside: Collection[str] = ()) -> None:
        self.path, self._aside = path, set(aside)
        self.notes: list[str] = []
        self._run: Run | None = None

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "run", "file": self.path.name}

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        run = self._run if self._run is not None else read_run(self.path)
        self.notes += run.warnings
        known = {query.id for query in queries}
        found = known & run.rankings.keys()
        if known and not found:
            raise InvalidInput(f"{self.path}: answers 0 of {len(known)} golden queries; its first query id is "
                               f"{next(iter(run.rankings))!r}, that of the golden set is {queries[0].id!r}",
                               "write the run with the golden set's query ids")
        if strange := len(run.rankings.keys() - known - self._aside):
            self.notes.append(f"{self.path}: {strange} rankings belong to no golden query and are ignored")
        longer = 0
        for query in queries:
            if (ranking := run.rankings.get(query.id)) is not None:
                longer += cut(ranking, depth)
                yield query.id, ranking
        if longer:
            self.notes.append(f"{self.path}: {longer} rankings are longer than depth {depth} and were cut")

    def __enter__(self) -> RunFileRetriever:
        self._run = read_run(self.path)
        return self

    def __exit__(self, *exc: object) -> None:
        self._run = None
