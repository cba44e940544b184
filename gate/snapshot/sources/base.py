"""What the kinds of sources share: the room to work in, and settings that several of them have."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from gate.errors import SnapshotUnavailable
from gate.fields import Section
from gate.secret_text import SecretText, read_secret_text
from gate.world import World

MAX_MB = 4096
_HEX = re.compile(r"(?:sha256:)?([0-9a-f]{64})\Z")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}\Z")


class Room(NamedTuple):
    """``into``: an empty folder for the snapshot's files. ``scratch``: a folder that goes when the fetch is over; ``keep``: one that
    outlives it, for downloads that broke off. ``key``: a name in it that no other snapshot has."""

    into: Path
    scratch: Path
    keep: Path
    key: str
    world: World
    sleep: Callable[[float], None]


def read_name(section: Section, key: str, required: bool = False) -> str:
    """Text that is shown in one line."""
    text = section.text(key, "", required)
    if not text.isprintable() or len(text) > 200:
        section.problem(key, f"`{key}` must be printable text of at most 200 characters, not {text[:60]!r}")
    return text


def read_sha256(section: Section) -> str:
    """``sha256`` of the archive as 64 hex digits; with or without ``sha256:`` before them."""
    text = section.text("sha256", "", required=True)
    found = _HEX.match(text)
    if text and not found:
        section.problem("sha256", f"`sha256` must be the 64 hex digits that `sha256sum` prints for the archive, not {text[:80]!r}")
    return found[1] if found else ""


def read_size(section: Section) -> int:
    """``max_mb`` in bytes."""
    return section.integer("max_mb", MAX_MB, 1, 1024**2) * 1024**2


def read_token(section: Section) -> SecretText:
    """``token``: a credential of another repository or host than the job's own."""
    return read_secret_text(section, "token", section.text("token", ""))


def read_repository(section: Section) -> str:
    """``repository``: owner/name, or nothing for the one that the job belongs to."""
    text = section.text("repository", "")
    if text and not _REPOSITORY.match(text):
        section.problem("repository", f"`repository` must be owner/name, not {text[:80]!r}")
    return text


def read_url(section: Section, schemes: tuple[str, ...]) -> str:
    """``url`` with one of ``schemes``, or http to this machine itself; without credentials, which would be shown."""
    text = section.text("url", "", required=True)
    try:
        parts = urlsplit(text)
        host, credentials, _ = parts.hostname or "", parts.password or (parts.username and parts.scheme != "ssh"), parts.port
    except ValueError:
        parts, host, credentials = urlsplit(""), "", None
    if not text:
        return ""
    readable, scheme_fits = text.isprintable() and " " not in text and "${" not in text, parts.scheme in (*schemes, "http")
    if credentials:  # not quoted: it must not get into a log
        section.problem("url", "`url` holds credentials, which reports and logs would show; give them as a variable (`token` or "
                               "`headers`)")
    elif not (readable and scheme_fits and (host or parts.scheme == "file") and not host.startswith("-")):
        section.problem("url", f"`url` must be an address that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}, not "
                               f"{text[:120]!r}")
    elif parts.scheme == "http" and not is_loopback(host):
        section.problem("url", f"`url` is {text[:120]!r}: http is not encrypted and accepted for this machine itself only; use https")
    return text


def is_loopback(host: str) -> bool:
    """Whether a host is the machine itself."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def own_repository(repository: str, world: World, kind: str) -> str:
    """The repository that is meant."""
    if not (repository or world.repository):
        raise SnapshotUnavailable(f"`snapshot.source.{kind}` names no repository, and outside of a job there is no own one",
                                  f"set `snapshot.source.{kind}.repository` to owner/name")
    return repository or world.repository


def token_of(token: SecretText, world: World, kind: str, own: str) -> str:
    """The configured credential; where there is none ``own``, the job's as far as it may go there."""
    key = f"snapshot.source.{kind}.token"
    return header_value(token.filled(world.variables, key), key) if token.text else own.strip()


def header_value(text: str, key: str) -> str:
    """A secret as a header can hold it. Raises :class:`SnapshotUnavailable`, which does not show it."""
    value = text.strip()
    if not value.isascii() or not value.isprintable():
        raise SnapshotUnavailable(f"`{key}` has characters that no header can have (not shown)",
                                  "see that the secret is whole and has no line break within it")
    return value
