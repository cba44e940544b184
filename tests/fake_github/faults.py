"""Faults that a test orders in advance, and the log of what arrived."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MESSAGES = {
    429: "API rate limit exceeded for installation.",
    500: "Server Error",
    502: "Server Error",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@dataclass
class Fault:
    method: str
    path: str  # regular expression, searched in the path
    status: int | None = None
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None  # json-able, str or bytes
    drop: bool = False  # close the connection instead of answering
    truncate: bool = False  # promise the whole answer, send half of it, close
    delay: float = 0.0  # seconds before the answer; alone it only slows the real answer down
    after_effect: bool = False  # the request takes effect first, then its answer is lost
    skip: int = 0  # let that many matching requests through first
    before: Callable[[], object] | None = None  # what somebody else does just before the request takes effect

    def matches(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method in ("*", method) and re.search(self.path, path) is not None

    @property
    def replaces_answer(self) -> bool:
        return self.drop or self.status is not None

    def content(self) -> tuple[bytes, str]:
        if isinstance(self.body, bytes):
            return self.body, "application/octet-stream"
        if isinstance(self.body, str):
            return self.body.encode(), "text/html; charset=utf-8"
        message = MESSAGES.get(self.status or 0, "Fault ordered by the test")
        body = {"message": message} if self.body is None else self.body
        return json.dumps(body).encode(), "application/json; charset=utf-8"


@dataclass
class Logged:
    """One request as it arrived, without credentials."""

    server: str  # api | blob
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # names in lower case; the authorization value is replaced
    json: Any
    size: int
    identity: str | None = None
    status: int | None = None  # None: the connection was dropped

    def __str__(self) -> str:
        return f"{self.method} {self.path} → {self.status}"


class FaultVerbs:
    faults: list[Fault]
    requests: list[Logged]

    def fail_next(
        self,
        method: str,
        path: str,
        status: int | None = None,
        times: int = 1,
        headers: dict[str, str] | None = None,
        body: Any = None,
        **how: Any,
    ) -> Fault:
        """Order a fault for the next `times` requests of that method ("*" = any) whose path the regular expression
        finds.
        Further keywords: drop, truncate, delay, after_effect, skip (see Fault)."""
        fault = Fault(method, path, status, times, headers or {}, body, **how)
        self.faults.append(fault)
        return fault

    def meanwhile(self, method: str, path: str, action: Callable[[], object], *, times: int = 1, skip: int = 0) -> Fault:
        """Something else happens between what a client has read and its next request of that kind."""
        return self.fail_next(method, path, times=times, before=action, skip=skip)

    def secondary_limit(
        self, method: str = "*", path: str = "", *, retry_after: int | None = 60, status: int = 403, times: int = 1
    ) -> Fault:
        """The abuse limit: a 403 (or 429) that is no matter of permission."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return self.fail_next(method, path, status, times, headers, {"message": SECONDARY})

    def primary_limit(
        self, method: str = "*", path: str = "", *, reset_in: float = 60, status: int = 403, times: int = 1
    ) -> Fault:
        """The hourly limit is used up. The reset is in real time, because that is what a client waits in."""
        headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time() + reset_in))}
        return self.fail_next(method, path, status, times, headers, {"message": MESSAGES[429]})

    def take_fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.matches(method, path):
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                return fault
        return None

    def sent(self, method: str, path: str = "") -> list[Logged]:
        """The logged requests of that method ("*" = any) whose path the regular expression finds."""
        return [entry for entry in self.requests if method in ("*", entry.method) and re.search(path, entry.path)]
