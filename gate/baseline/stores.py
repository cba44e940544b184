"""Where baselines are kept: the interface, and the store in the artifacts of a repository's own runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from gate.baseline.choose import MANIFEST_SCHEMA, STATES, Manifest, Wanted
from gate.baseline.found import Found, Missing
from gate.baseline.manifest import pack_artifact
from gate.baseline.record import BASELINES, MAX_PACKED, Record, pack, unpack
from gate.baseline.search import Search
from gate.github.artifact_upload import SUFFIXES, ArtifactService
from gate.github.repository import Repository
from gate.settings import BaselineSettings

__all__ = ["ArtifactStore", "Found", "Missing", "Published", "Store"]


@dataclass(frozen=True)
class Published:
    """What was stored."""

    name: str
    artifact_id: int
    record_digest: str
    state: str
    url: str


class Store(Protocol):
    """A place that keeps baselines."""

    def find(self, base_sha: str, own_run_id: int = 0) -> Found | Missing:
        """The newest acceptable baseline that ``base_sha`` contains."""

    def publish(self, data: bytes, state: str, *, head_sha: str, run_id: int, job: str = "", carried_from: int = 0,
                verdict: str = "", latest: Record | None = None) -> Published:
        """Store a packed record as the baseline of the commit ``head_sha``. ``latest``: what that commit itself retrieves, where the
        record is an older one."""


class ArtifactStore:
    """Baselines as artifacts ``<settings.artifact>-<gate>``. ``workflow``: the running workflow's file, used unless the
    settings name another; ``service``: makes the upload service when something is published."""

    def __init__(
        self,
        repository: Repository,
        settings: BaselineSettings,
        gate: str,
        *,
        repository_id: int,
        default_branch: str,
        workflow: str,
        server_url: str = "https://github.com",
        service: Callable[[], ArtifactService] | None = None,
        clock: Callable[[], float] = time.time,
        session: Any = None,
    ) -> None:
        self.name = f"{settings.artifact}-{gate}"
        self._repository, self._service, self._clock, self._session = repository, service, clock, session
        self._url = f"{server_url}/{repository.full_name}"
        self._wanted = Wanted(
            tuple(self.name + suffix for suffix in SUFFIXES), gate, repository_id, default_branch, settings.workflow or workflow
        )

    # -- finding -------------------------------------------------------------------------------------------------------

    def find(self, base_sha: str, own_run_id: int = 0) -> Found | Missing:
        """See :class:`Store`. ``own_run_id``: artifacts of this very run (an earlier attempt) are left out."""
        return Search(self._repository, self._wanted, base_sha, own_run_id, self._url, self._clock(), self._session).find()

    # -- publishing ----------------------------------------------------------------------------------------------------

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
        days: int | None = None,
    ) -> Published:
        """See :class:`Store`. ``verdict``: what the storing run came to; ``job``: GITHUB_JOB, by which a reader finds out whether this
        job succeeded; ``days``: wished lifetime. Raises :class:`~gate.github.artifact_upload.Unavailable` where there is no artifact
        service."""
        record = unpack(data, "the record to publish")
        kind = record.provenance.kind
        if record.gate != self._wanted.gate or state not in STATES or kind not in BASELINES or (state != "carried" and kind != state):
            raise ValueError(
                f"a record of gate {record.gate!r} with provenance {kind} cannot be published as {state} "
                f"for gate {self._wanted.gate!r}"
            )
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
        done = self._service().upload(self.name, pack_artifact(manifest, data, beside), days=days)
        return Published(done.name, done.id, record.digest, state, f"{self._url}/actions/runs/{run_id}/artifacts/{done.id}")
