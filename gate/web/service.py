"""One HTTP service: what is sent to it, how often, and what its answers mean."""

from __future__ import annotations

import base64
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit

from gate import __version__, jsonio
from gate.errors import InvalidInput, RetrieverFailed
from gate.fields import Section
from gate.figures import plural
from gate.paths import Paths
from gate.retrievers.pool import QueryFailed
from gate.secret_text import SecretText, read_secret_text
from gate.web.address import Address, Target, read_address
from gate.web.masking import Mask
from gate.world import World

if TYPE_CHECKING:
    from gate.web.connection import Connection

_POLL, _LONGEST_POLL = 0.25, 2.0
_HEALTH_SECONDS = 10.0
_SECRET_HEADER = ("authorization", "key", "token", "cookie", "secret", "password")


class ServiceOptions(NamedTuple):
    """Where a service is and how it is asked. ``key``: the setting that holds the address, for messages. ``headers``: as written."""

    address: Address
    headers: tuple[tuple[str, SecretText], ...] = ()
    retries: int = 3
    ca_file: Path | None = None
    key: str = "url"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the variables it needs."""
        texts = [SecretText(self.address.text), *(text for _, text in self.headers)]
        return tuple(dict.fromkeys(name for text in texts for name in text.names))


def read_service(section: Section, paths: Paths, *, placeholders: bool = False) -> ServiceOptions:
    """``url``, ``headers``, ``retries`` and ``ca_file`` of a section. Faults are remembered in it. ``placeholders``: whether ``{query}``
    and ``{n}`` may stand in the address."""
    address = read_address(section, "url", placeholders)
    headers = []
    for name, value in section.mapping("headers").items():
        key = f"headers.{name}"
        if type(value) in (int, float):
            value = str(value)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            section.problem(key, f"`{key}` must be text on one line")
        elif not name or not all(char.isascii() and (char.isalnum() or char in "!#$%&'*+-.^_`|~") for char in name):
            section.problem("headers", f"`headers` has the name {name!r}, which is none that HTTP knows"[:200])
        else:
            headers.append((name, read_secret_text(section, key, value)))
    ca_file = section.text("ca_file", "")
    return ServiceOptions(address, tuple(headers), section.integer("retries", 3, 0, 20),
                          paths.take(section, "ca_file", ca_file) if ca_file else None)


class Service:
    """Everything about one service that its connections share; may be used by several threads. Raises :class:`RetrieverFailed` for a
    variable that is not set, InvalidInput for a ``ca_file`` that is not there.

    ``mask`` takes its secrets out of texts. It shows nothing of them when printed.
    """

    def __init__(self, options: ServiceOptions, world: World, more: Mapping[str, SecretText] | None = None, setting: str = "key") -> None:
        """``more``: further headers, by name, which come from ``setting``."""
        self.options = options
        self.target: Target = options.address.filled(world.variables, options.key)
        self.__headers = {"User-Agent": f"retrieval-gate/{__version__}", "Accept": "application/json"}
        secrets = [world.variables.get(name, "") for name in options.secrets]
        if self.target.login is not None:
            user, password = self.target.login
            login = base64.b64encode(f"{user}:{password}".encode()).decode()
            self.__headers["Authorization"] = f"Basic {login}"
            secrets += [password, login]
        named = [(name, text, f"headers.{name}") for name, text in options.headers]
        for name, text, key in (*named, *((name, text, setting) for name, text in (more or {}).items())):
            value = text.filled(world.variables, key).strip()
            if not value.isprintable() or not value.isascii():
                raise RetrieverFailed(f"the header {name} cannot be sent: {' and '.join(text.names) or 'it'} holds line breaks or "
                                      "characters that no header may have (not shown)", "store the secret again, without line breaks")
            self.__headers[name] = value
            secrets += [world.variables.get(needed, "") for needed in text.names]
            if any(word in name.lower() for word in _SECRET_HEADER):
                secrets.append(value)
        self.names = tuple(dict.fromkeys((*options.secrets, *(name for text in (more or {}).values() for name in text.names))))
        self.mask = Mask(secrets)
        self.verify: bool | str = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
        if options.ca_file is not None:
            if not jsonio.is_file(options.ca_file):
                raise InvalidInput(f"`ca_file`: {options.ca_file}: no such file",
                                   "name the file with the certificates of your authority (PEM)")
            self.verify = str(options.ca_file)
        self.answered = False
        self._again: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Service({self.options.address.shown!r})"

    @property
    def notes(self) -> list[str]:
        """Sentences about what was sent again."""
        with self._lock:
            why = ", ".join(f"{reason}: {count}" for reason, count in sorted(self._again.items()))
            total = sum(self._again.values())
        return [f"{self.options.address.shown}: {plural(total, 'request')} had to be sent again ({why})"] if total else []

    def count_again(self, reason: str) -> None:
        with self._lock:
            self._again[reason] += 1

    def connect(self) -> Connection:
        """For one thread."""
        from gate.web.connection import Connection

        return Connection(self, self.__headers)

    def shown(self, path: str = "") -> str:
        """The address for messages, with ``path`` appended to its path."""
        base, mark, query = self.options.address.shown.partition("?")
        return (base.rstrip("/") + path if path else base) + mark + query

    def wait_until_healthy(self, health: str, seconds: float) -> None:
        """Ask ``health``, a path or an address, until it answers 2xx. Raises :class:`RetrieverFailed` with its last answer after
        ``seconds``. Another host than the service's own is asked without its headers."""
        from gate.web.connection import Connection

        url = urljoin(self.target.at(), health)
        foreign = _origin(url) != _origin(self.target.url)
        what = f"GET {health}"
        deadline, last, wait = time.monotonic() + seconds, "it was not asked", _POLL
        with Connection(self, {} if foreign else self.__headers) as connection:
            while (left := deadline - time.monotonic()) > 0:
                try:
                    status, _, body, _ = connection.send("GET", url, min(left, _HEALTH_SECONDS), None)
                    if 200 <= status < 300:
                        return
                    last = f"it answered {status}" + self.said(body)
                except QueryFailed as fault:
                    last = str(fault)
                time.sleep(max(0.0, min(wait, deadline - time.monotonic())))
                wait = min(wait * 1.5, _LONGEST_POLL)
        raise RetrieverFailed(f"{what}: the service was not ready within {seconds:g} s; last answer: {last}",
                              "see what it logged, or raise `retriever.limits.start_seconds`")

    def said(self, body: bytes) -> str:
        """`` (said: …)`` for the end of a message; empty for an empty body."""
        text = self.mask.excerpt(body)
        return f" (it said: {text})" if text else ""


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
