"""The action with its baseline in a branch, over the life of a repository."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from gate.baseline.branch_store import BranchStore
from gate.baseline.home import Home
from gate.baseline.manifest import read_manifest
from gate.baseline.record import pack, unpack
from gate.github.repository import Repository
from gate.github.transport import Transport
from gate.settings import BaselineSettings
from tests.fake_github import GATE_PATH, FakeGitHub
from tests.story import CONFIG, Story, golden, run

HARM = {"run.jsonl": run(lost=30)}
BRANCH = "retrieval-gate-baselines"
STORED = CONFIG + "baseline: {store: branch}\n"
FILES = {"retrieval-gate.yml": STORED, "golden.jsonl": golden(), "run.jsonl": run(), GATE_PATH: "name: gate\n"}


@pytest.fixture
def story(fake, tmp_path, capsys):
    return Story(fake, tmp_path, capsys, FILES)


def tip(story):
    return story.repo.commit(story.repo.branches[BRANCH])


def history(story):
    """The branch's commits, newest first."""
    found, sha = [], story.repo.branches[BRANCH]
    while sha:
        commit = story.repo.commit(sha)
        found.append(commit)
        sha = commit.parents[0] if commit.parents else ""
    return found


def stored(story, gate="default"):
    """(manifest, record) at the branch's tip."""
    files = tip(story).files
    return read_manifest(files[f"{gate}/manifest.json"], "manifest"), unpack(files[f"{gate}/baseline.json.gz"], "record")


def forge(story, files, message="x", by=None):
    """A commit that somebody pushes by hand."""
    made = story.fake.store_commit(story.repo, {**tip(story).files, **files}, (tip(story).sha,), message, by)
    story.fake.set_branch(story.repo, BRANCH, made.sha, by="ada", tick=True)
    return made


def test_the_first_run_on_main_writes_an_orphan_branch_that_says_what_it_is(story):
    outcome = story.on_push()
    assert (outcome.code, outcome.outputs["baseline-updated"]) == (0, "bootstrap")
    assert "This run is the baseline from now on" in outcome.summary
    manifest, record = stored(story)
    (commit,) = history(story)
    assert manifest.state == "bootstrap" and record.commit == manifest.head_sha == story.repo.tip and not story.baselines()
    names = ("manifest.json", "baseline.json.gz", "history.json", "badge.json", "badge.svg")
    assert set(commit.files) == {"README.md", *(f"default/{name}" for name in names)} and commit.signed
    assert json.loads(commit.files["default/badge.json"])["message"] == f"{record.metrics['ndcg@10']:.3f}"
    assert commit.message.startswith(f"default: first baseline, as of {story.repo.tip[:7]}\n")
    assert "bootstrapped by the first run" in commit.message
    assert commit.author.login == "github-actions[bot]" and "/actions/runs/" in commit.message.splitlines()[-1]


def test_from_bootstrap_to_a_loss_that_is_approved_and_to_the_pull_request_after_it(started):
    old = stored(started)[1]
    pr = started.pull(HARM)
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict, outcome.outputs["lost"]) == (1, "fail", "30") and len(history(started)) == 1
    started.approve(pr, why="Worth it. Closes #1, ask @maria.\n\nHead: " + "f" * 40)
    assert started.on_pull(pr).verdict == "accepted"
    assert started.merged(pr).outputs["baseline-updated"] == "approved"
    manifest, record = stored(started)
    assert manifest.state == "approved" and record.parent == old.digest and record.commit == started.repo.tip
    assert "approved by maria" in tip(started).message and "@maria" not in tip(started).message and "#1" not in tip(started).message
    after = started.on_pull(started.pull({"README.md": "x"}), "opened")
    assert (after.code, after.verdict, after.outputs["baseline-sha"]) == (0, "pass", started.repo.tip)
    assert after.report["baseline"]["expires_in_days"] is None
    assert f"/tree/{tip(started).sha}/default" in after.report["baseline"]["url"]


def test_a_pull_request_whose_base_is_behind_is_compared_with_what_its_base_contains(started):
    old = started.fake.open_pr(started.repo, "ada", {"README.md": "x"}, branch="old")
    started.fake.set_branch(started.repo, "release", started.repo.tip)
    behind = started.fake.open_pr(started.repo, "ada", {"README.md": "y"}, branch="behind", base="release")
    pr = started.pull(HARM)
    started.approve(pr)
    first = started.repo.tip
    started.merged(pr)
    outcome = started.on_pull(behind, "opened")
    assert outcome.outputs["baseline-sha"] == first and outcome.code == 0
    assert started.on_pull(old, "opened").outputs["baseline-sha"] == started.repo.tip


def test_a_push_that_changes_no_ranking_writes_only_up_to_where_main_has_been_judged(started):
    before = tip(started).files
    assert started.merged(started.pull({"README.md": "x"})).outputs["baseline-updated"] == "carried"
    after = tip(started).files
    assert {name for name in after if after[name] != before.get(name)} == {"default/manifest.json", "default/history.json"}
    assert stored(started)[0].latest_digest == stored(started)[1].digest
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert (outcome.code, outcome.report["latest"], outcome.report["notes"]) == (1, None, [])


def test_a_schedule_that_finds_everything_as_it_is_writes_nothing(started):
    started.merged(started.pull({"README.md": "x"}))
    before = tip(started).sha
    for _ in range(2):
        outcome = started.on_schedule()
        assert (outcome.code, outcome.outputs["baseline-updated"]) == (0, "no") and tip(started).sha == before


def test_it_outlives_every_artifact_and_the_run_that_stored_it(started):
    started.fake.clock.advance(days=900)
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.code == 1 and not [note for note in outcome.report["notes"] if "expires" in note]
    started.fake.runs.pop(int(stored(started)[0].run_id))
    assert "is gone" not in str(outcome.report["notes"])
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.code == 1 and [note for note in outcome.report["notes"] if "is gone from GitHub" in note]


def test_merged_without_an_approval_the_baseline_stays_and_what_main_retrieves_lies_beside_it(started):
    old = stored(started)[1]
    assert started.merged(started.pull(HARM)).code == 1
    manifest, record = stored(started)
    assert manifest.state == "carried" and record.digest == old.digest and "default/latest.json.gz" in tip(started).files
    outcome = started.on_pull(started.pull({"README.md": "x"}), "opened")
    assert outcome.code == 1 and "all of it was on main before" in started.comments(started.repo.pulls[max(started.repo.pulls)])[0]
    # A main that stays red adds nothing, however often it runs.
    before = tip(started).sha
    assert started.on_schedule().code == 1 and tip(started).sha == before


def test_a_gain_that_nobody_locked_in_is_the_second_reference(story):
    story.fake.commit(story.repo, HARM)
    story.on_push()
    assert story.merged(story.pull({"run.jsonl": run()})).outputs["baseline-updated"] == "carried"
    outcome = story.on_pull(story.pull(HARM), "opened")
    assert outcome.code == 1 and len(outcome.report["latest"]["lost_again"]) == 30


def test_two_gates_share_a_branch_and_do_not_meet(started):
    other = STORED.replace("golden:", "gate: other\ngolden:")
    started.fake.commit(started.repo, {"other.yml": other})
    gh = started.fake.run(started.repo, "push")
    outcome = started._run(gh, started.fake.push_event(started.repo), started.repo.tip, more={"INPUT_CONFIG": "other.yml"})
    assert outcome.outputs["baseline-updated"] == "bootstrap"
    assert {"default/manifest.json", "other/manifest.json", "README.md"} <= set(tip(started).files)
    assert started.on_pull(started.pull(HARM), "opened").code == 1


# -- rights ------------------------------------------------------------------------------------------------------------


def test_a_fork_with_a_read_only_token_reads_the_branch_and_writes_nothing(started):
    started.fake.token("ghs_fork_token_for_reading", read_only=True)
    before, written = tip(started).sha, len(started.fake.sent("POST", "/git/"))
    outcome = started.on_pull(started.pull(HARM, author="eve", fork=True), "opened", token="ghs_fork_token_for_reading")
    assert (outcome.code, outcome.verdict) == (1, "fail") and tip(started).sha == before
    assert len(started.fake.sent("POST", "/git/")) == written


def test_without_the_permission_to_write_main_is_exit_3_and_says_which_is_missing(story):
    story.fake.token("ghs_reading", permissions={"contents": "read", "actions": "read", "pull-requests": "write"})
    gh = story.fake.run(story.repo, "push")
    outcome = story._run(gh, story.fake.push_event(story.repo), story.repo.tip, token="ghs_reading")
    assert (outcome.code, outcome.verdict, outcome.outputs["baseline-updated"]) == (3, "cannot-decide", "no")
    assert "`contents: write`" in outcome.report["cure"] and BRANCH not in story.repo.branches


def test_a_rule_that_forbids_the_push_is_exit_3_and_no_endless_trying(started):
    body = {"message": "Repository rule violations found\n\nCannot update this protected ref.", "errors": []}
    pr = started.pull({"README.md": "x"})
    before = started.merge(pr)
    started.fake.fail_next("PATCH", "/git/refs/", 422, body=body)
    outcome = started.on_push(before=before)
    assert outcome.code == 3 and "rule violations" in str(outcome.report["problems"]) and "let the app" in outcome.report["cure"]


def test_a_persons_token_is_refused_before_it_writes_what_nobody_would_believe(story):
    story.fake.token("ghp_maria", "maria")
    gh = story.fake.run(story.repo, "push")
    outcome = story._run(gh, story.fake.push_event(story.repo), story.repo.tip, token="ghp_maria")
    assert outcome.code == 3 and "a person's token signs nothing" in outcome.report["cure"] and BRANCH not in story.repo.branches


def test_a_server_without_an_artifact_service_and_without_signatures(tmp_path, capsys):
    with FakeGitHub(server_url="https://github.example.com") as fake:
        fake.signs_commits = False
        story = Story(fake, tmp_path, capsys, FILES)
        real = fake.job_env
        fake.job_env = lambda *args: {k: v for k, v in real(*args).items() if k not in ("ACTIONS_RESULTS_URL", "ACTIONS_RUNTIME_TOKEN")}
        assert story.on_push().outputs["baseline-updated"] == "bootstrap"
        assert story.on_pull(story.pull(HARM), "opened").code == 1
        assert story.merged(story.pull({"README.md": "x"})).outputs["baseline-updated"] == "carried"
        fake.assert_clean()


def test_with_artifacts_such_a_server_is_told_about_the_branch(tmp_path, capsys):
    with FakeGitHub(server_url="https://github.example.com") as fake:
        story = Story(fake, tmp_path, capsys)
        real = fake.job_env
        fake.job_env = lambda *args: {k: v for k, v in real(*args).items() if k not in ("ACTIONS_RESULTS_URL", "ACTIONS_RUNTIME_TOKEN")}
        outcome = story.on_push()
        assert outcome.code == 3 and "baseline.store: branch" in outcome.report["cure"]


# -- hands that have no business there ---------------------------------------------------------------------------------


def looser(story):
    """The stored files with a record that nobody measured, digests and manifest in order."""
    manifest, record = stored(story)
    forged = replace(record, rankings={i: replace(r, docs=["x"]) for i, r in record.rankings.items()})
    said = json.loads(tip(story).files["default/manifest.json"]) | {"record_digest": forged.digest}
    return {"default/baseline.json.gz": pack(forged), "default/manifest.json": json.dumps(said).encode()}


@pytest.mark.parametrize("by, words", [("ada", "it was written by ada"), ("github-actions[bot]", "without a signature of GitHub"),
                                       (None, "somebody without an account")])
def test_a_commit_that_somebody_pushed_by_hand_is_passed_over_and_named(started, by, words):
    made = forge(started, looser(started), tip(started).message, by)
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.code == 1
    (note,) = [note for note in outcome.report["notes"] if "passed over" in note]
    assert made.sha[:7] in note and words in note
    # The next run on main puts what is right on top of it.
    assert started.merged(started.pull({"README.md": "x"})).outputs["baseline-updated"] == "carried"
    assert not started.on_pull(started.pull({"README.md": "y"}), "opened").report["notes"]


def by_an_app(story, files, message):
    """What a workflow of another branch could write: GitHub signs for any app."""
    story.fake.clock.advance(minutes=10)
    made = story.fake.store_commit(story.repo, {**tip(story).files, **files}, (tip(story).sha,), message, story.fake.actions_bot)
    made.signed = True
    story.fake.set_branch(story.repo, BRANCH, made.sha, by=story.fake.actions_bot, tick=True)


def refused(story):
    """Why a search from main's tip passes things over."""
    repository = Repository(Transport(story.fake.url, story.fake.job_token), story.repo.full_name)
    home = Home(repository, BaselineSettings(store="branch"), "default", story.repo.id, "main", GATE_PATH,
                clock=lambda: story.fake.clock.now.timestamp())
    return BranchStore(home).find(story.repo.tip).refused


def naming(story, run):
    """Forged files and message that name another run."""
    said = json.loads(looser(story)["default/manifest.json"]) | {"run_id": str(run.id), "head_sha": run.head_sha}
    lines = [f"Head: {run.head_sha}", f"Run: https://github.com/acme/search/actions/runs/{run.id}"]
    return {**looser(story), "default/manifest.json": json.dumps(said).encode()}, "x\n\n" + "\n".join(lines)


@pytest.mark.parametrize("make, words", [
    (lambda s: s.fake.run(s.repo, pr=s.pull({"a": "1"}), head_sha=s.repo.tip, head_branch="main"), "pull_request run"),
    (lambda s: s.fake.run(s.repo, "push", path=".github/workflows/other.yml"), "other.yml"),
    (lambda s: s.fake.run(s.repo, "push", head_branch="feature"), "was on feature"),
    (lambda s: s.fake.run(s.repo, "workflow_dispatch", by="tria"), "no write permission"),
    (lambda s: s.fake.run(s.repo, "push", conclusion="failure"), "ended with failure"),
    (lambda s: s.fake.run(s.repo, "push"), "not while the run that it names was under way")])
def test_a_commit_by_an_app_counts_only_with_a_run_of_the_gate_on_main_and_from_its_time(started, make, words):
    named = make(started)
    if "under way" not in words:
        lasting(started, named)
    by_an_app(started, *naming(started, named))
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.code == 1 and outcome.outputs["lost"] == "30"
    assert words in refused(started)[0] and tip(started).sha[:7] in refused(started)[0]


def test_a_commit_by_an_app_that_names_no_run_at_all_is_made_up_unless_it_is_old(started):
    named = started.fake.run(started.repo, "push")
    by_an_app(started, *naming(started, named))
    del started.fake.runs[named.id]
    assert started.on_pull(started.pull(HARM), "opened").code == 1 and "does not exist any more" in refused(started)[0]


def lasting(story, named):
    """The run, with an end that is still to come, so that what is written now was written in its time."""
    named.status, named.updated_at = "completed", story.fake.clock.now + timedelta(hours=1)
    return named


def test_message_and_manifest_have_to_name_the_same_run(started):
    good = lasting(started, started.fake.run(started.repo, "push"))
    by_an_app(started, looser(started), naming(started, good)[1])
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.code == 1 and "its manifest run" in str(outcome.report["notes"])


@pytest.mark.parametrize("spoil", [{"default/baseline.json.gz": b"\x1f\x8bxx"}, {"default/manifest.json": b"{"},
                                   {"default/manifest.json": json.dumps({"schema": 1}).encode()}])
def test_a_damaged_commit_costs_itself_only_and_is_named(started, spoil):
    files, message = naming(started, lasting(started, started.fake.run(started.repo, "push")))
    by_an_app(started, {**files, **spoil}, message)
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.code == 1 and tip(started).sha[:7] in str(outcome.report["notes"])


def test_a_deleted_branch_is_no_way_to_start_afresh(started):
    started.fake.delete_branch(started.repo, BRANCH, by="ada")
    pr = started.pull(HARM)
    outcome = started.on_pull(pr, "opened")
    assert outcome.code == 3 and "was deleted by ada" in started.comments(pr)[0]
    assert started.merged(started.pull({"a": "1"})).code == 3 and BRANCH not in started.repo.branches
    assert started.on_dispatch(by="tria").code == 3
    again = started.on_dispatch(by="maria")
    assert (again.code, again.outputs["baseline-updated"]) == (0, "bootstrap") and stored(started)[1].provenance.by == "maria"
    assert started.on_pull(pr).code == 1


def test_a_deleted_branch_comes_back_with_an_approved_change_too(started):
    started.fake.delete_branch(started.repo, BRANCH, by="ada")
    pr = started.pull(HARM)
    started.approve(pr)
    assert started.merged(pr).outputs["baseline-updated"] == "approved"
    assert started.on_pull(started.pull({"README.md": "x"}), "opened").code == 0


def test_a_branch_that_was_wound_back_to_an_older_baseline_is_not_believed_until_a_person_speaks(started):
    first = tip(started).sha
    pr = started.pull(HARM)
    started.approve(pr)
    started.merged(pr)
    started.fake.set_branch(started.repo, BRANCH, first, by="ada", tick=True)
    outcome = started.on_pull(started.pull({"README.md": "x"}), "opened")
    assert outcome.code == 3 and "was rewritten by ada" in outcome.summary
    assert started.on_schedule().code == 3
    assert started.on_dispatch(by="maria").outputs["baseline-updated"] == "bootstrap"
    assert started.on_pull(started.pull({"README.md": "x"}), "opened").code == 0


def test_history_that_somebody_wrote_anew_is_no_first_adoption(started):
    copy = started.fake.store_commit(started.repo, tip(started).files, (), tip(started).message, "ada")
    started.fake.delete_branch(started.repo, BRANCH, by="ada")
    started.fake.set_branch(started.repo, BRANCH, copy.sha, by="ada", tick=True)
    started.repo.activity.clear()  # and GitHub does not remember
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.code == 3 and "none may be used here" in outcome.summary
    assert started.on_push().code == 3


def test_where_github_does_not_tell_about_pushes_an_existing_branch_still_works(started):
    started.fake.fail_next("GET", "/activity", 403, times=10, body={"message": "Resource not accessible by integration"})
    assert started.on_pull(started.pull(HARM), "opened").code == 1
    started.fake.faults.clear()


# -- two at once -------------------------------------------------------------------------------------------------------


def both(story, first, second):
    """Two pushes to main whose runs overlap: the second looks at the baseline, then the whole first run happens, then it stores. ``second``
    gives its pull request when the first is merged."""
    before = story.merge(first)
    middle, older = story.repo.tip, story.fake.run(story.repo, "push", by="maria")
    early = story.fake.push_event(story.repo, before=before)
    story.merge(second())
    outcomes = []

    def meanwhile():
        outcomes.append(story._run(older, early, middle))

    story.fake.meanwhile("POST", "/git/commits", meanwhile)
    outcomes.append(story.on_push(before=middle))
    return outcomes


def test_an_approved_baseline_is_not_lost_to_a_run_that_only_carries_and_that_run_says_so(started):
    loss = started.pull(HARM)
    started.approve(loss)
    first, second = both(started, loss, lambda: started.pull({"a.txt": "x"}))
    assert first.outputs["baseline-updated"] == "approved" and second.outputs["baseline-updated"] == "no"
    assert "stored another baseline (approved) while this one was under way" in second.summary
    assert stored(started)[0].state == "approved" and stored(started)[1].provenance.approver == "maria"
    assert started.on_pull(started.pull({"README.md": "x"}), "opened").code == 0
    # Run again, it carries what is right.
    assert started.on_push().outputs["baseline-updated"] == "carried" and stored(started)[1].provenance.approver == "maria"


def test_of_two_runs_that_only_carry_the_later_commit_stays_on_top(started):
    first, second = both(started, started.pull({"a.txt": "x"}), lambda: started.pull({"b.txt": "x"}))
    assert [first.outputs["baseline-updated"], second.outputs["baseline-updated"]] == ["carried", "carried"]
    assert stored(started)[0].head_sha == started.repo.tip and len(history(started)) == 3


def test_of_two_first_runs_one_makes_the_baseline_and_the_other_claims_nothing(story):
    early, older, sha = story.fake.push_event(story.repo), story.fake.run(story.repo, "push", by="maria"), story.repo.tip
    story.fake.commit(story.repo, HARM)
    story.fake.meanwhile("POST", "/git/commits", lambda: story._run(older, early, sha))
    outcome = story.on_push()
    assert outcome.outputs["baseline-updated"] == "no" and "stored another baseline (bootstrap)" in outcome.summary
    assert "This run is the baseline from now on" not in outcome.summary and stored(story)[1].commit == sha


def approved_loss(story, lost=30):
    pr = story.pull({"run.jsonl": run(lost=lost)})
    story.approve(pr)
    return pr


def test_an_approved_run_stores_on_top_of_what_an_earlier_commit_carried_meanwhile(started):
    first, second = both(started, started.pull({"a.txt": "x"}), lambda: approved_loss(started))
    assert [first.outputs["baseline-updated"], second.outputs["baseline-updated"]] == ["carried", "approved"]
    assert stored(started)[0].head_sha == started.repo.tip and len(history(started)) == 3


def test_of_two_approved_runs_the_later_one_follows_the_earlier_ones_record(started):
    first, second = both(started, approved_loss(started), lambda: approved_loss(started, 60))
    assert [first.outputs["baseline-updated"], second.outputs["baseline-updated"]] == ["approved", "approved"]
    (_, newest), earlier = stored(started), history(started)[1]
    assert newest.parent == unpack(earlier.files["default/baseline.json.gz"], "x").digest != ""


def test_an_approved_baseline_is_stored_although_a_later_commit_has_carried_the_old_one_meanwhile(started):
    before = started.merge(approved_loss(started))
    middle, older = started.repo.tip, started.fake.run(started.repo, "push", by="maria")
    event = started.fake.push_event(started.repo, before=before)
    after = started.merge(started.pull({"a.txt": "x"}))
    started.fake.meanwhile("POST", "/git/commits", lambda: started.on_push(before=after))
    assert started._run(older, event, middle).outputs["baseline-updated"] == "approved"
    assert stored(started)[0].state == "approved" and len(history(started)) == 3
    assert started.on_pull(started.pull({"README.md": "x"}), "opened").code == 0


def test_a_branch_that_never_stands_still_is_exit_3(started):
    other = started.repo.commit(started.repo.branches[BRANCH]).files

    def move():
        files = {**other, "x": str(started.fake.clock.tick()).encode()}
        made = started.fake.store_commit(started.repo, files, (tip(started).sha,), "other gate")
        started.fake.set_branch(started.repo, BRANCH, made.sha, tick=True)

    started.fake.meanwhile("PATCH", "/git/refs/", move, times=5)
    outcome = started.merged(started.pull({"README.md": "x"}))
    assert outcome.code == 3 and "moved 5 times" in str(outcome.report["problems"])


def test_running_an_old_push_again_does_not_bring_its_state_back(started):
    old, before = started.repo.tip, started.fake.push_event(started.repo)
    gh = started.fake.run(started.repo, "push", head_sha=old)
    pr = started.pull(HARM)
    started.approve(pr)
    started.merged(pr)
    sha = tip(started).sha
    outcome = started._run(gh, before, old)
    assert outcome.outputs["baseline-updated"] == "no" and "has stored its state already" in outcome.summary and tip(started).sha == sha


def test_a_lost_answer_to_the_push_is_not_taken_for_a_race(story):
    story.fake.fail_next("POST", "/git/refs", drop=True, after_effect=True)
    assert story.on_push().outputs["baseline-updated"] == "bootstrap" and len(history(story)) == 1


def test_the_default_branch_is_no_place_for_it(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, FILES | {"retrieval-gate.yml": CONFIG + "baseline: {store: branch, branch: main}\n"})
    outcome = story.on_push()
    assert outcome.code == 2 and "the default branch" in str(outcome.report["problems"]) and len(story.repo.network.commits) == 1


def test_another_store_is_another_rule_and_needs_an_approval(started):
    policy = stored(started)[1].policy
    assert policy["store"] == "branch" and policy["branch"] == BRANCH
    outcome = started.on_pull(started.pull({"retrieval-gate.yml": CONFIG}), "opened")
    assert outcome.code == 1 and {c["name"] for c in outcome.report["checks"]} >= {"change policy store", "change policy branch"}
