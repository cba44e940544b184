"""What a golden set can resolve, and ``golden plan`` on the command line."""

import json

import pytest

from gate.cli import main
from gate.comparison import Method, pair
from gate.golden.model import Span
from gate.golden.plan import ASSUMED_SHARE, documents_of, make_plan
from gate.reports.plan import basis, plan_json, plan_text
from gate.statistics.power import POWER
from tests.conftest import golden_set
from tests.story import golden, run

Z = 1.959964 + 0.841621  # two-sided 95 %, power 80 %


def a_set(n, **fields):
    return golden_set({f"q{i}": ["a"] for i in range(n)}, **fields)


def scores(n, lost=()):
    return {f"q{i}": 0.0 if i in lost else 1.0 for i in range(n)}


def test_without_runs_a_stated_assumption_says_what_the_set_can_resolve():
    plan = make_plan(a_set(300), "ndcg@10", 0.02)
    assert plan.overall.basis == "assumed" and "Assumed: a change moves 10 % of the queries" in basis(plan)
    assert plan.overall.mde == pytest.approx(Z * (ASSUMED_SHARE / 300) ** 0.5, rel=1e-4)
    assert plan.overall.needed == 1963 and not plan.overall.gateable and plan.overall.changed is None
    assert make_plan(a_set(1963), "ndcg@10", 0.02).overall.gateable and not make_plan(a_set(1962), "ndcg@10", 0.02).overall.gateable


def test_with_one_run_a_query_moves_as_far_as_its_score_lets_it():
    half = make_plan(a_set(100), "ndcg@10", 0.02, [{f"q{i}": 0.5 for i in range(100)}]).overall
    whole = make_plan(a_set(100), "ndcg@10", 0.02, [{f"q{i}": float(i % 2) for i in range(100)}]).overall
    assert half.mde == pytest.approx(whole.mde / 2) and whole.mde == make_plan(a_set(100), "ndcg@10", 0.02).overall.mde


def test_with_two_runs_it_is_the_detectable_effect_that_a_comparison_reports():
    before, after = scores(300), scores(300, range(30))
    plan = make_plan(a_set(300), "ndcg@10", 0.02, [before, after])
    found = pair(list(before.values()), list(after.values()), Method())
    assert plan.overall.basis == "observed" and plan.overall.changed == 30 and plan.overall.mde == found.mde
    assert basis(plan).startswith("Measured")


def test_a_tag_in_which_too_few_moved_borrows_the_spread_of_the_whole_set():
    tags = {f"q{i}": ("still",) if i >= 280 else ("moving",) if i < 100 else ("few",) if i in (150, 151) else () for i in range(300)}
    plan = make_plan(a_set(300, tags=tags), "ndcg@10", 0.05, [scores(300), scores(300, range(40))])
    still, moving = plan.tags["still"], plan.tags["moving"]
    assert (still.basis, still.changed, moving.basis, moving.changed) == ("pooled", 0, "observed", 40)
    assert still.mde == pytest.approx(plan.overall.mde * (300 / 20) ** 0.5) and still.needed == plan.overall.needed
    assert plan.tags["few"].reason == "fewer than 10 independent queries" and not plan.tags["few"].gateable
    assert list(plan.tags) == ["moving", "still", "few"]


def test_what_a_set_shows_in_the_recall_of_candidates_is_told_by_runs_that_name_some():
    known, none = (make_plan(a_set(100), "candidate-recall@50", 0.02, given) for given in ([scores(100), scores(100, range(20))], []))
    assert (known.overall.n, known.overall.basis, known.unvalued, known.unscored) == (100, "observed", 0, 0)
    assert (none.overall.n, none.unvalued) == (0, 100) and "it takes runs that name their `candidates`" in plan_text(none, "golden.jsonl")


def test_two_runs_that_hardly_differ_tell_nothing_and_that_is_said():
    plan = make_plan(a_set(300), "ndcg@10", 0.02, [scores(300), scores(300, range(3))])
    assert plan.overall.basis == "assumed" and plan.overall.changed == 3 and "Fewer than 10 queries changed" in basis(plan)


def test_paraphrases_are_no_more_queries():
    plain = make_plan(a_set(40), "ndcg@10", 0.02)
    asked = make_plan(a_set(400, cluster={f"q{i}": f"fact {i % 40}" for i in range(400)}), "ndcg@10", 0.02)
    assert (asked.overall.n, asked.overall.clusters) == (400, 40) and asked.overall.mde == pytest.approx(plain.overall.mde)
    assert asked.overall.needed == pytest.approx(10 * plain.overall.needed, abs=10)
    one = make_plan(a_set(50, cluster={f"q{i}": "one" for i in range(50)}), "ndcg@10", 0.02)
    assert one.overall.mde is None and one.overall.reason and "nothing can be told" in plan_text(one, "g")
    assert "400 scored queries in 40 independent clusters" in plan_text(asked, "g")


def test_everything_in_the_file_is_counted():
    golden = a_set(20, answerable={"q0": False, "q1": False}, split={"q2": "blind"}, source={"q3": "log", "q4": "log", "q5": "sme"})
    golden.by_id["q0"].gains.clear(), golden.by_id["q1"].gains.clear(), golden.by_id["q6"].gains.clear()
    found = plan_json(make_plan(golden, "ndcg@10", 0.02), "golden.jsonl")["counts"]
    assert found == {"queries": 20, "answerable": 18, "unanswerable": 2, "undefined": 1, "unvalued": 0, "unscored": 0,
                     "split": {"blind": 1, "dev": 19}, "source": {"log": 2, "not said": 17, "sme": 1}}


@pytest.mark.parametrize("scores_of_runs", [[], [{}], [{}, {}]])
def test_a_metric_that_no_query_has_a_value_of_is_said_instead_of_assumed(scores_of_runs):
    plan = make_plan(a_set(300), "span-coverage@5", 0.02, scores_of_runs)
    assert plan.overall[:1] + plan.overall[3:6] == (0, "none", None, None) and not plan.overall.gateable and plan.unvalued == 300
    text = plan_text(plan, "g")
    assert "0 queries have a value of span-coverage@5 (none has `spans`)" in text and "Assumed" not in text
    assert "300 queries for which span-coverage@5 is not defined" in text
    json.dumps(plan_json(plan, "g"), allow_nan=False)


def test_a_metric_that_some_queries_have_is_planned_over_those():
    plan = make_plan(a_set(300, spans={f"q{i}": (Span("a", 0, 9),) for i in range(100)}), "span-coverage@5", 0.02)
    assert (plan.overall.n, plan.unvalued, plan.overall.basis) == (100, 200, "assumed")
    assert plan.overall.mde == make_plan(a_set(100), "ndcg@10", 0.02).overall.mde


def test_documents_that_no_query_points_at_are_counted():
    golden = golden_set({"q": {"a": 1, "b": 0}, "p": ["c#1"], "r": ["whole"]})
    units = [{"id": i, "doc": d, **more} for i, d, more in (
        ("a", "a", {}), ("b", "b", {}), ("c#1", "c#1", {"parent": "c"}), ("c#2", "c#2", {"parent": "c"}),
        ("w#1", "w#1", {"parent": "whole"}))]
    assert documents_of(golden, units) == (3, 5) and documents_of(golden, []).share == 0.0
    spans = golden_set({"q": []}, spans={"q": (Span("b", 0, 9), Span("a", 0, 9, -1.0))})
    assert documents_of(spans, units) == (1, 5) and make_plan(spans, "ndcg@10", 0.02).overall.n == 1


def test_a_hostile_tag_writes_no_escape_sequence_and_no_command():
    text = plan_text(make_plan(a_set(12, tags={"q1": ("\x1b[31m::error::x",), "q2": ("::error::y",)}), "ndcg@10", 0.02), "g")
    assert "\x1b" not in text and not any(line.startswith("::") for line in text.splitlines())


# -- on the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    for name, text in (("golden.jsonl", golden()), ("base.jsonl", run()), ("other.jsonl", run(lost=30)), ("bad.jsonl", "{")):
        (tmp_path / name).write_text(text)
    return tmp_path


def plan(files, *more):
    return main(["golden", "plan", str(files / "golden.jsonl"), *map(str, more)])


KEYS = {"schema", "golden", "metric", "tolerance", "confidence", "power", "runs", "basis", "overall", "tags", "counts", "documents",
        "noise"}


@pytest.mark.parametrize("runs", [[], ["--baseline"], ["--candidate"], ["--baseline", "--candidate"]])
def test_json_has_the_same_keys_whatever_was_given(files, capsys, runs):
    given = [word for option in runs for word in (option, files / ("base.jsonl" if option == "--baseline" else "other.jsonl"))]
    assert plan(files, *given, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == KEYS and found["runs"] == len(runs) and found["power"] == POWER and found["documents"] is None
    assert found["tags"].keys() == {"even", "odd"}
    for row in (found["overall"], *found["tags"].values()):
        assert row.keys() == {"n", "clusters", "changed", "basis", "mde", "needed", "gateable", "reason"}


def test_text_says_what_it_shows_and_how_many_it_takes(files, capsys):
    assert plan(files, "--baseline", files / "base.jsonl", "--candidate", files / "other.jsonl", "--tolerance", "0.1") == 0
    text = capsys.readouterr().out
    assert "300 scored queries" in text and "Measured" in text and "enough for a tolerance of 0.1" in text and "split: dev 300" in text
    assert plan(files) == 0
    text = capsys.readouterr().out
    assert "Assumed" in text and "1,963 queries like these" in text and "2 tags of 2 cannot be gated at 0.02" in text


def test_a_snapshot_says_how_much_of_the_corpus_is_watched(files, capsys):
    (files / "corpus.jsonl").write_text("".join(json.dumps({"_id": f"d{i}", "title": "", "text": f"word{i}"}) + "\n" for i in range(400)))
    assert main(["snapshot", "build", "--kind", "bm25", "--corpus", str(files / "corpus.jsonl"), "--out", str(files / "snapshot")]) == 0
    capsys.readouterr()
    assert plan(files, "--snapshot", files / "snapshot") == 0
    assert "300 of 400 documents (75.0 %) are relevant to a query" in capsys.readouterr().out


def test_repeats_give_the_noise_floor_and_a_tolerance_that_is_not_below_it(files, capsys):
    (files / "again.jsonl").write_text(run(lost=9))
    repeats = ["--repeats", files / "base.jsonl", files / "again.jsonl", files / "base.jsonl"]
    assert plan(files, *repeats, "--baseline", files / "base.jsonl", "--candidate", files / "other.jsonl", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    noise = found["noise"]
    assert noise.keys() == {"repeats", "floor", "spread", "means", "unstable", "suggested_tolerance", "mde", "needed"}
    assert noise["spread"] == pytest.approx(0.03) and noise["suggested_tolerance"] == 0.03 and len(noise["unstable"]) == 9
    assert noise["mde"] == found["overall"]["mde"] and noise["needed"] < found["overall"]["needed"] and found["runs"] == 2
    assert plan(files, *repeats) == 0
    text = capsys.readouterr().out
    assert "The noise floor is 0.030: the tolerance 0.02 is below it, so the gate would be invalid.\nSuggested: 0.03 or more" in text
    assert "Assumed" in text and "9 queries ranked differently" in text
    assert plan(files, *repeats, "--tolerance", "0.03") == 0 and "the tolerance 0.03 is not below it" in capsys.readouterr().out


def test_repeats_that_agree_suggest_nothing_and_say_so(files, capsys):
    same = ["--repeats", files / "base.jsonl", files / "base.jsonl"]
    assert plan(files, *same) == 0 and "2 repeats with the same scores. Any tolerance is above it" in capsys.readouterr().out
    assert plan(files, *same, "--format", "json") == 0
    noise = json.loads(capsys.readouterr().out)["noise"]
    assert (noise["floor"], noise["suggested_tolerance"], noise["needed"]) == (0.0, None, None)
    assert plan(files, *same, "--metric", "span-coverage@5") == 0 and "0 queries have a value" in capsys.readouterr().out


@pytest.mark.parametrize("more", [["--repeats", "{}/base.jsonl"], ["--repeats", "{}/base.jsonl", "{}/none.jsonl"],
                                  ["--repeats", "{}/base.jsonl", "{}/bad.jsonl"],
                                  ["--tolerance", "0"], ["--tolerance", "nan"], ["--tolerance", "2"], ["--metric", "ndgc@10"],
                                  ["--baseline", "{}/bad.jsonl"], ["--baseline", "{}/none.jsonl"], ["--snapshot", "{}"],
                                  ["--baseline", "{}/golden.jsonl"]])
def test_bad_input_is_exit_2(files, capsys, more):
    assert plan(files, *[word.format(files) for word in more]) == 2
    assert "Traceback" not in capsys.readouterr().err
