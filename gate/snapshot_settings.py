"""``snapshot:`` of a configuration: where the frozen index is or comes from, and which digest it must have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from gate.fields import Section
from gate.paths import Paths
from gate.snapshot.sources import KINDS, module_of

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


class Source(NamedTuple):
    """A place to fetch from. ``options``: the Options of the kind's module."""

    kind: str
    options: Any


class SnapshotSettings(NamedTuple):
    """``path``: a folder that is there already; None when the snapshot comes from ``source``. ``digest``: of its tree. ``corpus``: what it
    must have been built from."""

    path: Path | None
    digest: str
    source: Source | None = None
    corpus: Path | None = None


def read_snapshot(section: Section, paths: Paths) -> SnapshotSettings:
    """Faults are remembered in the section; so the result of a faulty one is of no use."""
    digest = section.text("digest", "")
    if not _DIGEST.match(digest):
        section.problem("digest", "`digest` must be the snapshot's tree digest, sha256: and 64 hex digits "
                                  "(`retrieval-gate snapshot show DIR` prints it)")
    elsewhere = section.raw("source") is not None
    path = section.text("path", "", required=not elsewhere)
    if elsewhere and path:
        section.problem("source", "a snapshot has a `path` or a `source`, not both")
    source = _source(section.section("source", section.mapping("source"))) if elsewhere else None
    corpus = section.text("corpus", "")
    section.done()
    return SnapshotSettings(None if elsewhere else paths.take(section, "path", path), digest, source,
                            paths.take(section, "corpus", corpus) if corpus else None)


def _source(section: Section) -> Source | None:
    given = [kind for kind in KINDS if section.raw(kind) is not None]
    section.done()
    if len(given) != 1:
        section.problem("", f"`source` must hold exactly one of {', '.join(KINDS)}, "
                            + (f"not {' and '.join(given)}" if given else "and there is none"))
        return None
    kind, = given
    inner = section.section(kind, section.mapping(kind))
    options = module_of(kind).read(inner)
    inner.done()
    return Source(kind, options)
