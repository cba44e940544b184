"""Requests that end in time, whatever the other side does.

The timeouts of requests are for a single read: a service that sends a byte now and then would keep them waiting for ever. Here a timer
shuts the socket of a request that is over its time.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_now = threading.local()


class Watch:
    """``over``: the time was up, and whatever was being read has failed for that."""

    def __init__(self) -> None:
        self.over = False
        self._connection: Any = None
        self._socket: Any = None

    def sees(self, connection: Any) -> None:
        self._connection, self._socket = connection, getattr(connection, "sock", None)
        if self.over:
            self.fire()

    def fire(self) -> None:
        self.over = True
        # An answer that closes its connection takes the socket along; so both are looked at.
        for sock in (self._socket, getattr(self._connection, "sock", None)):
            if isinstance(sock, socket.socket):
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not TLS's own, which another thread is using


@contextlib.contextmanager
def within(seconds: float) -> Iterator[Watch]:
    """What this thread sends in here is ended after ``seconds``."""
    watch = Watch()
    timer = threading.Timer(seconds, watch.fire)
    timer.daemon = True
    _now.watch = watch
    timer.start()
    try:
        yield watch
    finally:
        timer.cancel()
        _now.watch = None


class _Watched:
    """Tells the watch of its thread which socket it uses."""

    def _tell(self) -> None:
        if (watch := getattr(_now, "watch", None)) is not None:
            watch.sees(self)

    def connect(self) -> None:
        self._tell()
        super().connect()  # type: ignore[misc]
        self._tell()

    def request(self, *arguments: Any, **named: Any) -> None:
        self._tell()
        super().request(*arguments, **named)  # type: ignore[misc]

    def getresponse(self, *arguments: Any, **named: Any) -> Any:
        self._tell()
        return super().getresponse(*arguments, **named)  # type: ignore[misc]


class _Http(_Watched, HTTPConnection):
    pass


class _Https(_Watched, HTTPSConnection):
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http  # type: ignore[assignment]


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https  # type: ignore[assignment]


_POOLS = {"http": _HttpPool, "https": _HttpsPool}


class DeadlineAdapter(HTTPAdapter):
    """For a requests.Session whose requests are made :func:`within` a time."""

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        super().init_poolmanager(*arguments, **named)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: Any, **named: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **named)
        manager.pool_classes_by_scheme = _POOLS
        return manager
