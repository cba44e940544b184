"""One index of an Elasticsearch or OpenSearch server: what is asked of it, and what its answers mean."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gate import jsonio
from gate.errors import InvalidInput, RetrieverFailed
from gate.retrievers.base import Given
from gate.retrievers.elastic_answers import field_of, whole_answer
from gate.retrievers.engines import elastic_bodies as bodies
from gate.retrievers.engines.elastic_fill import bulk_ids, load, restore
from gate.retrievers.engines.hits import Hit
from gate.retrievers.engines.searching import Request
from gate.retrievers.engines.stored import hit_of, text_at, value_at
from gate.retrievers.engines.wire import Wire, segment
from gate.retrievers.pool import QueryFailed
from gate.web.service import Service
from gate.web.template import put_in

if TYPE_CHECKING:
    from gate.retrievers.elasticsearch import Options

_PAGE = 1000
_SECONDS = 60.0
_VECTORS = 256 * 1024**2
_KEEP = "2m"
# The same copy of every shard answers: two copies may count deleted documents differently, and so score differently.
_PREFERENCE = "retrieval-gate"


class ElasticService:
    """Follows gate.retrievers.engines.searching.Service."""

    def __init__(self, options: Options, given: Given) -> None:
        self._options, self._given = options, given
        self.name = f"index {options.index}"
        self.path = f"/{segment(options.index)}"
        self.one_scale = not options.opensearch
        self.notes: list[str] = []
        self._wire: Wire | None = None
        self._service: Service | None = None
        self._facts: dict[str, Any] = {}
        self._field: Mapping[str, Any] = {}
        self._properties: Mapping[str, Any] = {}
        self._version: tuple[int, int] = (0, 0)

    def wire(self) -> Wire:
        if self._service is None:
            self._service = self._options.login.opened(self._given.world)
        return Wire(self._service)

    def open(self, wire: Wire, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._wire = wire
        self._greet(wire.url, wire.wait("/", seconds))
        options = self._options
        if wire.known("GET", f"{self.path}/_mapping", _SECONDS) is None:
            if options.bulk:
                restore(wire, self.path, options)
            elif options.load:
                load(wire, self.path, options, self._given.snapshot, create=True)
            else:
                raise InvalidInput(f"{wire.url}: has no {self.name}",
                                   "set `retriever.index`, or have the gate fill it with `restore` or `load`")
        elif options.bulk:
            self._whole(options)
        elif options.load and not self._count({}):
            load(wire, self.path, options, self._given.snapshot, create=False)
        self._healthy(until)
        self._look(wire.ask("GET", f"{self.path}/_mapping", _SECONDS))
        self._facts["documents"] = self._count({})

    def _greet(self, url: str, root: Any) -> None:
        version = root.get("version") if isinstance(root, dict) else None
        number = version.get("number") if isinstance(version, dict) else None
        if not isinstance(number, str) or not isinstance(version, dict):
            raise InvalidInput(f"{url}: answers, but not as Elasticsearch or OpenSearch does",
                               "set `retriever.url` to its REST port, 9200 unless changed")
        opensearch = version.get("distribution") == "opensearch"
        if opensearch != self._options.opensearch:
            name, kind = ("OpenSearch", "opensearch") if opensearch else ("Elasticsearch", "elasticsearch")
            raise InvalidInput(f"{url}: is {name} {number[:40]}; `retriever.kind` is another",
                               f"set `retriever.kind: {kind}`: they search by vector in different words")
        self._facts["engine"] = f"{'OpenSearch' if opensearch else 'Elasticsearch'} {number[:40]}"
        parts = [int(part) if part.isdigit() else 0 for part in number.split(".")[:2]]
        self._version = (parts[0], parts[1] if len(parts) > 1 else 0)

    def _whole(self, options: Options) -> None:
        """An index that an earlier run filled, or broke off filling."""
        assert options.bulk is not None
        wanted, held = len(bulk_ids(options.bulk, options.index)), self._count({})
        if wanted != held:
            raise InvalidInput(f"{self.name}: holds {held} documents, {options.bulk.name} has {wanted}",
                               "delete the index, so that the gate fills it anew")

    def _healthy(self, until: float) -> None:
        assert self._wire is not None
        while True:
            health = self._wire.ask("GET", f"/_cluster/health{self.path}", _SECONDS)
            status = health.get("status") if isinstance(health, dict) else None
            if status in ("green", "yellow"):  # yellow: copies are missing, but every shard is there once
                return
            if time.monotonic() >= until:
                raise RetrieverFailed(f"{self.name}: its health is {str(status)[:40]}: not every shard is there",
                                      "see the engine's log, or raise `retriever.limits.start_seconds`")
            time.sleep(0.5)

    def _look(self, value: Any) -> None:
        indices = [value[name].get("mappings") for name in sorted(value)] if isinstance(value, dict) else []
        self._properties = next((mappings.get("properties", {}) for mappings in indices if isinstance(mappings, dict)), {})
        if not (name := self._options.vector_field):
            return
        kind = "knn_vector" if self._options.opensearch else "dense_vector"
        self._field = field_of(self._properties, name)
        if self._field.get("type") != kind:
            raise InvalidInput(f"{self.name}: the field {name} is {self._field.get('type') or 'not mapped'}, not {kind}",
                               "set `retriever.vector_field` to a field of vectors")
        method = self._field.get("method") or self._field.get("index_options")
        self._facts |= {key: found for key, found in {"dimensions": self.dimensions, "similarity": self._similarity,
                                                      "element_type": self._field.get("element_type") or self._field.get("data_type"),
                                                      "method": jsonio.dumps(method) if method else None}.items() if found is not None}

    @property
    def _similarity(self) -> str:
        if self._options.opensearch:
            return str(self._field.get("space_type") or (self._field.get("method") or {}).get("space_type") or "l2")
        return str(self._field.get("similarity") or "cosine")

    def facts(self) -> Mapping[str, Any]:
        options = self._options
        asked: dict[str, Any] = {"url": options.login.service.address.shown, "index": options.index}
        for key, value in (("query", options.query), ("body", options.body)):
            asked |= {key: jsonio.digest(dict(value))} if value else {}
        if options.vector_field:
            asked |= {"vector_field": options.vector_field, "search": options.search}
            if options.search == "ann" and (effort := options.effort or (0 if options.opensearch else bodies.USUAL_CANDIDATES)):
                asked["ef" if options.opensearch else "num_candidates"] = effort
        for key, value in (("filter", jsonio.dumps(options.where) if options.where else ""), ("tie_break", options.tie_break),
                           ("parameters", dict(options.parameters))):
            asked |= {key: value} if value else {}
        return asked | self._facts

    @property
    def dimensions(self) -> int | None:
        size = self._field.get("dimension" if self._options.opensearch else "dims")
        return size if isinstance(size, int) else None

    # searching

    def request(self, text: str, vector: list[float] | None, n: int, exact: bool) -> Request:
        options = self._options
        common: dict[str, Any] = {"size": n, "track_total_hits": False,
                                  "_source": {"includes": options.keys.wanted} if options.keys.wanted else False}
        values = {"query": text, "n": n, "vector": vector}
        if options.body:
            body = {**common, **put_in(options.body, values)}
            return Request(f"{self.path}/_search", body, self._params, "sort" in body)
        if options.query:
            common["query"] = bodies.with_filter(put_in(options.query, values), options.where)
        elif exact:
            common |= bodies.exact(options.vector_field, vector or [], self._similarity, options.where, options.opensearch)
        else:
            common |= bodies.ann(options.vector_field, vector or [], n, options.effort, options.where, options.opensearch)
        if options.tie_break:
            common |= {"sort": [{"_score": "desc"}, {options.tie_break: "asc"}], "track_scores": True}
        return Request(f"{self.path}/_search", common, self._params, bool(options.tie_break))

    @property
    def _params(self) -> dict[str, str]:
        return {**self._options.parameters, "preference": _PREFERENCE, "allow_partial_search_results": "false"}

    def hits(self, value: Any) -> list[Hit]:
        found = whole_answer(value)
        sorted_by_them = "sort" in self._options.body
        scores = [hit.get("_score") for hit in found]
        if not sorted_by_them and not all(map(jsonio.finite, scores)):
            raise QueryFailed("a result has no score")
        return [hit_of(hit.get("_source") or {}, self._options.keys, str(hit.get("_id")), score if jsonio.finite(score) else 0.0)
                for hit, score in zip(found, scores, strict=True)]

    # what the check of the index asks

    def count(self) -> int:
        return self._count({"query": {"bool": {"filter": self._options.where}}} if self._options.where else {})

    def _count(self, body: Mapping[str, Any]) -> int:
        value = self._ask(f"{self.path}/_count", body)
        if not isinstance(value, dict) or type(value.get("count")) is not int or value.get("_shards", {}).get("failed"):
            raise QueryFailed(f"{self.name}: how many documents it holds is not known: {str(value)[:120]}")
        return int(value["count"])

    def ids(self) -> Iterable[str]:
        unit, where = self._options.keys.unit, self._options.where
        body = {"size": _PAGE, "sort": ["_doc"], "_source": {"includes": [unit]} if unit else False,
                "query": {"bool": {"filter": where}} if where else {"match_all": {}}}
        value = self._ask(f"{self.path}/_search", body, {"scroll": _KEEP})
        while hits := whole_answer(value):
            for hit in hits:
                yield text_at(hit.get("_source") or {}, unit, str(hit["_id"])) if unit else str(hit["_id"])
            value = self._ask("/_search/scroll", {"scroll": _KEEP, "scroll_id": value.get("_scroll_id")})
        assert self._wire is not None
        with contextlib.suppress(QueryFailed):  # it ends by itself as well
            self._wire.ask("DELETE", "/_search/scroll", _SECONDS, {"scroll_id": [value.get("_scroll_id")]})

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        unit, field = self._options.keys.unit, self._options.vector_field
        if not field:
            raise InvalidInput(f"{self.name}: which field holds vectors is not said, so they cannot be compared with the snapshot's",
                               "set `retriever.check: ids`")
        source: dict[str, Any] = {"includes": [field, *([unit] if unit else [])]}
        if not self._options.opensearch and self._version >= (9, 2):
            source["exclude_vectors"] = False  # since then vectors are left out of a source unless they are asked for
        query = {"terms": {self._exact_name(unit): list(ids)}} if unit else {"ids": {"values": list(ids)}}
        value = self._ask(f"{self.path}/_search", {"size": 2 * len(ids), "_source": source, "query": query}, {}, _VECTORS)
        found = {}
        for hit in whole_answer(value):
            own = hit.get("_source") or {}
            vector = value_at(own, field)
            if isinstance(vector, list) and vector and all(map(jsonio.finite, vector)):
                found[text_at(own, unit, str(hit["_id"])) if unit else str(hit["_id"])] = vector
        return found

    def _exact_name(self, key: str) -> str:
        """The field that holds the whole text of ``key``, not its words."""
        field = field_of(self._properties, key)
        return f"{key}.keyword" if field.get("type") == "text" and "keyword" in field.get("fields", {}) else key

    def _ask(self, path: str, body: Any, params: Mapping[str, str] | None = None, limit: int = 0) -> Any:
        assert self._wire is not None
        return self._wire.ask("POST", path, _SECONDS, body, params=params, **({"limit": limit} if limit else {}))
