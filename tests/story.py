"""Small stories about a repository with a gate: commits, pull requests, and runs of the action on their events, in this process."""

from __future__ import annotations

import json
import re
import shutil
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from gate.action import main
from gate.github.archives import make_zip
from tests.fake_github import GATE_PATH, FakeGitHub

N = 300
FORK_TOKEN, COMPANION_TOKEN = "ghs_fork_token_for_reading", "ghs_token_of_the_companion"
COMMENTER = ".github/workflows/retrieval-gate-comment.yml"
# What the example's job gets; the test of the example holds the two together.
RIGHTS = {"contents": "read", "actions": "read", "pull_requests": "write"}
CONFIG = """golden: golden.jsonl
retriever:
  kind: run
  file: run.jsonl
depth: 10
"""


def lines(records) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def golden(n: int = N, **more) -> str:
    """n queries; the relevant document of query i is d<i>. ``more``: fields for all."""
    return lines({"id": f"q{i}", "query": f"question number {i}", "relevant": [f"d{i}"], "tags": ["even" if i % 2 == 0 else "odd"], **more}
                 for i in range(n))


def run(lost: int = 0, n: int = N, noise: str = "x") -> str:
    """A run in which the first ``lost`` queries do not find their document. The last query has one result more: rankings of one length
    would look as if somebody had cut them."""
    return lines({"id": f"q{i}", "ranked": ([noise, "y"] if i < lost else [f"d{i}", noise]) + ["z"] * (i == n - 1)} for i in range(n))


@dataclass
class Outcome:
    """What one run of the action left behind."""

    code: int
    outputs: dict[str, str]
    summary: str
    log: str
    report: dict = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        return self.outputs.get("verdict", "")


class Story:
    """``files``: what main starts with; maria and tom may write, ada is the author, eve is a stranger."""

    def __init__(self, fake: FakeGitHub, tmp: Path, capsys, files: dict[str, str] | None = None) -> None:
        self.fake, self.tmp, self.capsys = fake, tmp, capsys
        base = {"retrieval-gate.yml": CONFIG, "golden.jsonl": golden(), "run.jsonl": run(), GATE_PATH: "name: gate\n"}
        self.repo = fake.add_repo("acme/search", base if files is None else files)
        for login, role in (("maria", "maintain"), ("tom", "write"), ("ada", "write"), ("tria", "triage")):
            fake.grant(self.repo, login, role)
        fake.user("eve")
        self.runs, self.workspace = 0, tmp
        self.prepare = lambda workspace: None

    # -- what people do ------------------------------------------------------------------------------------------------

    def pull(self, files: dict[str, str | None], author: str = "ada", fork: bool = False):
        source = self.fake.fork(self.repo, by=author) if fork else None
        return self.fake.open_pr(self.repo, author, files, branch=f"change-{self.runs}-{len(self.repo.branches)}", head_repo=source)

    def approve(self, pr, by: str = "maria", why: str = "The new chunker is worth it.", label_by: str | None = None) -> None:
        self.fake.approve(pr, by, body=why)
        self.fake.label(pr, "baseline-update", by=label_by or by)

    # -- what the runner does ------------------------------------------------------------------------------------------

    def on_pull(self, pr, action: str = "synchronize", *, token: str | None = None, config: str = "retrieval-gate.yml",
                event_name: str = "", **event) -> Outcome:
        sha = self.fake.test_merge(pr)
        gh = self.fake.run(self.repo, pr=pr)
        more = {"INPUT_CONFIG": config} | ({"GITHUB_EVENT_NAME": event_name} if event_name else {})
        return self._run(gh, self.fake.pull_request_event(pr, action, **event), sha, token, more)

    def on_group(self, group) -> Outcome:
        gh = self.fake.run(self.repo, "merge_group", head_sha=group.head_sha, head_branch=group.head_ref.removeprefix("refs/heads/"))
        return self._run(gh, self.fake.merge_group_event(group), group.head_sha)

    def on_push(self, before: str | None = None, by: str = "maria") -> Outcome:
        gh = self.fake.run(self.repo, "push", by=by)
        return self._run(gh, self.fake.push_event(self.repo, before=before), self.repo.tip)

    def on_schedule(self) -> Outcome:
        return self._run(self.fake.run(self.repo, "schedule"), self.fake.schedule_event(self.repo), self.repo.tip)

    def on_dispatch(self, by: str = "maria", tier: str = "") -> Outcome:
        gh = self.fake.run(self.repo, "workflow_dispatch", by=by)
        return self._run(gh, self.fake.dispatch_event(self.repo, by), self.repo.tip, more={"INPUT_TIER": tier})

    def on_release(self, action: str = "published") -> Outcome:
        gh = self.fake.run(self.repo, "release", head_branch="v1.0.0")
        event = self.fake.dispatch_event(self.repo, "maria") | {"action": action, "release": {"tag_name": "v1.0.0"}}
        return self._run(gh, event, self.repo.tip, more={"GITHUB_REF": "refs/tags/v1.0.0"})

    def merge(self, pr, by: str = "maria", method: str = "squash") -> str:
        """Merge; gives what main was before."""
        before = self.repo.tip
        self.fake.merge(pr, by=by, method=method)
        return before

    def merged(self, pr, **how) -> Outcome:
        return self.on_push(before=self.merge(pr, **how))

    def checkout(self, sha: str) -> Path:
        """A fresh workspace with the files of a commit."""
        folder = self.tmp / f"workspace-{self.runs}"
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in self.repo.commit(sha).files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder

    def _run(self, gh, event: dict, sha: str, token: str | None = None, more: dict[str, str] | None = None) -> Outcome:
        self.runs += 1
        here = self.tmp / f"run-{self.runs}"
        here.mkdir()
        (here / "event.json").write_text(json.dumps(event))
        for name in ("output", "summary"):
            (here / name).touch()
        workspace = self.workspace = self.checkout(sha)
        self.prepare(workspace)
        environ = {**self.fake.job_env(gh, self.fake.url), "GITHUB_EVENT_PATH": str(here / "event.json"),
                   "GITHUB_WORKSPACE": str(workspace), "GITHUB_OUTPUT": str(here / "output"),
                   "GITHUB_STEP_SUMMARY": str(here / "summary"), "INPUT_CONFIG": "retrieval-gate.yml",
                   "INPUT_TOKEN": token or self.fake.job_token, "INPUT_REPORT-DIR": "retrieval-gate-report", **(more or {})}
        self.capsys.readouterr()
        code = main(environ, sleep=lambda seconds: None, clock=lambda: self.fake.clock.now.timestamp())
        log = self.capsys.readouterr().out
        self.finish(gh, code)
        report = workspace / "retrieval-gate-report" / "report.json"
        outputs = dict(re.findall(r"^([\w-]+)<<(?:\S+)\n(.*)\n", (here / "output").read_text(), re.M))
        return Outcome(code, outputs, (here / "summary").read_text(), log, json.loads(report.read_text()) if report.is_file() else {})

    def finish(self, gh, code: int) -> None:
        """The run ends, and so does its only job: the gate's."""
        conclusion = "success" if code == 0 else "failure"
        self.fake.finish(gh, conclusion)
        for job in gh.jobs:
            job.conclusion = conclusion

    # -- what can be seen ----------------------------------------------------------------------------------------------

    def comments(self, pr) -> list[str]:
        return [comment.body for comment in pr.comments]

    def baselines(self) -> list:
        return self.fake.artifacts_named("retrieval-gate-baseline-default")


class Forks(Story):
    """A story in which the gate's runs can be followed by the companion's, whose workspace is empty."""

    def __init__(self, fake, tmp, capsys, files=None):
        super().__init__(fake, tmp, capsys, files)
        fake.token(FORK_TOKEN, read_only=True)
        fake.token(COMPANION_TOKEN, permissions=RIGHTS)
        fake.user("dependabot[bot]")
        self.gh, self.empty = None, False

    def checkout(self, sha):
        if not self.empty:
            return super().checkout(sha)
        folder = self.tmp / f"nothing-{self.runs}"
        folder.mkdir()
        return folder

    def _run(self, gh, event, sha, token=None, more=None):
        if not self.empty:
            self.gh = gh
        return super()._run(gh, event, sha, token, more)

    def forked(self, files=None, author="eve"):
        """A fork's pull request whose gate has run."""
        pr = self.pull({"run.jsonl": run(lost=30)} if files is None else files, author=author, fork=True)
        self.judged = self.on_pull(pr, "opened", token=FORK_TOKEN)
        return pr

    def on_end(self, ended=None, action="completed", token=COMPANION_TOKEN, payload=None, **inputs):
        """The companion's run on the end of ``ended``, by default the last run of the gate."""
        own = self.fake.run(self.repo, "workflow_run", path=COMMENTER)
        self.empty = True
        try:
            return self._run(own, payload or self.fake.workflow_run_event(ended or self.gh, action), self.repo.tip, token,
                             {f"INPUT_{name.upper()}": value for name, value in inputs.items()})
        finally:
            self.empty = False

    def replace_report(self, change, name="retrieval-gate-report-default", ended=None):
        """What the fork's code could upload: a newer artifact of the same name, made from the honest report.json."""
        report = deepcopy(self.judged.report)
        given = change(report)
        report = given if isinstance(given, list) else report
        return self.fake.artifact(ended or self.gh, name, make_zip({"report.json": json.dumps(report).encode()}))
