"""Source ``https``: an archive at an address."""

from __future__ import annotations

import re
from typing import NamedTuple

from gate.fields import Section
from gate.secret_text import SecretText, read_secret_text
from gate.snapshot.sources.base import Room, header_value, read_sha256, read_size, read_url

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_|~-]{1,100}\Z")
# Those that decide how the file travels are the gate's own.
_OURS = ("host", "range", "if-range", "accept-encoding", "content-length", "transfer-encoding", "connection", "user-agent")


class Options(NamedTuple):
    """``sha256``: of the archive; ``limit``: its bytes at most."""

    url: str
    sha256: str
    limit: int
    headers: tuple[tuple[str, SecretText], ...] = ()

    @property
    def shown(self) -> str:
        return self.url.partition("?")[0]


def read(section: Section) -> Options:
    """Faults are remembered in the section."""
    given, headers = section.mapping("headers"), []
    inner = section.section("headers", given)
    for name in given:
        if not _NAME.match(name) or name.lower() in _OURS:
            inner.problem(name, f"{name[:60]!r} is no header that can be set here")
        headers.append((name, read_secret_text(inner, name, inner.text(name, ""))))
    return Options(read_url(section, ("https",)), read_sha256(section), read_size(section), tuple(headers))


def fetch(options: Options, room: Room) -> None:
    """See :mod:`gate.snapshot.sources`."""
    from gate.snapshot.archive import fetch_archive
    from gate.snapshot.download import Wanted

    headers = {}
    for name, text in options.headers:
        key = f"snapshot.source.https.headers.{name}"
        headers[name] = header_value(text.filled(room.world.variables, key), key)
    fetch_archive(room, Wanted(options.url, options.shown, options.limit, headers), options.sha256)
