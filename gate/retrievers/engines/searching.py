"""Asks a search engine over HTTP: what the kinds ``qdrant``, ``elasticsearch`` and ``opensearch`` have in common."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gate.embedding.base import EmbeddingSettings, QueryVectors, open_vectors
from gate.errors import InvalidInput, RetrieverFailed
from gate.golden.model import Query
from gate.retrievers.base import Given
from gate.retrievers.engines.ann_loss import AnnLoss
from gate.retrievers.engines.hits import Hit, as_found, ranking_of
from gate.retrievers.engines.index_check import check_index
from gate.retrievers.engines.wire import Wire
from gate.retrievers.pool import Pool, QueryFailed
from gate.runs import Ranking

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings


# What is read from JSON that has another shape than an engine gives it.
_OTHER = (AttributeError, IndexError, KeyError, TypeError)


class Request(NamedTuple):
    """One search: POST ``body`` to ``path``. ``sorted``: equal scores come in an order that the request asks for."""

    path: str
    body: Mapping[str, Any]
    params: Mapping[str, str] | None = None
    sorted: bool = False


class Service(Protocol):
    """One index of one engine; also what :mod:`.index_check` asks. Whatever it raises of QueryFailed outside of a query
    means that the engine does not do what it should."""

    name: str
    notes: list[str]
    one_scale: bool
    """Whether exact and approximate search give a unit the same score."""

    def wire(self) -> Wire: ...

    def open(self, wire: Wire, seconds: float) -> None:
        """Wait until it can be asked, fill it where that is configured, and look at its parameters."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """For describe(): version, parameters of the index, of the search."""
        ...

    @property
    def dimensions(self) -> int | None:
        """Of the vectors that are searched; None where nobody says."""
        ...

    def request(self, text: str, vector: list[float] | None, n: int, exact: bool) -> Request: ...

    def hits(self, value: Any) -> list[Hit]:
        """What an answer holds, best first. Raises QueryFailed when it holds no answer, or only a part of one."""
        ...

    def count(self) -> int: ...

    def ids(self) -> Iterable[str]: ...

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]: ...


class How(NamedTuple):
    """``by_vector``: whether queries are embedded. ``check``: of index_check; ``exact``, ``ann_loss``: see ann_loss.
    ``parts``: results say which document they are a part of."""

    by_vector: bool
    embedding: EmbeddingSettings
    exact: bool = False
    ann_loss: bool = False
    check: str = ""
    parts: bool = False


class SearchRetriever:
    """Used as a context manager."""

    def __init__(self, settings: RetrieverSettings, given: Given, service: Service, how: How) -> None:
        self._settings, self._given, self._service, self._how = settings, given, service, how
        self._questions: QueryVectors | None = open_vectors(how.embedding, given) if how.by_vector else None
        self._notes: list[str] = []
        self._checked = ""
        self._wire: Wire | None = None
        self._loss = AnnLoss()

    @property
    def notes(self) -> list[str]:
        return [*(self._questions.notes if self._questions else ()), *self._service.notes, *self._notes, *self._again()]

    def _again(self) -> list[str]:
        return self._wire.service.notes if self._wire else []

    def describe(self) -> Mapping[str, Any]:
        return {"kind": self._settings.kind, **self._service.facts(), **({"check": self._checked} if self._checked else {}),
                **({"embedding": dict(self._questions.describe())} if self._questions else {})}

    def __enter__(self) -> SearchRetriever:
        wire = self._wire = self._service.wire()
        try:
            self._service.open(wire, self._settings.limits.start_seconds)
            checked = check_index(self._given.snapshot, self._how.check, self._service, "" if self._how.parts else "chunk")
        except QueryFailed as fault:
            raise RetrieverFailed(wire.service.mask(str(fault)),
                                  "see what the engine logged, and whether its version knows what it was asked") from None
        except _OTHER as fault:
            raise RetrieverFailed(f"{self._service.name}: the engine describes itself in a way that the gate does not know "
                                  f"({type(fault).__name__})", "see whether its version is one that docs/retrievers.md names") from fault
        finally:
            wire.close()
        self._checked = checked.level
        self._notes += checked.notes
        if self._questions is not None:
            self._questions.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._questions is not None:
            self._questions.__exit__(*exc)

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        vectors = self._embedded(queries)
        pool = Pool(lambda: _Seat(self._service, self._how, vectors, self._loss), self._settings.limits, self._settings.concurrency)
        try:
            yield from pool.retrieve(queries, depth)
        finally:
            self._notes += [*pool.notes, *self._loss.notes()]

    def _embedded(self, queries: Sequence[Query]) -> Mapping[str, list[float]]:
        if self._questions is None or not queries:
            return {}
        wanted = self._service.dimensions
        rows = self._questions.of(queries, wanted or 0)
        if wanted is not None and rows.shape[1] != wanted:
            raise InvalidInput(f"query vectors have {rows.shape[1]} dimensions, those of {self._service.name} {wanted}",
                               "embed queries and documents with the same model")
        return {query.id: [float(number) for number in row] for query, row in zip(queries, rows, strict=True)}


class _Seat:
    def __init__(self, service: Service, how: How, vectors: Mapping[str, list[float]], loss: AnnLoss) -> None:
        self._service, self._how, self._vectors, self._loss = service, how, vectors, loss
        self._wire = service.wire()

    def ask(self, query: Query, depth: int, seconds: float) -> Ranking:
        until, started = time.monotonic() + seconds, time.monotonic()
        found, ordered = self._search(query, depth, seconds, self._how.exact)
        ms = (time.monotonic() - started) * 1000  # what exact search takes besides is the gate's, not the engine's
        if self._how.ann_loss:
            best = self._search(query, depth, max(0.05, until - time.monotonic()), True)[0]
            self._loss.add(found if self._service.one_scale else _rescored(found, best), best)
        ranking = as_found(found, ms) if ordered else ranking_of(found, ms)
        if ordered and not any(ranking.scores or ()):  # sorted by something else than a score
            ranking.scores = None
        return ranking

    def _search(self, query: Query, depth: int, seconds: float, exact: bool) -> tuple[list[Hit], bool]:
        request = self._service.request(query.text, self._vectors.get(query.id), depth, exact)
        answer = self._wire.ask("POST", request.path, seconds, request.body, params=request.params)
        try:
            return self._service.hits(answer), request.sorted
        except QueryFailed as fault:  # which quotes the answer
            raise QueryFailed(self._wire.service.mask(str(fault)), fault.outage) from None
        except _OTHER as fault:
            raise QueryFailed(f"the engine answered in a way that the gate does not know ({type(fault).__name__})") from fault

    def close(self) -> None:
        self._wire.close()


def _rescored(found: Sequence[Hit], exact: Sequence[Hit]) -> list[Hit]:
    """``found`` with the scores of exact search; what that did not return is below all of it."""
    scores = {hit.id: hit.score for hit in exact}
    return [hit._replace(score=scores.get(hit.id, float("-inf"))) for hit in found]
