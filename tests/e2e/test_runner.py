"""The image, started exactly as GitHub's runner starts it, on the example repository."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tests.conftest import ROOT
from tests.e2e import engine
from tests.e2e.stories import RunnerStory, change, example_files, need_engine
from tests.fake_github import GATE_PATH, FakeGitHub
from tests.story import Forks

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

# A retriever that tries what it must not be able to do, and tells what it got.
SPY = b'''import json, os
from pathlib import Path


def attempt(action):
    try:
        return str(action())[:200]
    except Exception as error:
        return type(error).__name__


def environ_of_the_parent():
    return Path(f"/proc/{os.getppid()}/environ").read_bytes()


FOUND = {
    "uid": os.getuid(),
    "secrets": [name for name in os.environ if name.startswith(("INPUT_", "ACTIONS_", "GITHUB_")) or "TOKEN" in name],
    "parent": attempt(environ_of_the_parent),
    "socket": attempt(lambda: __import__("socket").socket(__import__("socket").AF_UNIX).connect("/var/run/docker.sock")),
    "outputs": attempt(lambda: [p.write_text("verdict=pass") for p in Path("/github/file_commands").iterdir()]),
    "gate": attempt(lambda: Path("/opt/retrieval-gate/gate/policy.py").write_text("")),
    "reports": attempt(lambda: Path("/github/workspace/reports").mkdir()),
}
print("::set-output name=verdict::pass")
print("##[set-output name=verdict;]pass")
print("SPY " + json.dumps(FOUND))


def retrieve(query, n):
    return ["moth-pager#intro"]
'''


@pytest.fixture
def story(tmp_path, capsys):
    need_engine()
    with FakeGitHub(bind="0.0.0.0", start=datetime.now(UTC)) as fake:
        RunnerStory.image = engine.build_action_image(ROOT)
        yield RunnerStory(fake, tmp_path, capsys, example_files())
        fake.assert_clean()


def test_baseline_comment_outputs_summary_and_report_come_out_of_the_container(story):
    first = story.on_push()
    assert (first.code, first.outputs["baseline-updated"]) == (0, "bootstrap"), first.log
    pr = story.pull(change("tempting"))
    outcome = story.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict, outcome.outputs["comment-status"]) == (1, "fail", "created"), outcome.log
    assert outcome.outputs["lost"] == "9" and outcome.outputs["report-path"] == "reports"
    assert "average hides it" in outcome.summary and "average hides it" in story.comments(pr)[0]
    owner = story.workspace.stat().st_uid
    assert all(path.stat().st_uid == owner for path in (story.workspace / "reports").iterdir())
    assert story.fake.job_token not in outcome.log


def test_a_retriever_that_spies_finds_nothing_and_changes_nothing(story):
    story.on_push()
    outcome = story.on_pull(story.pull({"search/retriever.py": SPY}), "opened")
    said = next(line for line in outcome.log.splitlines() if line.startswith("| SPY "))
    found = json.loads(said.removeprefix("| SPY "))
    assert found["uid"] == 10001 and found["secrets"] == []
    assert {found[name] for name in ("parent", "socket", "gate", "reports")} == {"PermissionError"}, found
    assert found["outputs"] == "PermissionError", found
    assert (outcome.code, outcome.verdict) == (1, "fail")


class ForkRunner(Forks, RunnerStory):
    """Forks, with every run in a container."""


def test_a_forks_pull_request_gets_its_comment_from_a_container_that_has_nothing_checked_out(tmp_path, capsys):
    need_engine()
    with FakeGitHub(bind="0.0.0.0", start=datetime.now(UTC)) as fake:
        RunnerStory.image = engine.build_action_image(ROOT)
        story = ForkRunner(fake, tmp_path, capsys, example_files() | {GATE_PATH: b"name: gate\n"})
        assert story.on_push().code == 0
        pr = story.forked(change("tempting"))
        assert (story.judged.code, story.judged.outputs["comment-status"]) == (1, "forbidden"), story.judged.log
        assert not pr.comments
        outcome = story.on_end()
        assert (outcome.code, outcome.outputs["comment-status"]) == (0, "created"), outcome.log
        (comment,) = story.comments(pr)
        assert "9 queries lost their answer" in comment and "Nobody has checked them" in comment
        assert not list(story.workspace.iterdir())
        fake.assert_clean()
