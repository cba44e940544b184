"""How long to wait before a request is sent again. Pure."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

AGAIN = (429, 500, 502, 503, 504)
FIRST, LONGEST = 0.5, 20.0
_SECONDS = re.compile(r"[0-9]{1,9}\Z")


def growing_wait(attempt: int, random: float) -> float:
    """Seconds after attempt 0, 1, 2 …: half a second, doubled each time up to 20 s, with up to half of that on top (``random`` from 0 to
    1), so that those who were refused together do not come back together."""
    return min(FIRST * 2.0**attempt, LONGEST) * (1 + random / 2)


def asked_wait(retry_after: str | None, now: float) -> float | None:
    """Seconds that a Retry-After header asks for, a number or a date (RFC 9110, 10.2.3); None where it says nothing that can be read.
    ``now``: seconds since 1970."""
    text = (retry_after or "").strip()
    if _SECONDS.match(text):
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
