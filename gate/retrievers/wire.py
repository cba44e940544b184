"""JSON over HTTP with a search engine: within the time of a query, again where that may help, and never a secret in a message."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from gate import jsonio
from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.paths import Paths
from gate.retrievers.output import readable
from gate.retrievers.pool import QueryFailed
from gate.secret_text import SecretText, read_secret_text
from gate.world import World

MAX_ANSWER = 8 * 1024**2
TRIES = 4
_PASSING = (429, 502, 503, 504)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_EXCERPT = 300
_CONNECT = 10.0


class Address(NamedTuple):
    """Where an engine is and what it is told with every request. ``headers``: name → (setting, text, how its value is made)."""

    url: str = ""
    headers: tuple[tuple[str, str, SecretText], ...] = ()
    ca_file: Path | None = None

    def wire(self, world: World, more: Mapping[str, str] | None = None, secrets: Sequence[tuple[str, str]] = ()) -> Wire:
        """With the secrets filled in. ``more``: further headers; ``secrets``: (setting, value) that they hold. Raises RetrieverFailed."""
        headers, hidden = dict(more or {}), list(secrets)
        for name, key, text in self.headers:
            headers[name] = text.filled(world.variables, key)
            hidden += [(key, world.variables[variable]) for variable in text.names]
        for name, value in headers.items():
            if not value.isascii() or any(char < " " or char == "\x7f" for char in value):
                raise RetrieverFailed(f"the header {name} holds characters that no header can have (not shown)",
                                      "see what the variables in it are set to, for instance a line break at their end")
        return Wire(self.url, headers, hidden, self.ca_file)


def read_address(section: Section, paths: Paths) -> Address:
    """``url``, ``headers`` and ``ca_file`` of a retriever. Faults are remembered in the section."""
    url = section.text("url", "", required=True).rstrip("/")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        parts, good = urlsplit(""), False
    if url and not good:
        section.problem("url", "`url` must be an http(s) address without a query, for instance http://localhost:9200")
    if "@" in parts.netloc:
        section.problem("url", "`url` holds a user or password, which would be shown in reports; give them as settings of their own, with "
                               "`${NAME}` for the secret")
    headers = []
    for name, value in section.mapping("headers").items():
        if not isinstance(value, str):
            section.problem(f"headers.{name}", f"`headers.{name}` must be text")
        elif not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            section.problem(f"headers.{name}", f"{name!r} is no name of a header")
        else:
            headers.append((name, f"headers.{name}", read_secret_text(section, f"headers.{name}", value)))
    ca_file = section.text("ca_file", "")
    return Address(url, tuple(headers), paths.take(section, "ca_file", ca_file) if ca_file else None)


class Answer(NamedTuple):
    """``value``: the JSON in it, None for an empty body. ``headers``: names in lower case."""

    status: int
    value: Any
    headers: Mapping[str, str]


def segment(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


class Wire:
    """One session; used by one thread at a time. ``secrets``: (setting, value); the values are taken out of whatever is said."""

    def __init__(self, url: str, headers: Mapping[str, str], secrets: Sequence[tuple[str, str]], ca_file: Path | None = None) -> None:
        import requests

        self.url, self._secrets = url, secrets
        self._session = requests.Session()
        # Proxies of the environment are for the outside; a service of the job is beside the gate.
        self._session.trust_env = urlsplit(url).hostname not in _LOOPBACK
        self._session.verify = str(ca_file) if ca_file else True
        self._session.headers.update({"Accept": "application/json", **headers})

    def __repr__(self) -> str:
        return f"Wire({self.url!r})"

    def close(self) -> None:
        self._session.close()

    def ask(self, method: str, path: str, seconds: float, body: Any = None, *, params: Mapping[str, Any] | None = None, data: Any = None,
            kind: str = "application/json", missing: bool = False, limit: int = MAX_ANSWER, tries: int = TRIES) -> Answer:
        """Send, and send again while ``seconds`` last where the fault may pass by itself.

        ``body``: to send as JSON; ``data`` with ``kind``: bytes, or a file, to send as they are; ``missing``: 404 is an answer like any
        other. Raises QueryFailed (``outage``: the engine itself is at fault), RetrieverFailed where asking on is pointless.
        """
        until, attempt = time.monotonic() + seconds, 0
        payload = data if body is None else jsonio.dumps(body).encode()
        while True:
            attempt += 1
            wait = min(8.0, 0.25 * 2**attempt) * (0.5 + random.random() / 2)
            try:
                answer = self._send(method, path, until, payload, params, kind if payload is not None else "", limit)
            except QueryFailed as fault:
                if not fault.outage or attempt >= tries or time.monotonic() + wait >= until or hasattr(payload, "read"):
                    raise
                time.sleep(wait)
                continue
            if answer.status in _PASSING and attempt < tries and not hasattr(payload, "read"):
                asked = answer.headers.get("retry-after", "")
                wait = max(wait, float(asked)) if asked.isdigit() else wait
                if time.monotonic() + wait < until:
                    time.sleep(wait)
                    continue
            if 200 <= answer.status < 300 or (missing and answer.status == 404):
                return answer
            raise self._refusal(method, path, answer)

    def wait(self, path: str, seconds: float) -> Answer:
        """GET until it is answered. Raises RetrieverFailed when that takes longer than ``seconds``."""
        until = time.monotonic() + seconds
        while True:
            try:
                return self.ask("GET", path, max(0.1, min(10.0, until - time.monotonic())), tries=1)
            except QueryFailed as fault:
                if not fault.outage or time.monotonic() + 0.3 >= until:
                    raise RetrieverFailed(f"{fault}; it was waited for {seconds:g} s (`retriever.limits.start_seconds`)",
                                          "start it before the gate, and see that `retriever.url` is right") from None
            time.sleep(0.3)

    def shown(self, text: str) -> str:
        """An excerpt of what the other side said, on one line, without secrets."""
        for value in sorted((value for _, value in self._secrets if value), key=len, reverse=True):
            text = text.replace(value, "***")
        line = " ".join(" ".join(readable(text[:10 * _EXCERPT])).split())
        return line[:_EXCERPT] + " …" if len(line) > _EXCERPT else line

    def _send(self, method: str, path: str, until: float, payload: Any, params: Mapping[str, Any] | None, kind: str, limit: int) -> Answer:
        import requests

        what, left = f"{method} {self.url}{path}", max(0.05, until - time.monotonic())
        try:
            # An auth of its own keeps requests from looking for a .netrc, which an earlier step could have written.
            with self._session.request(method, f"{self.url}{path}", params=params, data=payload, timeout=(min(_CONNECT, left), left),
                                       headers={"Content-Type": kind} if kind else None, allow_redirects=False, stream=True,
                                       auth=lambda request: request) as response:
                body = bytearray()
                for part in response.iter_content(65_536):
                    body += part
                    if len(body) > limit:
                        raise QueryFailed(f"{what}: the answer is larger than {limit} bytes")
                    if time.monotonic() > until:
                        raise QueryFailed(f"{what}: took longer than {left:g} s", outage=True)
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, self._value(what, response.status_code, bytes(body)), headers)
        except requests.Timeout:
            raise QueryFailed(f"{what}: took longer than {left:.3g} s", outage=True) from None
        except requests.exceptions.SSLError as error:
            raise RetrieverFailed(f"{self.url}: no trustworthy TLS connection ({self.shown(str(error))})",
                                  "set `retriever.ca_file` to the certificate authority that signed its certificate") from None
        except requests.RequestException as error:
            raise QueryFailed(f"{self.url} does not answer ({_reason(error)})", outage=True) from None

    def _value(self, what: str, status: int, body: bytes) -> Any:
        if not body.strip():
            return None
        try:
            return jsonio.loads(body.decode())
        except ValueError as fault:
            text = body.decode("utf-8", "replace")
            if not 200 <= status < 300:
                return text
            raise QueryFailed(f"{what}: answered {status} with what is no JSON ({fault}): {self.shown(text)}", outage=True) from None

    def _refusal(self, method: str, path: str, answer: Answer) -> Exception:
        said = self.shown(explanation(answer.value)) or "nothing more"
        text = f"{method} {self.url}{path}: answered {answer.status}: {said}"
        if answer.status in (401, 403):
            names = ", ".join(dict.fromkeys(f"`retriever.{key}`" for key, _ in self._secrets)) or "no setting: none gives a secret"
            return RetrieverFailed(text, f"see whether what it is given lets it read; it comes from {names}")
        if 300 <= answer.status < 400:
            return RetrieverFailed(f"{method} {self.url}{path}: redirects elsewhere, which is not followed",
                                   "set `retriever.url` to where the engine really is")
        return QueryFailed(text, outage=answer.status >= 500 or answer.status == 429)


def explanation(value: Any) -> str:
    """What an engine says about a fault: Qdrant's ``status.error``, Elasticsearch's and OpenSearch's ``error`` with its root cause."""
    if not isinstance(value, dict):
        return "" if value is None else str(value)
    status, error = value.get("status"), value.get("error")
    if isinstance(status, dict) and isinstance(status.get("error"), str):
        return status["error"]
    if isinstance(error, dict):
        causes = error.get("root_cause")
        first = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else error
        return f"{first.get('type', '')}: {first.get('reason', '')}".strip(": ")
    return str(error or value.get("message") or value)


def _reason(error: Exception) -> str:
    text = str(error)
    for part in ("Connection refused", "Name or service not known", "Connection reset by peer", "Remote end closed connection",
                 "No route to host"):
        if part in text:
            return part.lower()
    return type(error).__name__
