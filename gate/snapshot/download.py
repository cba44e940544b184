"""One file over https: streamed to disk, bounded, gone on with after a cut, and with its secrets for one host only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import RawIOBase
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from gate import jsonio
from gate.errors import InvalidInput, SnapshotUnavailable
from gate.github.transport import TIMEOUTS, USER_AGENT
from gate.snapshot.entries import no_room, write_all
from gate.snapshot.files import measure, read_regular
from gate.snapshot.sources.base import is_loopback

_CHUNK = 256 * 1024
_HOPS = 5
# In a row without a new byte, and in all.
_FAILURES, _TRIES = 5, 40
_LONGEST_WAIT = 60.0
MAX_SECONDS = 3600.0
_AGAIN = "run the job again; see that the runner reaches the host (proxy, firewall)"


class Wanted(NamedTuple):
    """``shown``: what messages call it, since an address can hold a signature. ``limit``: bytes. ``headers``: for the host of ``url`` and
    no other, since they may hold secrets. ``plain``: whether http is accepted besides https."""

    url: str
    shown: str
    limit: int
    headers: Mapping[str, str] = {}
    plain: bool = False


class _Interrupted(Exception):
    """Worth another try, after ``wait`` seconds where the server named some."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


class Download:
    """``place``: where the bytes go and, after a cut, stay; beside it, which version of the file they belong to."""

    def __init__(self, wanted: Wanted, place: Path, *, sleep: Callable[[float], None] = time.sleep,
                 clock: Callable[[], float] = time.monotonic, session: Any = None) -> None:
        self._wanted, self._place, self._note = wanted, place, place.with_name(place.name + ".json")
        self._sleep, self._clock, self._session = sleep, clock, session
        self._ends = clock() + MAX_SECONDS
        self.resumed = self.whole = False

    def run(self) -> str:
        """sha256 of the file that is now at its place, 64 hex digits. Raises :class:`SnapshotUnavailable` when it does not come, and
        :class:`InvalidInput` when it is too large."""
        failures = 0
        for _ in range(_TRIES):
            before = self._have()
            try:
                self._attempt(before)
                return measure(self._place).sha256
            except _Interrupted as cut:
                failures = 0 if self._have() > before else failures + 1
                if failures >= _FAILURES:
                    raise SnapshotUnavailable(f"{self._wanted.shown}: {cut}", _AGAIN) from None
                self._sleep(min(_LONGEST_WAIT, 2.0 ** failures if cut.wait is None else cut.wait))
        raise SnapshotUnavailable(f"{self._wanted.shown}: broke off {_TRIES} times", _AGAIN)

    def forget(self) -> None:
        """Remove what is at the place."""
        self._place.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    # -- what is there already -----------------------------------------------------------------------------------------

    def _validator(self) -> str:
        """What the server called the version whose beginning is here: only a strong tag proves that the rest will fit."""
        try:
            value = jsonio.loads(read_regular(self._note, 4096).decode())
        except (InvalidInput, ValueError):
            return ""
        tag = value.get("etag") if isinstance(value, dict) else None
        return tag if isinstance(tag, str) and tag.startswith('"') and tag.isascii() and tag.isprintable() else ""

    def _have(self) -> int:
        if self._place.is_symlink() or not self._place.is_file() or not self._validator():
            return 0
        return self._place.stat().st_size

    # -- one request ---------------------------------------------------------------------------------------------------

    def _attempt(self, have: int) -> None:
        headers = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}
        if have:
            headers |= {"Range": f"bytes={have}-", "If-Range": self._validator()}
        with self._answer(headers) as response:
            status, told = response.status_code, response.headers
            if status == 206 and have and told.get("Content-Range", "").startswith(f"bytes {have}-"):
                self.resumed = True
                self._receive(response, have)
                total = _number(told["Content-Range"].rpartition("/")[2])
                if total is not None and self._have() < total:  # a server may hand out less than was asked for
                    raise _Interrupted(f"the server handed out {self._have()} of {total} bytes")
            elif status == 200:
                self.forget()
                self.resumed = False
                if tag := told.get("ETag", ""):
                    with suppress(InvalidInput):  # without the note nothing can be resumed, and that is all
                        jsonio.write_atomic(self._note, jsonio.dumps({"etag": tag[:1000]}).encode())
                self._receive(response, 0)
            elif status in (206, 416):
                if status == 416 and told.get("Content-Range", "") == f"bytes */{have}":
                    self.resumed = True
                    return
                self.forget()
                raise _Interrupted(f"the server answered {status}, which does not fit " + ("the rest that was asked for" if have
                                                                                          else "the whole that was asked for"))
            elif status == 429 or (status == 403 and "Retry-After" in told) or (status >= 500 and status != 501):
                raise _Interrupted(f"the server answered {status}", _seconds(told.get("Retry-After")))
            else:
                raise SnapshotUnavailable(f"{self._wanted.shown}: the server answered {status}", _cure(status))

    def _answer(self, headers: dict[str, str]) -> Any:
        """The answer at the end of all redirects, its body unread."""
        import requests
        import urllib3

        if self._session is None:
            self._session = requests.Session()
            # Also where it follows no redirect it would read the whole body of one, however long that is.
            self._session.get_redirect_target = lambda response: None
        url, home = self._wanted.url, _origin(self._wanted.url)
        sent = headers | dict(self._wanted.headers)
        for _ in range(_HOPS + 1):
            try:
                # An auth object keeps requests from a .netrc that an earlier step could have written.
                response = self._session.get(url, headers=sent, auth=_as_it_is, timeout=TIMEOUTS, allow_redirects=False, stream=True)
            except (requests.exceptions.InvalidURL, requests.exceptions.InvalidHeader, requests.exceptions.MissingSchema,
                    requests.exceptions.InvalidSchema) as error:
                raise SnapshotUnavailable(f"{self._wanted.shown}: cannot be asked for ({type(error).__name__})") from None
            except requests.exceptions.SSLError:
                raise SnapshotUnavailable(f"{self._wanted.shown}: the server's certificate was not accepted",
                                          "give the container the company's certificates (REQUESTS_CA_BUNDLE)") from None
            except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
                raise _Interrupted(f"no answer from {_host(url)} ({_why(error)})") from None
            if response.status_code not in (301, 302, 303, 307, 308):
                return response
            response.close()
            url = self._next(url, response.headers.get("Location", ""))
            if _origin(url) != home:  # and not again, should it lead back
                sent, home = headers, ("", "", None)
        raise SnapshotUnavailable(f"{self._wanted.shown}: redirects more than {_HOPS} times")

    def _next(self, url: str, location: str) -> str:
        try:
            target = urljoin(url, location)
            scheme, host, _ = _origin(target)
        except ValueError:
            scheme = host = ""
        if scheme == "https" and host:
            return target
        if scheme == "http" and urlsplit(url).scheme == "http" and (self._wanted.plain or is_loopback(host)):
            return target
        where = f"{scheme}://{host}" if scheme and host else "no usable address"
        raise SnapshotUnavailable(f"{self._wanted.shown}: redirects to {where}, and only https is followed",
                                  "name the address that the file is at in the end")

    def _receive(self, response: Any, have: int) -> None:
        from urllib3.exceptions import HTTPError

        limit, length = self._wanted.limit, _number(response.headers.get("Content-Length"))
        if length is not None and have + length > limit:
            raise self._too_large()
        self.whole = length is not None or response.headers.get("Transfer-Encoding", "").lower() == "chunked"
        stream = self._open(have)
        with stream:
            while True:
                if self._clock() > self._ends:
                    raise SnapshotUnavailable(f"{self._wanted.shown}: has not come within {MAX_SECONDS / 60:.0f} minutes",
                                              "what has come is kept where the server lets a download be resumed: run the job again")
                try:
                    # read1: whatever has come, so that a server that trickles cannot hold the loop.
                    block = response.raw.read1(_CHUNK, decode_content=False)
                except (HTTPError, OSError) as error:
                    raise _Interrupted(f"the download broke off after {have} bytes ({_why(error)})") from None
                if not block:
                    break
                have += len(block)
                if have > limit:
                    raise self._too_large()
                write_all(stream, block)
        if length is not None and response.raw.length_remaining not in (0, None):
            raise _Interrupted(f"the download broke off after {have} bytes")

    def _open(self, have: int) -> RawIOBase:
        if have:
            return open(self._place, "ab", buffering=0)
        try:
            return open(self._place, "xb", buffering=0)
        except OSError as error:
            raise no_room(error) from None

    def _too_large(self) -> InvalidInput:
        self.forget()
        return InvalidInput(f"{self._wanted.shown}: is larger than `max_mb` allows ({self._wanted.limit // 1024**2} MB)",
                            "raise `max_mb` when this is the file that is meant")


def _as_it_is(request: Any) -> Any:
    return request


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _why(error: BaseException) -> str:
    """The kind of an error. Its text often quotes the whole address, and with it a signature."""
    cause = error.args[0] if error.args else None
    inner = getattr(cause, "reason", None) or (cause if isinstance(cause, BaseException) else None)
    return type(inner or error).__name__


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def _seconds(text: str | None) -> float | None:
    found = _number(text)
    return None if found is None else float(found)


def _cure(status: int) -> str:
    if status in (401, 403):
        return "see that the credentials are right and may read it"
    if status in (404, 410):
        return "see that it is still there; hosts also answer so to those who may not read it"
    return _AGAIN if status >= 500 else "see that the address is the one of the file itself"
