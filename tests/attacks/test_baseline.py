"""Runs that offer a baseline of their own, better or worse than the approved one. Each is as GitHub would show it; none moves anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.baseline.manifest import pack_artifact, unpack_artifact
from gate.baseline.record import pack
from gate.runs import Ranking
from tests.fake_github import FakeGitHub
from tests.story import Story, run

HARM = {"run.jsonl": run(lost=30)}
NAME = "retrieval-gate-baseline-default"
TOKEN = "ghs_fork_token_for_reading"


@pytest.fixture
def fake():
    with FakeGitHub() as server:
        server.token(TOKEN, read_only=True)
        yield server
        server.assert_clean()


def forged(story, run_facts):
    """An artifact in which nothing is wrong but who made it: a baseline under which losing 30 queries is no loss."""
    manifest, record, _ = unpack_artifact(story.baselines()[-1].data, "honest")
    rankings = {i: Ranking(["x", "y"]) if int(i[1:]) < 30 else ranking for i, ranking in record.rankings.items()}
    record = replace(record, rankings=rankings, commit=run_facts.head_sha)
    manifest = replace(manifest, head_sha=run_facts.head_sha, record_digest=record.digest, run_id=str(run_facts.id))
    return pack_artifact(manifest, pack(record))


def fork_with_a_branch_called_main(story):
    fork = story.fake.fork(story.repo, by="eve")
    pr = story.fake.open_pr(story.repo, "eve", {"a": "1"}, head_repo=fork, branch="main")
    return story.fake.run(story.repo, pr=pr)


def fork_that_was_deleted_since(story):
    run_facts = fork_with_a_branch_called_main(story)
    story.fake.delete_repo(run_facts.head_repo)
    return run_facts


def pull_request_of_the_repository(story):
    return story.fake.run(story.repo, pr=story.pull({"b": "1"}))


def pull_request_from_main(story):
    story.fake.commit(story.repo, {"x": "1"}, "release")
    return story.fake.run(story.repo, pr=story.fake.open_pr(story.repo, "ada", branch="main", base="release"))


def tag_called_main(story):
    side = story.fake.commit(story.repo, {"evil": "1"}, "side").sha
    return story.fake.run(story.repo, head_branch="main", head_sha=side)


def branch_of_the_repository(story):
    side = story.fake.commit(story.repo, {"evil": "2"}, "main2").sha
    return story.fake.run(story.repo, head_branch="main2", head_sha=side)


def another_workflow_file(story):
    return story.fake.run(story.repo, path=".github/workflows/evil.yml")


def started_by_hand_without_rights(story):
    return story.fake.run(story.repo, "workflow_dispatch", by="tria")


def merge_queue(story):
    return story.fake.run(story.repo, "merge_group")


def pull_request_target(story):
    return story.fake.run(story.repo, "pull_request_target")


def run_on_the_end_of_another(story):
    return story.fake.run(story.repo, "workflow_run", path=".github/workflows/retrieval-gate-comment.yml")


attacks = pytest.mark.parametrize("attack", [
    fork_with_a_branch_called_main, fork_that_was_deleted_since, pull_request_of_the_repository, pull_request_from_main, tag_called_main,
    branch_of_the_repository, another_workflow_file, started_by_hand_without_rights, merge_queue, pull_request_target,
    run_on_the_end_of_another], ids=lambda attack: attack.__name__)


@attacks
def test_a_baseline_offered_by(started, attack):
    honest = started.baselines()[-1].data
    made = attack(started)
    planted = started.fake.artifact(made, NAME, forged(started, made))
    pr = started.pull(HARM, author="eve", fork=True)
    outcome = started.on_pull(pr, "opened", token=TOKEN)
    assert (outcome.code, outcome.verdict, outcome.outputs["lost"], outcome.outputs["baseline-updated"]) == (1, "fail", "30", "no")
    # Nor does the default branch carry it on.
    assert started.on_push().outputs["baseline-updated"] == "carried"
    record = unpack_artifact(honest, "honest")[1]
    assert unpack_artifact(started.baselines()[0].data, "newest")[1].digest == record.digest
    assert started.baselines()[0].id != planted.id


@attacks
def test_where_there_is_none_yet_one_offered_by(fake, tmp_path, capsys, attack):
    """It neither becomes the first baseline, nor keeps the repository from getting one."""
    story = Story(fake, tmp_path, capsys)
    story.on_push()
    honest = story.baselines()[-1]
    made = attack(story)
    data = forged(story, made)
    del fake.artifacts[honest.id]
    fake.artifact(made, NAME, data)
    outcome = story.on_pull(story.pull({"c": "1"}), "opened")
    assert (outcome.code, outcome.verdict) == (3, "cannot-decide")
    if attack is tag_called_main:
        # By GitHub's facts it could be a run on main before its history was rewritten: somebody with rights has to say that it was not.
        assert story.on_push().code == 3
        assert story.on_dispatch(by="maria").outputs["baseline-updated"] == "bootstrap"
    else:
        assert story.on_push().outputs["baseline-updated"] == "bootstrap"


def test_the_jobs_own_token_of_a_fork_can_upload_nothing_that_counts(started):
    """A pull request may rewrite the workflow and upload under the baseline's name; the artifact stays one of its own run."""
    pr = started.pull({**HARM, ".github/workflows/gate.yml": "name: evil\n"}, author="eve", fork=True)
    own = started.fake.run(started.repo, pr=pr)
    started.fake.artifact(own, NAME, forged(started, own))
    assert started.on_pull(pr, "opened", token=TOKEN).code == 1
    assert started.merged(pr).outputs["baseline-updated"] == "carried"
