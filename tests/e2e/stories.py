"""Stories told with real containers: by nektos/act, and by `docker run` as the runner starts it."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.e2e import engine
from tests.story import Outcome, Story

WORKFLOW = ".github/workflows/retrieval-gate.yml"
LEFT_OUT = {"changes", "__pycache__", "README.md"}


def need_engine() -> None:
    usable, reason = engine.engine_available()
    if not usable:
        pytest.skip(reason)


def example_files(folder: Path = ROOT / "examples") -> dict[str, bytes]:
    """Path → content of the example repository, as main holds it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and not set(path.relative_to(folder).parts) & LEFT_OUT}


def change(name: str) -> dict[str, bytes]:
    """The files that one of the example's changes replaces."""
    return example_files(ROOT / "examples" / "changes" / name)


class WikiStory(Story):
    """About the example repository; its gate is called wiki."""

    def baselines(self) -> list:
        return self.fake.artifacts_named("retrieval-gate-baseline-wiki")

    def api(self) -> str:
        return self.fake.url_for(engine.host_address_for_containers())


class ActStory(WikiStory):
    """The workspace is a git checkout, the example's workflow runs unmodified, artifacts go to act's own server."""

    def _run(self, gh, event: dict, sha: str, token: str | None = None, more: dict[str, str] | None = None) -> Outcome:
        self.runs += 1
        workspace = self.workspace = engine.action_tree(ROOT, self.checkout(sha))
        for words in (("init", "-q", "-b", "main"), ("add", "-A"),
                      ("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x")):
            subprocess.run(["git", *words], cwd=workspace, check=True, capture_output=True)
        # What act has no notion of stays away, so that the action has to do without.
        env = {key: value for key, value in self.fake.job_env(gh, self.api()).items()
               if key.startswith("GITHUB_") and key not in ("GITHUB_REPOSITORY_ID", "GITHUB_WORKFLOW_REF", "GITHUB_TRIGGERING_ACTOR")}
        artifacts = self.tmp / "artifacts"
        done = engine.act_run(workspace, WORKFLOW, gh.event, event, env={**env, "SHA_REF": sha}, artifact_dir=artifacts,
                              secrets={"GITHUB_TOKEN": token or self.fake.job_token})
        self.finish(gh, done.exit_code)
        report = {}
        for path in sorted((artifacts / str(gh.id)).glob("*/*.zip")):
            self.fake.artifact(gh, path.stem, path.read_bytes())
            if path.stem.startswith("retrieval-gate-report"):
                report = json.loads(zipfile.ZipFile(path).read("report.json"))
        outputs = next((values for values in done.outputs.values() if "verdict" in values), {})
        return Outcome(int(outputs.get("exit-code", done.exit_code)), outputs, done.summary, done.log, report)


class RunnerStory(WikiStory):
    """One container a step with the runner's own flags, mounts and variables; artifacts go to the fake by the v4 protocol."""

    image = ""

    def _run(self, gh, event: dict, sha: str, token: str | None = None, more: dict[str, str] | None = None) -> Outcome:
        self.runs += 1
        workspace = self.workspace = self.checkout(sha)
        job = self.fake.job_env(gh, self.api())
        done = engine.runner_docker_run(
            self.image, workspace, event, event_name=gh.event,
            github={key.removeprefix("GITHUB_").lower(): value for key, value in job.items() if key.startswith("GITHUB_")},
            services={key: value for key, value in job.items() if key.startswith("ACTIONS_")},
            inputs={"config": "retrieval-gate.yml", "token": token or self.fake.job_token, "comment": "", "report-dir": "reports",
                    **{key.removeprefix("INPUT_").lower(): value for key, value in (more or {}).items() if key.startswith("INPUT_")}})
        self.finish(gh, done.exit_code)
        path = workspace / "reports" / "report.json"
        return Outcome(done.exit_code, done.outputs, done.summary, done.log, json.loads(path.read_text()) if path.is_file() else {})
