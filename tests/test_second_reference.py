"""The second reference over the life of a repository: what main retrieves now, beside the approved baseline."""

from dataclasses import replace
from hashlib import sha256

import pytest

from gate.baseline.manifest import pack_artifact, unpack_artifact
from gate.baseline.record import pack, unpack
from gate.github.archives import read_zip
from gate.jsonio import gzip_bytes
from tests.fake_github import GATE_PATH
from tests.story import CONFIG, N, Story, golden, lines, run

HARM = {"run.jsonl": run(lost=30)}


def checks(outcome):
    return {check["name"]: check for check in outcome.report["checks"]}


@pytest.fixture
def ahead(story):
    """A story whose main has found thirty queries more than its baseline, and nobody has locked that in."""
    story.fake.commit(story.repo, HARM)
    story.on_push()
    gain = story.merged(story.pull({"run.jsonl": run()}))
    assert (gain.code, gain.verdict, gain.outputs["baseline-updated"]) == (0, "pass", "carried")
    return story


def test_a_change_that_loses_a_gain_which_nobody_locked_in_is_red_and_says_so(ahead):
    tip, pr = ahead.repo.tip, ahead.pull({"run.jsonl": run(lost=30, noise="z")})
    outcome = ahead.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict) == (1, "fail")
    assert {name: check["outcome"] for name, check in checks(outcome).items()} == {"anchor": "pass", "drop": "fail"}
    assert "30 queries that main had gained are lost again" in ahead.comments(pr)[0].splitlines()[2]
    assert outcome.report["primary"]["delta"] == 0.0 and outcome.outputs["lost"] == "0"
    latest = outcome.report["latest"]
    assert latest["commit"] == tip and latest["delta"] == pytest.approx(-0.1) and len(latest["lost_again"]) == 30


def test_what_was_merged_before_mains_run_has_ended_is_not_laid_to_the_change_unsaid(ahead):
    pr = ahead.pull(HARM)
    assert not [note for note in ahead.on_pull(pr, "opened").report["notes"] if "merged in between" in note]
    ran = ahead.repo.tip
    ahead.fake.commit(ahead.repo, {"other.txt": "merged a minute ago"})
    (note,) = [note for note in ahead.on_pull(pr).report["notes"] if "merged in between" in note]
    assert ran[:7] in note and ahead.repo.tip[:7] in note
    assert not ahead.on_pull(ahead.pull({"README.md": "x"}), "opened").report["notes"]


def test_such_a_loss_can_be_approved_like_any_other_and_makes_the_next_baseline(ahead):
    pr = ahead.pull(HARM)
    ahead.approve(pr, why="The index that found more was too slow.")
    assert ahead.on_pull(pr).verdict == "accepted"
    assert ahead.merged(pr).outputs["baseline-updated"] == "approved"
    after = ahead.on_pull(ahead.pull({"README.md": "x"}), "opened")
    assert (after.code, after.report["latest"]) == (0, None) and checks(after)["drop"]["outcome"] == "pass"


def test_merged_all_the_same_it_is_red_on_main_once_and_is_then_what_main_retrieves(ahead):
    outcome = ahead.merged(ahead.pull(HARM))
    assert (outcome.code, outcome.outputs["baseline-updated"]) == (1, "carried") and checks(outcome)["drop"]["outcome"] == "fail"
    # Nobody who comes later is blamed for it.
    assert ahead.on_pull(ahead.pull({"README.md": "x"}), "opened").code == 0


def test_a_change_that_keeps_mains_gain_has_nothing_to_do_with_it(ahead):
    outcome = ahead.on_pull(ahead.pull({"README.md": "x"}), "opened")
    assert (outcome.code, outcome.verdict) == (0, "pass")
    assert "All rankings are identical to those of main" in checks(outcome)["drop"]["sentence"]
    assert outcome.report["latest"]["on_main"] == pytest.approx(0.1) and outcome.report["latest"]["by_change"] == 0.0


def test_small_losses_that_add_up_are_red_by_the_anchor_though_the_last_step_alone_passes(fake, tmp_path, capsys):
    n, step = 3000, 21  # 0.007 each, of a tolerance of 0.02
    story = Story(fake, tmp_path, capsys, {"retrieval-gate.yml": CONFIG, "golden.jsonl": golden(n), "run.jsonl": run(n=n), GATE_PATH: "x"})
    story.on_push()
    for number in (1, 2):
        pr = story.pull({"run.jsonl": run(lost=number * step, n=n)})
        assert story.on_pull(pr, "opened").code == 0
        assert story.merged(pr).code == 0
    pr = story.pull({"run.jsonl": run(lost=3 * step, n=n)})
    outcome = story.on_pull(pr, "opened")
    found = checks(outcome)
    assert outcome.code == 1 and (found["anchor"]["outcome"], found["drop"]["outcome"]) == ("fail", "pass")
    assert "Of this, −0.014 was on main before and −0.007 comes from this change." in found["anchor"]["sentence"]
    assert "Most of the fall came with earlier changes on main" in story.comments(pr)[0]
    story.approve(pr, why="Each of them is worth it.")
    assert story.on_pull(pr).verdict == "accepted" and story.merged(pr).outputs["baseline-updated"] == "approved"


def test_when_main_is_red_a_change_that_moves_nothing_is_told_that_it_is_not_its_doing(started):
    assert started.merged(started.pull(HARM)).code == 1
    pr = started.pull({"README.md": "x"})
    outcome = started.on_pull(pr, "opened")
    assert outcome.code == 1 and {n: c["outcome"] for n, c in checks(outcome).items()} == {"anchor": "fail", "drop": "pass"}
    assert "all of it was on main before, this change moves nothing" in started.comments(pr)[0]
    # And one that makes it worse is told what its own part is.
    worse = started.on_pull(started.pull({"run.jsonl": run(lost=50)}), "opened")
    assert "−0.100 was on main before and −0.067 comes from this change" in checks(worse)["anchor"]["sentence"]
    assert checks(worse)["drop"]["outcome"] == "fail"


def test_mending_a_red_main_is_green(started):
    started.merged(started.pull(HARM))
    assert started.on_pull(started.pull({"run.jsonl": run()}), "opened").verdict == "pass"


def test_comment_on_change_is_silent_for_a_change_that_leaves_everything_as_it_is_on_main(ahead):
    ahead.fake.commit(ahead.repo, {"retrieval-gate.yml": CONFIG + "comment: on-change\n"})
    pr = ahead.pull({"README.md": "x"})
    assert ahead.on_pull(pr, "opened").outputs["comment-status"] == "not-asked" and not ahead.comments(pr)
    ahead.fake.push(pr, {"run.jsonl": run(noise="z")})
    assert ahead.on_pull(pr).outputs["comment-status"] == "created"


def test_a_group_in_the_merge_queue_is_set_against_main_as_well(ahead):
    assert ahead.on_group(ahead.fake.queue(ahead.pull(HARM))).code == 1


def test_queries_that_were_added_on_main_are_guarded_from_its_next_run_on(started):
    more = {"golden.jsonl": golden(N + 30), "run.jsonl": run(n=N + 30)}
    assert started.merged(started.pull(more)).code == 0
    forgets = started.pull({"run.jsonl": lines({"id": f"q{i}", "ranked": [f"d{i}" if i < N else "x"]} for i in range(N + 30))})
    outcome = started.on_pull(forgets, "opened")
    assert outcome.code == 1 and checks(outcome)["drop"]["outcome"] == "fail" and checks(outcome)["anchor"]["outcome"] == "pass"


def test_queries_that_were_added_on_main_can_be_neither_removed_nor_relabelled_without_an_approval(started):
    more = {"golden.jsonl": golden(N + 30), "run.jsonl": run(n=N + 30)}
    started.merged(started.pull(more))
    pr = started.pull({"golden.jsonl": golden(), "run.jsonl": run()})
    outcome = started.on_pull(pr, "opened")
    assert outcome.code == 1 and checks(outcome)["change golden queries removed"]["outcome"] == "fail"
    assert "30 known to main" in started.comments(pr)[0] and "Golden queries that main knows are removed" in started.comments(pr)[0]
    started.approve(pr, why="They were duplicates.")
    assert started.on_pull(pr).verdict == "accepted"
    relabelled = golden() + lines({"id": f"q{i}", "query": f"question number {i}", "relevant": ["x"]} for i in range(N, N + 30))
    outcome = started.on_pull(started.pull({"golden.jsonl": relabelled}), "opened")
    assert outcome.code == 1 and checks(outcome)["change golden queries relabelled"]["outcome"] == "fail"


def test_a_schedule_that_finds_main_as_it_was_has_one_reference(started):
    assert started.on_schedule().report["latest"] is None
    outcome = started.on_pull(started.pull(HARM), "opened")
    assert outcome.report["latest"] is None and list(checks(outcome)) == ["drop"]


def without_latest(manifest, record, beside):
    return pack_artifact(replace(manifest, latest_digest=""), record)


def other_gate(manifest, record, beside):
    forged = replace(unpack(beside, "x"), gate="other")
    return pack_artifact(replace(manifest, latest_digest=forged.digest), record, pack(forged))


def other_commit(manifest, record, beside):
    forged = replace(unpack(beside, "x"), commit="f" * 40)
    return pack_artifact(replace(manifest, latest_digest=forged.digest), record, pack(forged))


def other_repository(manifest, record, beside):
    forged = replace(unpack(beside, "x"), repository_id=5)
    return pack_artifact(replace(manifest, latest_digest=forged.digest), record, pack(forged))


def swapped(manifest, record, beside):
    return pack_artifact(manifest, record, pack(replace(unpack(beside, "x"), rankings={})))


def the_baseline_itself(manifest, record, beside):
    return pack_artifact(replace(manifest, latest_digest=manifest.record_digest), record, record)


def cut(manifest, record, beside):
    return pack_artifact(manifest, record, beside[:-20])


def bomb(manifest, record, beside):
    return pack_artifact(manifest, record, gzip_bytes(b"\0" * 50_000_000))


def gone(manifest, record, beside):
    return pack_artifact(manifest, record)


@pytest.mark.parametrize("spoil, words", [
    (without_latest, "kept no record of the run itself"), (other_gate, "its gate is 'other'"), (other_commit, "its commit is 'fff"),
    (other_repository, "its repository id is 5"), (swapped, "its digest is"), (the_baseline_itself, "its kind is 'bootstrap'"),
    (cut, "cut or damaged"), (bomb, "latest.json.gz"), (gone, "holds no latest.json.gz")])
def test_a_latest_record_that_cannot_be_trusted_costs_the_second_comparison_and_a_note_and_nothing_else(ahead, spoil, words):
    stored = ahead.baselines()[0]
    manifest, _, record = unpack_artifact(stored.data, "x")
    beside = read_zip(stored.data, ("latest.json.gz",))["latest.json.gz"]
    stored.data = spoil(manifest, record, beside)
    stored.digest = "sha256:" + sha256(stored.data).hexdigest()
    stored.size = len(stored.data)
    outcome = ahead.on_pull(ahead.pull(HARM), "opened")
    assert (outcome.code, outcome.verdict, outcome.report["latest"]) == (0, "pass", None)
    (note,) = [note for note in outcome.report["notes"] if "compared with the baseline only" in note]
    assert words in note
    assert ahead.on_pull(ahead.pull({"run.jsonl": run(lost=60)}), "opened").code == 1


def test_a_latest_record_is_never_taken_for_the_baseline(ahead):
    stored = ahead.baselines()[0]
    manifest, old, _ = unpack_artifact(stored.data, "x")
    beside = read_zip(stored.data, ("latest.json.gz",))["latest.json.gz"]
    stored.data = pack_artifact(replace(manifest, record_digest=unpack(beside, "x").digest, latest_digest=""), beside)
    stored.digest, stored.size = "sha256:" + sha256(stored.data).hexdigest(), len(stored.data)
    outcome = ahead.on_pull(ahead.pull({"README.md": "x"}), "opened")
    assert outcome.outputs["baseline-sha"] == old.commit and "contradict each other" in str(outcome.report["notes"])
