"""Chroma's HTTP API, version 2: one collection, asked as JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from gate import jsonio
from gate.errors import InvalidInput, RetrieverFailed
from gate.retrievers.pool import QueryFailed
from gate.secret_text import SecretText
from gate.web.address import address_fault, is_loopback
from gate.web.masking import Mask

_PAGE = 1000
_MOST_BYTES = 256 * 1024**2
_HEADER = re.compile(r"[^\x20-\x7e]")


class Refused(QueryFailed):
    """An answer that says no. ``status``: of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message, outage=status >= 500 or status == 429)


class Place(NamedTuple):
    """Where a collection is."""

    url: str
    collection: str
    tenant: str = "default_tenant"
    database: str = "default_database"
    headers: Mapping[str, SecretText] = {}

    @property
    def collections(self) -> str:
        return f"/api/v2/tenants/{quote(self.tenant, '')}/databases/{quote(self.database, '')}/collections"


def is_address(url: str) -> bool:
    """Whether it is http or https to a host, without a password, question or fragment in it."""
    if address_fault(url):
        return False
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc and not parts.query and not parts.fragment


class Client:
    """One session; used by one thread. Raises RetrieverFailed when a secret of a header is missing."""

    def __init__(self, place: Place, variables: Mapping[str, str]) -> None:
        import requests
        from requests.utils import get_environ_proxies

        from gate.web.deadline import DeadlineAdapter

        self._place, self._session = place, requests.Session()
        # Of the machine its proxies and certificates, and no password of a .netrc; a server on this machine is behind no proxy.
        self._session.trust_env = False
        self._session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
        if not is_loopback(urlsplit(place.url).hostname or ""):
            self._session.proxies = get_environ_proxies(place.url)
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, DeadlineAdapter())
        self._secrets = {variables[name]: name for text in place.headers.values() for name in text.names if variables.get(name)}
        for key, text in place.headers.items():
            value = text.filled(variables, f"retriever.headers.{key}")
            if _HEADER.search(value):  # requests would quote it in its complaint
                raise RetrieverFailed(f"`retriever.headers.{key}` holds a character that no header can carry (not shown)",
                                      "look for a line break at the end of the secret")
            self._session.headers[key] = value
        self._mask = Mask(self._secrets)

    def call(self, method: str, path: str, body: Any = None, seconds: float = 30.0) -> Any:
        """The JSON of the answer. Raises :class:`Refused` or QueryFailed."""
        import requests
        from urllib3.exceptions import HTTPError

        from gate.web.deadline import within

        late = QueryFailed(f"Chroma did not answer within {seconds:g} s", outage=True)
        with within(seconds) as watch:
            try:
                with self._session.request(method, self._place.url.rstrip("/") + path, json=body, timeout=seconds, stream=True,
                                           allow_redirects=False) as answer:
                    data = bytearray()
                    for part in answer.iter_content(65_536):
                        data += part
                        if len(data) > _MOST_BYTES:
                            raise QueryFailed(f"Chroma answered with more than {_MOST_BYTES} bytes")
                    status = answer.status_code
            except requests.Timeout:
                raise late from None
            except (requests.RequestException, HTTPError, OSError, UnicodeError) as error:  # requests lets some of them through
                if watch.over:
                    raise late from None
                raise QueryFailed(f"Chroma cannot be reached: {self._hide(_reason(error))}", outage=True) from None
        if watch.over:
            raise late
        try:
            found = jsonio.loads(data.decode()) if data else None
        except ValueError:
            found = None
            if status < 300:
                raise QueryFailed(f"Chroma answered {method} {path} with something that is no JSON", outage=True) from None
        if status >= 300:
            said = found.get("message") or found.get("error") if isinstance(found, dict) else ""
            raise Refused(f"Chroma says {status}{f': {self._hide(said)}' if said else ''}", status)
        return found

    def _hide(self, text: object) -> str:
        line = str(text).strip().partition("\n")[0]
        for value, name in self._secrets.items():
            line = line.replace(value, f"${{{name}}}")
        return self._mask(line)[:300].rstrip(".")

    def close(self) -> None:
        self._session.close()


def _reason(error: BaseException) -> str:
    """The innermost cause: what wraps it repeats addresses of objects, which differ from run to run."""
    inner = getattr(error.args[0], "reason", None) if error.args else None
    text = str(inner or error)
    return text.rpartition(": ")[2] if inner else text


class Collection:
    """One collection by its name; follows gate.retrievers.engines.index_check.Engine. ``seconds``: of one request."""

    def __init__(self, client: Client, place: Place, seconds: float) -> None:
        self._client, self._place, self._seconds = client, place, seconds
        self.name = f"collection {place.collection}"
        self.facts: dict[str, Any] = {}

    def find(self) -> bool:
        """Look it up by name. False when there is none."""
        try:
            found = self.ask("GET", f"{self._place.collections}/{quote(self._place.collection, '')}")
        except RetrieverFailed as failure:
            if isinstance(failure.__cause__, Refused) and failure.__cause__.status == 404:
                return False
            raise
        self.facts = found if isinstance(found, dict) else {}
        if not isinstance(self.facts.get("id"), str):
            raise RetrieverFailed(f"{self.name}: Chroma's answer names no id", "see that `retriever.url` is a Chroma server of version 1")
        return True

    @property
    def path(self) -> str:
        return f"{self._place.collections}/{quote(self.facts['id'], '')}"

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
        try:
            return self._client.call(method, path, body, self._seconds)
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
