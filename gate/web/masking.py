"""Takes secrets out of text that others wrote: a service may repeat what it was sent."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from gate.retrievers.team.output import readable

HIDDEN = "***"
# Shorter values are no secrets, and masking them would leave nothing to read.
_SHORTEST, _SHORTEST_PART = 3, 8
_READ = 64 * 1024
_MARKUP = (re.compile("[<>&]"), re.compile("[<>&']"))


class Mask:
    """Replaces every one of ``secrets`` of three characters or more, however it is usually written: as it is, for an address, for JSON or
    HTML, in base64, in capitals; and the longer words of one that has several, and parts of one that is an address. Shows nothing when
    printed."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        longest_first = "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form)))
        self.__pattern = re.compile(longest_first, re.IGNORECASE) if longest_first else None

    def __call__(self, text: str) -> str:
        return self.__pattern.sub(HIDDEN, text) if self.__pattern else text

    def __repr__(self) -> str:
        return f"Mask({HIDDEN})"

    def excerpt(self, data: bytes | str, longest: int = 200) -> str:
        """The beginning of ``data`` on one line, without secrets and with nothing in it that a terminal or a workflow log obeys."""
        text = data[:_READ].decode("utf-8", "replace") if isinstance(data, bytes) else data[:_READ]
        # Twice: characters that are dropped may have stood inside of a secret.
        text = self(" ".join(" ".join(readable(self(text))).split()))
        return text if len(text) <= longest else text[:longest - 1] + "…"


def _forms(secret: str) -> Iterator[str]:
    whole = secret.strip()
    parts = [part for part in re.split(r"[\s:;,=&?/@#]+", whole) if len(part) >= _SHORTEST_PART]
    for value in (secret, whole, *parts):
        if len(value) < _SHORTEST:
            continue
        data = value.encode("utf-8", "replace")
        yield value
        yield " ".join(value.split())
        yield quote(data, safe="")
        yield quote(data)
        yield quote_plus(data)
        yield json.dumps(value)[1:-1]
        yield json.dumps(value)[1:-1].replace("/", "\\/")  # as PHP writes it
        for markup in _MARKUP:  # as Go writes it, and what is to stand in a page
            yield markup.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value)[1:-1])
        yield html.escape(value)
        yield html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
        yield repr(value)[1:-1]
        yield base64.b64encode(data).decode().rstrip("=")
        yield base64.urlsafe_b64encode(data).decode().rstrip("=")
