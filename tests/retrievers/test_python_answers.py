"""What a team's function may return, and what is said when it returns something else."""

import os
import signal

import pytest

from gate.golden.model import Query
from gate.retrievers.limits import Limits
from gate.runs import Chunk
from tests.retrievers.support import queries


def returning(expression):
    return f"def retrieve(query, n):\n    return {expression}\n"


def test_it_gets_the_text_and_the_depth_and_its_ids_come_back_in_order(team):
    found = team.ask("def retrieve(query, n):\n    return [query, str(n)]\n", count=3, depth=7)
    assert [found[f"q{i}"].docs for i in (1, 2, 3)] == [["text 1", "7"], ["text 2", "7"], ["text 3", "7"]]
    assert all(ranking.ms > 0 and not ranking.error for ranking in found.values())


def test_pairs_become_ids_with_scores(team):
    ranking = team.ask(returning("[('a', 2), ['b', 1.5]]"))["q1"]
    assert (ranking.docs, ranking.scores) == (["a", "b"], [2.0, 1.5])


def test_dictionaries_may_carry_score_and_place_and_anything_else(team):
    items = "[{'doc': 'a', 'score': 1, 'chunk': 'a-1', 'start': 0, 'end': 9, 'payload': object()}, {'id': 'b', 'score': 0.5}]"
    ranking = team.ask(returning(items))["q1"]
    assert (ranking.docs, ranking.scores) == (["a", "b"], [1.0, 0.5])
    assert ranking.chunks == [Chunk("a-1", 0, 9), Chunk()]


def test_more_results_than_asked_for_are_cut_and_said(team):
    ranking = team.ask(returning("[str(i) for i in range(100)]"), depth=5)["q1"]
    assert ranking.docs == ["0", "1", "2", "3", "4"]
    assert team.notes == ["1 query got more than 5 results; the rest was cut"]


def test_no_result_is_an_empty_ranking_not_an_error(team):
    ranking = team.ask(returning("[]"))["q1"]
    assert (ranking.docs, ranking.error) == ([], "")


@pytest.mark.parametrize(("expression", "words"), [
    ("['a', 17]", "result 2 is 17 (int), not a document id"),
    ("[17]", "result 1 is 17 (int)"),
    ("[True]", "result 1 is True (bool)"),
    ("[None]", "result 1 is None (NoneType)"),
    ("['']", "result 1 is '' (str)"),
    ("[b'a']", "result 1 is b'a' (bytes)"),
    ("[('a', float('nan'))]", "result 1 has the score nan (float), which is not a finite number"),
    ("[('a', True)]", "result 1 has the score True (bool)"),
    ("[('a', '1')]", "result 1 has the score '1' (str)"),
    ("[(3, 1.0)]", "result 1 is 3 (int)"),
    ("[{'score': 1.0}]", "result 1 has none of `doc`, `id`, `_id` to take its document id from; it has `score` (`retriever.id_key`)"),
    ("[{'doc': 'a', 'start': 1.5, 'end': 2}]", "result 1 has the start 1.5 (float)"),
    ("[{'doc': 'a', 'start': 5, 'end': 2}]", "start and end of a ranked item must be whole numbers"),
    ("[('a', 1.0), 'b']", "some ranked items have a score and some have none"),
    ("None", "the function returned None (NoneType), not a list"),
    ("'abc'", "the function returned 'abc' (str), not a list"),
    ("{'a': 1}", "the function returned {'a': 1} (dict), not a list"),
    ("(x for x in 'ab')", "not a list"),
])
def test_anything_else_is_an_error_of_that_query_which_names_place_value_and_type(team, expression, words):
    ranking = team.ask(returning(expression))["q1"]
    assert words in ranking.error
    assert ranking.docs == []


def test_a_value_that_cannot_even_be_shown_is_an_error_of_that_query(team):
    source = """
        class Odd:
            def __repr__(self):
                raise SystemExit
        def retrieve(query, n):
            return [Odd()] if query == "text 1" else ["a"]
    """
    found = team.ask(source, count=2)
    assert "something without a repr (Odd)" in found["q1"].error
    assert found["q2"].docs == ["a"]


def test_an_exception_is_an_error_of_that_query_and_the_loop_goes_on(team):
    source = """
        def retrieve(query, n):
            if query == "text 2":
                raise ValueError("no such\\n::error::shard \\x1b[31m##[set-env]")
            return ["a"]
    """
    found = team.ask(source, count=3)
    error = found["q2"].error
    assert [found[q].docs for q in ("q1", "q3")] == [["a"], ["a"]]
    assert "| ValueError: no such\n| ::error::shard ## [set-env]" in error
    assert "worker.py" not in error and "| search.py:4 in retrieve: raise ValueError(" in error


def test_a_long_traceback_keeps_its_end(team):
    source = """
        def deep(n):
            return deep(n - 1) + ({}[n] if n < 40 else 0) if n else 1 / 0
        def retrieve(query, n):
            return [deep(30), deep(3)]
    """
    lines = team.ask(source)["q1"].error.splitlines()
    assert lines[0] == "the function raised ZeroDivisionError: division by zero (search.py:3)."
    assert lines[-1] == "| ZeroDivisionError: division by zero"
    assert len(lines) <= 18


def test_exit_within_the_function_is_an_error_of_that_query(team):
    source = "import sys\ndef retrieve(query, n):\n    sys.exit(0) if query == 'text 1' else 0\n    return ['a']\n"
    found = team.ask(source, count=2)
    assert "SystemExit" in found["q1"].error
    assert found["q2"].docs == ["a"]


def test_state_stays_between_queries(team):
    source = "seen = []\ndef retrieve(query, n):\n    seen.append(query)\n    return [str(len(seen))]\n"
    assert [r.docs for r in team.ask(source, count=3).values()] == [["1"], ["2"], ["3"]]


def test_answers_come_as_they_are_made(team):
    with team.retriever(returning("['a']")) as retriever:
        stream = retriever.retrieve(queries(2), 3)
        assert next(stream)[0] == "q1"
        stream.close()


def test_hashes_of_strings_are_the_same_in_every_run(team):
    source = returning("[str(hash('a')), *{'x', 'y', 'z', 'w'}]")
    assert team.ask(source)["q1"].docs == team.ask(source)["q1"].docs


def test_a_query_longer_than_a_pipe_holds_arrives_whole(team):
    text = "long é " * 100_000
    with team.retriever("def retrieve(query, n):\n    return [str(len(query)), query[-3:]]\n") as retriever:
        found = dict(retriever.retrieve([Query("q1", text, {})], 5))
    assert found["q1"].docs == [str(len(text)), text[-3:]]


def test_a_query_that_nobody_reads_is_a_hang_not_a_wait(team):
    source = "import time\ndef retrieve(query, n):\n    return ['a']\n"
    with team.retriever(source, limits=Limits(query_seconds=0.3)) as retriever:
        assert dict(retriever.retrieve(queries(1), 5))["q1"].docs == ["a"]
        os.kill(retriever._kept.child.pid, signal.SIGSTOP)
        found = dict(retriever.retrieve([Query("q2", "x" * 1_000_000, {}), *queries(1)], 5))
    assert "gave no answer" in found["q2"].error and found["q1"].docs == ["a"]
