"""JSON over HTTP with a search engine: the verbs of its interface, over :mod:`gate.web`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.paths import Paths
from gate.retrievers.pool import QueryFailed
from gate.web.connection import MAX_ANSWER
from gate.web.service import Service, ServiceOptions, read_service

_POLL = 10.0


def read_engine(section: Section, paths: Paths) -> ServiceOptions:
    """``url``, ``headers``, ``retries`` and ``ca_file`` of an engine. Faults are remembered in the section."""
    options = read_service(section, paths)
    if "?" in options.address.text:
        section.problem("url", "`url` must end before the `?`; what is asked for comes from the other settings")
    return options


def segment(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


class Wire:
    """One connection; used by one thread at a time."""

    def __init__(self, service: Service) -> None:
        self.service, self._connection = service, service.connect()

    @property
    def url(self) -> str:
        """For messages."""
        return self.service.shown()

    def close(self) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, seconds: float, body: Any = None, *, params: Mapping[str, str] | None = None,
            limit: int = MAX_ANSWER, kind: str = "") -> Any:
        """The JSON of an answer, None where it is empty. ``body``: bytes or a file as they are, of the type ``kind``; else sent as JSON.
        Raises QueryFailed, RetrieverFailed as :meth:`gate.web.connection.Connection.ask` does."""
        where = f"{path}?{urlencode(params)}" if params else path
        reply = self._connection.ask(method, seconds, body, path=where, limit=limit, kind=kind)
        return self._connection.decoded(reply, f"{method} {self.service.shown(path)}") if reply.body.strip() else None

    def known(self, method: str, path: str, seconds: float) -> Any:
        """The same for something that may not be there: None for an answer 404."""
        reply = self._connection.ask(method, seconds, path=path, also=(404,))
        return None if reply.status == 404 else self._connection.decoded(reply, f"{method} {self.service.shown(path)}")

    def wait(self, path: str, seconds: float) -> Any:
        """GET until it is answered. Raises RetrieverFailed when that takes longer than ``seconds``."""
        until, what, last = time.monotonic() + seconds, f"GET {self.service.shown(path)}", ""
        while (left := until - time.monotonic()) > 0 or not last:
            try:
                reply = self._connection.send("GET", self.service.target.at(path), max(0.1, min(_POLL, left)), None, what)
                if reply.status < 500 and reply.status != 429:
                    return self.ask("GET", path, _POLL)  # which says what is wrong where it is no success
                last = f"{what} answered {reply.status}{self.service.said(reply.body)}"
            except QueryFailed as fault:
                if not fault.outage:
                    raise
                last = str(fault)
            time.sleep(max(0.0, min(0.3, until - time.monotonic())))
        raise RetrieverFailed(f"{last}; it was waited for {seconds:g} s (`retriever.limits.start_seconds`)",
                              "start it before the gate, and see that `retriever.url` is right")

    def shown(self, text: str) -> str:
        """An excerpt of what the other side said, on one line, without secrets."""
        return self.service.mask.excerpt(text, 300)
