"""Asks a service: sends, sends again where that may help, and says in words what went wrong, with no secret in them."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from gate import jsonio
from gate.errors import RetrieverFailed
from gate.retrievers.pool import QueryFailed
from gate.web.address import is_loopback
from gate.web.backoff import AGAIN, asked_wait, growing_wait
from gate.web.service import Service

MAX_ANSWER = 8 * 1024**2
_CONNECT = 10.0
_BLOCK = 64 * 1024
_FORKS = "see the variables that the gate's step sets with `env:` (runs from forks get no secrets), and whether they are still valid"


class Reply(NamedTuple):
    """An answer with a 2xx status: names of headers in lower case, the whole body, and the milliseconds of the last attempt."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    ms: float


class Unanswered(QueryFailed):
    """No answer, for a reason that may pass."""


class Refused(QueryFailed):
    """An answer that says no, and would say it again. ``status``: of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message, outage=status >= 500)


class Connection:
    """Asks a service; for one thread, used as a context manager or closed. ``headers`` go with every request."""

    def __init__(self, service: Service, headers: Mapping[str, str]) -> None:
        self.service, self.__headers = service, dict(headers)
        self._session: Any = None

    def __repr__(self) -> str:
        return f"Connection({self.service!r})"

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def json(self, method: str, seconds: float, body: Any = None, *, path: str = "", values: Mapping[str, str | int] | None = None) -> Any:
        """:meth:`ask` for an answer that is JSON."""
        return self.decoded(self.ask(method, seconds, body, path=path, values=values), f"{method} {self.service.shown(path)}")

    def decoded(self, reply: Reply, what: str) -> Any:
        """The body of ``reply`` as strict JSON. Raises :class:`QueryFailed`."""
        try:
            return jsonio.loads(reply.body.decode("utf-8-sig"))
        except ValueError as fault:  # NotJson, UnicodeDecodeError
            why = "not UTF-8" if isinstance(fault, UnicodeDecodeError) else str(fault)
            raise QueryFailed(f"{what} answered {reply.status} with what is not JSON: {why}{self.service.said(reply.body)}") from None

    def ask(self, method: str, seconds: float, body: Any = None, *, path: str = "",
            values: Mapping[str, str | int] | None = None, also: Collection[int] = (), limit: int = MAX_ANSWER, kind: str = "") -> Reply:
        """Send, and send again where that may help, all within ``seconds``. ``path``: appended to the service's address; ``values``: for
        its placeholders; ``body``: sent as JSON unless None, bytes as they are (NDJSON), a file piece by piece and once only; ``also``:
        further statuses that are an answer; ``limit``: bytes of one; ``kind``: the type of bytes or a file.

        Raises :class:`QueryFailed`, as an outage when the service seems to be the reason; RetrieverFailed when asking on is pointless.
        """
        service, what = self.service, f"{method} {self.service.shown(path)}"
        url, deadline, attempt = service.target.at(path, values), time.monotonic() + seconds, 0
        while True:
            left = deadline - time.monotonic()
            reason, wait = "no answer", None
            try:
                reply = self.send(method, url, max(left, 0.001), body, what, limit, kind)
            except Unanswered as fault:
                failure: QueryFailed = fault
            else:
                if 200 <= reply.status < 300 or reply.status in also:
                    service.answered = True
                    return reply
                reason = str(reply.status)
                failure = self._refused(what, reply)
                if reply.status not in AGAIN:
                    raise failure
                wait = asked_wait(reply.headers.get("retry-after"), time.time())
            wait = growing_wait(attempt, random.random()) if wait is None else wait
            left = deadline - time.monotonic()
            if attempt >= service.options.retries or hasattr(body, "read"):
                raise QueryFailed(f"{failure}{f', also when it was asked again ({attempt} times)' if attempt else ''}", outage=True)
            if wait >= left:
                asked = f", and asks to wait {wait:.0f} s" if reason in ("429", "503") and wait > growing_wait(attempt, 1) else ""
                raise QueryFailed(f"{failure}{asked}; the {seconds:g} s that it may take were up", outage=True)
            service.count_again(reason)
            attempt += 1
            time.sleep(wait)

    def _refused(self, what: str, reply: Reply) -> QueryFailed:
        """What a status that is no success means; raises RetrieverFailed when going on is pointless."""
        service, status = self.service, reply.status
        said = service.said(reply.body)
        key = service.options.key
        if status in (401, 403, 407):
            names = " and ".join(service.names)
            with_what = f"with {names} from the environment" if names else "and `headers` names no secret"
            raise RetrieverFailed(f"{what} answered {status}: it refuses the gate, which asked {with_what}{said}",
                                  _FORKS if names else "give it a header with a secret: `headers: {Authorization: \"Bearer ${NAME}\"}`")
        if 300 <= status < 400:
            place = service.mask.excerpt(_place(reply.headers.get("location", "")))
            raise RetrieverFailed(f"{what} answered {status} and points to {place}; the gate follows no redirect, which could carry "
                                  "secrets to another host",
                                  f"set `{key}` to the address that answers itself")
        if status in (404, 405) and not service.answered:
            raise RetrieverFailed(f"{what} answered {status} to the first query{said}", f"check `{key}` and `method`")
        return Refused(f"{what} answered {status}{said}", status)

    def send(self, method: str, url: str, seconds: float, body: Any, what: str = "it", limit: int = MAX_ANSWER, kind: str = "") -> Reply:
        """Once, whatever the status of the answer. Raises :class:`QueryFailed`, which is an Unanswered where another try may help."""
        import requests
        from urllib3.exceptions import HTTPError

        from gate.web.deadline import within

        plain = isinstance(body, bytes) or hasattr(body, "read")
        data = body if body is None or plain else jsonio.dumps(body).encode("utf-8", "replace")
        headers = {**self.__headers}
        if data is not None and not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = kind or ("application/x-ndjson" if plain else "application/json")
        started = time.monotonic()
        with within(seconds) as watch:
            try:
                with self._opened(url).request(method, url, data=data, headers=headers, timeout=(min(_CONNECT, seconds), seconds),
                                               allow_redirects=False, stream=True, verify=self.service.verify) as response:
                    received = bytearray()
                    for block in response.iter_content(_BLOCK):
                        received += block
                        if len(received) > limit:
                            raise QueryFailed(f"{what} answered with more than the gate reads ({limit} bytes)")
                    if watch.over:
                        raise _late(what, seconds)
                    found = {name.lower(): value for name, value in response.headers.items()}
                    return Reply(response.status_code, found, bytes(received), (time.monotonic() - started) * 1000)
            except (requests.RequestException, HTTPError, OSError, UnicodeError) as error:  # requests lets some of them through
                if watch.over or time.monotonic() - started >= seconds:
                    raise _late(what, seconds) from None
                raise self._broken(what, error) from None

    def _broken(self, what: str, error: Exception) -> QueryFailed:
        """What an exception of requests means. Its own words may hold the address with everything in it, so few of them are used."""
        import requests
        from urllib3.exceptions import LocationValueError

        cause = getattr(error.args[0], "reason", error.args[0]) if error.args else error
        while isinstance(cause, Exception) and isinstance(cause.__cause__ or cause.__context__, Exception):
            cause = cause.__cause__ or cause.__context__
        name = type(cause if isinstance(cause, Exception) else error).__name__
        told = getattr(cause, "strerror", None) or ""
        if isinstance(error, requests.exceptions.SSLError):
            why = getattr(cause, "verify_message", "") or name
            raise RetrieverFailed(f"{what}: the certificate of the service was not accepted ({self.service.mask.excerpt(str(why))})",
                                  "set `ca_file` to the certificates of your authority (PEM), or fix the service's certificate")
        if isinstance(error, (requests.exceptions.InvalidURL, requests.exceptions.InvalidHeader, requests.exceptions.InvalidSchema,
                              LocationValueError, UnicodeError)):
            raise RetrieverFailed(f"{what}: cannot be sent ({type(error).__name__})", "check `url` and `headers`")
        if isinstance(error, requests.exceptions.ContentDecodingError):
            return QueryFailed(f"{what} answered with damaged compressed data")
        if isinstance(error, requests.exceptions.ConnectTimeout):
            return Unanswered(f"{what} could not be reached within {_CONNECT:g} s", outage=True)
        return Unanswered(f"{what} gave no answer ({self.service.mask.excerpt(str(told)) or name})", outage=True)

    def _opened(self, url: str) -> Any:
        if self._session is None:
            import requests
            from requests.utils import get_environ_proxies

            from gate.web.deadline import DeadlineAdapter

            self._session = requests.Session()
            # Nothing of the machine but its proxies and certificates: a .netrc could send a login that nobody configured.
            self._session.trust_env = False
            for scheme in ("http://", "https://"):
                self._session.mount(scheme, DeadlineAdapter())
            if not is_loopback(urlsplit(url).hostname or ""):
                self._session.proxies = get_environ_proxies(url)
        self._session.cookies.clear()  # each question is asked by somebody who was never here
        return self._session


def _late(what: str, seconds: float) -> QueryFailed:
    return QueryFailed(f"{what} gave no answer within {seconds:.3g} s", outage=True)


def _place(url: str) -> str:
    """A redirect's target without what may be secret in it."""
    scheme, slashes, rest = url.partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return (scheme + slashes + host.rpartition("@")[2] + slash + path) or "nowhere"
