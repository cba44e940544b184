"""A repository with a gate on a fake GitHub."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.baseline.choose import Manifest
from gate.baseline.home import Home
from gate.baseline.manifest import pack_artifact
from gate.baseline.record import Provenance, Record, pack
from gate.baseline.stores import ArtifactStore
from gate.github.artifact_upload import ArtifactService
from gate.github.repository import Repository
from gate.runs import Ranking
from gate.settings import BaselineSettings
from tests.github import conftest as github

fake, repo, connect, naps = github.fake, github.repo, github.connect, github.naps

NAME = "retrieval-gate-baseline-default"
WORKFLOW = ".github/workflows/gate.yml"


class Gate:
    """Runs on the default branch that leave baselines behind, and the store that looks for them."""

    def __init__(self, fake, repo, connect, naps):
        self.fake, self.repo, self.naps = fake, repo, naps
        self.repository = Repository(connect(), repo.full_name)

    def record(self, text="a", kind="bootstrap", **changes):
        fields = {
            "gate": "default",
            "rankings": {"q1": Ranking([text, "x"])},
            "golden_digest": "sha256:g",
            "commit": self.repo.tip,
            "created": self.fake.clock.now.isoformat(),
            "repository_id": self.repo.id,
            "snapshot_digest": "sha256:s",
            "provenance": Provenance(kind),
        }
        return Record(**{**fields, **changes})

    def store(self, run=None, **options):
        env = self.fake.job_env(run, self.fake.url) if run else {}
        service = options.pop("service", lambda: ArtifactService(env, sleep=self.naps, random=lambda: 0.0))
        home = Home(self.repository, BaselineSettings(), "default", self.repo.id, "main", WORKFLOW,
                    clock=lambda: self.fake.clock.now.timestamp())
        return ArtifactStore(replace(home, **options), service)

    def find(self, base=None, **options):
        return self.store(**options).find(base or self.repo.tip)

    def push(self):
        """A commit on main and its run, under way."""
        self.fake.commit(self.repo, {"code": str(self.fake.clock.now)})
        return self.fake.run(self.repo, status="in_progress", jobs={"gate": None})

    def latest(self, run, text="now", **changes):
        """The record of the run itself."""
        return self.record(text, "latest", **{"commit": run.head_sha, **changes})

    def publish(self, record=None, state="bootstrap", run=None, carried_from=0, latest=None, conclusion="success"):
        """What a run on main does, from push to its end."""
        run = run or self.push()
        record = record or self.record(kind=state)
        latest = latest or (self.latest(run) if state == "carried" else None)
        done = self.store(run).publish(
            pack(record), state, head_sha=run.head_sha, run_id=run.id, job="gate", carried_from=carried_from, latest=latest
        )
        for job in run.jobs:
            job.conclusion = conclusion
        self.fake.finish(run, conclusion)
        return done

    def zip(self, run, record=None, **changes):
        """The bytes that an artifact of this run would hold; `changes` are lies of its manifest."""
        record = record or self.record()
        manifest = Manifest(
            1, "default", self.repo.id, run.head_sha, record.digest, record.snapshot_digest, "bootstrap", str(run.id), "gate"
        )
        return pack_artifact(replace(manifest, **changes), pack(record))

    def plant(self, run, data=None, name=NAME, **options):
        """An artifact that somebody else made look like a baseline."""
        return self.fake.artifact(run, name, self.zip(run) if data is None else data, **options)


@pytest.fixture
def gate(fake, repo, connect, naps):
    return Gate(fake, repo, connect, naps)
