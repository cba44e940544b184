"""What the gate does, as one table: event × rights of the token × what the change does × approval → exit code, verdict, comment, baseline.

docs/security.md shows the same rows; the last test holds the two together.
"""

from __future__ import annotations

import json

import pytest

from tests.conftest import ROOT
from tests.fake_github import GATE_PATH, FakeGitHub
from tests.story import CONFIG, golden, run
from tests.test_companion import FORK_TOKEN, Forks

COLUMNS = ("event", "token", "the change", "approval", "exit", "verdict", "comment", "baseline")
TABLE = [
    # on the default branch
    ("push, the first one", "write", "none", "–", 0, "no-baseline", "not-asked", "bootstrap"),
    ("push that merges", "write", "harmless", "none", 0, "pass", "not-asked", "carried"),
    ("push that merges", "write", "harmful", "none", 1, "fail", "not-asked", "carried"),
    ("push that merges", "write", "harmful", "valid", 0, "accepted", "not-asked", "approved"),
    ("push that merges", "write", "harmless", "valid", 0, "pass", "not-asked", "approved"),
    ("push that merges", "write", "harmful", "by its author", 1, "fail", "not-asked", "carried"),
    ("push that merges", "write", "harmful", "after the merge", 1, "fail", "not-asked", "carried"),
    ("push that merges", "read-only", "harmful", "valid", 0, "accepted", "not-asked", "approved"),
    ("push that merges", "write", "unreadable golden set", "valid", 2, "invalid", "not-asked", "no"),
    ("push that merges", "write", "broken retriever", "valid", 3, "cannot-decide", "not-asked", "no"),
    ("push without a pull request", "write", "harmful", "–", 1, "fail", "not-asked", "carried"),
    ("schedule", "write", "harmless", "none", 0, "pass", "not-asked", "carried"),
    ("schedule", "write", "harmful", "valid", 1, "fail", "not-asked", "carried"),
    ("workflow_dispatch by a writer", "write", "harmful", "valid", 1, "fail", "not-asked", "carried"),
    ("push, the baseline has expired", "write", "none", "–", 3, "cannot-decide", "not-asked", "no"),
    ("schedule, the baseline has expired", "write", "none", "–", 3, "cannot-decide", "not-asked", "no"),
    ("workflow_dispatch by a reader, the baseline has expired", "write", "none", "–", 3, "cannot-decide", "not-asked", "no"),
    ("workflow_dispatch by a writer, the baseline has expired", "write", "none", "–", 0, "no-baseline", "not-asked", "bootstrap"),
    # pull requests of the repository
    ("pull_request", "write", "none", "none", 0, "pass", "created", "no"),
    ("pull_request", "write", "harmless", "none", 0, "pass", "created", "no"),
    ("pull_request", "write", "harmful", "none", 1, "fail", "created", "no"),
    ("pull_request", "write", "harmful", "label only", 1, "fail", "created", "no"),
    ("pull_request", "write", "harmful", "review only", 1, "fail", "created", "no"),
    ("pull_request", "write", "harmful", "review without a reason", 1, "fail", "created", "no"),
    ("pull_request", "write", "harmful", "by its author", 1, "fail", "created", "no"),
    ("pull_request", "write", "harmful", "by somebody without write", 1, "fail", "created", "no"),
    ("pull_request", "write", "harmful", "before the last push", 1, "fail", "created", "no"),
    ("pull_request", "write", "harmful", "valid", 0, "accepted", "created", "no"),
    ("pull_request", "write", "inconclusive", "none", 0, "inconclusive", "created", "no"),
    ("pull_request", "write", "inconclusive, to main that says fail", "none", 4, "inconclusive", "created", "no"),
    ("pull_request", "write", "looser rules", "none", 1, "fail", "created", "no"),
    ("pull_request", "write", "looser rules", "valid", 0, "accepted", "created", "no"),
    ("pull_request", "write", "lost queries deleted", "none", 1, "fail", "created", "no"),
    ("pull_request", "write", "labels changed", "none", 1, "fail", "created", "no"),
    ("pull_request", "write", "queries added", "none", 0, "pass", "created", "no"),
    ("pull_request", "write", "configuration deleted", "valid", 2, "invalid", "created", "no"),
    ("pull_request", "write", "unreadable golden set", "valid", 2, "invalid", "created", "no"),
    ("pull_request", "write", "broken retriever", "valid", 3, "cannot-decide", "created", "no"),
    ("pull_request, the baseline has expired", "write", "harmless", "valid", 3, "cannot-decide", "created", "no"),
    ("pull_request that brings the gate", "write", "none", "none", 0, "no-baseline", "created", "no"),
    ("pull_request before the first run on main", "write", "none", "none", 3, "cannot-decide", "created", "no"),
    # pull requests from forks and of Dependabot
    ("pull_request", "read-only", "harmless", "none", 0, "pass", "forbidden", "no"),
    ("pull_request", "read-only", "harmful", "none", 1, "fail", "forbidden", "no"),
    ("pull_request", "read-only", "harmful", "valid", 0, "accepted", "forbidden", "no"),
    ("pull_request", "read-only", "looser rules", "none", 1, "fail", "forbidden", "no"),
    ("pull_request", "read-only", "unreadable golden set", "none", 2, "invalid", "forbidden", "no"),
    ("workflow_run after a fork's pull_request", "write", "harmful", "none", 0, "", "created", ""),
    ("workflow_run after a fork's pull_request", "read-only", "harmful", "none", 3, "", "forbidden", ""),
    # elsewhere
    ("merge_group", "write", "harmless", "none", 0, "pass", "not-asked", "no"),
    ("merge_group", "write", "harmful", "none", 1, "fail", "not-asked", "no"),
    ("merge_group", "write", "harmful", "valid", 0, "accepted", "not-asked", "no"),
    ("push to another branch", "write", "harmful", "–", 1, "fail", "not-asked", "no"),
    ("push of a tag called main", "write", "harmful", "–", 1, "fail", "not-asked", "no"),
    ("release", "write", "harmful", "–", 1, "fail", "not-asked", "no"),
    ("pull_request, closed", "write", "harmful", "none", 0, "", "", ""),
    ("pull_request_target", "write", "harmful", "valid", 2, "", "", ""),
    ("issue_comment", "write", "harmful", "valid", 2, "", "", ""),
]

N = 300
RELABELLED = "".join(line.replace('["d0"]', '["x"]') + "\n" for line in golden().splitlines())
GATE = {"retrieval-gate.yml": CONFIG, "golden.jsonl": golden(), "run.jsonl": run()}
CHANGES = {
    "none": {"README.md": "x"}, "harmless": {"run.jsonl": run(noise="z")}, "harmful": {"run.jsonl": run(lost=30)},
    "inconclusive": {"run.jsonl": run(lost=5)}, "inconclusive, to main that says fail": {"run.jsonl": run(lost=5)},
    "looser rules": {"run.jsonl": run(lost=30), "retrieval-gate.yml": CONFIG + "policy: {tolerance: 0.9}\n"},
    "lost queries deleted": {"run.jsonl": run(lost=30), "golden.jsonl": "".join(golden().splitlines(keepends=True)[30:])},
    "labels changed": {"golden.jsonl": RELABELLED}, "queries added": {"golden.jsonl": golden(N + 10), "run.jsonl": run(n=N + 10)},
    "configuration deleted": {"retrieval-gate.yml": None}, "unreadable golden set": {"golden.jsonl": "{broken\n" + golden()},
    "broken retriever": {"run.jsonl": "".join(json.dumps({"id": f"q{i}", "error": "boom"}) + "\n" for i in range(N))},
}


def approve(story, pr, how):
    """What people do on the pull request before its run."""
    if how == "valid":
        story.approve(pr)
    elif how == "label only":
        story.fake.label(pr, "baseline-update", by="maria")
    elif how == "review only":
        story.fake.approve(pr, "maria", body="worth it")
    elif how == "review without a reason":
        story.approve(pr, why="")
    elif how == "by its author":
        story.fake.label(pr, "baseline-update", by="ada")
        story.fake.approve(pr, "ada", body="worth it")
    elif how == "by somebody without write":
        story.approve(pr, by="tria")
    elif how == "before the last push":
        story.approve(pr)
        story.fake.push(pr, {"more.txt": "one more commit"})


ON_MAIN = {
    "push": lambda story: story.on_push(), "schedule": lambda story: story.on_schedule(),
    "workflow_dispatch by a writer": lambda story: story.on_dispatch(by="maria"),
    "workflow_dispatch by a reader": lambda story: story.on_dispatch(by="tria"),
}
WITHOUT_A_PULL_REQUEST = {
    "push without a pull request": lambda story, files: story.commit(files) or story.on_push(before=story.before),
    "release": lambda story, files: story.commit(files) or story.on_release(),
    "push to another branch": lambda story, files: story.elsewhere("refs/heads/topic", "topic", files),
    "push of a tag called main": lambda story, files: story.elsewhere("refs/tags/main", "main", files),
}
NO_BASELINE_YET = ("push, the first one", "pull_request that brings the gate", "pull_request before the first run on main")


def prepare(story, event, change):
    """What is so before anybody does anything."""
    if event not in NO_BASELINE_YET:
        assert story.on_push().code == 0
    if change == "inconclusive, to main that says fail":
        story.fake.commit(story.repo, {"retrieval-gate.yml": CONFIG + "policy: {inconclusive: fail}\n"})
    if event.endswith("expired"):
        story.fake.clock.advance(days=91)


def happens(story, event, token, change, approval):
    """The pull request, where there is one, and the run."""
    prepare(story, event, change)
    name, _, state = event.partition(", ")
    files = GATE if event == "pull_request that brings the gate" else CHANGES[change]
    if name == "workflow_run after a fork's pull_request":
        pr = story.forked(files)
        return pr, story.on_end(**({"token": FORK_TOKEN} if token == "read-only" else {}))
    story.token = FORK_TOKEN if token == "read-only" else None
    if name in WITHOUT_A_PULL_REQUEST:
        return None, WITHOUT_A_PULL_REQUEST[name](story, files)
    if change == "none" and name in ON_MAIN:
        return None, ON_MAIN[name](story)
    from_fork = name == "pull_request" and token == "read-only"
    pr = story.pull(files, author="eve" if from_fork else "ada", fork=from_fork)
    approve(story, pr, approval)
    if name == "push that merges":
        before = story.merge(pr)
        approve(story, pr, "valid" if approval == "after the merge" else "none")
        return None, story.on_push(before=before)
    if name in ON_MAIN:
        story.merge(pr)
        return None, ON_MAIN[name](story)
    if name == "merge_group":
        return pr, story.on_group(story.fake.queue(pr))
    if state == "closed":
        story.fake.close(pr, by="ada")
        return pr, story.on_pull(pr, "closed")
    return pr, story.on_pull(pr, "opened", event_name="" if name.partition(" ")[0] == "pull_request" else name)


class Everywhere(Forks):
    """With one token for every run from a certain moment on."""

    token = None
    before = ""

    def commit(self, files):
        self.before = self.repo.tip
        self.fake.commit(self.repo, files, by="maria")

    def _run(self, gh, event, sha, token=None, more=None):
        return super()._run(gh, event, sha, token or self.token, more)

    def elsewhere(self, ref, branch, files):
        """A push of a commit beside main, of which nobody but its ref says what it is."""
        commit = self.fake.commit(self.repo, files, branch="side")
        gh = self.fake.run(self.repo, "push", head_branch=branch, head_sha=commit.sha)
        return self._run(gh, self.fake.push_event(self.repo) | {"ref": ref, "after": commit.sha}, commit.sha, more={"GITHUB_REF": ref})


@pytest.mark.parametrize("event, token, change, approval, code, verdict, comment, baseline", TABLE,
                         ids=[" · ".join(map(str, row[:4])) for row in TABLE])
def test_what_happens_on(tmp_path, capsys, event, token, change, approval, code, verdict, comment, baseline):
    with FakeGitHub() as fake:
        files = {"README.md": "x", GATE_PATH: "x"} if event == "pull_request that brings the gate" else None
        story = Everywhere(fake, tmp_path, capsys, files)
        pr, outcome = happens(story, event, token, change, approval)
        stored = story.baselines()
        assert (outcome.code, outcome.verdict, outcome.outputs.get("comment-status", ""), outcome.outputs.get("baseline-updated", "")) == (
            code, verdict, comment, baseline), outcome.log[-3000:]
        # Outputs, comment and store say the same.
        assert outcome.outputs.get("exit-code", "") == (str(code) if verdict else "")
        assert bool(outcome.outputs.get("comment-url")) == (comment == "created") == bool(pr and story.comments(pr))
        assert not verdict or outcome.report["verdict"] == verdict and outcome.summary
        assert (stored[0].run.id == story.gh.id) == (baseline not in ("no", "")) if stored else baseline in ("no", "")
        fake.assert_clean()


def test_the_table_in_the_documentation_is_this_one():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    shown = [tuple(cell.strip() for cell in line.strip().strip("|").split("|")) for line in page.splitlines() if line.startswith("| ")]
    head = shown.index(COLUMNS)
    rows = shown[head + 1:head + 1 + len(TABLE)]
    assert rows == [tuple(str(cell) or "–" for cell in row) for row in TABLE]
    assert len(shown[head + 1 + len(TABLE)]) != len(COLUMNS)  # and it ends there
