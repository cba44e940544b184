"""Kind ``chroma``: a collection of a Chroma server."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio
from gate.embedding.base import EmbeddingSettings, open_vectors, read_embedding
from gate.errors import InvalidInput
from gate.fields import Section
from gate.figures import plural
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.engines.ann_loss import AnnLoss, read_search
from gate.retrievers.engines.chroma_api import MOST_BYTES, Collection, Place
from gate.retrievers.engines.chroma_exact import Exact, hit_of, with_metadata
from gate.retrievers.engines.hits import Hit, ranking_of
from gate.retrievers.engines.index_check import check_index, read_check
from gate.retrievers.engines.index_load import loadable
from gate.retrievers.engines.wire import Wire, read_engine
from gate.retrievers.pool import Pool, QueryFailed
from gate.runs import Ranking
from gate.web.address import Address
from gate.web.service import Service, ServiceOptions

if TYPE_CHECKING:
    import numpy as np

    from gate.retriever_settings import RetrieverSettings

_HNSW = {"ef_construction": 10_000, "ef_search": 10_000, "max_neighbors": 1000, "sync_threshold": 1_000_000_000}

USUAL = Place(ServiceOptions(Address()), "")


class Options(NamedTuple):
    """``keys``: field of a hit (doc, start, end) → metadata key that holds it. ``hnsw``: parameters that the index must have, or gets when
    it is made (``load``)."""

    place: Place
    keys: Mapping[str, str] = {}
    where: Mapping[str, Any] = {}
    search: str = "ann"
    ann_loss: bool = False
    check: str = ""
    load: bool = False
    hnsw: Mapping[str, Any] = {}
    embedding: EmbeddingSettings = EmbeddingSettings()


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    place = Place(read_engine(section, paths), section.text("collection", "", required=True), section.text("tenant", USUAL.tenant),
                  section.text("database", USUAL.database))
    keys = {"doc": section.text("document", ""), "start": section.text("start", ""), "end": section.text("end", "")}
    if bool(keys["start"]) != bool(keys["end"]):
        section.problem("start", "`start` and `end` belong together: name both keys or neither")
    search, loss = read_search(section)
    hnsw = section.section("hnsw", section.mapping("hnsw"))
    index: dict[str, Any] = {"space": hnsw.choice("space", ("cosine", "l2", "ip"), "")}
    index |= {name: hnsw.integer(name, 0, 1, most) for name, most in _HNSW.items()}
    hnsw.done()
    return Options(place, {field: key for field, key in keys.items() if key}, section.mapping("where"), search, loss, read_check(section),
                   section.boolean("load", False), {name: value for name, value in index.items() if value},
                   read_embedding(section.section("embedding", section.mapping("embedding")), paths))


def build(settings: RetrieverSettings, given: Given) -> ChromaRetriever:
    """See :mod:`gate.retrievers`."""
    return ChromaRetriever(settings, given)


class _Seat:
    """``truths``: query id → what exact search finds, where that is asked for as well."""

    def __init__(self, owner: ChromaRetriever, vectors: Mapping[str, np.ndarray], truths: Mapping[str, list[Hit]], reachable: int) -> None:
        self._owner, self._options, self._vectors, self._truths, self._reachable = owner, owner.options, vectors, truths, reachable
        self._wire = owner.wire()

    def ask(self, query: Query, depth: int, seconds: float) -> Ranking:
        """See :class:`gate.retrievers.pool.Seat`."""
        started = time.monotonic()
        hits = self._nearest(self._vectors[query.id], depth, seconds)
        ranking = ranking_of(hits, (time.monotonic() - started) * 1000)
        if len(hits) < self._reachable:
            self._owner.short.append(query.id)
        if query.id in self._truths:
            self._owner.loss.add(hits[:depth], self._truths[query.id])
        return ranking

    def _nearest(self, question: np.ndarray, depth: int, seconds: float) -> list[Hit]:
        include = ["distances", "metadatas"] if self._options.keys else ["distances"]
        found = self._wire.ask("POST", f"{self._owner.collection.path}/query", seconds, {
            "query_embeddings": [question.tolist()], "n_results": depth, "include": include, "where": self._options.where or None},
            limit=MOST_BYTES)
        try:
            ids, distances = found["ids"][0], found["distances"][0]
            held = with_metadata(ids, (found.get("metadatas") or [None])[0])
            one = 0.0 if self._owner.collection.space == "l2" else 1.0  # cosine and ip come as 1 - product
            hits = [hit_of(unit, one - distance, metadata, self._options.keys)
                    for (unit, metadata), distance in zip(held, distances, strict=True)]
            if not all(isinstance(hit.id, str) and jsonio.finite(hit.score) for hit in hits):
                raise ValueError
        except (KeyError, IndexError, TypeError, ValueError):
            raise QueryFailed("Chroma answered with something else than ids and distances") from None
        return hits

    def close(self) -> None:
        self._wire.close()


class ChromaRetriever:
    """By score (cosine, inner product, or the negative squared distance) descending, then id ascending among what was fetched."""

    def __init__(self, settings: RetrieverSettings, given: Given) -> None:
        self.options: Options = settings.options
        self._settings, self._given = settings, given
        self._snapshot = loadable(given.snapshot) if self.options.load else given.snapshot
        self._questions = open_vectors(self.options.embedding, given)
        self.loss, self.short = AnnLoss(), list[str]()
        self.exact: Exact | None = None
        self._service: Service | None = None
        self._stack, self._notes, self._facts = ExitStack(), list[str](), dict[str, Any]()

    def wire(self) -> Wire:
        """A connection of its own."""
        if self._service is None:
            self._service = Service(self.options.place.service, self._given.world)
        return Wire(self._service)

    @property
    def notes(self) -> list[str]:
        return [*self._notes, *self._questions.notes, *self.loss.notes(), *(self._service.notes if self._service else ())]

    def describe(self) -> Mapping[str, Any]:
        options = self.options
        what: dict[str, Any] = {"kind": "chroma", "url": options.place.service.address.shown, "collection": options.place.collection,
                                "where": dict(options.where)}
        what |= {name: value for name, value in (("tenant", options.place.tenant), ("database", options.place.database))
                 if value != getattr(USUAL, name)}
        what |= {"document": options.keys.get("doc"), "search": options.search, "ann_loss": options.ann_loss or None, **self._facts}
        return {key: value for key, value in what.items() if value not in ("", None, {})} | {"embedding": dict(self._questions.describe())}

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        if not queries:
            return
        width = self.collection.facts.get("dimension")
        rows = self._questions.of(queries, width if type(width) is int else 0)
        if type(width) is int and rows.shape[1] != width:
            raise InvalidInput(f"query vectors have {rows.shape[1]} dimensions, {self.collection.name} {width}",
                               "embed queries and documents with the same model")
        exact = self.exact.search(rows, depth) if self.exact else iter(())
        if self.options.search == "exact":
            yield from ((query.id, ranking_of(hits)) for query, hits in zip(queries, exact, strict=True))
            return
        vectors, truths = ({query.id: value for query, value in zip(queries, values, strict=False)} for values in (rows, exact))
        reachable = self.collection.reachable(depth, self.options.where)
        pool = Pool(lambda: _Seat(self, vectors, truths, reachable), self._settings.limits, self._settings.concurrency)
        try:
            yield from pool.retrieve(queries, depth)
        finally:
            self._notes += pool.notes
            if self.short:
                self._notes.append(f"{len(self.short)} of {plural(len(queries), 'query')} got fewer than {reachable} results, though "
                                   f"{self.collection.name} holds as many: a higher `ef_search` of the collection finds more")

    def __enter__(self) -> ChromaRetriever:
        try:
            return self._start()
        except BaseException:
            self._stack.close()
            raise

    def _start(self) -> ChromaRetriever:
        options, place = self.options, self.options.place
        wire = self.wire()
        self._stack.callback(wire.close)
        self.collection = Collection(wire, place, self._settings.limits.start_seconds)
        if options.load:
            from gate.retrievers.engines.chroma_load import load

            assert self._snapshot is not None
            done = load(self.collection, place, self._snapshot, options.hnsw, options.keys)
            self._notes += [done] if done else []
        if not self.collection.find():
            raise InvalidInput(f"{self.collection.name}: there is none in database {place.database} of tenant {place.tenant}",
                               "fill it before the gate's step, or set `retriever.load` to have it made from the snapshot")
        self._check_index()
        checked = check_index(self._snapshot, options.check, self.collection, "" if "doc" in options.keys else "document")
        version = self.collection.ask("GET", "/api/v2/version")
        self._facts = {"api": version if isinstance(version, str) else None, **self.collection.index, "check": checked.level}
        self._notes += checked.notes
        if options.search == "exact" or options.ann_loss:
            self.exact = Exact(self.collection, options.where, options.keys)
        self._stack.enter_context(self._questions)
        return self

    def _check_index(self) -> None:
        held = self.collection.index.get("hnsw", {})
        if wrong := [f"{self.collection.name}: its index has {name} {held.get(name)}, the configuration says {value}"
                     for name, value in self.options.hnsw.items() if held.get(name) != value]:
            raise InvalidInput(wrong, "make the collection anew with these parameters, or set `retriever.hnsw` to those it has")

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
        self.exact = None
