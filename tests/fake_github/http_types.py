"""What a handler receives and what it may give back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from .state import Token


@dataclass
class Request:
    method: str
    path: str  # percent-decoded, without the API prefix
    raw_path: str
    query: dict[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    json: Any = None
    params: dict[str, str] = field(default_factory=dict)
    token: Token | None = None
    urls: Urls | None = None

    @property
    def accept(self) -> str:
        return self.headers.get("accept", "")

    @property
    def links(self) -> Urls:
        assert self.urls is not None
        return self.urls


@dataclass(frozen=True)
class Urls:
    """Where the client believes to have reached us: answers carry links under the address that it used."""

    api: str
    html: str
    blob: str


@dataclass
class Answer:
    status: int = 200
    json: Any = None
    raw: bytes | None = None
    media: str = "application/json; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    checked: bool = True  # held against the OpenAPI description


@dataclass
class Page:
    """A list answer; only the wanted page is rendered. `wrap` is the key for lists that come as {total_count, <wrap>:
    […]}."""

    items: Sequence[Any]
    render: Callable[[Any], Any]
    wrap: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    counted: bool = True  # whether a wrapped list says total_count
    default_size: int = 30
    cursor: bool = False  # pages by `after`, not by number


class Refused(Exception):
    """Ends a request with an error answer."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers or {}
        self.json = {
            "message": message,
            "documentation_url": "https://docs.github.com/rest",
            "status": str(status),
            **more,
        }
        if "errors" in more:
            # The description of a 422 has no `status`.
            del self.json["status"]


def not_found() -> Refused:
    return Refused(404, "Not Found")


def invalid(resource: str, field_name: str, code: str, message: str | None = None) -> Refused:
    error = {"resource": resource, "code": code, "field": field_name}
    return Refused(422, "Validation Failed", errors=[error | ({"message": message} if message else {})])


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)
