"""Kind ``run``: rankings from a file."""

import pytest

from gate.errors import InvalidInput
from gate.retrievers.runfile import RunFileRetriever
from tests.retrievers.support import queries


def ask(tmp_path, text, count=2, depth=10, name="run.jsonl"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with RunFileRetriever(path) as retriever:
        return dict(retriever.retrieve(queries(count), depth)), retriever


def test_rankings_come_in_the_order_of_the_golden_set(tmp_path):
    found, _ = ask(tmp_path, '{"id":"q2","ranked":["b"]}\n{"id":"q1","ranked":["a"]}\n')
    assert [(name, ranking.docs) for name, ranking in found.items()] == [("q1", ["a"]), ("q2", ["b"])]


def test_a_query_that_the_run_lacks_is_left_to_the_report(tmp_path):
    found, _ = ask(tmp_path, '{"id":"q2","ranked":["b"]}\n')
    assert list(found) == ["q2"]


def test_rankings_beyond_the_depth_are_cut_with_their_scores_and_said(tmp_path):
    found, retriever = ask(tmp_path, '{"id":"q1","ranked":["a","b","c"],"scores":[3,2,1]}\n', depth=2)
    assert (found["q1"].docs, found["q1"].scores) == (["a", "b"], [3, 2])
    assert "1 rankings are longer than depth 2 and were cut" in retriever.notes[0]


def test_rankings_of_unknown_queries_are_counted(tmp_path):
    _, retriever = ask(tmp_path, '{"id":"q1","ranked":["a"]}\n{"id":"z","ranked":[]}\n')
    assert "1 rankings belong to no golden query" in retriever.notes[0]


def test_a_run_of_another_golden_set_is_refused_naming_both_kinds_of_ids(tmp_path):
    words = "answers 0 of 2 golden queries; its first query id is 'Q-1', that of the golden set is 'q1'"
    with pytest.raises(InvalidInput, match=words):
        ask(tmp_path, '{"id":"Q-1","ranked":["a"]}\n')


def test_an_error_in_the_run_stays_an_error(tmp_path):
    found, _ = ask(tmp_path, '{"id":"q1","error":"timeout"}\n')
    assert (found["q1"].docs, found["q1"].error) == ([], "timeout")


def test_trec_runs_are_read_as_well(tmp_path):
    found, _ = ask(tmp_path, "q1 Q0 low 1 1.0 t\nq1 Q0 high 2 2.0 t\n", name="bm25.trec")
    assert found["q1"].docs == ["high", "low"]


def test_a_missing_file_is_invalid_input(tmp_path):
    with pytest.raises(InvalidInput, match="no such file"), RunFileRetriever(tmp_path / "run.jsonl"):
        pass


def test_the_description_holds_no_path_of_this_machine(tmp_path):
    assert RunFileRetriever(tmp_path / "run.jsonl").describe() == {"kind": "run", "file": "run.jsonl"}
