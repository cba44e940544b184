"""An interrupted run goes on where it stopped: with the same answers, and never with those of something else."""

import json

import pytest

from gate.errors import InvalidInput
from gate.golden.model import Query
from gate.journal import NAME, Journal
from gate.runs import Chunk, Ranking
from tests.retrievers.support import queries

KEY = "sha256:" + "0" * 64
FULL = Ranking(["a", "b"], [2.0, 1.0], [Chunk("c1", 0, 9), Chunk()], ["a", "b", "z"], 3.5, 0.01)


def written(tmp_path, *answers, key=KEY):
    with Journal(tmp_path, key, resume=False) as journal:
        for query, ranking in zip(queries(len(answers)), answers, strict=True):
            journal.add(query, ranking)
    return tmp_path / NAME


def test_what_was_answered_comes_back_whole(tmp_path):
    written(tmp_path, FULL, Ranking([]))
    with Journal(tmp_path, KEY, resume=True) as journal:
        assert journal.answered(queries(3)) == {"q1": FULL, "q2": Ranking([])}


def test_a_query_that_failed_is_asked_again(tmp_path):
    written(tmp_path, Ranking([], error="no answer."), FULL)
    with Journal(tmp_path, KEY, resume=True) as journal:
        assert journal.answered(queries(2)).keys() == {"q2"}


def test_a_query_whose_words_have_changed_is_another_question(tmp_path):
    written(tmp_path, FULL)
    with Journal(tmp_path, KEY, resume=True) as journal:
        assert journal.answered([Query("q1", "other words", {"d1": 1.0})]) == {}


def test_repeats_are_told_apart(tmp_path):
    with Journal(tmp_path, KEY, resume=False) as journal:
        journal.add(queries(1)[0], FULL, 2)
    with Journal(tmp_path, KEY, resume=True) as journal:
        assert journal.answered(queries(1)) == {} and journal.answered(queries(1), 2) == {"q1": FULL}


def test_half_a_line_at_the_end_is_what_an_interruption_leaves(tmp_path):
    path = written(tmp_path, FULL, FULL)
    path.write_bytes(path.read_bytes()[:-20])
    with Journal(tmp_path, KEY, resume=True) as journal:
        assert journal.answered(queries(2)).keys() == {"q1"}
        journal.add(queries(2)[1], Ranking(["z"]))
    with Journal(tmp_path, KEY, resume=True) as journal:
        assert journal.answered(queries(2))["q2"] == Ranking(["z"])
    assert all(json.loads(line) for line in path.read_text().splitlines())


@pytest.mark.parametrize("head", [b"", b'{"journal": 1, "ke'])
def test_a_journal_that_was_cut_before_its_first_answer_starts_anew(tmp_path, head):
    (tmp_path / NAME).write_bytes(head)
    with Journal(tmp_path, KEY, resume=True) as journal:
        journal.add(queries(1)[0], FULL)
    with Journal(tmp_path, KEY, resume=True) as journal:
        assert journal.answered(queries(1)) == {"q1": FULL}


def test_answers_under_another_configuration_are_refused(tmp_path):
    written(tmp_path, FULL)
    with pytest.raises(InvalidInput, match="answers were given under another configuration") as error, \
            Journal(tmp_path, "sha256:" + "1" * 64, resume=True):
        pass
    assert "without --resume" in error.value.cure and (tmp_path / NAME).exists()


@pytest.mark.parametrize("line", ["[1]", "nonsense", '{"id": "q1", "ranked": [1]}', '{"ranked": []}',
                                  '{"repeat": [], "id": "q1", "ranked": []}'])
def test_a_line_that_is_no_answer_is_named(tmp_path, line):
    path = written(tmp_path, FULL)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InvalidInput, match=r"answers\.jsonl:3: "), Journal(tmp_path, KEY, resume=True):
        pass


def test_another_file_of_that_name_is_no_journal(tmp_path):
    (tmp_path / NAME).write_text('{"id": "q1", "ranked": []}\n')
    with pytest.raises(InvalidInput, match="is not the journal of a run"), Journal(tmp_path, KEY, resume=True):
        pass


def test_without_resume_the_older_answers_are_put_aside_and_not_lost(tmp_path):
    written(tmp_path, FULL)
    with Journal(tmp_path, KEY, resume=False) as journal:
        assert journal.answered(queries(1)) == {}
    assert "a" in (tmp_path / f"{NAME}.before").read_text()


def test_a_whole_run_leaves_no_journal(tmp_path):
    with Journal(tmp_path, KEY, resume=False) as journal:
        journal.done()
    assert not (tmp_path / NAME).exists()
