"""HTTP to one GitHub API: authentication, retries, paging, typed errors. What is asked for is the business of the callers."""

from __future__ import annotations

import random as _random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from gate import __version__
from gate.errors import InvalidInput
from gate.github import patience
from gate.github.answers import Answer, explanation, network_trouble, next_query, one_line, read_capped
from gate.github.failures import RateLimited, Redirected, ServerTrouble, TooMany, refused

USER_AGENT = f"retrieval-gate/{__version__}"
JSON_MEDIA = "application/vnd.github+json"
API_VERSION = "2022-11-28"
TIMEOUTS = (10.0, 60.0)
MAX_ANSWER = 128 * 1024**2
MAX_PAGES = 50
PER_PAGE = 100
# All waiting of a run together: beyond it a red check that says why is better than a job that hangs.
MAX_WAIT = 180.0
_REPEATABLE = ("GET", "HEAD", "PUT", "PATCH", "DELETE")


class Bearer:
    """Puts the token on a request. Being an auth object it also keeps requests from reading a .netrc, which an earlier step
    could have written. Shows nothing when printed."""

    def __init__(self, token: str) -> None:
        token = token.strip()
        if not token.isascii() or any(char <= " " or char == "\x7f" for char in token):
            # requests would quote the whole header in its own complaint.
            raise InvalidInput(
                "input `token`: holds characters that no token has (not shown)",
                "pass `${{ github.token }}` or a secret without line breaks",
            )
        self.__token = token

    def __call__(self, request: Any) -> Any:
        if self.__token:
            request.headers["Authorization"] = f"Bearer {self.__token}"
        return request

    def redact(self, text: str) -> str:
        """``text`` without the token, should it ever get in there."""
        return text.replace(self.__token, "***") if self.__token else text

    def __repr__(self) -> str:
        return "Bearer(***)"


class Transport:
    """One API and one token. ``session``: a requests.Session or its double; ``max_wait``: seconds of waiting for all requests
    together."""

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        session: Any = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = _random.random,
        max_wait: float = MAX_WAIT,
    ) -> None:
        if _origin(api_url)[0] not in ("http", "https") or not _origin(api_url)[1] or "@" in api_url:
            raise InvalidInput(
                f"GITHUB_API_URL: {one_line(api_url)!r} is no http(s) address",
                "leave it as the runner sets it, for instance https://api.github.com",
            )
        self.api_url = api_url.rstrip("/")
        self.clock, self.sleep = clock, sleep
        self._bearer = Bearer(token)
        self._session, self._random = session, random
        self._patience = max_wait

    def __repr__(self) -> str:
        return f"Transport({self.api_url!r})"

    # -- asking --------------------------------------------------------------------------------------------------------

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """GET one JSON object."""
        return self.request("GET", path, params=params).object()

    def pages(
        self, path: str, params: Mapping[str, Any] | None = None, *, key: str = "", max_pages: int = MAX_PAGES
    ) -> Iterator[dict[str, Any]]:
        """Every item of a paged list; ``key`` names the list inside of an object answer. Raises when there are more pages than
        that: a list that was read in part would decide something it does not know."""
        query: dict[str, Any] = {**(params or {}), "per_page": PER_PAGE}
        for _ in range(max_pages):
            answer = self.request("GET", path, params=query)
            items = answer.object().get(key) if key else answer.json()
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise ServerTrouble(f"GET {path}: GitHub did not answer with a list", answer.status)
            yield from items
            following = next_query(answer.headers.get("link", ""))
            if following is None:
                return
            # Only the query of the link is used: the token stays with the host that it belongs to.
            query = following
        raise TooMany(f"GET {path}: more than {max_pages * PER_PAGE} items, which the gate does not read", 200)

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        accept: str = JSON_MEDIA,
        repeatable: bool | None = None,
        limit: int = MAX_ANSWER,
        redirect: bool = False,
    ) -> Answer:
        """Send, and send again where that helps and is safe.

        ``repeatable``: whether doing it twice is the same as once (by default everything but POST). ``redirect``: give a
        redirect back instead of refusing it. Raises the types of :mod:`gate.github.failures`."""
        url = urljoin(self.api_url + "/", path) if path.startswith("http") else f"{self.api_url}/{path.lstrip('/')}"
        if _origin(url) != _origin(self.api_url):
            raise Redirected(
                f"{method} {one_line(path)}: leads to another host than {self.api_url}, which must not see the token"
            )
        what = f"{method} {urlsplit(url).path}"
        repeatable = method in _REPEATABLE if repeatable is None else repeatable
        limited = troubled = hops = 0
        while True:
            try:
                answer = self._send(method, url, params, json, accept, limit, what)
            except ServerTrouble as trouble:
                if trouble.final or (trouble.sent and not repeatable) or troubled + 1 >= patience.MAX_ATTEMPTS:
                    raise
                self._wait(patience.trouble_wait(troubled, self._random()), trouble)
                troubled += 1
                continue
            status = answer.status
            if 200 <= status < 300 or (redirect and status in (301, 302, 303, 307, 308)):
                return answer
            said, errors = explanation(answer)
            said = self._bearer.redact(said)
            if status in (301, 302, 307, 308) and method == "GET" and hops < 5:
                target = urljoin(url, answer.headers.get("location", ""))
                if _origin(target) == _origin(url):
                    # A renamed repository answers so. The target carries the whole query.
                    url, params, hops = target, None, hops + 1
                    continue
            failure = refused(what, status, said, answer.headers.get("x-accepted-github-permissions", ""), errors)
            if patience.is_limit(status, answer.headers, said):
                wait = patience.limit_wait(answer.headers, limited, self.clock())
                self._wait(
                    wait,
                    RateLimited(
                        f"{what}: GitHub limits the requests of this token and asks to wait {wait:.0f} s ({said or status})",
                        status,
                        "run the job again later",
                        wait,
                    ),
                )
                limited += 1
            elif patience.is_trouble(status) and repeatable and troubled + 1 < patience.MAX_ATTEMPTS:
                self._wait(patience.trouble_wait(troubled, self._random()), failure)
                troubled += 1
            else:
                raise failure

    # -- sending -------------------------------------------------------------------------------------------------------

    def _wait(self, seconds: float, otherwise: Exception) -> None:
        """Wait, or raise ``otherwise`` when that is more than what is left of the patience."""
        if seconds > self._patience:
            raise otherwise
        self._patience -= seconds
        self.sleep(seconds)

    def _send(self, method: str, url: str, params: Any, json: Any, accept: str, limit: int, what: str) -> Answer:
        import requests

        if self._session is None:
            self._session = requests.Session()
        headers = {"Accept": accept, "User-Agent": USER_AGENT, "X-GitHub-Api-Version": API_VERSION}
        try:
            with self._session.request(
                method,
                url,
                params=params,
                json=json,
                headers=headers,
                auth=self._bearer,
                timeout=TIMEOUTS,
                allow_redirects=False,
                stream=True,
            ) as response:
                body = read_capped(response, limit, what)
                return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)
        except requests.RequestException as error:
            raise network_trouble(what, error, self._bearer.redact) from None


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", "", None  # an address that is none has no origin
    return parts.scheme, parts.hostname or "", port or {"https": 443, "http": 80}.get(parts.scheme)
