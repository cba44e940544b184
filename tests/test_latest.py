"""The comparison with the latest run on main, beside the one with the approved baseline."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate import pipeline, references
from gate.baseline.approval import Eligibility
from gate.baseline.record import Provenance, Record, pack
from gate.cli import main
from gate.errors import InvalidInput
from gate.policy import OUTCOMES, Policy
from gate.reports.advice import advice
from gate.reports.headline import headline
from gate.reports.words import plain
from gate.runs import Ranking, Run
from gate.scoring.metrics import parse_metric
from tests.conftest import golden_set, run_of
from tests.story import golden, run

N = 300


def world(n=N, *missing_in):
    """A golden set of ``n`` queries, and a run for each set of queries that do not find their document; each ranks differently."""
    runs = [run_of({f"q{i}": ["x"] if i in those else ["a"] for i in range(n)}) for those in missing_in]
    return golden_set({f"q{i}": ["a"] for i in range(n)}), *runs


def assessed(n, baseline, latest, candidate, policy=None, **around):
    """``baseline``, ``latest``, ``candidate``: which queries miss."""
    gold, old, now, new = world(n, set(baseline), set(latest), set(candidate))
    return pipeline.assess(gold, new, references.Reference(old), policy or Policy(), pipeline.Circumstances(**around),
                           latest=references.Reference(now))


def outcomes(report):
    return {check.name: check.outcome for check in report.checks}


def check(report, name):
    return next(c for c in report.checks if c.name == name)


@pytest.mark.parametrize("baseline, latest, candidate, anchor, drop", [
    (30, 0, 30, "pass", "fail"), (0, 30, 30, "fail", "pass"), (0, 15, 30, "fail", "fail"), (0, 30, 0, "pass", "pass"),
    (30, 10, 10, "pass", "pass"), (0, 1, 4, "inconclusive", "inconclusive"), (3, 0, 3, "pass", "inconclusive")])
def test_both_checks_go_by_the_same_rule_each_against_its_own_reference(baseline, latest, candidate, anchor, drop):
    report = assessed(N, range(baseline), range(latest), range(candidate))
    assert outcomes(report) == {"anchor": anchor, "drop": drop}
    assert report.verdict == max(anchor, drop, key=OUTCOMES.index)


def test_the_primary_numbers_stay_those_against_the_approved_baseline():
    report = assessed(N, range(30), (), range(30))
    assert report.comparison.main.delta == 0.0 and not report.comparison.lost and report.latest.comparison.main.delta == pytest.approx(-0.1)


def test_a_latest_run_that_ranks_like_the_baseline_says_nothing_of_its_own():
    report = assessed(N, range(5), range(5), range(30))
    assert report.latest is None and outcomes(report) == {"drop": "fail"} and not report.notes
    assert "Since" not in check(report, "drop").sentence


def test_one_that_knows_more_queries_than_the_baseline_does_even_though_the_shared_ones_rank_alike():
    gold = golden_set({f"q{i}": ["a"] for i in range(100)})
    old, now = (run_of({f"q{i}": ["a"] for i in range(n)}) for n in (80, 100))
    new = run_of({f"q{i}": ["a" if i < 80 else "x"] for i in range(100)})
    labels = {i: label for i, label in gold.labels.items() if int(i[1:]) < 80}
    report = pipeline.assess(gold, new, references.Reference(old, labels), Policy(), latest=references.Reference(now, gold.labels))
    assert outcomes(report) == {"anchor": "pass", "drop": "fail"} and len(report.latest.again) == 20
    assert report.latest.n == 80


def test_a_fall_since_the_baseline_that_is_not_settled_is_not_denied_beside_one_from_main():
    report = assessed(N, range(3, 33), [], range(33))
    assert outcomes(report) == {"anchor": "inconclusive", "drop": "fail"}
    assert "against main as it is now, and by 0.010 since the approved baseline: 30 queries" in plain(headline(report))
    again = assessed(N, range(33), [], range(33))
    assert "though not against the approved baseline" in plain(headline(again))


def test_where_no_query_can_be_compared_the_headline_says_so_and_blames_nobody():
    gold, run = world(12, set())
    policy = Policy(primary=parse_metric("candidate-recall@10"))
    named = Run({i: Ranking(["a", "b"], candidates=["a"]) for i in run.rankings})
    report = pipeline.assess(gold, named, references.Reference(run), policy, latest=references.Reference(named))
    assert outcomes(report)["anchor"] == "fail" and plain(headline(report)).startswith("No query of this golden set can be compared")
    assert "earlier changes" not in plain(advice(report))


def test_queries_that_are_lost_again_are_those_that_the_baseline_did_not_find():
    report = assessed(N, range(20), (), range(30))
    assert [change.id for change in report.latest.again] == sorted(f"q{i}" for i in range(20)) and len(report.comparison.lost) == 10
    assert "20 queries that main had gained are lost again: q0, q1, q10," in check(report, "drop").sentence


def test_an_approval_accepts_both():
    report = assessed(N, (), range(15), range(30), approval=Eligibility(True, (), approver="maria", reason="worth it"))
    assert report.verdict == "accepted" and report.exit_code == 0


def test_inconclusive_against_main_alone_counts_as_the_policy_says():
    assert assessed(N, range(3), (), range(3)).exit_code == 0
    assert assessed(N, range(3), (), range(3), Policy(inconclusive="fail")).exit_code == 4


subsets = st.sets(st.integers(0, 39), max_size=40)


@settings(deadline=None, max_examples=60)
@given(subsets, subsets, subsets)
def test_the_parts_add_up_and_a_second_reference_never_makes_a_verdict_milder(baseline, latest, candidate):
    report = assessed(40, baseline, latest, candidate)
    gold, old, new = world(40, baseline, candidate)
    alone = pipeline.assess(gold, new, references.Reference(old), Policy())
    assert OUTCOMES.index(report.verdict) >= OUTCOMES.index(alone.verdict)
    anchor = check(report, "anchor" if report.latest else "drop")
    assert (anchor.outcome, anchor.numbers["delta"]) == (alone.checks[0].outcome, alone.checks[0].numbers["delta"])
    if report.latest:
        assert report.latest.on_main + report.latest.by_change == pytest.approx(report.comparison.main.delta)
        assert {c.id for c in report.latest.again} == {f"q{i}" for i in (baseline & candidate) - latest}
    else:
        assert baseline == latest


def record(ranked: Run, **fields):
    return Record(**{"gate": "default", "rankings": ranked.rankings, "golden_digest": "g", "labels": dict.fromkeys(ranked.rankings, "x"),
                     "commit": "c0ffee1", "depth": 20, "provenance": Provenance("latest"), **fields})


CORPUS = {"corpus_digest": "sha256:" + "b" * 64, "snapshot_digest": "s", "retriever": {}}


def beside(latest, policy=None, **metadata):
    """The report of a change that loses what main had gained, were the latest record usable."""
    gold, old, new = world(N, set(range(30)), set(range(30)))
    return pipeline.assess(gold, new, references.Reference(old), policy or Policy(), pipeline.Circumstances(metadata=metadata),
                           latest=references.reference_of(latest))


@pytest.mark.parametrize("latest, policy, metadata, words", [
    (record(run_of({f"q{i}": ["a"] for i in range(149)})), None, {}, "has answers to only 149 of the 300 queries"),
    (record(Run({f"q{i}": Ranking([], error="boom") for i in range(N)})), None, {}, "has answers to only 0 of the 300 queries"),
    (record(run_of({f"q{i}": ["a"] for i in range(N)}), corpus_digest="sha256:" + "a" * 64), None,
     CORPUS, "another corpus (aaaaaaaaaaaa instead of bbbbbbbbbbbb)"),
    (record(run_of({f"q{i}": ["a"] for i in range(N)}), depth=5), None, {}, "holds 5 results for each query, too few for ndcg@10")])
def test_a_latest_run_that_does_not_fit_is_left_out_and_the_reason_is_said(latest, policy, metadata, words):
    report = beside(latest, policy, **metadata)
    assert report.latest is None and outcomes(report)["drop"] == "pass"
    (note,) = report.notes
    assert words in note and "(c0ffee1)" in note


def test_half_of_the_queries_and_the_same_corpus_are_enough():
    known = record(run_of({f"q{i}": ["a"] for i in range(150)}), corpus_digest=CORPUS["corpus_digest"])
    report = beside(known, **CORPUS)
    assert outcomes(report)["drop"] == "fail" and not report.notes


def test_metrics_that_look_deeper_than_the_latest_record_are_not_compared_with_it():
    policy = Policy(metrics=(parse_metric("recall@50"), parse_metric("hit@5")))
    report = beside(record(run_of({f"q{i}": ["a"] for i in range(N)})), policy)
    assert set(report.latest.comparison.metrics) == {"ndcg@10", "hit@5"}


def test_changed_labels_are_no_obstacle_because_both_sides_are_scored_under_todays():
    gold = golden_set({f"q{i}": ["b"] for i in range(N)})
    now, new = (run_of({f"q{i}": ranked for i in range(N)}) for ranked in (["a", "b"], ["a"]))
    # Under the labels of that time, `a` was relevant, and the candidate would have lost nothing.
    report = pipeline.assess(gold, new, references.Reference(new), Policy(), latest=references.reference_of(record(now)))
    assert outcomes(report) == {"anchor": "pass", "drop": "fail"} and len(report.latest.again) == N


def test_three_run_files_that_find_nothing_are_no_comparison_but_one_that_does_is():
    everything = range(N)
    with pytest.raises(InvalidInput, match="found a relevant document, at any depth or side"):
        assessed(N, everything, everything, everything)
    assert outcomes(assessed(N, everything, [], everything)) == {"anchor": "pass", "drop": "fail"}


def test_a_latest_record_is_refused_as_the_baseline():
    gold, now = world(N, set())
    with pytest.raises(InvalidInput, match="nobody has approved it") as caught:
        pipeline.assess(gold, now, references.reference_of(record(now)), Policy())
    assert "--latest" in caught.value.cure


# -- on the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    for name, text in (("golden.jsonl", golden()), ("old.jsonl", run(lost=30)), ("now.jsonl", run()),
                       ("new.jsonl", run(lost=30, noise="z"))):
        (tmp_path / name).write_text(text)
    return tmp_path


def compare(files, *more, baseline="old.jsonl"):
    return main(["compare", "--golden", str(files / "golden.jsonl"), "--baseline", str(files / baseline), "--candidate",
                 str(files / "new.jsonl"), *map(str, more)])


def test_compare_takes_a_second_reference_and_shows_both(files, capsys):
    assert compare(files) == 0
    capsys.readouterr()
    assert compare(files, "--latest", files / "now.jsonl") == 1
    shown = capsys.readouterr().out
    assert "nDCG@10 against" in shown and "the latest run on main" in shown and "30 queries that main had gained are lost again" in shown
    assert compare(files, "--latest", files / "now.jsonl", "--format", "json") == 1
    assert json.loads(capsys.readouterr().out)["latest"]["by_change"] == pytest.approx(-0.1)


def test_run_takes_one_beside_a_baseline_and_not_instead_of_it(files, capsys):
    (files / "gate.yml").write_text("golden: golden.jsonl\nretriever: {kind: run, file: new.jsonl}\ndepth: 10\n")
    words = ["run", "--config", str(files / "gate.yml"), "--latest", str(files / "now.jsonl")]
    assert main(words) == 2 and "--baseline as well" in capsys.readouterr().err
    assert main([*words, "--baseline", str(files / "old.jsonl")]) == 1


def test_a_latest_record_can_be_looked_at_and_is_no_baseline_here_either(files, capsys):
    from gate.runs import read_run

    stored = replace(record(read_run(files / "now.jsonl")), depth=10)
    (files / "latest.json.gz").write_bytes(pack(stored))
    assert main(["baseline", "show", str(files / "latest.json.gz")]) == 0
    shown = capsys.readouterr().out
    assert "nobody has approved it, and it is no baseline" in shown and "parent" not in shown
    assert compare(files, baseline="latest.json.gz") == 2 and "nobody has approved it" in capsys.readouterr().err
    assert compare(files, "--latest", files / "latest.json.gz") == 1
