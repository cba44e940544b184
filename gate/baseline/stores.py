"""Where baselines are kept: the interface, and the store in the artifacts of a repository's own runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gate.baseline.artifact_shelf import ArtifactShelf
from gate.baseline.choose import MANIFEST_SCHEMA, STATES, Manifest
from gate.baseline.found import Found, Missing
from gate.baseline.home import Home
from gate.baseline.lookups import Lookups
from gate.baseline.manifest import pack_artifact
from gate.baseline.record import BASELINES, MAX_PACKED, Record, pack, unpack
from gate.baseline.search import Search
from gate.baseline.standing import Standing, newest_standing
from gate.baseline.timeline import history_bytes
from gate.github.artifact_upload import SUFFIXES, ArtifactService
from gate.history import Point

__all__ = ["ArtifactStore", "Found", "Missing", "Published", "Store", "check_publishable"]


@dataclass(frozen=True)
class Published:
    """What came of publishing. ``state``: bootstrap, carried or approved; "no" when nothing was stored, which is no fault: there was
    nothing to store, or another run was right to be there before. ``notes``: sentences for the report."""

    name: str
    record_digest: str
    state: str
    url: str
    artifact_id: int = 0
    notes: tuple[str, ...] = ()


class Store(Protocol):
    """A place that keeps baselines."""

    def find(self, base_sha: str, own_run_id: int = 0) -> Found | Missing:
        """The newest acceptable baseline that ``base_sha`` contains. ``own_run_id``: what this very run has stored (in an earlier attempt)
        is left out."""

    def publish(self, data: bytes, state: str, *, head_sha: str, run_id: int, job: str = "", carried_from: int = 0,
                verdict: str = "", latest: Record | None = None, history: Sequence[Point] = ()) -> Published:
        """Store a packed record as the baseline of the commit ``head_sha``. ``verdict``: what the storing run came to; ``job``: GITHUB_JOB,
        by which a reader finds out whether this job succeeded; ``latest``: what that commit itself retrieves, where the record is an
        older one; ``history``: what the runs up to this one have found."""


def check_publishable(data: bytes, state: str, gate: str) -> Record:
    """The record, if it may become ``state`` of this gate. Anything else is a fault of the caller."""
    record = unpack(data, "the record to publish")
    kind = record.provenance.kind
    if record.gate != gate or state not in STATES or kind not in BASELINES or (state != "carried" and kind != state):
        raise ValueError(f"a record of gate {record.gate!r} with provenance {kind} cannot be published as {state} for gate {gate!r}")
    return record


def overtaken(other: Standing) -> str:
    """What a run is told that judged by a baseline while another run stored the next one."""
    return (f"While this run was under way, that of {other.manifest.head_sha[:7]} stored another baseline ({other.manifest.state}, "
            f"{other.item.label}). This run was still compared with the one before it; run this job again to be compared with the new one.")


class ArtifactStore:
    """Baselines as artifacts ``<settings.artifact>-<gate>``. ``service``: makes the upload service when something is published."""

    def __init__(self, home: Home, service: Callable[[], ArtifactService] | None = None, session: Any = None) -> None:
        self.name = f"{home.settings.artifact}-{home.gate}"
        self._repository, self._service, self._clock, self._url = home.repository, service, home.clock, home.url
        names = tuple(self.name + suffix for suffix in SUFFIXES)
        self._wanted = home.wanted(*names)
        self._shelf = ArtifactShelf(home.repository, names, home.url, session)
        self._seen: int | None = None

    def find(self, base_sha: str, own_run_id: int = 0) -> Found | Missing:
        """See :class:`Store`."""
        search = Search(self._repository, self._wanted, self._shelf, base_sha, own_run_id, self._clock())
        found = search.find()
        self._seen = max((item.id for item in search.listed), default=0)
        return found

    def publish(
        self,
        data: bytes,
        state: str,
        *,
        head_sha: str,
        run_id: int,
        job: str = "",
        carried_from: int = 0,
        verdict: str = "",
        latest: Record | None = None,
        history: Sequence[Point] = (),
        days: int | None = None,
    ) -> Published:
        """See :class:`Store`. ``days``: wished lifetime. Raises :class:`~gate.github.artifact_upload.Unavailable` where there is no
        artifact service."""
        record = check_publishable(data, state, self._wanted.gate)
        if self._service is None:
            raise ValueError("this store was built for reading only")
        beside = pack(latest) if latest else b""
        if len(data) + len(beside) > MAX_PACKED:
            latest, beside = None, b""  # together they would be too large to be read, and the baseline is what counts
        manifest = Manifest(
            MANIFEST_SCHEMA,
            self._wanted.gate,
            self._wanted.repository_id,
            head_sha,
            record.digest,
            record.snapshot_digest,
            state,
            str(run_id),
            job,
            carried_from,
            verdict,
            latest.digest if latest else "",
        )
        packed = pack_artifact(manifest, data, beside, history_bytes(history, self._wanted.gate) if history else b"")
        done = self._service().upload(self.name, packed, days=days)
        url = f"{self._url}/actions/runs/{run_id}/artifacts/{done.id}"
        return Published(done.name, record.digest, state, url, done.id, self._meanwhile(run_id))

    def _meanwhile(self, run_id: int) -> tuple[str, ...]:
        """What another run has made the baseline since this one looked. Nothing is lost by it, for whoever reads later weighs both, but
        this run has judged by what was there before. Asked after the upload: so of two runs at least one sees the other."""
        if self._seen is None:
            return ()
        since = [item for item in self._shelf.items() if item.id > self._seen and item.run_id != run_id]
        other = newest_standing(since, self._wanted, self._shelf, Lookups(self._repository, self._wanted.default_branch, self._shelf))
        if other is None or other.manifest.state == "carried":
            return ()
        return (overtaken(other),)
