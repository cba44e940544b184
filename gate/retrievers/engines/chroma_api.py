"""Chroma's HTTP API, version 2: one collection, asked as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from gate.errors import InvalidInput, RetrieverFailed
from gate.retrievers.engines.wire import Wire, segment
from gate.retrievers.pool import QueryFailed
from gate.web.connection import Refused
from gate.web.service import ServiceOptions

_PAGE = 1000
# Of one answer: a page of vectors.
MOST_BYTES = 256 * 1024**2


class Place(NamedTuple):
    """Where a collection is."""

    service: ServiceOptions
    collection: str
    tenant: str = "default_tenant"
    database: str = "default_database"

    @property
    def collections(self) -> str:
        """The path of all of them."""
        return f"/api/v2/tenants/{segment(self.tenant)}/databases/{segment(self.database)}/collections"

    @property
    def named(self) -> str:
        """The path of this one by its name."""
        return f"{self.collections}/{segment(self.collection)}"


class Collection:
    """One collection by its name; follows gate.retrievers.engines.index_check.Engine. ``seconds``: of one request."""

    def __init__(self, wire: Wire, place: Place, seconds: float) -> None:
        self._wire, self._place, self._seconds = wire, place, seconds
        self.name = f"collection {place.collection}"
        self.facts: dict[str, Any] = {}

    def find(self) -> bool:
        """Look it up by name. False when there is none."""
        with self._told():
            found = self._wire.known("GET", self._place.named, self._seconds)
        if found is None:
            return False
        self.facts = found if isinstance(found, dict) else {}
        if not isinstance(self.facts.get("id"), str):
            raise RetrieverFailed(f"{self.name}: Chroma's answer names no id", "see that `retriever.url` is a Chroma server of version 1")
        return True

    @property
    def path(self) -> str:
        return f"{self._place.collections}/{segment(self.facts['id'])}"

    @property
    def index(self) -> dict[str, Any]:
        """``hnsw`` (or ``spann``): the parameters of its index, as Chroma tells them."""
        held = self.facts.get("configuration_json")
        held = held if isinstance(held, dict) else {}
        return {kind: {key: value for key, value in held[kind].items() if isinstance(value, (str, int, float))}
                for kind in ("hnsw", "spann") if isinstance(held.get(kind), dict)}

    @property
    def space(self) -> str:
        """``cosine``, ``l2`` or ``ip``."""
        return next((str(values["space"]) for values in self.index.values() if "space" in values), "l2")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """For the start: what fails is RetrieverFailed."""
        with self._told():
            return self._wire.ask(method, path, self._seconds, body, limit=MOST_BYTES)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except QueryFailed as fault:
            raise RetrieverFailed(f"{self.name}: {fault}",
                                  "see that Chroma is started before the gate, and that `retriever.url` names it") from fault

    def count(self) -> int:
        found = self.ask("GET", f"{self.path}/count")
        return found if type(found) is int else -1

    def pages(self, include: Sequence[str], where: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """``ids`` and what else is to be included, a page at a time."""
        offset = 0
        while True:
            page = self.ask("POST", f"{self.path}/get",
                            {"include": list(include), "limit": _PAGE, "offset": offset, "where": where or None})
            ids = page.get("ids") if isinstance(page, dict) else None
            if not isinstance(ids, list) or not all(isinstance(unit, str) for unit in ids):
                raise RetrieverFailed(f"{self.name}: Chroma's answer holds no ids", "see what it logged")
            yield page
            if len(ids) < _PAGE:
                return
            offset += len(ids)

    def ids(self) -> Iterable[str]:
        for page in self.pages([]):
            yield from page["ids"]

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        found = self.ask("POST", f"{self.path}/get", {"ids": list(ids), "include": ["embeddings"]})
        vectors = found.get("embeddings") or [] if isinstance(found, dict) else []
        return {unit: vector for unit, vector in zip(found["ids"], vectors, strict=True) if vector} if vectors else {}

    def reachable(self, depth: int, where: Mapping[str, Any] | None) -> int:
        """How many results a query could have, ``depth`` at most. Raises :class:`InvalidInput` when the condition is none."""
        try:
            page = self.ask("POST", f"{self.path}/get", {"include": [], "limit": depth, "where": where or None})
        except RetrieverFailed as failure:
            if where and isinstance(failure.__cause__, Refused) and failure.__cause__.status in (400, 422):
                raise InvalidInput(f"`retriever.where`: {failure.__cause__}",
                                   "write it as Chroma's `where`, for instance {language: en}") from None
            raise
        return len(page["ids"])
