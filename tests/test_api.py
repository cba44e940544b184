"""The gate as a library, as notebooks and tests use it."""

import asyncio
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import gate
from gate import Evaluation, GateError, Outcome, Policy, compare, evaluate
from gate.cli import main
from gate.errors import CannotDecide, InvalidInput, RetrieverFailed
from gate.golden.read import read_golden
from gate.reports.report import Report
from gate.reports.text import render_text
from gate.runs import Ranking, Run, read_run
from gate.scoring.metrics import parse_metric
from tests.conftest import ROOT, golden_set
from tests.story import CONFIG, golden, run

WORKED = [{"id": "q", "query": "the worked example", "relevant": ["A", "B", "C"]}]
RANKED = ["x1", "A", "x2", "x3", "B", "x4", "x5", "x6", "x7", "x8"]
THREE = [{"id": "q1", "query": "one", "relevant": ["a"], "tags": ["x"]},
         {"id": "q2", "query": "two", "relevant": ["b"], "tags": ["x", "y"]},
         {"id": "q3", "query": "three", "relevant": ["c"]}]


def find_all(query, n):
    return [{"one": "a", "two": "b", "three": "c"}.get(query, "z"), "other"][:n]


@pytest.fixture
def files(tmp_path):
    for name, text in (("golden.jsonl", golden()), ("base.jsonl", run()), ("bad.jsonl", run(lost=30)), ("few.jsonl", run(lost=4)),
                       ("run.jsonl", run()), ("retrieval-gate.yml", CONFIG)):
        (tmp_path / name).write_text(text)
    return tmp_path


def printed(capsys, *words):
    """What a command prints with ``--format json``."""
    capsys.readouterr()
    main([*map(str, words), "--format", "json"])
    return json.loads(capsys.readouterr().out)


def compared(capsys, files, baseline, candidate):
    return printed(capsys, "compare", "--golden", files / "golden.jsonl", "--baseline", files / baseline, "--candidate", files / candidate)


def as_json(value):
    return json.loads(json.dumps(value, allow_nan=False))


# the import


def test_import_gate_alone_imports_nothing_but_itself():
    code = ("import sys; before = set(sys.modules); import gate; "
            "print(sorted(m for m in set(sys.modules) - before if not m.startswith('__')), dir(gate).count('evaluate'))")
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"],
                          capture_output=True, text=True, timeout=60)
    assert done.stdout == "['gate'] 1\n", done.stderr


def test_scoring_without_a_comparison_does_not_load_numpy():
    code = ("import sys; from gate import evaluate; evaluate([{'id': 'q', 'query': 'x', 'relevant': ['a']}], {'q': ['a']}); "
            "print('numpy' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout == "False\n", done.stderr


def test_every_name_that_the_package_promises_is_there_and_another_is_an_attribute_error():
    for name in gate.__all__:
        assert getattr(gate, name) is getattr(gate, name) and name in dir(gate)
    assert gate.__version__
    with pytest.raises(AttributeError, match="module 'gate' has no attribute 'evalute'"):
        gate.evalute  # noqa: B018
    with pytest.raises(ImportError):
        from gate import evalute  # noqa: F401


# the numbers


def test_the_worked_example_gives_its_reference_numbers():
    found = evaluate(WORKED, lambda query, n: RANKED[:n], metrics="recall@5,precision@5,rr,ndcg@10")
    assert found.means == pytest.approx({"recall@5": 0.6667, "precision@5": 0.4, "rr": 0.5, "ndcg@10": 0.4776}, abs=5e-5)


def test_the_default_metrics_follow_k_and_a_list_may_mix_names_and_metrics():
    assert list(evaluate(THREE, find_all).means) == ["hit@5", "recall@5", "rr", "ndcg@5"]
    assert list(evaluate(THREE, find_all, k=3).means) == ["hit@3", "recall@3", "rr", "ndcg@3"]
    assert list(evaluate(THREE, find_all, metrics=[parse_metric("rr@2"), "ap", "rr@2"]).means) == ["rr@2", "ap"]
    assert list(evaluate(THREE, find_all, metrics=parse_metric("rr@2")).means) == ["rr@2"]


def test_evaluate_says_what_the_command_line_says_of_the_same_files(files, capsys):
    names = "hit@5,recall@5,rr,ndcg@5"
    said = printed(capsys, "evaluate", "--golden", files / "golden.jsonl", "--run", files / "few.jsonl", "--metrics", names)
    found = evaluate(files / "golden.jsonl", files / "few.jsonl")
    assert as_json(found.to_dict()) == said and found.means == said["metrics"]
    assert found.by_tag() == {tag: {"n": value["n"], **value["metrics"]} for tag, value in said["tags"].items()}


@pytest.mark.parametrize("candidate", ["base.jsonl", "bad.jsonl", "few.jsonl"])
def test_compare_says_what_the_command_line_says_of_the_same_files(files, capsys, candidate):
    said = compared(capsys, files, "base.jsonl", candidate)
    by_path = compare(files / "base.jsonl", str(files / candidate), golden=files / "golden.jsonl")
    evaluated = compare(*(evaluate(files / "golden.jsonl", files / name) for name in ("base.jsonl", candidate)))
    in_memory = compare(read_run(files / "base.jsonl"), {i: r.docs for i, r in read_run(files / candidate).rankings.items()},
                        golden=map(json.loads, (files / "golden.jsonl").read_text().splitlines()))
    assert as_json(by_path.to_dict()) == as_json(evaluated.to_dict()) == as_json(in_memory.to_dict()) == said


def test_compare_says_what_the_command_line_says_of_a_record(files, capsys):
    assert main(["run", "--config", str(files / "retrieval-gate.yml"), "--record", str(files / "main.json.gz")]) == 0
    said = compared(capsys, files, "main.json.gz", "bad.jsonl")
    assert as_json(compare(files / "main.json.gz", files / "bad.jsonl", golden=files / "golden.jsonl").to_dict()) == said
    sides = [evaluate(files / "golden.jsonl", files / name) for name in ("main.json.gz", "bad.jsonl")]
    assert as_json(compare(*sides).to_dict()) == said and sides[0].depth == 10


def test_a_record_is_too_shallow_for_a_metric_that_looks_deeper(files):
    main(["run", "--config", str(files / "retrieval-gate.yml"), "--record", str(files / "main.json.gz")])
    with pytest.raises(InvalidInput, match="the record holds 10 results"):
        evaluate(files / "golden.jsonl", files / "main.json.gz", metrics="recall@50")


def test_asking_a_function_and_reading_the_run_that_it_saved_give_the_same_scores(tmp_path):
    asked = evaluate(THREE, lambda query, n: [("z", 2.0), (find_all(query, n)[0], 1.5)])
    for name in ("run.jsonl", "run.jsonl.gz"):
        asked.save(tmp_path / name)
        read = evaluate(THREE, str(tmp_path / name))
        assert read.to_dict() == asked.to_dict() and read.run.rankings == asked.run.rankings
    with pytest.raises(InvalidInput, match="read as a TREC run"):
        asked.save(tmp_path / "run.trec")


# golden sets


def test_a_golden_set_in_memory_is_the_one_of_its_file(write):
    records = [*THREE, {"id": 7, "query": "grades", "relevant": {"a": 2, "b": -1}, "colour": 1},
               {"id": "u", "query": "?", "relevant": [], "answerable": False}]
    path = write("golden.jsonl", *records)
    read, held = read_golden(path), evaluate(iter(records), find_all).golden
    assert held.queries == read.queries and held.digest == read.digest
    assert held.warnings == tuple(warning.replace(str(path), "golden") for warning in read.warnings) and len(held.warnings) == 2
    assert evaluate(read, find_all).golden is read


def test_faults_of_a_golden_set_in_memory_have_the_texts_of_the_file(write):
    bad = [{"id": "a", "query": "x"}, ["no object"], {"id": True, "query": "x", "relevant": ["d"]},
           {"id": "b", "query": "x", "relevant": {"d": float("nan")}}, {"id": "c", "query": "x", "relevant": [1, "1"]},
           {"id": "d", "query": "x", "relevant": {"d": 0.5}}]
    path = write("golden.jsonl", *bad)
    with pytest.raises(InvalidInput) as of_file:
        read_golden(path)
    with pytest.raises(InvalidInput) as of_memory:
        evaluate(bad, find_all)
    assert len(of_memory.value.problems) == 6 and of_memory.value.cure == of_file.value.cure
    assert of_memory.value.problems == tuple(problem.replace(str(path), "golden") for problem in of_file.value.problems)


@pytest.mark.parametrize("wrong, words", [(3, "not int"), ({"id": "a"}, "not dict"), ([], "golden: no query in it"),
    ("no.jsonl", "no such file"),
    ([{"relevant": {"a"}}], "golden:1: cannot be a line of JSON (Object of type set is not JSON serializable)")])
def test_what_is_no_golden_set_is_invalid_input(wrong, words):
    with pytest.raises(InvalidInput, match=re.escape(words)):
        evaluate(wrong, find_all)


# retrievers


@pytest.mark.parametrize("result", [["z", "a"], ("z", "a"), [("z", 2), ("a", 1.5)], [("z", numpy.float32(2)), ("a", numpy.int64(1))],
    [{"doc": "z"}, {"doc": "a"}], [{"id": "z", "score": 0.5}, {"id": "a", "score": 0.25, "text": "…"}],
    [{"doc": "z", "chunk": 7, "start": 0, "end": numpy.int64(5)}, {"doc": "a", "chunk": "a#2"}]])
def test_whatever_the_gates_own_child_understands_is_understood(result):
    one = [{"id": "q", "query": "x", "relevant": ["a"]}]
    asked, stored = evaluate(one, lambda query, n: result), evaluate(one, {"q": result})
    assert asked.means["rr"] == stored.means["rr"] == 0.5
    asked.run.rankings["q"].ms = None
    assert asked.run.rankings == stored.run.rankings


def test_every_query_is_asked_once_for_what_is_fetched_and_more_is_cut():
    seen = []

    def retrieve(query, n):
        seen.append((query, n))
        return [f"d{i}" for i in range(n + (query == "one"))]

    found = evaluate([*THREE, {"id": "u", "query": "none", "relevant": [], "answerable": False}], retrieve, fetch=7)
    assert seen == [("one", 7), ("two", 7), ("three", 7), ("none", 7)]
    assert all(len(ranking.docs) == 7 and ranking.ms >= 0 for ranking in found.run.rankings.values())
    assert found.notes[0] == "1 query got more than 7 results; the rest was cut" and "note: 1 query got more" in str(found)
    assert "none of the 3 queries found a relevant document" in found.notes[1]


def test_cutoffs_count_documents_or_chunks_as_asked():
    one = [{"id": "q", "query": "x", "relevant": ["a"]}]
    chunks = {"q": [{"doc": "z", "chunk": "1"}, {"doc": "z", "chunk": "2"}, {"doc": "a", "chunk": "1"}]}
    by_doc, by_chunk = evaluate(one, chunks, k=2), evaluate(one, chunks, k=2, unit="chunk")
    assert (by_doc.means["recall@2"], by_chunk.means["recall@2"]) == (1.0, 0.0)
    assert (by_doc.worst("rr")[0].top, by_chunk.worst("rr")[0].top) == (("z", "a"), ("z", "z"))


def test_a_query_on_which_the_function_raises_is_listed_and_has_no_score():
    def retrieve(query, n):
        if query == "two":
            raise ValueError("no index\nfor two")
        return find_all(query, n)

    found = evaluate(THREE, retrieve)
    assert found.scored.excluded.errored == ("q2",) and found.means["recall@5"] == 1.0 and found.to_dict()["n"] == 2
    first = found.errors["q2"].splitlines()[0]
    assert re.fullmatch(r"the function raised ValueError: no index for two \(.*test_api\.py:\d+\)\.", first)
    assert "gate/api.py" not in found.errors["q2"] and "worker.py" not in found.errors["q2"]
    assert "1 failed in the retriever; no score: q2" in str(found) and f"q2: {first}" in str(found)


@pytest.mark.parametrize("result, words", [(None, "the function returned None (NoneType), not a list"), (iter("ab"), "not a list"),
    (["a", 7], "result 2 is 7 (int), not a document id"), ([("a", float("nan"))], "not a finite number"),
    (["\ud800"], "half of a surrogate pair"), ([("a", 1.0), "b"], "some ranked items have a score")])
def test_an_answer_that_cannot_be_used_is_that_querys_error(result, words):
    found = evaluate(THREE, lambda query, n: result if query == "one" else find_all(query, n))
    assert words in found.errors["q1"] and list(found.errors) == ["q1"]


def test_a_function_that_fails_on_most_queries_raises_with_what_it_said():
    def broken(query, n):
        return find_all(query, n) if query == "one" else sys.exit("no more")

    for function, many in ((broken, 2), (lambda query, n: 1 / 0, 3)):
        with pytest.raises(RetrieverFailed) as failed:
            evaluate(THREE, function)
        assert f"the retriever failed on {many} of 3 queries" in failed.value.problems[0] and len(failed.value.problems) == many + 1
        assert "SystemExit: no more" in failed.value.problems[1] or "ZeroDivisionError" in failed.value.problems[1]


def test_stopping_a_cell_stops_it():
    def stopped(query, n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(THREE, stopped)


def test_a_function_that_cannot_be_asked_is_refused_before_the_first_query():
    class Client:
        async def __call__(self, query, n):
            yield "a"

    def one_by_one(query, n):
        yield "a"

    async def streamed(query, n):
        yield "a"

    for function, words in ((Client(), "Client is a generator"), (streamed, "streamed is a generator"), (Client, "Client is a class"),
                            (one_by_one, "one_by_one is a generator, which returns no list"),
                            (lambda query: [], "must accept two arguments"), (7, "int is no run")):
        with pytest.raises(InvalidInput, match=words):
            evaluate(THREE, function)


async def later(query, n):
    await asyncio.sleep(0)
    return find_all(query, n)


class Framework:
    def __init__(self, found=None):
        self.found = found

    async def ainvoke(self, query, config=None):
        return self.found or [(doc, 1.0) for doc in find_all(query, 2)]


@pytest.mark.parametrize("retrieve", [later, Framework(), Framework().ainvoke])
def test_what_is_async_is_waited_for_also_where_a_loop_runs_already(retrieve):
    async def cell():  # as in a notebook
        return evaluate(THREE, retrieve)

    # In a thread of its own: a browser of other tests may have its loop running in this one.
    with ThreadPoolExecutor(1) as thread:
        inside = thread.submit(lambda: asyncio.run(cell())).result()
    assert evaluate(THREE, retrieve).means == inside.means == evaluate(THREE, find_all).means


def test_an_object_that_is_not_told_how_many_are_wanted_is_noted_once():
    assert [note for note in evaluate(THREE, Framework()).notes if "is not told how many are wanted" in note] == [
        "no query got more than 2 of the 20 results that were asked for: Framework is not told how many are wanted, so its own number "
        "(`k`, `similarity_top_k`) decides"]
    assert not evaluate(THREE, Framework(["a"] * 20)).notes


def test_ids_are_taken_from_where_the_caller_says():
    results = {"one": [{"id": 1, "metadata": {"source": "a"}}], "two": [{"id": 2, "metadata": {"source": "b"}}], "three": [{"id": "3"}]}
    found = evaluate(THREE, lambda query, n: results[query], id_key="metadata.source")
    assert [found.run.rankings[q].docs for q in ("q1", "q2")] == [["a"], ["b"]]
    assert "has no `metadata.source` to take its document id from; it has `id`" in found.errors["q3"]


def test_candidates_and_costs_of_a_two_stage_retriever_are_kept():
    one = [{"id": "q", "query": "x", "relevant": ["a"]}]
    result = {"ranked": ["z"], "candidates": ["z", ("a", 0.5)], "cost": 0.25, "ms": 7}
    asked, stored = evaluate(one, lambda query, n: result), evaluate(one, {"q": result})
    assert asked.run.rankings == stored.run.rankings
    assert asked.run.rankings["q"] == Ranking(["z"], candidates=["z", "a"], cost=0.25, ms=7.0)


@pytest.mark.parametrize("options, words", [({"k": 0}, "`k` must be a whole number from 1, not 0"), ({"fetch": True}, "`fetch` must be"),
    ({"unit": "page"}, "`unit` is 'page'; it must be one of doc, chunk"), ({"metrics": "mrr@5,rr"}, "did you mean rr@5"),
    ({"metrics": []}, "no metric"), ({"metrics": ["rr", None]}, "`metrics`: None is no name of a metric"),
    ({"metrics": {"rr": 1}}, "`metrics` must be names of metrics, not dict"), ({"metrics": 5}, "names of metrics, not int"),
    ({"metrics": b"rr"}, "names of metrics, not bytes"),
    ({"metrics": ["recall@50"]}, "`fetch` is 20 results a query, too few for recall@50")])
def test_wrong_arguments_are_invalid_input(options, words):
    with pytest.raises(InvalidInput, match=re.escape(words)):
        evaluate(THREE, find_all, **options)
    assert issubclass(InvalidInput, GateError)


def test_faults_of_rankings_in_a_dict_are_all_listed():
    with pytest.raises(InvalidInput) as refused:
        evaluate(THREE, {"q1": "abc", "q2": [1], 3: ["a"], "3": ["a"], None: []})
    assert [problem.split(": ")[1] for problem in refused.value.problems] == ["query 'q1'", "query 'q2'", "query '3'", "query None"]
    for empty, words in (({}, "no ranking"), ({"p": ["a"]}, "0 of 3 golden queries overlap")):
        with pytest.raises(InvalidInput, match=words):
            evaluate(THREE, empty)


def test_a_query_that_a_stored_run_lacks_scores_nothing_and_is_counted():
    found = evaluate(THREE, {"q1": ["a"], "q2": Ranking(["b"])})
    assert found.means["recall@5"] == pytest.approx(2 / 3)
    assert "1 in the golden set but not in the run; scored 0: q3" in str(found)


# looking at it


def test_an_evaluation_prints_means_counts_and_everything_left_out():
    records = [*THREE, {"id": "u", "query": "?", "relevant": [], "answerable": False}, {"id": "e", "query": "!", "relevant": {"a": 0}}]
    found = evaluate(records, find_all)
    assert repr(found) == str(found) == """find_all: 3 queries scored, cutoffs count documents
  metric      mean
  hit@5     1.0000
  recall@5  1.0000
  rr        1.0000
  ndcg@5    1.0000
  1 without a relevant document; no score: e
  1 unanswerable query, in no mean
  of the results in the top 5, 0.0 % repeat a document that stands above, 50.0 % nobody has judged for the query"""


def test_worst_gives_the_lowest_values_with_what_stood_there_instead():
    found = evaluate(THREE, lambda query, n: ["z", "y", "a", "x", "w", "v", "u"] if query != "three" else ["c"])
    assert [tuple(row) for row in found.worst("rr", n=2)] == [("q2", "two", 0.0, ("z", "y", "a", "x", "w")),
                                                              ("q1", "one", 1 / 3, ("z", "y", "a", "x", "w"))]
    assert [row.id for row in found.worst(parse_metric("recall@5"))] == ["q2", "q1", "q3"]
    with pytest.raises(InvalidInput, match=re.escape("recall@3 was not computed; there are hit@5, recall@5, rr, ndcg@5")):
        found.worst("recall@3")


def test_means_by_tag_count_each_query_under_all_its_tags():
    found = evaluate(THREE, {"q1": ["a"], "q2": ["z"], "q3": ["c"]}, metrics="hit@1")
    assert found.by_tag() == {"x": {"n": 2, "hit@1": 0.5}, "y": {"n": 1, "hit@1": 0.0}}


def test_an_outcome_is_the_pipelines_report_with_short_ways_into_it(files):
    found = compare(files / "base.jsonl", files / "bad.jsonl", golden=files / "golden.jsonl")
    assert isinstance(found, Outcome) and isinstance(found.report, Report)
    main_row = found.report.comparison.main
    assert (found.verdict, found.exit_code, found.delta, found.ci) == ("fail", 1, main_row.delta, (main_row.ci.lo, main_row.ci.hi))
    assert found.lost is found.report.comparison.lost and len(found.lost) == 30 and found.gained == ()
    assert repr(found) == str(found) == render_text(found.report).rstrip("\n") and str(found).startswith("FAIL")


# comparing


def both(**how):
    return compare(evaluate(THREE, find_all), evaluate(THREE, lambda query, n: ["z"]), **how)


def test_two_runs_without_a_golden_set_and_a_bare_function_are_refused():
    for sides, words in ((({"q1": ["a"]}, {"q1": ["a"]}), "no golden set"),
                         ((evaluate(THREE, find_all), find_all), r"goes through evaluate\(\)")):
        with pytest.raises(InvalidInput, match=words):
            compare(*sides)


def test_the_policy_is_the_default_or_a_given_one_or_that_of_a_configuration(files):
    assert both().report.policy == Policy()
    strict = Policy(primary=parse_metric("recall@5"), tolerance=0.5, inconclusive="fail")
    assert both(policy=strict).report.policy is strict
    (files / "retrieval-gate.yml").write_text(CONFIG + "gate: wiki\npolicy:\n  floors: {recall@5: 0.9}\n")
    found = both(policy=files / "retrieval-gate.yml")
    assert found.report.gate == "wiki" and any(check.name == "floor recall@5" and check.outcome == "fail" for check in found.report.checks)
    with pytest.raises(InvalidInput, match="not dict"):
        both(policy={"tolerance": 1})


def test_the_unit_of_both_evaluations_is_that_of_the_comparison():
    chunks = [evaluate(THREE, find_all, unit="chunk") for _ in range(2)]
    assert compare(*chunks).report.policy.unit == "chunk"
    with pytest.raises(InvalidInput, match="unit chunk, the other with doc"):
        compare(chunks[0], evaluate(THREE, find_all))


def test_a_metric_that_looks_deeper_than_what_was_fetched_is_refused_and_other_depths_are_said():
    shallow, deep = evaluate(THREE, find_all, fetch=5), evaluate(THREE, find_all, fetch=30)
    with pytest.raises(InvalidInput, match="the depth of the baseline is 5 results a query, too few for ndcg@10"):
        compare(shallow, deep)
    notes = compare(evaluate(THREE, find_all), deep).report.notes
    assert any("fetched to 20 results a query, the candidate to 30" in note for note in notes)


def test_labels_that_changed_between_two_evaluations_are_judged_as_in_a_pull_request():
    changed = [THREE[0], THREE[1] | {"relevant": ["z"]}, {"id": "q4", "query": "four", "relevant": ["d"]}]
    found = compare(evaluate(THREE, find_all), evaluate(changed, find_all))
    apart = found.to_dict()["excluded"]
    assert found.verdict == "fail" and [apart[what] for what in ("added", "removed", "relabelled")] == [["q4"], ["q3"], ["q2"]]
    again = compare(evaluate(THREE, find_all), evaluate(list(THREE), find_all))
    assert again.verdict == "pass" and not again.report.input_changes


def test_an_errored_query_makes_a_comparison_impossible_unless_the_policy_allows_it():
    fragile = evaluate(THREE, lambda query, n: find_all(query, n) if query != "one" else 1 / 0)
    with pytest.raises(CannotDecide, match="failed on 1 of 3 queries"):
        compare(evaluate(THREE, find_all), fragile)
    assert compare(evaluate(THREE, find_all), fragile, policy=Policy(max_errors=1)).report.comparison.main.n == 2


def test_a_golden_set_and_a_run_of_the_pipeline_are_taken_as_they_are():
    labels, stored = golden_set({"q": ["a"], "p": ["b"]}), Run({"q": Ranking(["a"]), "p": Ranking(["z", "b"])}, "mine")
    found = evaluate(labels, stored)
    assert isinstance(found, Evaluation) and found.golden is labels and found.run is stored and str(found).startswith("mine: 2 queries")


# the README


def test_the_example_of_the_readme_runs_and_shows_its_regression(tmp_path, monkeypatch, capsys):
    section = (ROOT / "README.md").read_text().split("\n## As a library\n")[1].split("\n## ")[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.S)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(example, "README.md", "exec"), names)
    out = capsys.readouterr().out
    assert "without_numbers: 2 queries scored" in out and "2 queries compared, 1 changed" in out
    assert names["before"].means["recall@1"] == 1.0 and [row.id for row in names["after"].worst("recall@1", n=1)] == ["q002"]
    assert len(read_run(tmp_path / "main.jsonl.gz").rankings) == 2
