"""Tiers and splits: through the pipeline, on the command line, and in a repository's life."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import pipeline, references
from gate.baseline.manifest import unpack_artifact
from gate.cli import main
from gate.errors import CannotDecide, InvalidInput
from gate.golden.model import Version
from gate.golden.splits import of_splits, silent_splits
from gate.policy import Policy, Protected
from gate.reports.annotations import annotations
from gate.reports.comment import render_comment
from gate.reports.files import write_reports
from gate.reports.json_report import report_json
from gate.reports.text import render_text
from gate.runs import Ranking, Run
from tests.conftest import golden_set, run_of
from tests.fake_github import GATE_PATH
from tests.story import CONFIG, Story, golden, lines, run

BLIND = 40


def blind_golden(n=BLIND):
    return lines({"id": f"b{i}", "query": f"secret question {i}", "relevant": [f"hidden-{i}"], "tags": ["even"], "split": "blind"}
                 for i in range(n))


def blind_run(lost=0, n=BLIND):
    return lines({"id": f"b{i}", "ranked": ["hidden-thief"] if i < lost else [f"hidden-{i}", "x"]} for i in range(n))


FILES = {"retrieval-gate.yml": CONFIG, "golden.jsonl": golden() + blind_golden(), "run.jsonl": run() + blind_run(),
         GATE_PATH: "name: gate\n"}
NIGHTLY = CONFIG + "tiers: {nightly: {splits: [dev, blind], policy: {tolerance: 0.01}}}\n"


# -- the pipeline ------------------------------------------------------------------------------------------------------


def a_set(n=30, blind=10, **fields):
    ids = [f"q{i}" for i in range(n)] + [f"b{i}" for i in range(blind)]
    return golden_set({i: [f"d-{i}"] for i in ids}, split={i: "blind" for i in ids if i[0] == "b"}, **fields)


def good(golden, lost=()):
    return run_of({q.id: ["x"] if q.id in lost else [f"d-{q.id}", "x"] for q in golden.queries})


def test_only_the_queries_of_the_splits_are_judged_and_the_others_are_neither_missing_nor_strange():
    golden = a_set()
    after = good(golden, {f"b{i}" for i in range(10)})
    report = pipeline.assess(golden, after, references.Reference(good(golden), golden.labels), Policy(), splits=("dev",))
    assert report.verdict == "pass" and report.comparison.main.n == 30 and report.candidate.excluded.extra == ()
    assert report.metadata["judged"] == {"dev": 30} and report.metadata["set_aside"] == {"blind": 10}
    both = pipeline.assess(golden, after, references.Reference(good(golden), golden.labels), Policy(), splits=("dev", "blind"))
    assert both.verdict == "fail" and both.comparison.main.n == 40 and "set_aside" not in both.metadata


def test_labels_of_queries_that_are_set_aside_still_count():
    old = a_set()
    removed = pipeline.assess(a_set(blind=9), good(old), references.Reference(good(old), old.labels), Policy(), splits=("dev",))
    assert removed.verdict == "fail" and removed.comparison.removed == ("b9",)
    moved = golden_set({i: [f"d-{i}"] for i in old.by_id}, split={i: "blind" for i in old.by_id if i[0] == "b" or i == "q7"})
    report = pipeline.assess(moved, good(old, {"q7"}), references.Reference(good(old), old.labels), Policy(), splits=("dev",))
    assert report.verdict == "fail" and report.comparison.relabelled == ("q7",) and report.comparison.main.n == 29


def test_a_split_that_a_side_never_answered_is_no_judgement_and_its_queries_are_listed():
    golden = a_set()
    part = Run({i: r for i, r in good(golden).rankings.items() if i[0] == "q"}, "main.jsonl")
    for candidate, reference in ((good(golden), part), (part, good(golden))):
        with pytest.raises(InvalidInput, match="main.jsonl: holds no ranking of any of the 10 queries of the split blind: b0, b1"):
            pipeline.assess(golden, candidate, references.Reference(reference), Policy(), splits=("dev", "blind"))
        assert pipeline.assess(golden, candidate, references.Reference(reference), Policy(), splits=("dev",)).verdict == "pass"


@given(st.dictionaries(st.integers(0, 9), st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1))
def test_a_split_is_silent_when_it_is_expected_to_answer_and_no_query_of_it_does(world):
    golden = golden_set({f"q{i}": ["d"] for i in world}, split={f"q{i}": "blind" for i, (blind, _, _) in world.items() if blind})
    answered = {f"q{i}" for i, (_, answers, _) in world.items() if answers}
    known = {f"q{i}" for i, (_, _, knows) in world.items() if knows}
    for expected in (None, known):
        ids = {s: [q.id for q in golden.queries if q.split == s and (expected is None or q.id in expected)] for s in ("dev", "blind")}
        assert silent_splits(golden, answered, expected) == {s: found for s, found in ids.items() if found and not answered & {*found}}


def test_blind_queries_that_are_new_are_not_expected_of_an_old_baseline():
    old, new = a_set(blind=0), a_set()
    report = pipeline.assess(new, good(new), references.Reference(good(old), old.labels), Policy(), splits=("dev", "blind"))
    assert report.verdict == "pass" and len(report.comparison.added) == 10


def test_a_tier_that_would_judge_nothing_is_a_fault_of_the_configuration():
    with pytest.raises(InvalidInput, match="no query is of the split blind that this tier judges; all are dev"):
        of_splits(a_set(blind=0), ("blind",))
    assert of_splits(golden := a_set(), ("dev", "blind")) is golden and of_splits(golden, ()) is golden


def test_what_the_rules_guard_in_another_split_is_said_to_be_set_aside_and_guarded_where_it_is_judged():
    golden = a_set(tags={"b0": ("exact",), "b1": ("must",), "q1": ("both",), "b2": ("both",)})
    policy = Policy(protected=(Protected("exact", 0.0), Protected("both", 0.0)), must_hit=("q0", "b5"), must_hit_tags=("must",))
    broken = good(golden, {"b0", "b1", "b5"})
    reference = references.Reference(good(golden), golden.labels)
    checks = {c.name: c for c in pipeline.assess(golden, broken, reference, policy, splits=("dev",)).checks}
    assert all(check.outcome == "pass" for check in checks.values())
    assert "b5, b1" in checks["must-hit set aside"].sentence and "does not judge" in checks["protected exact"].sentence
    assert checks["protected both"].numbers["n"] == 1
    failed = {c.name for c in pipeline.assess(golden, broken, reference, policy, splits=("dev", "blind")).checks if c.outcome == "fail"}
    assert {"protected exact", "must-hit"} <= failed


def test_a_must_hit_query_that_is_gone_altogether_is_missed_in_every_tier():
    report = pipeline.assess(a_set(), good(a_set()), None, Policy(must_hit=("b99",)), splits=("dev",))
    assert report.verdict == "fail"


def test_a_failure_on_a_query_that_is_set_aside_counts_and_a_blind_one_is_not_quoted():
    golden = a_set()
    broken = Run(dict(good(golden).rankings) | {"b3": Ranking([], error="KeyError: 'secret question'")}, "candidate")
    for splits in (("dev",), ("dev", "blind")):
        with pytest.raises(CannotDecide) as caught:
            pipeline.assess(golden, broken, None, Policy(), splits=splits)
        assert "'b3'" in caught.value.text() and "secret" not in caught.value.text()


# -- what no report may show -------------------------------------------------------------------------------------------


def test_no_report_shows_text_documents_or_rankings_of_a_blind_query(tmp_path):
    ids = [f"q{i}" for i in range(30)] + [f"b{i}" for i in range(10)]
    golden = golden_set({i: [f"{'hidden' if i[0] == 'b' else 'd'}-{i}"] for i in ids}, split={i: "blind" for i in ids if i[0] == "b"},
                        answerable={"b9": False})
    golden = type(golden)(tuple(q._replace(text=f"secret {q.id}", gains={} if q.id == "b9" else q.gains) if q.blind else q
                                for q in golden.queries), path="golden.jsonl")
    before = run_of({q.id: [*q.gains, "hidden-before"] if q.blind else [*q.gains] for q in golden.queries})
    after = run_of({q.id: ["hidden-thief", *[f"hidden-{n}" for n in range(12)], *q.gains] if q.blind else ["x", *q.gains]
                    for q in golden.queries})
    report = pipeline.assess(golden, after, references.Reference(before, golden.labels), Policy(must_hit=("b1", "q1")),
                             splits=("dev", "blind"))
    assert {c.id for c in report.comparison.lost} == {f"b{i}" for i in range(9)}
    write_reports(report, tmp_path, None)
    shown = [*(path.read_text() for path in tmp_path.iterdir()), render_text(report), render_comment(report),
             *(f"{a.message} {a.file}:{a.line}" for a in annotations(report, "golden.jsonl"))]
    assert all("b1" in text for text in shown[:3])
    assert not any(word in text for text in shown for word in ("secret", "hidden-"))
    assert not any(a.line for a in annotations(report, "golden.jsonl") if "b1" in a.message)
    assert 'class="what">A blind query' in (tmp_path / "report.html").read_text()
    flip = report_json(report)["flips"]["lost"][0]
    assert flip["baseline_rank"] == 1 and flip["candidate_rank"] == 14 and not {"query", "replaced_by"} & flip.keys()


def test_outdated_and_unjudged_documents_of_blind_queries_are_counted_and_not_named(tmp_path):
    golden = a_set(n=30, blind=30)
    kept = {"gains": {"hidden-now": 1.0, "hidden-junk": 0.0}, "versions": (Version(("hidden-now",), ("hidden-old",)),)}
    golden = type(golden)(tuple(q._replace(text=f"secret {q.id}", **kept) if q.blind else q for q in golden.queries))
    before = run_of({q.id: [*q.gains] for q in golden.queries})
    after = run_of({q.id: ["hidden-old", *[f"hidden-{n}" for n in range(4)], *q.gains] if q.blind else [*q.gains] for q in golden.queries})
    report = pipeline.assess(golden, after, references.Reference(before, golden.labels), Policy(), splits=("dev", "blind"))
    value = report_json(report)
    assert len(value["versions"]["stale"]) == 30
    assert value["condensed"]["entered"] == [{"doc": "(documents of blind queries)", "queries": 150}]
    write_reports(report, tmp_path, None)
    shown = [*(path.read_text() for path in tmp_path.iterdir()), render_text(report), render_comment(report)]
    assert not any(word in text for text in shown for word in ("secret", "hidden-"))


# -- on the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    for name, text in (FILES | {"retrieval-gate.yml": NIGHTLY, "worse.jsonl": run() + blind_run(lost=20), "dev.jsonl": run()}).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def command(files, word, *more):
    return main([word, "--config", str(files / "retrieval-gate.yml"), *map(str, more)])


def test_compare_judges_the_tier_that_is_named_and_all_queries_without_a_configuration(files, capsys):
    sides = ["--golden", files / "golden.jsonl", "--baseline", files / "run.jsonl", "--candidate", files / "worse.jsonl",
             "--format", "json"]
    for more, code, n in (([], 0, 300), (["--tier", "pr"], 0, 300), (["--tier", "nightly"], 1, 340), (["--tier", "release"], 1, 340)):
        assert command(files, "compare", *sides, *more) == code
        report = json.loads(capsys.readouterr().out)
        assert report["primary"]["n"] == n and report["metadata"]["tier"] == (more[1:] or ["pr"])[0]
    assert main(["compare", *map(str, sides)]) == 1
    capsys.readouterr()
    assert main(["compare", *map(str, sides), "--tier", "pr"]) == 2 and "--config" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command(files, "compare", *sides, "--tier", "weekly")


def test_run_asks_the_tiers_splits_and_a_record_holds_all_of_them(files, capsys):
    record = files / "main.json.gz"
    assert command(files, "run", "--record", record) == 0
    assert len(json.loads(gzip.decompress(record.read_bytes()))["rankings"]) == 340
    (files / "run.jsonl").write_text(run() + blind_run(lost=20))
    assert command(files, "run", "--baseline", record, "--out", files / "pr") == 0
    assert command(files, "run", "--baseline", record, "--tier", "nightly", "--out", files / "night") == 1
    for folder in ("pr", "night"):
        assert len(gzip.decompress((files / folder / "run.jsonl.gz").read_bytes()).splitlines()) == 300
    report = json.loads((files / "pr" / "report.json").read_text())
    assert not any("belong to no golden query" in note for note in report["notes"])
    assert "tier nightly (dev 300, blind 40)" in capsys.readouterr().out


def test_a_record_without_the_tiers_split_cannot_decide(files, capsys):
    record = files / "main.json.gz"
    (files / "run.jsonl").write_text(run())
    assert command(files, "run", "--record", record) == 0
    assert "none of the 40 queries of the split blind" in capsys.readouterr().out
    (files / "run.jsonl").write_text(run() + blind_run())
    assert command(files, "run", "--baseline", record) == 0
    assert command(files, "run", "--baseline", record, "--tier", "release") == 3
    assert "b0, b1" in capsys.readouterr().out


# -- in a repository's life --------------------------------------------------------------------------------------------


@pytest.fixture
def story(fake, tmp_path, capsys):
    return Story(fake, tmp_path, capsys, FILES | {"retrieval-gate.yml": NIGHTLY})


WORSE = {"run.jsonl": run() + blind_run(lost=20)}


def test_one_record_of_main_serves_every_tier_though_only_its_own_is_judged(started):
    _, record, _ = unpack_artifact(started.baselines()[0].data, "newest")
    assert len(record.rankings) == 340 and record.metrics["ndcg@10"] == 1.0
    pull = started.on_pull(started.pull(WORSE), "opened")
    assert (pull.code, pull.report["primary"]["n"], pull.report["metadata"]["tier"]) == (0, 300, "pr")
    started.fake.commit(started.repo, WORSE)
    night = started.on_schedule()
    assert (night.code, night.report["primary"]["n"], night.report["metadata"]["tier"]) == (1, 340, "nightly")
    assert len(night.report["flips"]["lost"]) == 20
    assert started.on_dispatch().report["metadata"]["tier"] == "pr"
    assert started.on_dispatch(tier="nightly").code == 1


def test_a_release_judges_blind_queries_and_publishes_nothing(started):
    before = len(started.baselines())
    assert (first := started.on_release()).code == 0 and first.report["primary"]["n"] == 340
    started.fake.commit(started.repo, WORSE)
    outcome = started.on_release()
    assert (outcome.code, outcome.report["metadata"]["tier"], outcome.outputs["baseline-updated"]) == (1, "release", "no")
    assert len(started.baselines()) == before
    said = [outcome.summary, outcome.log, *(p.read_text(errors="replace") for p in (started.workspace / "retrieval-gate-report").iterdir())]
    stored = gzip.decompress((started.workspace / "retrieval-gate-report" / "run.jsonl.gz").read_bytes()).decode()
    assert not any(word in text for text in (*said, stored) for word in ("secret question", "hidden-"))


def test_a_blind_query_that_a_pull_request_deletes_is_a_removed_query(started):
    outcome = started.on_pull(started.pull({"golden.jsonl": golden() + blind_golden(BLIND - 1)}), "opened")
    assert outcome.code == 1 and outcome.report["excluded"]["removed"] == ["b39"]


def test_the_base_branchs_splits_are_judged_whatever_a_pull_request_sets(started):
    outcome = started.on_pull(started.pull({"retrieval-gate.yml": CONFIG + "splits: [blind]\n", "run.jsonl": run(lost=30) + blind_run()}),
                              "opened")
    assert outcome.code == 1 and outcome.outputs["lost"] == "30"
    assert {c["name"] for c in outcome.report["input_changes"]} == {"policy pr.splits", "policy nightly.splits", "policy nightly.tolerance",
                                                                     "policy release.splits"}


def test_loosening_the_nightly_rules_needs_an_approval_by_day(started):
    pull = started.pull({"retrieval-gate.yml": CONFIG})
    outcome = started.on_pull(pull, "opened")
    assert outcome.code == 1 and "policy nightly.tolerance" in started.comments(pull)[0]
    started.approve(pull)
    assert started.on_pull(pull, "labeled", label="baseline-update", sender="maria").verdict == "accepted"


def test_an_unknown_tier_is_exit_2_and_names_the_input(started):
    outcome = started.on_dispatch(tier="weekly")
    assert outcome.code == 2 and "input `tier`: 'weekly' must be one of pr, nightly, release" in outcome.summary


def test_a_baseline_that_never_asked_blind_queries_cannot_decide_a_release_and_says_so_on_the_day_it_is_made(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, FILES | {"run.jsonl": run()})
    assert "of no use to a tier" in story.on_push().summary
    story.fake.commit(story.repo, {"run.jsonl": run() + blind_run()})
    outcome = story.on_release()
    assert (outcome.code, outcome.verdict) == (3, "cannot-decide") and "b0, b1" in outcome.summary
