"""The action on every event of a repository's life, over real HTTP against the fake GitHub, in this process."""

import pytest

from gate.baseline.manifest import unpack_artifact
from tests.fake_github import GATE_PATH
from tests.story import CONFIG, N, Story, golden, lines, run

HARM = {"run.jsonl": run(lost=30)}


def newest(story):
    """(manifest, record) of the newest baseline artifact."""
    manifest, record, _ = unpack_artifact(story.baselines()[0].data, "newest")
    return manifest, record


def test_the_first_run_on_main_makes_the_baseline_and_says_so(story):
    outcome = story.on_push()
    assert (outcome.code, outcome.verdict, outcome.outputs["baseline-updated"]) == (0, "no-baseline", "bootstrap")
    assert "This run is the baseline from now on" in outcome.summary
    assert "Merge when ready" not in outcome.summary and "from now on every pull request is compared with it" in outcome.summary
    manifest, record = newest(story)
    assert manifest.state == "bootstrap" and record.commit == story.repo.tip and len(record.rankings) == N


def test_a_first_run_below_a_floor_makes_the_baseline_only_when_that_was_approved(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, {"README.md": "x"})
    brings = {"retrieval-gate.yml": CONFIG + "policy: {floors: {ndcg@10: 0.95}}\n", "golden.jsonl": golden(), "run.jsonl": run(lost=30),
              GATE_PATH: "x"}
    pr = story.pull(brings)
    assert story.on_pull(pr, "opened").code == 1
    story.approve(pr)
    assert story.on_pull(pr).verdict == "accepted"
    outcome = story.merged(pr)
    assert (outcome.code, outcome.verdict, outcome.outputs["baseline-updated"]) == (0, "accepted", "approved")
    assert newest(story)[1].provenance.approver == "maria" and "This run is the baseline from now on" in outcome.summary
    assert story.on_pull(story.pull({"run.jsonl": run(lost=20)}), "opened").outputs["gained"] == "10"


def test_a_first_run_below_a_floor_that_nobody_approved_makes_no_baseline(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, {"retrieval-gate.yml": CONFIG + "policy: {floors: {ndcg@10: 0.95}}\n", "golden.jsonl": golden(),
                                           "run.jsonl": run(lost=30), GATE_PATH: "x"})
    outcome = story.on_push()
    assert (outcome.code, outcome.verdict, outcome.outputs["baseline-updated"]) == (1, "fail", "no") and not story.baselines()


def test_a_harmful_pull_request_is_red_and_its_one_comment_names_the_lost_queries(started):
    pr = started.pull(HARM)
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict, outcome.outputs["lost"]) == (1, "fail", "30")
    assert outcome.outputs["comment-status"] == "created"
    (comment,) = started.comments(pr)
    assert "30 queries lost their answer" in comment and "`q0`" in comment and comment.startswith("## ❌")
    assert comment.rstrip().endswith("-->") and f"head={pr.head_sha}" in comment
    assert float(outcome.outputs["delta"]) == pytest.approx(-0.1)
    assert [flip["id"] for flip in outcome.report["flips"]["lost"]][:2] == ["q0", "q1"]


def test_pushing_again_edits_the_same_comment_also_when_it_turns_green(started):
    pr = started.pull(HARM)
    started.on_pull(pr, "opened")
    started.fake.push(pr, {"run.jsonl": run(lost=20)})
    assert started.on_pull(pr).outputs["comment-status"] == "updated"
    assert "20 queries lost" in started.comments(pr)[0]
    started.fake.push(pr, {"run.jsonl": run()})
    assert started.on_pull(pr).code == 0
    (comment,) = started.comments(pr)
    assert comment.startswith("## ✅")


def test_a_harmless_pull_request_passes_and_writes_no_baseline(started):
    before = len(started.baselines())
    outcome = started.on_pull(started.pull({"run.jsonl": run(noise="z")}), "opened")
    assert (outcome.code, outcome.verdict, outcome.outputs["baseline-updated"]) == (0, "pass", "no")
    assert len(started.baselines()) == before


def test_merged_without_a_label_the_baseline_is_carried_byte_for_byte_and_main_is_red(started):
    old = newest(started)[1]
    outcome = started.merged(started.pull(HARM))
    assert (outcome.code, outcome.verdict, outcome.outputs["baseline-updated"]) == (1, "fail", "carried")
    assert "bring a fix by another pull request" in outcome.summary and "push again" not in outcome.summary
    manifest, record = newest(started)
    assert manifest.state == "carried" and record.digest == old.digest and record.commit == old.commit
    # The next pull request is still compared with what was approved.
    assert started.on_pull(started.pull({"README.md": "x"}), "opened").outputs["lost"] == "30"


@pytest.mark.parametrize("spoil, words", [
    (lambda s, pr: s.fake.label(pr, "baseline-update", by="ada") and s.fake.approve(pr, "maria", body="worth it"),
    "the author of this pull request"),
    (lambda s, pr: s.fake.label(pr, "baseline-update", by="maria"), "nobody has approved"),
    (lambda s, pr: s.approve(pr, why=""), "does not say why"),
    (lambda s, pr: s.approve(pr, by="tria"), "who set the label"),
    (lambda s, pr: s.approve(pr, by="eve"), "who set the label"),
    (lambda s, pr: s.approve(pr, by="maria") or s.fake.unlabel(pr, "baseline-update", by="ada"), "is not set")])
def test_an_approval_with_something_missing_is_not_accepted_and_the_comment_says_what(started, spoil, words):
    pr = started.pull(HARM)
    spoil(started, pr)
    outcome = started.on_pull(pr, "labeled", label="baseline-update", sender="maria")
    assert (outcome.code, outcome.verdict) == (1, "fail")
    assert words in started.comments(pr)[0]


def test_an_approval_of_an_older_head_is_stale(started):
    pr = started.pull(HARM)
    started.approve(pr)
    started.fake.push(pr, {"run.jsonl": run(lost=40)})
    outcome = started.on_pull(pr)
    assert outcome.code == 1 and "stale" in started.comments(pr)[0]


def test_a_proper_approval_turns_the_check_green_with_name_and_reason_and_moves_the_baseline_after_the_merge(started):
    pr = started.pull(HARM)
    assert started.on_pull(pr, "opened").code == 1
    started.approve(pr)
    outcome = started.on_pull(pr, "labeled", label="baseline-update", sender="maria")
    assert (outcome.code, outcome.verdict) == (0, "accepted")
    (comment,) = started.comments(pr)
    assert "maria" in comment and "The new chunker is worth it" in comment
    old = newest(started)[1]
    merged = started.merged(pr)
    assert (merged.code, merged.outputs["baseline-updated"]) == (0, "approved")
    manifest, record = newest(started)
    assert manifest.state == "approved" and record.parent == old.digest and record.commit == started.repo.tip
    why = record.provenance
    assert (why.approver, why.pull_request, why.reason) == ("maria", pr.number, "The new chunker is worth it.")
    assert why.review_id and why.label_event_id
    # The next pull request is compared with the new baseline.
    after = started.on_pull(started.pull({"README.md": "x"}), "opened")
    assert (after.code, after.verdict, after.outputs["lost"]) == (0, "pass", "0")
    assert after.outputs["baseline-sha"] == started.repo.tip


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_the_approval_is_found_whatever_the_merge_method(started, method):
    pr = started.pull(HARM)
    started.approve(pr)
    started.fake.association_lag = 0
    assert started.merged(pr, method=method).outputs["baseline-updated"] == "approved"


def test_a_label_set_after_the_merge_moves_nothing(started):
    pr = started.pull(HARM)
    before = started.merge(pr)
    started.approve(pr)
    assert started.on_push(before=before).outputs["baseline-updated"] == "carried"


def test_a_direct_push_moves_nothing_and_says_why(started):
    before = started.repo.tip
    started.fake.commit(started.repo, HARM, by="maria")
    outcome = started.on_push(before=before)
    assert (outcome.code, outcome.outputs["baseline-updated"]) == (1, "carried")
    assert "merged no pull request" in outcome.summary


def test_a_gain_moves_nothing_until_it_is_locked_in(story):
    story.fake.commit(story.repo, HARM)
    story.on_push()
    outcome = story.merged(story.pull({"run.jsonl": run()}))
    assert (outcome.code, outcome.verdict, outcome.outputs["baseline-updated"]) == (0, "pass", "carried")
    gain = story.pull({"README.md": "lock it in"})
    story.approve(gain, why="Locks in the gain of the new index.")
    assert story.merged(gain).outputs["baseline-updated"] == "approved"
    assert newest(story)[1].metrics["hit@5"] == 1.0


def test_a_schedule_carries_the_baseline_and_so_renews_its_expiry(started):
    started.fake.clock.advance(days=60)
    outcome = started.on_schedule()
    assert outcome.outputs["baseline-updated"] == "carried"
    started.fake.clock.advance(days=60)
    assert started.on_pull(started.pull(HARM), "opened").code == 1


def test_from_fourteen_days_before_its_expiry_every_report_warns(started):
    started.fake.clock.advance(days=75)
    assert "a run on the default branch renews it" not in started.on_pull(started.pull({"README.md": "x"}), "opened").summary
    started.fake.clock.advance(days=2)
    assert "the baseline expires in 13 days" in started.on_pull(started.pull({"README.md": "y"}), "opened").summary


def test_an_expired_baseline_is_exit_3_on_a_pull_request_and_on_main_until_a_person_with_rights_starts_it_by_hand(started):
    started.fake.clock.advance(days=91)
    pr = started.pull(HARM)
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict) == (3, "cannot-decide") and "expired" in started.comments(pr)[0]
    assert started.on_push().code == 3
    assert started.on_dispatch(by="tria").code == 3
    again = started.on_dispatch(by="maria")
    assert (again.code, again.outputs["baseline-updated"]) == (0, "bootstrap")
    assert newest(started)[1].provenance.by == "maria"


def test_a_pull_request_that_brings_the_gate_is_first_adoption_and_passes(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, {"README.md": "x"})
    outcome = story.on_pull(story.pull({"retrieval-gate.yml": CONFIG, "golden.jsonl": golden(), "run.jsonl": run()}), "opened")
    assert (outcome.code, outcome.verdict) == (0, "no-baseline")


def test_a_missing_baseline_where_the_base_has_a_gate_is_exit_3_with_the_cure(story):
    pr = story.pull(HARM)
    outcome = story.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict) == (3, "cannot-decide")
    assert "default branch" in story.comments(pr)[0]


def test_a_baseline_uploaded_by_the_pull_request_itself_is_not_taken(started):
    pr = started.pull(HARM)
    forged = started.fake.run(started.repo, pr=pr)
    started.fake.artifact(forged, "retrieval-gate-baseline-default", started.baselines()[0].data)
    assert started.on_pull(pr, "opened").code == 1


def test_loosening_the_policy_in_the_pull_request_does_not_help_it_and_is_shown(started):
    pr = started.pull({**HARM, "retrieval-gate.yml": CONFIG + "policy:\n  tolerance: 0.9\n"})
    outcome = started.on_pull(pr, "opened")
    assert outcome.code == 1
    assert {c["name"] for c in outcome.report["checks"] if c["outcome"] == "fail"} >= {"drop", "change policy tolerance"}
    assert "0.02" in started.comments(pr)[0] and "0.9" in started.comments(pr)[0]


def test_renaming_the_approval_label_in_the_pull_request_does_not_help_it(started):
    pr = started.pull({**HARM, "retrieval-gate.yml": CONFIG + "baseline:\n  label: typo\n"})
    started.fake.label(pr, "typo", by="maria")
    started.fake.approve(pr, "maria", body="Fixes a typo.")
    assert started.on_pull(pr, "opened").code == 1


def test_deleting_the_lost_queries_does_not_turn_the_check_green(started):
    kept = "".join(golden().splitlines(keepends=True)[30:])
    outcome = started.on_pull(started.pull({**HARM, "golden.jsonl": kept}), "opened")
    assert outcome.code == 1 and len(outcome.report["excluded"]["removed"]) == 30


def test_relabelling_needs_an_approval_and_is_compared_fairly_once_it_has_one(started):
    relabelled = lines({"id": f"q{i}", "query": f"question number {i}", "relevant": ["x" if i < 30 else f"d{i}"],
                        "tags": ["even" if i % 2 == 0 else "odd"]} for i in range(N))
    pr = started.pull({"golden.jsonl": relabelled})
    outcome = started.on_pull(pr, "opened")
    assert outcome.code == 1 and len(outcome.report["excluded"]["relabelled"]) == 30
    assert outcome.report["primary"]["delta"] == 0.0
    started.approve(pr, why="The old labels were wrong.")
    assert started.on_pull(pr).verdict == "accepted"


def test_adding_queries_passes_without_an_approval(started):
    more = golden(N + 10)
    outcome = started.on_pull(started.pull({"golden.jsonl": more, "run.jsonl": run(n=N + 10)}), "opened")
    assert outcome.code == 0 and len(outcome.report["excluded"]["added"]) == 10


def test_a_fork_with_a_read_only_token_is_judged_and_the_report_goes_to_the_summary(started):
    token = started.fake.token("ghs_fork_token_for_reading", read_only=True)
    pr = started.pull(HARM, author="eve", fork=True)
    outcome = started.on_pull(pr, "opened", token="ghs_fork_token_for_reading")
    assert token and (outcome.code, outcome.verdict, outcome.outputs["comment-status"]) == (1, "fail", "forbidden")
    assert "30 queries lost" in outcome.summary and not started.comments(pr)


def test_an_unreadable_golden_set_is_exit_2_and_the_comment_lists_the_lines(started):
    pr = started.pull({"golden.jsonl": "{broken\n" + golden() + "[]\n"})
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict) == (2, "invalid")
    assert "golden.jsonl:1" in started.comments(pr)[0]


def test_a_run_that_lacks_most_queries_is_a_regression_not_a_pass(started):
    outcome = started.on_pull(started.pull({"run.jsonl": run(n=100)}), "opened")
    assert outcome.code == 1 and len(outcome.report["excluded"]["missing"]) == 200


def test_github_being_down_is_exit_3_and_never_a_pass(started):
    pr = started.pull({"README.md": "x"})
    started.fake.fail_next("GET", r"/actions/artifacts$", 502, times=20)
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict) == (3, "cannot-decide")
    started.fake.faults.clear()


def test_closing_does_nothing_and_an_unsupported_event_is_refused(started):
    pr = started.pull(HARM)
    started.fake.close(pr, by="ada")
    assert started.on_pull(pr, "closed").code == 0 and not started.comments(pr)


def test_the_reports_are_uploaded_as_an_artifact_and_belong_to_the_workspaces_owner(started):
    outcome = started.on_pull(started.pull(HARM), "opened")
    report = started.fake.artifacts_named("retrieval-gate-report-default")[0]
    assert report.data[:2] == b"PK" and outcome.outputs["report-path"] == "retrieval-gate-report"


def test_the_token_appears_nowhere(started, tmp_path):
    outcome = started.on_pull(started.pull(HARM), "opened")
    for text in (outcome.log, outcome.summary, str(outcome.report)):
        assert started.fake.job_token not in text
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and started.fake.job_token.encode() in path.read_bytes()]


def test_a_merge_queue_group_is_compared_and_nothing_is_written(started):
    before = len(started.baselines())
    outcome = started.on_group(started.fake.queue(started.pull(HARM)))
    assert (outcome.code, outcome.verdict, outcome.outputs["comment-status"]) == (1, "fail", "not-asked")
    assert len(started.baselines()) == before


def test_two_pull_requests_in_one_queue_push_move_the_baseline_only_when_both_are_approved(started):
    def land(approved):
        first, second = started.pull({"a.txt": str(approved)}), started.pull({"run.jsonl": run(lost=30 + 10 * approved)})
        for pr in (first, second)[2 - approved:]:
            started.approve(pr)
        before = started.repo.tip
        started.fake.land(started.fake.queue(first, second))
        return started.on_push(before=before).outputs["baseline-updated"]

    assert land(1) == "carried" and land(2) == "approved"


def test_an_unsupported_event_is_refused_with_the_reason(started):
    pr = started.pull(HARM)
    outcome = started.on_pull(pr, "opened", event_name="pull_request_target")
    assert outcome.code == 2 and "not supported" in outcome.log


def test_two_gates_in_one_repository_do_not_meet(started):
    other = CONFIG.replace("golden:", "gate: other\ngolden:")
    pr = started.pull({"other.yml": other, **HARM})
    started.on_pull(pr, "opened")
    outcome = started.on_pull(pr, config="other.yml")
    assert outcome.verdict == "no-baseline" and len(started.comments(pr)) == 2


def test_the_python_retriever_runs_in_a_child_without_secrets_and_its_output_is_inert(fake, tmp_path, capsys):
    spy = """import os
def retrieve(query, n):
    print("::error::forged", [k for k in os.environ if "TOKEN" in k or k.startswith(("INPUT_", "ACTIONS_", "GITHUB_"))])
    return ["d" + query.split()[-1]]
"""
    config = "golden: golden.jsonl\nretriever:\n  kind: python\n  function: spy:retrieve\n"
    story = Story(fake, tmp_path, capsys, {"retrieval-gate.yml": config, "golden.jsonl": golden(20), "spy.py": spy, GATE_PATH: "x"})
    outcome = story.on_push()
    assert outcome.code == 0 and "| ::error::forged []" in outcome.log
    assert not [line for line in outcome.log.splitlines() if line.lstrip().startswith("::error::forged")]


def test_a_retriever_that_crashes_is_exit_3_and_what_it_answered_is_kept(started):
    crash = """def retrieve(query, n):
    if query.endswith(" 57"):
        raise ValueError("boom")
    return ["d" + query.split()[-1]]
"""
    config = "golden: golden.jsonl\nretriever:\n  kind: python\n  function: crash:retrieve\n"
    pr = started.pull({"retrieval-gate.yml": config, "crash.py": crash})
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict) == (3, "cannot-decide")
    assert "q57" in started.comments(pr)[0] and "boom" in started.comments(pr)[0]
    from gate.runs import read_run

    kept = read_run(started.workspace / "retrieval-gate-report" / "run.jsonl.gz")
    assert len(kept.rankings) == N and kept.rankings["q57"].error and kept.rankings["q58"].docs == ["d58"]


def failed_changes(outcome):
    return {check["name"] for check in outcome.report["checks"] if check["outcome"] == "fail"}


@pytest.mark.parametrize("change, row", [
    ("gate: fresh\n", "change policy gate"), ("baseline: {artifact: fresh}\n", "change policy artifact"),
    ("baseline: {workflow: .github/workflows/other.yml}\n", "change policy workflow")])
def test_a_new_name_under_which_no_baseline_is_found_is_no_way_to_start_afresh(started, change, row):
    outcome = started.on_pull(started.pull({**HARM, "retrieval-gate.yml": CONFIG + change}), "opened")
    assert outcome.code == 1 and row in failed_changes(outcome)


def test_a_configuration_that_moved_is_compared_with_the_same_baseline_and_needs_an_approval(started):
    moved = CONFIG.replace(": golden", ": ../golden").replace(": run.", ": ../run.")
    pr = started.pull({"retrieval-gate.yml": None, "search/gate.yml": moved})
    outcome = started.on_pull(pr, "opened", config="search/gate.yml")
    assert outcome.code == 1 and failed_changes(outcome) == {"change configuration"}


def test_a_broken_configuration_on_main_can_be_mended_with_an_approval(started):
    started.fake.commit(started.repo, {"retrieval-gate.yml": "golden: [\n"})
    pr = started.pull({"retrieval-gate.yml": CONFIG})
    assert failed_changes(started.on_pull(pr, "opened")) == {"change configuration"}
    started.approve(pr, why="Mends the configuration.")
    assert started.on_pull(pr).verdict == "accepted"


def test_another_function_is_shown_and_not_blocked_but_another_run_file_needs_an_approval(fake, tmp_path, capsys):
    code = "def one(query, n):\n    return ['d' + query.split()[-1]]\n\n\ndef two(query, n):\n    return one(query, n)\n"
    config = "golden: golden.jsonl\nretriever:\n  kind: python\n  function: code:one\n"
    story = Story(fake, tmp_path, capsys, {"retrieval-gate.yml": config, "golden.jsonl": golden(20), "code.py": code, GATE_PATH: "x"})
    story.on_push()
    pr = story.pull({"retrieval-gate.yml": config.replace(":one", ":two")})
    assert story.on_pull(pr, "opened").code == 0 and "code:two" in story.comments(pr)[0]
    copied = story.pull({"retrieval-gate.yml": CONFIG.replace("depth: 10\n", ""), "run.jsonl": run(n=20)})
    assert "change retriever kind" in failed_changes(story.on_pull(copied, "opened"))


def test_comment_on_change_stays_silent_until_there_is_something_and_then_keeps_it_up_to_date(started):
    started.fake.commit(started.repo, {"retrieval-gate.yml": CONFIG + "comment: on-change\n"})
    pr = started.pull({"README.md": "x"})
    assert started.on_pull(pr, "opened").outputs["comment-status"] == "not-asked" and not started.comments(pr)
    started.fake.push(pr, HARM)
    assert started.on_pull(pr).outputs["comment-status"] == "created"
    started.fake.push(pr, {"run.jsonl": run()})
    assert started.on_pull(pr).outputs["comment-status"] == "updated"


def test_comment_never_writes_none(started):
    started.fake.commit(started.repo, {"retrieval-gate.yml": CONFIG + "comment: never\n"})
    pr = started.pull(HARM)
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.outputs["comment-status"]) == (1, "not-asked") and not started.comments(pr)


def test_easy_queries_that_are_added_lift_nothing_over_its_floor(started):
    floor = CONFIG + "policy:\n  tolerance: 0.5\n  floors: {ndcg@10: 0.95}\n"
    started.fake.commit(started.repo, {"retrieval-gate.yml": floor})
    pr = started.pull({"golden.jsonl": golden(N + 400), "run.jsonl": run(lost=30, n=N + 400)})
    assert "floor ndcg@10" in failed_changes(started.on_pull(pr, "opened"))


def test_a_run_that_failed_on_most_queries_is_no_judgement_however_many_errors_are_allowed(started):
    started.fake.commit(started.repo, {"retrieval-gate.yml": CONFIG + "policy: {max_errors: 1000}\n"})
    broken = lines({"id": f"q{i}", "error": "boom"} if i else {"id": "q0", "ranked": ["d0"]} for i in range(N))
    outcome = started.on_pull(started.pull({"run.jsonl": broken}), "opened")
    assert (outcome.code, outcome.verdict) == (3, "cannot-decide")


def test_a_wholly_new_golden_set_needs_an_approval_and_gets_through_with_one(started):
    fresh = lines({"id": f"n{i}", "query": f"new question {i}", "relevant": [f"d{i}"]} for i in range(20))
    ranked = lines({"id": f"n{i}", "ranked": [f"d{i}"]} for i in range(20))
    pr = started.pull({"golden.jsonl": fresh, "run.jsonl": ranked})
    assert started.on_pull(pr, "opened").code == 1
    started.approve(pr, why="New questions from the log.")
    assert started.on_pull(pr).verdict == "accepted" and started.merged(pr).outputs["baseline-updated"] == "approved"


def test_a_pull_request_to_a_branch_without_rules_is_judged_by_the_default_branchs(started):
    started.fake.set_branch(started.repo, "release", started.fake.store_commit(started.repo, {"README.md": b"x"}, ()).sha)
    pr = started.fake.open_pr(started.repo, "ada", HARM, branch="old-release", base="release")
    outcome = started.on_pull(pr, "opened")
    assert outcome.code != 0


def test_an_expired_baseline_and_a_moved_configuration_together_are_no_first_adoption(started):
    started.fake.clock.advance(days=91)
    pr = started.pull({"retrieval-gate.yml": None, "moved.yml": CONFIG, **HARM})
    assert started.on_pull(pr, "opened", config="moved.yml").code == 3


def test_an_unreadable_base_configuration_is_no_first_adoption(started):
    started.fake.commit(started.repo, {"retrieval-gate.yml": "golden: [\n"})
    pr = started.pull({"retrieval-gate.yml": CONFIG + "gate: fresh\n", **HARM})
    assert started.on_pull(pr, "opened").code == 3


def test_one_pull_requests_approval_does_not_take_in_what_another_lost(started):
    harmless, harmful = started.pull({"a.txt": "x"}), started.pull(HARM)
    started.approve(harmless, why="Adds a file that search needs.")
    assert started.merged(harmful).outputs["baseline-updated"] == "carried"
    outcome = started.merged(harmless)
    assert (outcome.code, outcome.outputs["baseline-updated"]) == (1, "carried")
    assert "does not cover" in outcome.summary


def test_an_approval_of_a_commit_that_contains_the_earlier_loss_covers_it(started):
    started.merged(started.pull(HARM))
    pr = started.pull({"a.txt": "x"})
    started.approve(pr, why="Accepts what the last change cost.")
    assert started.merged(pr).outputs["baseline-updated"] == "approved"


def test_a_pull_request_cannot_silence_the_comment_or_publish_hidden_queries(started):
    started.fake.commit(started.repo, {"retrieval-gate.yml": CONFIG + "show_queries: false\n"})
    pr = started.pull({"retrieval-gate.yml": CONFIG + "comment: never\n", **HARM})
    assert started.on_pull(pr, "opened").outputs["comment-status"] == "created"
    assert "question number" not in started.comments(pr)[0]


def test_the_report_folder_is_never_a_link_and_a_planted_file_is_not_uploaded(started, tmp_path):
    target = tmp_path / "outside"
    target.mkdir()
    pr = started.pull(HARM)
    started.prepare = lambda workspace: (workspace / "retrieval-gate-report").symlink_to(target)
    outcome = started.on_pull(pr, "opened")
    assert outcome.code == 1 and not list(target.iterdir())
    assert started.comments(pr)


def test_an_approved_change_passes_the_merge_queue_and_moves_the_baseline_when_it_lands(started):
    pr = started.pull(HARM)
    started.approve(pr)
    group = started.fake.queue(pr)
    outcome = started.on_group(group)
    assert (outcome.code, outcome.verdict, outcome.outputs["baseline-updated"]) == (0, "accepted", "no")
    before = started.repo.tip
    started.fake.land(group)
    assert started.on_push(before=before).outputs["baseline-updated"] == "approved"


def deeper(files=()):
    return {"retrieval-gate.yml": CONFIG.replace("depth: 10", "depth: 50") + "policy:\n  metrics: [recall@50]\n", **dict(files)}


def test_an_approved_deeper_metric_takes_effect_at_its_merge(started):
    pr = started.pull(deeper())
    started.approve(pr, why="We look at fifty results now.")
    assert started.on_pull(pr).verdict == "accepted"
    assert started.merged(pr).outputs["baseline-updated"] == "approved"
    assert started.on_pull(started.pull({"README.md": "x"}), "opened").code == 0


def test_stricter_rules_about_errors_do_not_make_the_old_baseline_unusable(fake, tmp_path, capsys):
    broken = lines({"id": f"q{i}", "error": "boom"} if i < 5 else {"id": f"q{i}", "ranked": [f"d{i}"]} for i in range(N))
    story = Story(fake, tmp_path, capsys, {"retrieval-gate.yml": CONFIG + "policy: {max_errors: 5}\n", "golden.jsonl": golden(),
                                           "run.jsonl": broken, GATE_PATH: "x"})
    assert story.on_push().code == 0
    pr = story.pull({"retrieval-gate.yml": CONFIG, "run.jsonl": run()})
    story.approve(pr, why="The retriever is fixed.")
    assert story.on_pull(pr).verdict == "accepted" and story.merged(pr).outputs["baseline-updated"] == "approved"


def test_a_loss_that_was_only_inconclusive_is_not_taken_in_by_another_approval_either(started):
    harmless, loss = started.pull({"a.txt": "x"}), started.pull({"run.jsonl": run(lost=5)})
    started.approve(harmless, why="Adds a file that search needs.")
    assert (found := started.merged(loss)).code == 0 and found.verdict == "inconclusive"
    outcome = started.merged(harmless)
    assert outcome.outputs["baseline-updated"] == "carried" and "does not cover" in outcome.summary


def test_a_second_approved_merge_counts_once_the_run_of_the_first_has_passed(started):
    first, second = started.pull({"a.txt": "x"}), started.pull({"run.jsonl": run(lost=40)})
    started.approve(second)
    before = started.merge(first)
    middle = started.repo.tip
    started.merge(second)
    assert started.on_push(before=middle).outputs["baseline-updated"] == "carried"
    assert before and started.on_schedule().outputs["baseline-updated"] == "carried"


def test_a_branch_with_loose_rules_gives_no_green_that_main_would_not(started):
    started.fake.commit(started.repo, {"retrieval-gate.yml": CONFIG + "policy: {tolerance: 1.0}\n"}, branch="loose")
    pr = started.fake.open_pr(started.repo, "ada", HARM, branch="to-loose", base="loose")
    assert started.on_pull(pr, "opened").code == 1


def test_in_a_queue_group_of_two_both_must_be_approved(started):
    loss, harmless = started.pull(HARM), started.pull({"a.txt": "x"})
    started.approve(harmless, why="Adds a file that search needs.")
    assert started.on_group(started.fake.queue(loss, harmless)).code == 1


def test_a_gate_can_be_adopted_through_the_merge_queue(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, {"README.md": "x", GATE_PATH: "x"})
    pr = story.pull({"retrieval-gate.yml": CONFIG, "golden.jsonl": golden(), "run.jsonl": run()})
    assert story.on_group(story.fake.queue(pr)).verdict == "no-baseline"


def test_comment_never_does_not_silence_a_broken_golden_set(started):
    pr = started.pull({"retrieval-gate.yml": CONFIG + "comment: never\n", "golden.jsonl": "{broken\n"})
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.outputs["comment-status"]) == (2, "created")


@pytest.mark.parametrize("action", ["opened", "synchronize", "reopened", "edited", "ready_for_review", "converted_to_draft", "labeled",
                                    "unlabeled"])
def test_whatever_happens_to_an_open_pull_request_it_is_judged_and_never_passed_over(started, action):
    """A run that did nothing would be a green check."""
    pr = started.pull(HARM)
    more = {"label": "documentation"} if "labeled" in action else {}
    outcome = started.on_pull(pr, action, **more)
    assert (outcome.code, outcome.verdict, outcome.outputs["lost"]) == (1, "fail", "30")


def test_a_draft_is_judged_like_any_other(started):
    pr = started.pull(HARM)
    pr.draft = True
    assert started.on_pull(pr, "opened").verdict == "fail" and len(started.comments(pr)) == 1


def test_a_pull_request_that_is_turned_to_another_base_is_judged_again(started):
    started.fake.set_branch(started.repo, "next", started.repo.tip, by="maria")
    pr = started.pull(HARM)
    assert started.on_pull(pr, "opened").code == 1
    pr.base_ref = "next"
    assert started.on_pull(pr, "edited").code == 1
    (comment,) = started.comments(pr)
    assert comment.startswith("## ❌")


def test_a_run_whose_fork_was_deleted_meanwhile_is_judged(started):
    pr = started.pull(HARM, author="eve", fork=True)
    sha, gh = started.fake.test_merge(pr), started.fake.run(started.repo, pr=pr)
    pr.head_repo = None
    outcome = started._run(gh, started.fake.pull_request_event(pr, "synchronize"), sha)
    assert (outcome.code, outcome.verdict, outcome.outputs["lost"]) == (1, "fail", "30")
