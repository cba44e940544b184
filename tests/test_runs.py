import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import GateError, InvalidInput
from gate.runs import Chunk, Ranking, read_run, run_lines, write_run


def problems(path):
    with pytest.raises(InvalidInput) as caught:
        read_run(path)
    return caught.value.problems


def test_a_ranked_list_is_authoritative_even_when_scores_say_otherwise(write):
    run = read_run(write("r.jsonl", {"id": "q", "ranked": ["a", "b"], "scores": [1.0, 2.0]}))
    assert run.rankings["q"].docs == ["a", "b"]


def test_a_trec_run_is_sorted_by_score_then_document_id_descending_and_its_rank_column_is_ignored(write):
    run = read_run(write("r.trec", "q Q0 a 9 1.0 t", "q Q0 b 8 1.0 t", "q\tQ0 c 7 3.5 t"))
    assert run.rankings["q"].docs == ["c", "b", "a"]


def test_trec_faults_are_all_listed(write):
    found = problems(write("r.trec", "q Q0 a 1 1.0", "q Q0 a 1 nan t", "q Q0 b 1 x t", "q Q0 c 1 2 t", "q Q0 c 2 1 t"))
    assert len(found) == 4 and "5 columns" in found[0] and "not finite" in found[1] and "in line 4" in found[3]


def test_document_ids_with_hashes_and_any_unicode_are_opaque(write):
    run = read_run(write("r.jsonl", {"id": "q", "ranked": ["docs/a#b", "Ünï", " "]}))
    assert run.rankings["q"].docs == ["docs/a#b", "Ünï", " "]


def test_gzip_runs_are_read_and_a_cut_one_is_an_error(tmp_path):
    data = gzip.compress(b'{"id":"q","ranked":["a"]}\n' * 1)
    whole, cut = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"
    whole.write_bytes(data)
    cut.write_bytes(data[:-6])
    assert len(read_run(whole).rankings) == 1
    assert "damaged or cut gzip" in problems(cut)[0]


@pytest.mark.parametrize("line", [
    {"id": "q", "ranked": [1]}, {"id": "q", "ranked": [None]}, {"id": "q", "ranked": "abc"}, {"id": "q"}, {"ranked": []},
    {"id": "", "ranked": []},
    {"id": "q", "ranked": ["a"], "scores": []}, '{"id":"q","ranked":["a"],"scores":[NaN]}', {"id": "q", "ranked": ["a"], "scores": [True]},
    {"id": "q", "ranked": [{"doc": "a", "start": 5, "end": 2}]}, {"id": "q", "ranked": [{"doc": 3}]}, {"id": "q", "ranked": ["a", ""]},
    {"id": "q", "ranked": [{"doc": "a", "score": 1}, {"doc": "b"}]}, {"id": "q", "ranked": [], "ms": "fast"}, [1], "3"])
def test_a_line_that_is_not_a_ranking_is_an_error_with_its_line(write, line):
    path = write("r.jsonl", {"id": "ok", "ranked": ["a"]}, line)
    assert problems(path)[0].startswith(f"{path}:2: ")


def test_a_query_answered_twice_is_an_error(write):
    assert "already answered" in problems(write("r.jsonl", {"id": "q", "ranked": []}, {"id": "q", "ranked": []}))[0]


def test_an_error_line_needs_no_ranking(write):
    assert read_run(write("r.jsonl", {"id": "q", "error": "boom"}, {"id": "p", "ranked": []})).rankings["q"].error == "boom"


def test_chunks_keep_their_offsets_through_writing_and_reading(tmp_path):
    ranking = Ranking(["a", "a"], [2.0, 1.0], [Chunk("a#1", 0, 10), Chunk("a#2", 10, 25)], candidates=["a", "b"], ms=1.5, cost=0.1)
    write_run(tmp_path / "r.jsonl.gz", {"q": ranking})
    assert read_run(tmp_path / "r.jsonl.gz").rankings["q"] == ranking


def test_equal_runs_give_equal_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        write_run(tmp_path / name, {"q": Ranking(["a"], ms=1.0)})
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1, max_size=8)
rankings = st.builds(Ranking, docs=st.lists(ids, max_size=6), ms=st.none() | st.floats(0, 1e6),
                     candidates=st.none() | st.lists(ids, max_size=3))


@given(st.dictionaries(ids.filter(lambda i: i.strip()), rankings, min_size=1, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("run") / "r.jsonl"
    path.write_bytes(run_lines(content))
    assert read_run(path).rankings == content


@given(st.binary(max_size=200), st.sampled_from(["r.jsonl", "r.trec"]))
def test_no_bytes_crash_the_reader_with_anything_but_a_typed_error(tmp_path_factory, content, name):
    path = tmp_path_factory.mktemp("fuzz") / name
    path.write_bytes(content)
    try:
        read_run(path)
    except GateError as error:
        assert error.exit_code == 2
