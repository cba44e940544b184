"""One collection of a Qdrant server: what is asked of it, and what its answers mean."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gate import jsonio
from gate.errors import InvalidInput, RetrieverFailed
from gate.retrievers.base import Given
from gate.retrievers.engines.hits import Hit
from gate.retrievers.engines.qdrant_fill import fill, restore
from gate.retrievers.engines.searching import Request
from gate.retrievers.engines.stored import hit_of, text_at
from gate.retrievers.engines.wire import Wire, segment
from gate.retrievers.pool import QueryFailed
from gate.web.service import Service
from gate.web.template import holds, put_in

if TYPE_CHECKING:
    from gate.retrievers.qdrant import Options

_PAGE = 1000
_SECONDS = 60.0
_VECTORS = 256 * 1024**2
_DISTANCES = ("Euclid", "Manhattan")  # the smaller, the better


class QdrantService:
    """Follows gate.retrievers.engines.searching.Service."""

    def __init__(self, options: Options, given: Given) -> None:
        self._options, self._given = options, given
        self.name = f"collection {options.collection}"
        self.path = f"/collections/{segment(options.collection)}"
        self.one_scale = True
        self.notes: list[str] = []
        self._wire: Wire | None = None
        self._service: Service | None = None
        self._facts: dict[str, Any] = {}
        self._params: Mapping[str, Any] = {}

    def wire(self) -> Wire:
        if self._service is None:
            key = self._options.api_key
            self._service = Service(self._options.service, self._given.world, {"api-key": key} if key.text else None, "api_key")
        return Wire(self._service)

    def open(self, wire: Wire, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._wire = wire
        root = wire.wait("/", seconds)
        if not isinstance(root, dict) or "qdrant" not in str(root.get("title")).lower() or not isinstance(root.get("version"), str):
            raise InvalidInput(f"{wire.url}: answers, but not as Qdrant does", "set `retriever.url` to its REST port, 6333 unless changed")
        self._facts["engine"] = f"Qdrant {root['version'][:40]}"
        known = self._info(missing=True)
        if self._options.restore and known is None:
            restore(wire, self.path, self._options.restore, max(_SECONDS, until - time.monotonic()))
        elif self._options.load and (known is None or not known.get("points_count")):
            fill(wire, self.path, self._options, self._given.snapshot, create=known is None)
        elif known is None:
            raise InvalidInput(f"{wire.url}: has no {self.name}{self._others(wire)}",
                               "set `retriever.collection`, or have the gate fill it with `restore` or `load`")
        self._look(self._settled(until))

    def _others(self, wire: Wire) -> str:
        value = wire.ask("GET", "/collections", _SECONDS)
        names = sorted(str(item.get("name")) for item in value["result"]["collections"]) if isinstance(value, dict) else []
        return f"; it has: {', '.join(names[:10])}" if names else ""

    def _info(self, missing: bool = False) -> dict[str, Any] | None:
        assert self._wire is not None
        value = self._wire.known("GET", self.path, _SECONDS) if missing else self._wire.ask("GET", self.path, _SECONDS)
        return None if value is None else _result(value, dict)

    def _settled(self, until: float) -> Mapping[str, Any]:
        """Its description once the optimisers are done: before that, the same query may be answered differently a second later."""
        while True:
            info = self._info() or {}
            status = info.get("status")
            if status == "red":
                raise RetrieverFailed(f"{self.name}: its status is red ({str(info.get('optimizer_status'))[:200]})", "see Qdrant's log")
            if status != "yellow":
                if status == "grey":
                    self.notes.append(f"{self.name}: its status is grey: it waits for a write before it goes on optimising")
                return info
            if time.monotonic() >= until:
                if self._options.search == "exact":
                    self.notes.append(f"{self.name}: is still being optimised, which exact search does not depend on")
                    return info
                raise RetrieverFailed(f"{self.name}: is still being optimised (status yellow), so its answers are not final",
                                      "raise `retriever.limits.start_seconds`, or freeze it once its status is green")
            time.sleep(0.5)

    def _look(self, info: Mapping[str, Any]) -> None:
        config = info.get("config") if isinstance(info.get("config"), dict) else {}
        vectors = config.get("params", {}).get("vectors", {})
        named = not isinstance(vectors.get("size"), int)
        using = self._options.using
        if named and vectors and not self._options.body and using not in vectors:
            raise InvalidInput(f"{self.name}: `retriever.using` must name one of its vectors: {', '.join(sorted(vectors))}"
                               + (f", not {using!r}" if using else ""))
        self._params = vectors.get(using, {}) if named else vectors
        hnsw = {**config.get("hnsw_config", {}), **{k: v for k, v in (self._params.get("hnsw_config") or {}).items() if v is not None}}
        quantized = self._params.get("quantization_config") or config.get("quantization_config")
        self._facts |= {key: value for key, value in {
            "points": info.get("points_count"), "distance": self._params.get("distance"), "dimensions": self._params.get("size"),
            "datatype": self._params.get("datatype"), "hnsw": {key: hnsw[key] for key in ("m", "ef_construct") if key in hnsw} or None,
            "quantization": jsonio.dumps(quantized) if quantized else None}.items() if value is not None}
        if info.get("indexed_vectors_count") == 0 and info.get("points_count") and self._options.search == "ann" and not self._options.body:
            self.notes.append(f"{self.name}: Qdrant has built no HNSW index for it (it does so from `indexing_threshold` on), so "
                              "approximate search was exact")

    def facts(self) -> Mapping[str, Any]:
        options = self._options
        asked: dict[str, Any] = {"body": jsonio.digest(dict(options.body))} if options.body else {"search": options.search}
        for key, value in (("ef", options.ef), ("using", options.using), ("search_quantization", dict(options.quantization)),
                           ("filter", jsonio.dumps(options.where) if options.where else "")):
            asked |= {key: value} if value else {}
        return {"url": options.service.address.shown, "collection": options.collection, **asked, **self._facts}

    @property
    def dimensions(self) -> int | None:
        size = self._params.get("size")
        return size if isinstance(size, int) and not holds(self._options.body, "vector") else None

    # searching

    def request(self, text: str, vector: list[float] | None, n: int, exact: bool) -> Request:
        options = self._options
        if options.body:
            body: dict[str, Any] = {"limit": n, "with_payload": options.keys.wanted or False,
                                    **put_in(options.body, {"query": text, "n": n, "vector": vector})}
            return Request(f"{self.path}/points/query", body)
        params: dict[str, Any] = {"exact": exact}
        if options.ef and not exact:
            params["hnsw_ef"] = options.ef
        if options.quantization:
            params["quantization"] = {**options.quantization, **({"ignore": True} if exact else {})}
        body = {"query": vector, "limit": n, "params": params, "with_payload": options.keys.wanted or False, "with_vector": False}
        body |= {"using": options.using} if options.using else {}
        body |= {"filter": options.where} if options.where else {}
        return Request(f"{self.path}/points/query", body)

    def hits(self, value: Any) -> list[Hit]:
        points = _result(value, dict).get("points")
        if not isinstance(points, list) or not all(isinstance(point, dict) and jsonio.finite(point.get("score")) for point in points):
            raise QueryFailed("Qdrant's answer holds no list of points with their scores")
        distance = self._params.get("distance") in _DISTANCES
        if self._options.body:  # what its scores are is the team's business; they come best first
            distance = bool(points) and points[0]["score"] < points[-1]["score"]
        sign = -1.0 if distance else 1.0
        return [hit_of(point.get("payload") or {}, self._options.keys, str(point.get("id")), sign * point["score"]) for point in points]

    # what the check of the index asks

    def count(self) -> int:
        where = {"filter": self._options.where} if self._options.where else {}
        found = _result(self._ask("count", {"exact": True, **where}), dict).get("count")
        return found if isinstance(found, int) else -1

    def ids(self) -> Iterable[str]:
        unit, offset = self._options.keys.unit, None
        while True:
            body = {"limit": _PAGE, "with_payload": [unit] if unit else False, "with_vector": False}
            body |= {"filter": self._options.where} if self._options.where else {}
            body |= {} if offset is None else {"offset": offset}
            page = _result(self._ask("scroll", body), dict)
            for point in page.get("points", ()):
                yield text_at(point.get("payload") or {}, unit, str(point["id"])) if unit else str(point["id"])
            offset = page.get("next_page_offset")
            if offset is None:
                return

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        unit, using = self._options.keys.unit, self._options.using
        shape = {"with_payload": [unit] if unit else False, "with_vector": [using] if using else True}
        if unit:
            # A payload may hold ids as numbers, and then no text matches them.
            numbers = [int(text) for text in ids if text.isascii() and text.isdigit() and len(text) < 19]
            some = [{"key": unit, "match": {"any": values}} for values in (list(ids), numbers) if values]
            body = {"limit": 2 * len(ids), "filter": {"must": [{"should": some}, *([self._options.where] if self._options.where else [])]}}
            points = _result(self._ask("scroll", {**body, **shape}, _VECTORS), dict).get("points", [])
        else:
            points = _result(self._ask("", {"ids": [int(text) if text.isdigit() else text for text in ids], **shape}, _VECTORS), list)
        found = {}
        for point in points:
            vector = point.get("vector")
            if isinstance(vector, dict):
                if not using and len(vector) > 1:
                    raise InvalidInput(f"{self.name}: has the vectors {', '.join(sorted(vector))}, and which of them are the snapshot's is "
                                       "not said", "set `retriever.using`, or `retriever.check: ids`")
                vector = vector.get(using) if using else next(iter(vector.values()), None)
            if isinstance(vector, list) and vector and all(map(jsonio.finite, vector)):
                found[text_at(point.get("payload") or {}, unit, str(point["id"])) if unit else str(point["id"])] = vector
        return found

    def _ask(self, verb: str, body: Mapping[str, Any], limit: int = 0) -> Any:
        assert self._wire is not None
        path = f"{self.path}/points/{verb}".rstrip("/")
        return self._wire.ask("POST", path, _SECONDS, body, **({"limit": limit} if limit else {}))


def _result(value: Any, kind: type) -> Any:
    result = value.get("result") if isinstance(value, dict) else None
    if not isinstance(result, kind):
        raise QueryFailed(f"Qdrant's answer has no `result`: {str(value)[:120]}")
    return result
