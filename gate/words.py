"""Plain values in words; used wherever settings and digests are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def short(digest: str) -> str:
    """The first twelve digits of a digest or sha."""
    return digest.removeprefix("sha256:")[:12] or "none"


def plain(value: Any) -> str:
    """A setting as one line of text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {plain(v)}" for k, v in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
