"""How long to wait before a request is sent again: pure decisions over what GitHub answered."""

from __future__ import annotations

from collections.abc import Mapping

MAX_ATTEMPTS = 5
SECONDARY_WAIT = 60.0
_BASE = 1.0

# Said by a permission 403 even when the same answer used up the last request of the hour.
_PERMISSION = ("not accessible by", "must have admin", "must have push", "is locked", "saml")
_LIMIT = ("rate limit", "secondary rate", "abuse detection")
# Storage quota of the account: asking again cannot help.
_HOPELESS = "insufficient usage"


def is_limit(status: int, headers: Mapping[str, str], said: str) -> bool:
    """Whether this 403 or 429 is about the number of requests and not about a permission."""
    text = said.lower()
    if is_quota(text):
        return False
    if status == 429 or (status == 403 and "retry-after" in headers):
        return True
    if status != 403 or any(part in text for part in _PERMISSION):
        return False
    return headers.get("x-ratelimit-remaining") == "0" or any(part in text for part in _LIMIT)


def is_quota(said: str) -> bool:
    """Whether an account's storage is used up."""
    return _HOPELESS in said.lower()


def limit_wait(headers: Mapping[str, str], attempt: int, now: float) -> float:
    """Seconds that GitHub wants us to wait: ``retry-after``, else until the reset, else a minute, doubled each time."""
    asked = _number(headers.get("retry-after"))
    if asked is not None:
        return max(asked, 1.0)
    reset = _number(headers.get("x-ratelimit-reset"))
    if headers.get("x-ratelimit-remaining") == "0" and reset is not None:
        return max(reset - now, 0.0) + 1.0
    return SECONDARY_WAIT * 2**attempt


def trouble_wait(attempt: int, random: float) -> float:
    """Seconds before trying again after a 5xx or a broken connection: 1, 2, 4 … with up to half of that on top."""
    return _BASE * 2**attempt * (1 + random / 2)


def is_trouble(status: int) -> bool:
    """A server error that may pass by itself."""
    return status >= 500 and status != 501


def _number(text: str | None) -> float | None:
    # An HTTP date is legal in retry-after; GitHub never sends one, and a minute is a good answer to it.
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1e12 else None
