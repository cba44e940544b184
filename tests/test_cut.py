"""Runs that somebody cut before the metrics stop looking, and other inputs that say nothing: a clear message and the right exit code."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gate
from gate.cli import main
from gate.errors import InvalidInput
from gate.scoring.cut import cut_at
from gate.scoring.score import QueryScore
from tests.story import CONFIG, golden, lines

N = 12


def results(length=5, n=N, **more):
    """Every ranking has ``length`` results, its own document first."""
    return lines({"id": f"q{i}", "ranked": [f"d{i}", *(f"x{j}" for j in range(length - 1))], **more} for i in range(n))


@pytest.fixture
def files(tmp_path):
    for name, text in (("golden.jsonl", golden(N)), ("short.jsonl", results()), ("long.jsonl", results(20)),
                       ("retrieval-gate.yml", CONFIG)):
        (tmp_path / name).write_text(text)
    return tmp_path


def evaluate(files, run, *more):
    return main(["evaluate", "--golden", str(files / "golden.jsonl"), "--run", str(files / run), *more])


def compare(files, baseline, candidate, *more):
    return main(["compare", "--golden", str(files / "golden.jsonl"), "--baseline", str(files / baseline),
                 "--candidate", str(files / candidate), *map(str, more)])


# --- cut runs


def test_evaluate_refuses_a_run_that_ends_before_its_metrics_stop_looking(files, capsys):
    assert evaluate(files, "short.jsonl") == 2
    err = capsys.readouterr().err
    assert f"{files / 'short.jsonl'}: every ranking ends after 5 results, too few for ndcg@10, recall@10, rr@10" in err
    assert "make the run again with more results" in err
    assert evaluate(files, "short.jsonl", "--metrics", "ndcg@5,hit@3,rr") == 0


def test_compare_names_every_side_that_is_cut(files, capsys):
    (files / "other.jsonl").write_text(results(4))
    assert compare(files, "short.jsonl", "other.jsonl") == 2
    err = capsys.readouterr().err
    assert "short.jsonl: every ranking ends after 5 results" in err and "other.jsonl: every ranking ends after 4 results" in err
    assert compare(files, "short.jsonl", "long.jsonl") == compare(files, "long.jsonl", "short.jsonl") == 2
    assert compare(files, "long.jsonl", "long.jsonl") == 0


def test_the_library_refuses_it_too_but_not_what_a_function_answers_that_was_asked_for_more(files):
    labels, short = str(files / "golden.jsonl"), str(files / "short.jsonl")
    with pytest.raises(InvalidInput, match="every ranking ends after 5 results"):
        gate.evaluate(labels, short, k=10)
    with pytest.raises(InvalidInput, match="every ranking ends after 5 results"):
        gate.compare(short, str(files / "long.jsonl"), golden=labels)
    assert gate.evaluate(labels, short, k=5).means["hit@5"] == 1.0
    answered = gate.evaluate(labels, lambda query, n: [f"d{query.split()[-1]}", "x1", "x2"], k=10)
    assert answered.means["hit@10"] == 1.0 and gate.compare(answered, answered).verdict == "pass"


def test_a_record_says_itself_how_deep_it_is_and_a_gated_run_was_asked_for_its_depth(files, capsys):
    (files / "run.jsonl").write_text(results())
    assert main(["run", "--config", str(files / "retrieval-gate.yml"), "--record", str(files / "main.json.gz")]) == 0
    assert compare(files, "main.json.gz", "main.json.gz") == 0


@pytest.mark.parametrize("text", [results(n=9), results() + '{"id": "q12", "ranked": ["d1"]}\n', results(20)])
def test_few_rankings_rankings_of_many_lengths_and_long_ones_are_no_sign_of_a_cut(files, text):
    (files / "golden.jsonl").write_text(golden(13))
    (files / "run.jsonl").write_text(text)
    assert evaluate(files, "run.jsonl") == 0


def test_a_run_that_ranks_the_whole_of_a_small_corpus_is_not_cut(files):
    (files / "run.jsonl").write_text(lines({"id": f"q{i}", "ranked": ["d1", "d2", "d3"]} for i in range(N)))
    assert evaluate(files, "run.jsonl") == 0


def test_rankings_without_results_do_not_hide_a_cut(files):
    (files / "golden.jsonl").write_text(golden(14))
    (files / "run.jsonl").write_text(results() + lines([{"id": "q12", "ranked": []}, {"id": "q13", "ranked": []}]))
    assert evaluate(files, "run.jsonl") == 2


@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=3).map(tuple) | st.none(), max_size=14))
def test_a_cut_is_one_length_of_ten_rankings_over_more_documents(kept):
    full = [docs for docs in kept if docs != ()]
    expected = 0
    if len(full) >= 10 and None not in full and len(set(map(len, full))) == 1 and len(set().union(*full)) > len(full[0]):
        expected = len(full[0])
    assert cut_at([QueryScore({}, None, short=docs) for docs in kept]) == expected


# --- inputs that say nothing, or something else than was meant


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("line", ['{"id": "q0", "ranked": ["d0"], "scores": [NUMBER]}', '{"id": "q0", "ranked": ["d0"], "ms": NUMBER}',
                                  '{"id": "q0", "ranked": [{"doc": "d0", "score": NUMBER}]}'])
def test_a_number_that_is_none_is_refused_with_its_line(files, capsys, number, line):
    (files / "run.jsonl").write_text(line.replace("NUMBER", number) + "\n")
    assert evaluate(files, "run.jsonl") == 2 and "run.jsonl:1: " in capsys.readouterr().err


@pytest.mark.parametrize("setting, named", [
    ("depth: -5", "depth"), ("depth: 0", "depth"), ("depth: .nan", "depth"), ("depth: .inf", "depth"),
    ("policy: {primary: ndcg@0}", "at least 1"), ("policy: {primary: ndcg@11}", "too shallow"), ("policy: {tolerance: .nan}", "tolerance"),
    ("policy: {score_floor: .inf}", "score_floor"), ("policy: {score_floor: high}", "score_floor")])
def test_settings_that_mean_nothing_are_refused_with_their_name(files, capsys, setting, named):
    config = CONFIG if setting.startswith("policy") else CONFIG.replace("depth: 10\n", "")
    (files / "retrieval-gate.yml").write_text(config + setting + "\n")
    assert compare(files, "long.jsonl", "long.jsonl", "--config", files / "retrieval-gate.yml") == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("metric, said", [("ndcg@0", "at least 1"), ("ndcg@-1", "unknown metric"), ("latest", "needs a cutoff"),
                                          ("candidate_recall@5", "did you mean candidate-recall@5?")])
def test_a_cutoff_that_is_none_is_refused(files, capsys, metric, said):
    assert evaluate(files, "long.jsonl", "--metrics", metric) == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize("k", [0, -1, True, 2.5])
def test_the_library_refuses_a_cutoff_or_a_depth_that_is_none(files, k):
    for name in ("k", "fetch"):
        with pytest.raises(InvalidInput, match=f"`{name}` must be a whole number"):
            gate.evaluate(str(files / "golden.jsonl"), lambda query, n: [], **{name: k})


def test_query_ids_that_differ_between_the_runs_are_listed_and_score_zero_where_they_are_missing(files, capsys):
    (files / "other.jsonl").write_text(results(20, n=N - 2) + '{"id": "stray", "ranked": ["d1"]}\n')
    assert compare(files, "long.jsonl", "other.jsonl", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["excluded"]["missing"] == ["q10", "q11"] and report["excluded"]["extra"] == ["stray"]
    assert report["primary"]["n"] == N and report["primary"]["candidate"] == pytest.approx(10 / 12)


def test_a_golden_set_without_an_answerable_query_measures_nothing(files, capsys):
    (files / "golden.jsonl").write_text(lines({"id": f"q{i}", "query": "x", "relevant": [], "answerable": False} for i in range(N)))
    assert evaluate(files, "long.jsonl") == 2 and "nothing to measure" in capsys.readouterr().err
    assert compare(files, "long.jsonl", "long.jsonl") == 2


def test_one_query_decides_nothing_and_says_so(files, capsys):
    (files / "golden.jsonl").write_text(golden(1))
    (files / "one.jsonl").write_text('{"id": "q0", "ranked": ["x"]}\n')
    assert compare(files, "long.jsonl", "one.jsonl", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "inconclusive" and "Only 1 query can be paired" in report["checks"][0]["sentence"]


def test_a_run_that_answers_none_of_the_golden_queries_is_refused(files, capsys):
    (files / "other.jsonl").write_text(lines({"id": f"p{i}", "ranked": ["d1"]} for i in range(N)))
    for code in (evaluate(files, "other.jsonl"), compare(files, "long.jsonl", "other.jsonl"), compare(files, "other.jsonl", "long.jsonl")):
        assert code == 2
    assert capsys.readouterr().err.count("0 of 12 golden queries overlap with the run") == 3


def test_two_runs_that_find_nothing_at_any_depth_are_no_comparison_and_evaluate_warns(files, capsys):
    for name in ("one.jsonl", "two.jsonl"):
        (files / name).write_text(lines({"id": f"q{i}", "ranked": [f"doc-{j}-{name}" for j in range(20)]} for i in range(N)))
    assert compare(files, "one.jsonl", "two.jsonl") == 2
    said = "none of the 12 queries found a relevant document, at any depth"
    assert said in capsys.readouterr().err
    assert evaluate(files, "one.jsonl") == 0 and said in capsys.readouterr().err
    assert compare(files, "long.jsonl", "two.jsonl") == 1 and compare(files, "two.jsonl", "long.jsonl") == 0
