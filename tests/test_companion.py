"""The comment on pull requests from forks, made on `workflow_run` from what their runs uploaded; most of these stories are attacks."""

import json
import re
from copy import deepcopy

import pytest
import yaml

from gate.github.comments import Marker
from tests.conftest import ROOT
from tests.fake_github import GATE_PATH
from tests.fake_github.world_actions import zip_bytes
from tests.story import COMMENTER, COMPANION_TOKEN, CONFIG, FORK_TOKEN, RIGHTS, Forks, golden, run

HARM = {"run.jsonl": run(lost=30)}
REPORT = "retrieval-gate-report-default"


@pytest.fixture
def story(fake, tmp_path, capsys):
    made = Forks(fake, tmp_path, capsys)
    assert made.on_push().code == 0
    return made


def writes(fake):
    """Requests of the companion that could have changed something."""
    return [entry for verb in ("POST", "PATCH", "PUT", "DELETE") for entry in fake.sent(verb) if "comments" in entry.path]


# -- what it is for ----------------------------------------------------------------------------------------------------


def test_a_forks_pull_request_gets_its_comment_from_the_companion(story):
    pr = story.forked()
    assert (story.judged.code, story.judged.outputs["comment-status"]) == (1, "forbidden") and not pr.comments
    outcome = story.on_end()
    assert (outcome.code, outcome.outputs["comment-status"]) == (0, "created"), outcome.log
    (comment,) = story.comments(pr)
    assert outcome.outputs["comment-url"].startswith("https://github.com/acme/search/pull/")
    assert "nDCG@10 fell by 0.100" in comment and "30 queries lost their answer" in comment and "`q0`" in comment
    assert "Nobody has checked them" in comment and "Only the check itself decides" in comment
    run = story.gh
    assert f"https://github.com/acme/search/actions/runs/{run.id}/attempts/1" in comment
    assert comment.rstrip().endswith(f"<!-- retrieval-gate:v1 gate=default head={pr.head_sha} run={run.id} attempt=1 -->")


def test_it_gives_no_verdict_measures_nothing_and_leaves_no_report(story):
    story.forked()
    outcome = story.on_end()
    assert set(outcome.outputs) == {"comment-url", "comment-status"}
    assert not list(story.workspace.iterdir()) and outcome.report == {} and outcome.summary == ""


def test_the_same_comment_is_edited_by_the_next_run_also_when_it_turns_green(story):
    pr = story.forked()
    story.on_end()
    story.fake.push(pr, {"run.jsonl": run()})
    story.judged = story.on_pull(pr, token=FORK_TOKEN)
    outcome = story.on_end()
    assert outcome.outputs["comment-status"] == "updated"
    (comment,) = story.comments(pr)
    assert "`pass`" in comment and "lost their answer" not in comment


def test_a_later_run_of_the_gate_with_rights_takes_the_comment_over(story):
    pr = story.forked()
    story.on_end()
    assert story.on_pull(pr, "labeled", label="x").outputs["comment-status"] == "updated"
    (comment,) = story.comments(pr)
    assert comment.startswith("## ❌") and "Nobody has checked" not in comment


def test_what_the_run_could_write_itself_is_not_replaced_by_less(story):
    pr = story.pull(HARM, author="eve", fork=True)
    # A private repository may send write tokens to the runs of forks.
    assert story.on_pull(pr, "opened").outputs["comment-status"] == "created"
    before = story.comments(pr)
    assert story.on_end().outputs["comment-status"] == "skipped-newer"
    assert story.comments(pr) == before


def test_started_twice_for_one_run_it_writes_once(story):
    pr = story.forked()
    story.on_end()
    assert story.on_end().outputs["comment-status"] == "skipped-newer" and len(pr.comments) == 1


def test_a_rerun_updates_the_comment_and_an_earlier_attempts_report_is_not_taken_for_its_own(story):
    pr = story.forked()
    story.on_end()
    story.fake.rerun(story.gh)
    assert "under way" in story.on_end().log
    story.fake.finish(story.gh, "failure")
    assert "attempt 2 of run" in story.on_end().log and len(pr.comments) == 1
    story.replace_report(lambda report: report["metadata"].update(run_attempt=2))
    assert story.on_end().outputs["comment-status"] == "updated"


def test_dependabots_runs_have_no_rights_either(story):
    pr = story.pull(HARM, author="dependabot[bot]")
    story.judged = story.on_pull(pr, "opened", token=FORK_TOKEN)
    assert story.judged.outputs["comment-status"] == "forbidden"
    assert story.on_end().outputs["comment-status"] == "created"


def test_a_pull_request_of_this_repository_is_left_to_its_own_run(story):
    pr = story.pull(HARM)
    story.judged = story.on_pull(pr, "opened", token=FORK_TOKEN)
    outcome = story.on_end()
    assert (outcome.code, outcome.outputs["comment-status"]) == (0, "not-asked") and not pr.comments
    assert "own run writes its comment" in outcome.log


def test_a_run_that_came_to_no_judgement_is_told_without_its_sentences(story):
    pr = story.forked({"golden.jsonl": "{broken\n" + golden() + "[]\n"})
    assert story.judged.code == 2
    assert story.on_end().code == 0
    (comment,) = story.comments(pr)
    assert "`invalid`" in comment and "2 problems" in comment and "golden.jsonl:1" not in comment


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch", "merge_group"])
def test_the_end_of_another_run_than_a_pull_requests_is_nothing_to_do(story, event):
    before = len(story.fake.requests)
    outcome = story.on_end(story.fake.run(story.repo, event))
    assert outcome.code == 0 and f"`{event}`, not for a pull request" in outcome.log
    assert len(story.fake.requests) == before


def test_the_start_of_a_run_is_nothing_to_do(story):
    pr = story.forked()
    assert story.on_end(action="requested").code == 0 and not pr.comments


# -- whom it speaks for ------------------------------------------------------------------------------------------------


def said_nothing(story, outcome, words, *pulls):
    """Exit 0, one sentence, no comment anywhere, no attempt to write one."""
    assert outcome.code == 0 and outcome.outputs.get("comment-status", "not-asked") == "not-asked", outcome.log
    assert words in outcome.log, outcome.log
    assert not writes(story.fake) and not any(pr.comments for pr in pulls)


def test_the_number_in_the_artifact_cannot_send_the_comment_to_another_pull_request(story):
    victim = story.pull({"README.md": "x"})
    pr = story.forked()
    story.fake.requests.clear()
    story.replace_report(lambda report: report["metadata"].update(pull_request=victim.number))
    said_nothing(story, story.on_end(), f"speaks of #{victim.number}", victim, pr)


def test_a_payload_with_another_pull_request_is_not_asked(story):
    victim = story.pull({"README.md": "x"})
    pr = story.forked()
    payload = story.fake.workflow_run_event(story.gh)
    payload["workflow_run"]["pull_requests"] = [{"number": victim.number}]
    assert story.on_end(payload=payload).code == 0
    assert len(pr.comments) == 1 and not victim.comments


def test_after_a_push_the_old_runs_numbers_are_not_shown(story):
    pr = story.forked()
    story.fake.push(pr, {"run.jsonl": run(lost=40)})
    story.fake.requests.clear()
    said_nothing(story, story.on_end(), "has moved on", pr)


@pytest.mark.parametrize("end", ["close", "merge"])
def test_a_closed_or_merged_pull_request_gets_no_comment(story, end):
    pr = story.forked()
    getattr(story.fake, end)(pr, by="maria")
    story.fake.requests.clear()
    said_nothing(story, story.on_end(), "(closed, merged, or its repository is gone)", pr)


def test_one_head_under_two_pull_requests_belongs_to_neither(story):
    pr = story.forked()
    story.fake.set_branch(story.repo, "release", story.repo.tip)
    other = story.fake.open_pr(story.repo, "eve", None, branch=pr.head_ref, head_repo=pr.head_repo, base="release")
    story.fake.requests.clear()
    said_nothing(story, story.on_end(), f"several pull requests (#{other.number}, #{pr.number})", pr, other)


def test_a_branch_of_the_same_name_in_another_fork_is_not_mistaken_for_it(story):
    pr = story.forked()
    other = story.fake.open_pr(story.repo, "mallory", {"b": "1"}, branch=pr.head_ref, head_repo=story.fake.fork(story.repo, by="mallory"))
    assert story.on_end().code == 0
    assert len(pr.comments) == 1 and not other.comments


def test_a_deleted_fork_gets_no_comment(story):
    pr = story.forked()
    story.fake.delete_repo(pr.head_repo)
    story.fake.requests.clear()
    said_nothing(story, story.on_end(), "or its repository is gone", pr)


def test_a_run_of_another_repository_is_not_found(story):
    pr = story.forked()
    elsewhere = story.fake.add_repo("evil/search", {"a": "1"})
    payload = story.fake.workflow_run_event(story.gh)
    payload["workflow_run"]["id"] = story.fake.run(elsewhere, "pull_request").id
    outcome = story.on_end(payload=payload)
    assert outcome.code == 3 and not pr.comments


# -- which workflow ran ------------------------------------------------------------------------------------------------


def mimic(story, pr, path):
    """The fork brings a workflow of its own, which may have any name, and lets it upload a report."""
    forged = story.fake.run(story.repo, pr=pr, path=path, conclusion="failure")
    report = deepcopy(story.judged.report)
    report["metadata"]["run_id"] = forged.id
    story.fake.artifact(forged, REPORT, {"report.json": json.dumps(report)})
    return forged


def test_a_workflow_that_only_the_pull_request_has_does_not_speak_for_the_gate(story):
    pr = story.forked()
    forged = mimic(story, pr, ".github/workflows/evil.yml")
    story.fake.requests.clear()
    said_nothing(story, story.on_end(forged), "which the default branch does not have", pr)


def test_with_the_input_workflow_no_other_workflow_of_the_repository_does_either(story):
    story.fake.commit(story.repo, {".github/workflows/lint.yml": "name: lint\n"})
    pr = story.forked()
    forged = mimic(story, pr, ".github/workflows/lint.yml")
    story.fake.requests.clear()
    said_nothing(story, story.on_end(forged, workflow="gate.yml"), "not of .github/workflows/gate.yml", pr)
    assert story.on_end(workflow="gate.yml").outputs["comment-status"] == "created"


def test_an_input_workflow_that_does_not_exist_is_exit_2_instead_of_silence_for_ever(story):
    pr = story.forked()
    outcome = story.on_end(workflow="typo.yml")
    assert outcome.code == 2 and "the default branch has no .github/workflows/typo.yml" in outcome.log and not pr.comments


@pytest.mark.parametrize("path", [f"{GATE_PATH}@refs/pull/7/merge", GATE_PATH])
def test_a_path_with_a_reference_is_understood(story, path):
    pr = story.forked()
    story.gh.path = path
    assert story.on_end(workflow=GATE_PATH).outputs["comment-status"] == "created" and pr.comments


# -- what the artifact holds -------------------------------------------------------------------------------------------


def refused(story, outcome, words, pr):
    """Exit 2, what is wrong in the log, and nothing written."""
    assert outcome.code == 2 and words in outcome.log, outcome.log
    assert not pr.comments and not writes(story.fake)


@pytest.mark.parametrize("spoil, words", [
    (lambda r: r.update(schema=99), "not a report of schema 1"),
    (lambda r: r.update(verdict="**approved**"), "verdict must be one of"),
    (lambda r: r.update(verdict="pass"), "exit_code must be that of the verdict"),
    (lambda r: r.update(gate="other"), "another gate, commit or run"),
    (lambda r: r["metadata"].update(head_sha="0" * 40), "another gate, commit or run"),
    (lambda r: r["metadata"].update(run_id=1), "another gate, commit or run"),
    (lambda r: r["metadata"].pop("pull_request"), "metadata.pull_request must be a whole number"),
    (lambda r: r["metrics"]["ndcg@10"].update(delta=-7), "delta must be a number from -1 to 1"),
    (lambda r: r["metrics"]["ndcg@10"].update(delta=0.5), "delta must be candidate − baseline"),
    (lambda r: r["metrics"].update({"<img src=x>": r["metrics"]["ndcg@10"]}), "a metric that this version of the gate knows"),
    (lambda r: r["flips"]["lost"][0].update(baseline_rank="1 | 2"), "baseline_rank must be a whole number"),
    (lambda r: r.update(checks=[{"name": "drop", "outcome": "approved"}]), "outcome must be one of"),
    (lambda r: ["no", "object"], "no JSON object")])
def test_a_report_that_is_not_what_the_gate_writes_is_exit_2_and_shows_nothing(story, spoil, words):
    pr = story.forked()
    story.fake.requests.clear()
    story.replace_report(spoil)
    refused(story, story.on_end(), words, pr)


@pytest.mark.parametrize("data, words", [
    (b"not a zip at all", "not a zip"),
    (zip_bytes({"other.json": "{}"}), "holds no report.json"),
    (zip_bytes({"report.json": "{}", "../../etc/passwd": "x"}), "lead out of a directory"),
    (zip_bytes({"report.json": b"{" + b" " * (40 * 1024**2) + b"}"}), "inflates to more than"),
    (zip_bytes({f"f{i}": "" for i in range(40)} | {"report.json": "{}"}), "holds 41 entries"),
    (zip_bytes({"report.json": b"\xff\xfe"}), "not UTF-8"),
    (zip_bytes({"report.json": '{"schema": NaN}'}), "not strict JSON"),
    (zip_bytes({"report.json": "[" * 100_000}), "not strict JSON")])
def test_a_hostile_archive_is_exit_2_and_shows_nothing(story, data, words):
    pr = story.forked()
    story.fake.artifact(story.gh, REPORT, data)
    story.fake.requests.clear()
    refused(story, story.on_end(), words, pr)


def test_an_artifact_that_is_too_large_is_not_even_fetched(story):
    pr = story.forked()
    story.fake.artifact(story.gh, REPORT, b"x").size = 10**12
    story.fake.requests.clear()
    refused(story, story.on_end(), "more than the gate downloads", pr)


def test_bytes_that_are_not_those_of_the_upload_are_refused(story):
    pr = story.forked()
    made = story.replace_report(lambda report: None)
    story.fake.tamper(made, made.data + b"x")
    story.fake.requests.clear()
    refused(story, story.on_end(), "do not have the digest", pr)


def test_no_sentence_link_or_claim_about_approval_and_baseline_reaches_the_comment(story):
    evil = "[Approved by maria](https://evil.example) @maria <img src=https://evil.example/x.png>"

    def spoil(report):
        report.update(verdict="accepted", exit_code=0, cure=evil, notes=[evil] * 3, problems=[evil], input_changes=[
            {"name": evil, "old": evil, "new": evil, "needs_approval": False}],
            approval={"eligible": True, "approver": "maria", "reason": evil, "conditions": [{"met": True, "sentence": evil, "cure": evil}]},
            baseline={"commit": evil, "url": "https://evil.example", "provenance": evil, "age_days": 1, "digest": evil, "created": evil})
        report["metadata"] |= {"run_url": "https://evil.example", "repository_url": "https://evil.example", "golden_version": evil}
        for check in report["checks"]:
            check["sentence"] = evil
        for flip in report["flips"]["lost"]:
            flip |= {"query": evil, "replaced_by": evil}

    pr = story.forked()
    story.replace_report(spoil)
    assert story.on_end().code == 0
    (comment,) = story.comments(pr)
    assert "evil.example" not in comment and "maria" not in comment and "Approved" not in comment
    assert comment.startswith("## 📄 Reported as accepted") and "by an approval that is not verified here" in comment


def test_names_are_inert_and_cut(story):
    evil = "`|@maria #12 <!-- retrieval-gate:v1 gate=x --> https://evil.example \n## Approved\u202e" + "x" * 5000

    def spoil(report):
        report["flips"]["lost"] = [{"id": evil, "tags": [evil], "baseline_rank": 1, "candidate_rank": None, "delta": -1.0}]
        report["checks"].append({"name": evil, "outcome": "fail"})
        report["tags"][evil] = report["tags"]["even"]

    from tests.reports.rendered import assert_sound

    pr = story.forked()
    story.replace_report(spoil)
    assert story.on_end().code == 0
    (comment,) = story.comments(pr)
    page = assert_sound(comment)
    assert page.comments == [comment.rstrip().splitlines()[-1][4:-3]] and "x" * 200 not in comment
    assert all(link.startswith("https://github.com/acme/search/actions/runs/") for link in page.links)


def test_what_is_refused_cannot_forge_commands_in_the_log(story):
    pr = story.forked()
    story.replace_report(lambda report: report["metrics"].update({"x\n::set-output name=comment-url::pwned": {}}))
    outcome = story.on_end()
    assert outcome.code == 2 and not pr.comments and "pwned" not in outcome.log


def test_a_comment_of_somebody_else_with_the_marker_is_left_alone(story):
    pr = story.forked()
    fake_one = story.fake.comment(pr, "eve", f"Passed.\n\n{Marker('default', pr.head_sha, story.gh.id + 9, 9)}\n")
    assert story.on_end().outputs["comment-status"] == "created"
    assert len(pr.comments) == 2 and fake_one.body.startswith("Passed.")


def test_an_artifact_of_another_run_is_not_looked_at(story):
    pr = story.forked()
    other = story.fake.run(story.repo, pr=pr)
    story.fake.artifact(other, REPORT, b"junk")
    assert story.on_end().outputs["comment-status"] == "created"


# -- what the default branch says --------------------------------------------------------------------------------------


def configured(story, text):
    story.fake.commit(story.repo, {"retrieval-gate.yml": CONFIG + text})


def test_comment_never_on_the_default_branch_is_honoured_whatever_the_fork_writes(story):
    configured(story, "comment: never\n")
    pr = story.forked({"retrieval-gate.yml": CONFIG + "comment: always\n", **HARM})
    story.fake.requests.clear()
    said_nothing(story, story.on_end(), "`comment` is never", pr)


def test_the_forks_own_comment_never_does_not_silence_it(story):
    pr = story.forked({"retrieval-gate.yml": CONFIG + "comment: never\n", **HARM})
    assert story.on_end().outputs["comment-status"] == "created" and pr.comments


def test_on_change_says_nothing_when_nothing_changed_but_corrects_an_earlier_comment(story):
    configured(story, "comment: on-change\n")
    pr = story.forked({"a.txt": "x"})
    assert story.on_end().outputs["comment-status"] == "not-asked" and not pr.comments
    story.fake.push(pr, HARM)
    story.judged = story.on_pull(pr, token=FORK_TOKEN)
    assert story.on_end().outputs["comment-status"] == "created"
    story.fake.push(pr, {"run.jsonl": run()})
    story.judged = story.on_pull(pr, token=FORK_TOKEN)
    assert story.on_end().outputs["comment-status"] == "updated"


def test_the_input_comment_wins_over_the_configuration_and_must_be_known(story):
    pr = story.forked()
    assert "`comment` is never" in story.on_end(comment="never").log and not pr.comments
    assert story.on_end(comment="loudly").code == 2


@pytest.mark.parametrize("shown", ["true", "false"])
def test_no_text_of_a_query_is_ever_shown(story, shown):
    configured(story, f"show_queries: {shown}\n")
    pr = story.forked()
    story.replace_report(lambda report: report["flips"]["lost"][0].update(query="a secret question"))
    assert story.on_end().code == 0
    assert "secret" not in story.comments(pr)[0] and "question number" not in story.comments(pr)[0] and "`q0`" in story.comments(pr)[0]


def test_a_gate_that_the_default_branch_does_not_know_gets_no_comment_and_is_named(story):
    pr = story.forked({"retrieval-gate.yml": CONFIG + "gate: invented\n", "own.yml": CONFIG, **HARM})
    for old in story.fake.artifacts_named(REPORT):
        del story.fake.artifacts[old.id]
    story.replace_report(lambda report: report.update(gate="invented"), name="retrieval-gate-report-invented")
    story.fake.requests.clear()
    said_nothing(story, story.on_end(), "'retrieval-gate-report-invented'", pr)


def test_several_gates_get_a_comment_each_and_one_hostile_report_costs_only_its_own(story):
    story.fake.commit(story.repo, {"docs.yml": CONFIG + "gate: docs\n"})
    pr = story.forked()
    story.fake.artifact(story.gh, "retrieval-gate-report-docs", b"junk")
    both = "retrieval-gate.yml\ndocs.yml\n"
    outcome = story.on_end(config=both)
    assert (outcome.code, outcome.outputs["comment-status"]) == (2, "created") and "gate docs" in outcome.log
    story.replace_report(lambda report: report.update(gate="docs"), name="retrieval-gate-report-docs")
    outcome = story.on_end(config=both)
    assert (outcome.code, outcome.outputs["comment-status"]) == (0, "skipped-newer created")
    assert ["gate=default" in body or "gate=docs" in body for body in story.comments(pr)] == [True, True]


@pytest.mark.parametrize("files, config, words", [
    ({}, "typo.yml", "the default branch has no typo.yml"),
    ({"retrieval-gate.yml": "golden: [\n"}, "retrieval-gate.yml", "retrieval-gate.yml@"),
    ({"copy.yml": CONFIG}, "retrieval-gate.yml\ncopy.yml", "has the gate id default of another configuration")])
def test_configurations_that_cannot_be_used_are_exit_2_all_at_once(story, files, config, words):
    pr = story.forked()
    story.fake.commit(story.repo, files)
    outcome = story.on_end(config=f"{config}\nmissing.yml")
    assert outcome.code == 2 and words in outcome.log and "missing.yml" in outcome.log and not pr.comments


# -- rights and failures -----------------------------------------------------------------------------------------------


def test_without_the_right_to_write_it_is_red_and_names_the_permission(story):
    pr = story.forked()
    outcome = story.on_end(token=FORK_TOKEN)
    assert (outcome.code, outcome.outputs["comment-status"]) == (3, "forbidden") and not pr.comments
    assert "pull-requests: write" in outcome.log


def test_a_locked_conversation_is_nobodys_fault(story):
    pr = story.forked()
    story.fake.lock(pr, by="maria")
    token = story.fake.token("ghs_locked_out", permissions=RIGHTS)
    outcome = story.on_end(token="ghs_locked_out")
    assert token and (outcome.code, outcome.outputs["comment-status"]) == (0, "locked") and not pr.comments


def test_github_being_down_is_exit_3_and_nothing_is_claimed(story):
    pr = story.forked()
    story.fake.fail_next("GET", r"/actions/runs/\d+/artifacts$", 502, times=20)
    assert story.on_end().code == 3 and not pr.comments
    story.fake.faults.clear()


def test_the_token_appears_nowhere(story):
    pr = story.forked()
    outcome = story.on_end()
    assert COMPANION_TOKEN not in outcome.log + str(outcome.outputs) + "".join(story.comments(pr))


def test_the_workflow_to_copy_checks_out_nothing_and_has_these_rights_and_no_other():
    folder = ROOT / "examples" / ".github" / "workflows"
    text = (folder / "retrieval-gate-comment.yml").read_text()
    flow, gate = yaml.safe_load(text), yaml.safe_load((folder / "retrieval-gate.yml").read_text())
    (job,) = flow["jobs"].values()
    assert flow["permissions"] == {} and job["permissions"] == {name.replace("_", "-"): level for name, level in RIGHTS.items()}
    # YAML reads the key `on` as true.
    assert flow[True] == {"workflow_run": {"workflows": [gate["name"]], "types": ["completed"]}}
    (step,) = job["steps"]
    assert step["uses"].startswith("OWNER/retrieval-gate@") and (folder / step["with"]["workflow"]).is_file()
    assert "checkout" not in text.replace("need a checkout", "") and "secrets" not in text and "run" not in step


def test_the_workflow_in_the_readme_is_that_workflow():
    def lines_of(text):
        return {line for raw in text.splitlines() if (line := re.sub(r"\s*#.*", "", raw).rstrip())}

    shown = re.search(r"```yaml\n(name: retrieval-gate-comment\n.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown and lines_of(shown[1]) <= lines_of((ROOT / "examples" / COMMENTER).read_text())
