"""Verbs for workflow runs, jobs and artifacts."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from datetime import timedelta

from .state import Artifact, Job, PullRequest, Repo, Run, User, Workflow
from .world_pulls import PullVerbs

GATE_PATH = ".github/workflows/gate.yml"


def zip_bytes(files: Mapping[str, str | bytes]) -> bytes:
    """A deterministic zip, as an uploaded artifact holds it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


class ActionVerbs(PullVerbs):
    runs: dict[int, Run]
    artifacts: dict[int, Artifact]
    retention_days: int

    def workflow(self, repo: Repo, path: str = GATE_PATH, name: str | None = None) -> Workflow:
        # A run's path may carry `@ref`; the workflow itself does not.
        plain = path.split("@")[0]
        if plain not in repo.workflows:
            stem = plain.rsplit("/", 1)[-1].rsplit(".", 1)[0]
            repo.workflows[plain] = Workflow(self.ids("workflow"), name or stem.title(), plain, self.clock.now)
        return repo.workflows[plain]

    def run(
        self,
        repo: Repo,
        event: str = "push",
        *,
        pr: PullRequest | None = None,
        head_sha: str | None = None,
        head_branch: str | None = None,
        head_repo: Repo | None = None,
        path: str = GATE_PATH,
        by: User | str | None = None,
        status: str = "completed",
        conclusion: str | None = "success",
        jobs: Mapping[str, str | None] | None = None,
    ) -> Run:
        """A workflow run; with `pr` it takes head repository, branch and sha from it. `jobs` maps a name to its
        conclusion
        (None = still running). A run with status other than completed has no conclusion."""
        now = self.clock.tick()
        workflow = self.workflow(repo, path)
        if pr is not None:
            assert head_repo or pr.head_repo, "the fork was deleted: runs from it were made before"
            event = "pull_request" if event == "push" else event
            head_repo, head_branch, head_sha = (
                head_repo or pr.head_repo,
                head_branch or pr.head_ref,
                head_sha or pr.head_sha,
            )
        actor = self.user(by) if by is not None else pr.author if pr else repo.owner
        made = Run(
            self.ids("run"), repo, head_repo or repo, workflow, event, head_branch or repo.default_branch,
            head_sha or repo.tip, path, actor, actor, now, now, now, self.ids("suite"),
        )  # fmt: skip
        made.number = 1 + sum(other.workflow is workflow for other in self.runs.values())
        made.status, made.conclusion = status, conclusion if status == "completed" else None
        if pr is not None and not pr.from_fork:
            made.pulls = [pr]  # stays empty for forks, as documented
        self.runs[made.id] = made
        for name, verdict in ({"gate": made.conclusion} if jobs is None else jobs).items():
            self.job(made, name, verdict)
        return made

    def job(self, run: Run, name: str, conclusion: str | None = "success") -> Job:
        now = self.clock.now
        status = "completed" if conclusion else "in_progress"
        made = Job(self.ids("job"), name, run.attempt, status, conclusion, now, now if conclusion else None)
        run.jobs.append(made)
        return made

    def finish(self, run: Run, conclusion: str = "success") -> None:
        run.status, run.conclusion, run.updated_at = "completed", conclusion, self.clock.tick()
        for job in run.jobs:
            if job.attempt == run.attempt and job.status != "completed":
                job.status, job.conclusion, job.completed_at = "completed", conclusion, self.clock.now

    def rerun(self, run: Run, by: User | str | None = None) -> Run:
        """Next attempt of the same run: same id, sha and payload, new jobs, other triggering actor."""
        run.attempt += 1
        run.status, run.conclusion = "in_progress", None
        run.started_at = run.updated_at = self.clock.tick()
        run.triggering_actor = self.user(by) if by is not None else run.triggering_actor
        for name in dict.fromkeys(job.name for job in run.jobs):
            self.job(run, name, None)
        return run

    # -- artifacts --------------------------------------------------------------------------------------------------

    def artifact(
        self,
        run: Run,
        name: str,
        content: Mapping[str, str | bytes] | bytes = b"",
        *,
        retention_days: float | None = None,
        digest: bool = True,
    ) -> Artifact:
        """An artifact that is there already. A mapping is zipped, bytes are taken as they are."""
        now = self.clock.tick()
        data = content if isinstance(content, bytes) else zip_bytes(content)
        days = self.retention_days if retention_days is None else retention_days
        made = Artifact(self.ids("artifact"), run, name, run.attempt, now, now + timedelta(days=days))
        made.data, made.size = data, len(data)
        made.digest = "sha256:" + hashlib.sha256(data).hexdigest() if digest else None
        self.artifacts[made.id] = made
        return made

    def tamper(self, artifact: Artifact, data: bytes) -> None:
        """Change the stored bytes behind the recorded digest and size."""
        artifact.data = data

    def expire(self, artifact: Artifact) -> None:
        artifact.expires_at = self.clock.now

    def expired(self, artifact: Artifact) -> bool:
        return artifact.expires_at <= self.clock.now

    def artifacts_named(self, name: str) -> list[Artifact]:
        """Finished artifacts of that name, newest first."""
        found = [artifact for artifact in self.artifacts.values() if artifact.finalized and artifact.name == name]
        return sorted(found, key=lambda artifact: -artifact.id)

    def runtime_token(self, run: Run, job: Job | None = None) -> str:
        """ACTIONS_RUNTIME_TOKEN of a job: a JWT whose signature nobody checks and whose `scp` names the backend ids."""
        job = job or next(job for job in reversed(run.jobs) if job.attempt == run.attempt)
        scopes = f"Actions.ExampleScope Actions.Results:{run.backend_id}:{job.backend_id}"
        claims = {"scp": scopes, "orchid": run.backend_id, "iss": "https://token.actions.example"}
        parts = [json.dumps(part, separators=(",", ":")).encode() for part in ({"alg": "RS256", "typ": "JWT"}, claims)]
        return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (*parts, b"not-a-signature"))
