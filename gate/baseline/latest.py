"""The latest record: what the default branch itself retrieved, kept in the artifact beside the baseline that it was judged by.

It is read from an artifact whose baseline has been verified already. Whatever is wrong with it costs the second comparison and a
note, never the verdict: the baseline does not depend on it.
"""

from __future__ import annotations

from gate.baseline.choose import Manifest
from gate.baseline.manifest import LATEST_FILE
from gate.baseline.record import MAX_PACKED, Record, unpack
from gate.errors import InvalidInput
from gate.github.archives import Caps, read_zip


def read_latest(data: bytes, manifest: Manifest, record: Record) -> Record:
    """The record of the run that stored an artifact. ``data``: the artifact's zip; ``manifest`` and ``record``: what it says and holds,
    both verified. Where that run itself became the baseline the two are one. Raises :class:`InvalidInput` with the reason."""
    if manifest.state != "carried":
        return record
    if not manifest.latest_digest:
        raise InvalidInput("it was stored by a version of the gate that kept no record of the run itself")
    found = read_zip(data, (LATEST_FILE,), Caps(file=MAX_PACKED, total=MAX_PACKED), LATEST_FILE)
    latest = unpack(found[LATEST_FILE], LATEST_FILE)
    if fault := contradiction(manifest, latest):
        raise InvalidInput(f"{LATEST_FILE}: {fault}")
    return latest


def contradiction(manifest: Manifest, latest: Record) -> str:
    """Why a record cannot be the run that this manifest speaks of; "" when it can. Pure."""
    facts = (("digest", latest.digest, manifest.latest_digest), ("kind", latest.provenance.kind, "latest"),
             ("gate", latest.gate, manifest.gate), ("repository id", latest.repository_id, manifest.repository_id),
             ("commit", latest.commit, manifest.head_sha))
    return next((f"its {what} is {found!r}, the manifest stands for {expected!r}" for what, found, expected in facts
                 if found != expected), "")
