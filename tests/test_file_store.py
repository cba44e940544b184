"""The action with its baseline committed in the repository: what it proposes, and what it lets a pull request bring."""

import hashlib
import io
import re
import zipfile
from dataclasses import replace

import pytest

from gate.baseline.record import Provenance, pack, unpack
from tests.fake_github import GATE_PATH
from tests.story import CONFIG, Story, golden, run

HARM = {"run.jsonl": run(lost=30)}
PATH = "search/baseline.json.gz"
STORED = CONFIG + f"baseline: {{store: file, path: {PATH}}}\n"
FILES = {"retrieval-gate.yml": STORED, "golden.jsonl": golden(), "run.jsonl": run(), GATE_PATH: "name: gate\n"}


@pytest.fixture
def story(fake, tmp_path, capsys):
    return Story(fake, tmp_path, capsys, FILES)


def proposal(story) -> bytes:
    """What the newest report artifact that has one proposes."""
    for artifact in story.fake.artifacts_named("retrieval-gate-report-default"):
        with zipfile.ZipFile(io.BytesIO(artifact.data)) as archive:
            if "baseline.json.gz" in archive.namelist():
                return archive.read("baseline.json.gz")
    raise AssertionError("nothing was proposed")


def commits(story, data: bytes | None, **more):
    """A pull request that changes the committed baseline."""
    return story.pull({PATH: data, **more})


@pytest.fixture
def started(story):
    """A story whose baseline is committed."""
    assert story.on_push().code == 3
    pr = commits(story, proposal(story))
    story.approve(pr, why="The first baseline.")
    assert story.on_pull(pr).verdict == "accepted"
    assert story.merged(pr).code == 0
    return story


def test_the_first_run_on_main_hands_out_the_bytes_says_what_to_commit_and_is_exit_3_until_then(story):
    outcome = story.on_push()
    assert (outcome.code, outcome.verdict, outcome.outputs["baseline-updated"]) == (3, "cannot-decide", "proposed")
    data = (story.workspace / "retrieval-gate-report" / "baseline.json.gz").read_bytes()
    assert data == proposal(story) and unpack(data, "x").provenance.kind == "bootstrap"
    assert hashlib.sha256(data).hexdigest() in outcome.log and hashlib.sha256(data).hexdigest() in outcome.summary
    cure = outcome.report["cure"]
    assert f"git add --force {PATH}" in cure and re.search(r"gh run download \d+ --name retrieval-gate-report-default", cure)
    again = story.on_schedule()
    assert again.code == 3 and PATH not in story.repo.commit(story.repo.tip).files


def test_until_it_is_committed_a_pull_request_is_exit_3_with_the_cure(story):
    story.on_push()
    pr = story.pull(HARM)
    assert story.on_pull(pr, "opened").code == 3 and "writes the file to commit" in story.comments(pr)[0]


def test_the_pull_request_that_commits_it_is_compared_with_it_and_takes_an_approval(story):
    story.on_push()
    pr = commits(story, proposal(story))
    outcome = story.on_pull(pr, "opened")
    assert outcome.code == 1 and [c["name"] for c in outcome.report["checks"] if c["outcome"] == "fail"] == ["change baseline file"]
    assert outcome.outputs["lost"] == "0" and "bootstrapped by the first run" in story.comments(pr)[0]
    story.approve(pr, why="The first baseline.")
    assert story.on_pull(pr).verdict == "accepted"
    merged = story.merged(pr)
    assert (merged.code, merged.verdict, merged.outputs["baseline-updated"]) == (0, "accepted", "no")
    assert story.on_push().code == 0 and story.on_schedule().code == 0


def test_a_pull_request_is_compared_with_the_file_on_its_base_and_never_with_its_checkout(started):
    pr = started.pull(HARM)
    started.prepare = lambda workspace: (workspace / PATH).unlink()
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict, outcome.outputs["lost"]) == (1, "fail", "30")
    assert outcome.report["baseline"]["url"].endswith(f"/blob/{started.repo.tip}/{PATH}")
    assert outcome.report["baseline"]["expires_in_days"] is None


def test_an_approved_loss_is_proposed_on_main_committed_and_compared_with_from_then_on(started):
    old = unpack(started.repo.commit(started.repo.tip).files[PATH], "x")
    pr = started.pull(HARM)
    started.approve(pr)
    assert started.on_pull(pr).verdict == "accepted"
    merged = started.merged(pr)
    assert (merged.code, merged.outputs["baseline-updated"]) == (3, "proposed") and "approved by maria" in merged.summary
    new = unpack(proposal(started), "x")
    assert new.parent == old.digest and new.provenance.approver == "maria"
    # Until it is committed the old baseline holds, for main as for everybody.
    assert started.on_pull(started.pull({"README.md": "x"}), "opened").code == 1
    commit = commits(started, proposal(started))
    outcome = started.on_pull(commit, "opened")
    assert outcome.code == 1 and outcome.outputs["lost"] == "30" and "approved by maria in pull request" in started.comments(commit)[0]
    started.approve(commit, why="As agreed.")
    assert started.on_pull(commit).verdict == "accepted" and started.merged(commit).code == 0
    assert started.on_pull(started.pull({"README.md": "y"}), "opened").code == 0


def test_an_approved_change_that_alters_nothing_to_compare_with_proposes_nothing(started):
    pr = started.pull({"README.md": "x"})
    started.approve(pr)
    merged = started.merged(pr)
    assert (merged.code, merged.outputs["baseline-updated"]) == (0, "no")


def forged(story, **changes):
    record = unpack(story.repo.commit(story.repo.tip).files[PATH], "x")
    return pack(replace(record, **changes))


@pytest.mark.parametrize("changes, words", [
    ({"rankings": {}}, "is neither what the run"),
    ({"provenance": Provenance("local")}, "not a baseline of"), ({"provenance": Provenance("latest")}, "not a baseline of"),
    ({"gate": "other"}, "a record of gate 'other'"), ({"repository_id": 5}, "of another repository"),
    ({"commit": "f" * 40}, "is not contained in"), ({"run_id": "x"}, "names no run"), ({"run_id": "9" * 5000}, "names no run"),
    ({"run_id": "999999"}, "which this repository does not have")])
def test_a_file_that_nobody_measured_is_exit_2_and_no_approval_changes_that(started, changes, words):
    pr = commits(started, forged(started, **changes))
    started.approve(pr)
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict) == (2, "invalid") and words in str(outcome.report["problems"])


def test_damaged_bytes_are_exit_2(started):
    assert started.on_pull(commits(started, b"\x1f\x8bxx"), "opened").code == 2


@pytest.mark.parametrize("make", [
    lambda s: s.fake.run(s.repo, pr=s.pull({"a": "1"}), head_sha=s.repo.tip),
    lambda s: s.fake.run(s.repo, "push", path=".github/workflows/other.yml"), lambda s: s.fake.run(s.repo, "push", head_branch="feature")])
def test_a_record_has_to_name_a_run_of_the_gate_on_main(started, make):
    named = make(started)
    data = forged(started, run_id=str(named.id), commit=named.head_sha)
    started.fake.artifact(named, "retrieval-gate-report-default", {"baseline.json.gz": data})
    assert started.on_pull(commits(started, data), "opened").code == 2


def test_what_a_pull_requests_own_run_uploads_proves_nothing(started):
    data = forged(started, rankings={})
    pr = commits(started, data)
    started.fake.artifact(started.fake.run(started.repo, pr=pr), "retrieval-gate-report-default", {"baseline.json.gz": data})
    assert started.on_pull(pr, "opened").code == 2


def test_a_record_of_main_that_says_what_this_very_run_retrieves_needs_no_artifact(story):
    story.on_push()
    data = proposal(story)
    story.fake.clock.advance(days=91)
    pr = commits(story, data)
    story.approve(pr, why="The first baseline.")
    assert story.on_pull(pr).verdict == "accepted"
    # Once main retrieves something else, nothing shows any more that it was measured.
    other = commits(story, data, **HARM)
    assert story.on_pull(other, "opened").code == 2


def test_an_older_baseline_can_be_put_back_with_an_approval_and_is_called_one(started):
    first = started.repo.commit(started.repo.tip).files[PATH]
    pr = started.pull(HARM)
    started.approve(pr)
    started.merged(pr)
    commit = commits(started, proposal(started))
    started.approve(commit, why="As agreed.")
    started.merged(commit)
    back = commits(started, first)
    assert started.on_pull(back, "opened").code == 1 and "was not made to follow the one" in started.comments(back)[0]


def test_removing_the_file_needs_an_approval_and_leaves_no_first_adoption_behind(started):
    pr = commits(started, None)
    outcome = started.on_pull(pr, "opened")
    assert outcome.code == 1 and "removed" in started.comments(pr)[0]
    assert started.merged(pr).code == 3
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.code == 3 and "was committed once" in outcome.summary
    # A person with rights can start afresh, and what the run proposes has to be committed like any.
    assert started.on_dispatch(by="maria").outputs["baseline-updated"] == "proposed"
    assert unpack(proposal(started), "x").provenance.by == "maria"
    back = commits(started, proposal(started))
    assert started.on_pull(back, "opened").code == 1
    started.approve(back, why="What main retrieves today is fine.")
    assert started.on_pull(back).verdict == "accepted" and started.merged(back).code == 0
    assert started.on_pull(started.pull({"README.md": "y"}), "opened").code == 0


def test_a_file_that_was_pushed_to_main_without_a_pull_request_turns_main_red(started):
    pr = started.pull(HARM)
    started.approve(pr)
    started.merged(pr)
    before = started.repo.tip
    started.fake.commit(started.repo, {PATH: proposal(started)})
    outcome = started.on_push(before=before)
    assert outcome.code == 1 and "change baseline file" in {c["name"] for c in outcome.report["checks"] if c["outcome"] == "fail"}


def test_a_file_on_main_that_cannot_be_used_is_exit_3_with_the_reason(started):
    started.fake.commit(started.repo, {PATH: b"\x1f\x8bxx"})
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.code == 3 and "may not be used" in outcome.summary
    # A pull request that brings an earlier one back can be approved.
    (first,) = {c.files[PATH] for c in started.repo.network.commits.values() if len(c.files.get(PATH, b"")) > 10}
    fix = commits(started, first)
    started.approve(fix, why="Mends the file.")
    assert started.on_pull(fix).verdict == "accepted" and started.merged(fix).code == 0


def test_a_test_merge_from_before_the_file_moved_on_main_is_not_taken_for_a_change_of_it(started):
    pr = started.pull({"README.md": "x"})
    merge = started.fake.test_merge(pr)
    loss = started.pull(HARM)
    started.approve(loss)
    started.merged(loss)
    commit = commits(started, proposal(started))
    started.approve(commit, why="As agreed.")
    started.merged(commit)
    gh, event = started.fake.run(started.repo, pr=pr), started.fake.pull_request_event(pr, "reopened")
    started.fake.test_merge = lambda pr: merge
    outcome = started._run(gh, event, merge)
    assert "change baseline file" not in {c["name"] for c in outcome.report["checks"]}


def test_in_the_merge_queue_the_file_is_held_against_the_groups_base(started):
    outcome = started.on_group(started.fake.queue(commits(started, None)))
    assert outcome.code == 1


def test_a_record_outlives_its_run(started):
    record = unpack(started.repo.commit(started.repo.tip).files[PATH], "x")
    started.fake.runs.pop(int(record.run_id))
    started.fake.clock.advance(days=900)
    assert started.on_pull(started.pull(HARM), "opened").code == 1


def test_a_large_baseline_is_read_through_the_contents_api(fake, tmp_path, capsys):
    n = 300
    files = FILES | {"golden.jsonl": golden(n), "run.jsonl": run(n=n, noise="x" * 40)}
    story = Story(fake, tmp_path, capsys, files)
    story.on_push()
    record = unpack(proposal(story), "x")
    noise = {"noise": "".join(hashlib.sha256(str(i).encode()).hexdigest() for i in range(40_000))}
    data = pack(replace(record, versions=noise))
    assert len(data) > 1_000_000
    story.fake.commit(story.repo, {PATH: data})
    assert story.on_pull(story.pull(HARM), "opened").code == 1


def test_forks_are_judged_with_a_read_only_token(started):
    started.fake.token("ghs_fork_token_for_reading", read_only=True)
    outcome = started.on_pull(started.pull(HARM, author="eve", fork=True), "opened", token="ghs_fork_token_for_reading")
    assert (outcome.code, outcome.outputs["comment-status"]) == (1, "forbidden")
