"""What came back over HTTP: a whole answer, what it says went wrong, and where its next page is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gate import jsonio
from gate.github.failures import ServerTrouble

_CHUNK = 256 * 1024


@dataclass(frozen=True)
class Answer:
    """Status, headers (names in lower case) and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    def json(self) -> Any:
        """The body as JSON; raises :class:`ServerTrouble` when it is not."""
        try:
            return jsonio.loads(self.body.decode())
        except (UnicodeDecodeError, jsonio.NotJson) as fault:
            raise ServerTrouble(
                f"GitHub answered {self.status} with something that is not JSON ({fault})",
                self.status,
                "see that GITHUB_API_URL names an API and no login page or proxy stands before it",
            ) from None

    def object(self) -> dict[str, Any]:
        """The body as a JSON object."""
        value = self.json()
        if not isinstance(value, dict):
            raise ServerTrouble(f"GitHub answered {self.status} with JSON that is no object", self.status)
        return value


def read_capped(response: Any, limit: int, what: str) -> bytes:
    """The body of a streamed answer, refused as soon as it is longer than ``limit`` bytes."""
    received = bytearray()
    for chunk in response.iter_content(_CHUNK):
        received += chunk
        if len(received) > limit:
            raise ServerTrouble(f"{what}: the answer is larger than the gate reads ({limit} bytes)", final=True)
    return bytes(received)


def network_trouble(what: str, error: Exception, redact: Callable[[str], str] = str) -> ServerTrouble:
    """What a requests exception means. Careful about ``sent``: False only when no byte can have left."""
    import requests
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

    cause = getattr(error.args[0], "reason", None) if error.args else None
    name = type(cause or error).__name__
    if isinstance(error, requests.exceptions.SSLError):
        return ServerTrouble(
            f"{what}: the server's certificate was not accepted ({name})",
            0,
            "give the container the company's certificates (REQUESTS_CA_BUNDLE)",
            sent=False,
            final=True,
        )
    if isinstance(error, (requests.exceptions.InvalidURL, requests.exceptions.InvalidHeader, requests.exceptions.MissingSchema)):
        return ServerTrouble(f"{what}: cannot be sent ({name})", sent=False, final=True)
    sent = not isinstance(error, requests.exceptions.ConnectTimeout) and not isinstance(
        cause, (NewConnectionError, ConnectTimeoutError)
    )
    told = redact(one_line(str(cause or error)).rpartition(": ")[2])[:200]
    return ServerTrouble(
        f"{what}: no answer ({name}: {told})",
        0,
        "run the job again; see that the runner reaches GitHub (proxy, firewall)",
        sent=sent,
    )


def next_query(link: str) -> dict[str, str] | None:
    """The query of the ``rel="next"`` address of a Link header; None on the last page."""
    for part in link.split(","):
        target, _, rest = part.partition(";")
        if 'rel="next"' in rest.replace(" ", "") and target.strip().startswith("<"):
            return dict(parse_qsl(urlsplit(target.strip(" <>")).query, keep_blank_values=True))
    return None


def explanation(answer: Answer) -> tuple[str, list[str]]:
    """GitHub's message and its list of errors, on one line each and cut; the artifact service calls it ``msg``."""
    try:
        value = answer.object()
    except ServerTrouble:
        return one_line(answer.body[:200].decode(errors="replace")), []
    errors = value.get("errors")
    listed = []
    for error in errors[:10] if isinstance(errors, list) else []:
        parts = (
            [str(error[key]) for key in ("field", "code", "message") if error.get(key)]
            if isinstance(error, dict)
            else [str(error)]
        )
        listed.append(one_line(" ".join(parts)))
    return one_line(str(value.get("message") or value.get("msg") or "")), listed


def one_line(text: str) -> str:
    """Printable text on one line, cut."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:300]
