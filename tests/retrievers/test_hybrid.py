"""Kind ``hybrid``: several retrievers, one ranking, and nothing hidden about which of them failed."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput, RetrieverFailed
from gate.golden.model import Query
from gate.golden.read import read_golden
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.retrievers.fusion import fuse
from gate.runs import Chunk, Ranking, read_run
from gate.settings import parse_settings
from tests.retrievers.frozen import dense_snapshot

SNAPSHOT = 'snapshot: {path: s, digest: "sha256:' + "0" * 64 + '"}\n'


def settings_of(retriever: str, folder):
    text = f"golden: g.jsonl\n{SNAPSHOT}retriever:\n  kind: hybrid\n{retriever}"
    return parse_settings(text.encode(), folder / "c.yml", "c.yml").retriever


def ask(retriever: str, folder, queries, depth=10, snapshot=None):
    built = build_retriever(settings_of(retriever, folder), Given(snapshot))
    with built:
        return dict(built.retrieve(queries, depth)), built


def run_file(folder, name: str, rankings: dict) -> None:
    (folder / name).write_text("".join(json.dumps({"id": query, "ranked": docs} if isinstance(docs, list) else {"id": query, **docs}) + "\n"
                                       for query, docs in rankings.items()))


def questions(*names):
    return [Query(name, f"question {name}", {"x": 1.0}) for name in names]


TWO = "  legs:\n    - {kind: run, file: one.jsonl}\n    - {kind: run, file: two.jsonl}\n"


def test_two_legs_are_fused_by_reciprocal_rank(tmp_path):
    run_file(tmp_path, "one.jsonl", {"q1": ["a", "b", "c"]})
    run_file(tmp_path, "two.jsonl", {"q1": ["c", "d"]})
    found, built = ask(TWO, tmp_path, questions("q1"), depth=3)
    assert found["q1"].docs == ["c", "a", "b"] and found["q1"].candidates == ["c", "a", "b", "d"]  # b and d are equal: by id
    assert found["q1"].scores == pytest.approx([1 / 63 + 1 / 61, 1 / 61, 1 / 62])
    assert built.describe() == {"kind": "hybrid", "fusion": "rrf", "k": 60, "leg 1": {"kind": "run", "file": "one.jsonl"},
                                "leg 2": {"kind": "run", "file": "two.jsonl"}}


def test_k_weights_and_fetch_are_the_configurations(tmp_path):
    run_file(tmp_path, "one.jsonl", {"q1": ["a", "b", "c"]})
    run_file(tmp_path, "two.jsonl", {"q1": ["c", "d"]})
    found, built = ask(f"{TWO}  k: 0\n  weights: [3, 1]\n  fetch: 2\n", tmp_path, questions("q1"))
    assert found["q1"].docs == ["a", "b", "c", "d"] and found["q1"].scores == [3, 1.5, 1, .5]
    assert built.describe()["weights"] == [3, 1] and built.describe()["fetch"] == 2
    assert any("leg 1 (run)" in note and "longer than depth 2" in note for note in built.notes)


def test_a_leg_that_fails_on_a_query_or_has_none_fails_the_query(tmp_path):
    run_file(tmp_path, "one.jsonl", {"q1": ["a"], "q2": ["a"], "q3": ["a"]})
    run_file(tmp_path, "two.jsonl", {"q1": ["b"], "q2": {"ranked": [], "error": "timeout"}})
    found, _ = ask(TWO, tmp_path, questions("q1", "q2", "q3"))
    assert found["q1"].error == "" and found["q2"].error == "leg 2 (run): timeout" and found["q3"].error == "leg 2 (run) gave no ranking."
    assert found["q2"].docs == found["q3"].docs == []


def test_answers_come_as_soon_as_all_legs_have_given_theirs(tmp_path):
    run_file(tmp_path, "one.jsonl", {f"q{n}": ["a"] for n in range(5)})
    run_file(tmp_path, "two.jsonl", {f"q{n}": ["a"] for n in range(5)})
    built = build_retriever(settings_of(TWO, tmp_path), Given())
    pulled = []

    class Watched:
        notes: list = []

        def __init__(self, inner):
            self.inner = inner

        def retrieve(self, queries, depth):
            for answer in self.inner.retrieve(queries, depth):
                pulled.append(answer[0])
                yield answer

    built._legs = [Watched(leg) for leg in built._legs]
    answers = built.retrieve(questions(*(f"q{n}" for n in range(5))), 3)
    assert next(answers)[0] == "q0" and pulled == ["q0", "q0"]


def test_legs_may_be_nested_and_keep_their_own_settings(tmp_path):
    frozen = dense_snapshot(tmp_path / "dense", {"a": [1, 0], "b": [0, 1]}, {("q1", "question q1"): [1, 0]})
    run_file(tmp_path, "one.jsonl", {"q1": ["b"]})
    text = ("  legs:\n    - kind: dense\n    - kind: hybrid\n      k: 10\n      legs: [{kind: run, file: one.jsonl}, {kind: dense}]\n")
    settings = settings_of(text, tmp_path)
    assert settings.needs_snapshot
    found, built = ask(text, tmp_path, questions("q1"), snapshot=frozen)
    assert sorted(found["q1"].docs) == ["a", "b"] and built.describe()["leg 2"]["leg 1"] == {"kind": "run", "file": "one.jsonl"}


def test_every_fault_of_every_leg_is_listed_with_its_line():
    text = (f"golden: g\n{SNAPSHOT}retriever:\n  kind: hybrid\n  k: -1\n  weights: [1, 2, 3]\n  legs:\n    - kind: run\n    - kind: dense\n"
            "      fil: x\n")
    with pytest.raises(InvalidInput) as caught:
        parse_settings(text.encode(), "c.yml", "c.yml")
    told = str(caught.value)
    assert "c.yml:8: `file` must name the run file" in told or "c.yml:7: `file` must name the run file" in told
    assert "unknown key `fil`" in told and "`weights` must be a list with one number for each leg" in told and "`k` must be" in told
    for legs in ("[{kind: dense}]", "dense", "[]", "[{kind: dense}, dense]"):
        with pytest.raises(InvalidInput, match="leg"):
            parse_settings(f"golden: g\n{SNAPSHOT}retriever:\n  kind: hybrid\n  legs: {legs}\n".encode(), "c.yml", "c.yml")


def test_a_leg_that_cannot_start_or_gives_up_is_named(tmp_path):
    run_file(tmp_path, "one.jsonl", {"q1": ["a"]})
    with pytest.raises(InvalidInput, match=r"^leg 2 \(run\): .*two.jsonl: no such file"):
        ask(TWO, tmp_path, questions("q1"))
    run_file(tmp_path, "two.jsonl", {"q1": ["a"]})
    built = build_retriever(settings_of(TWO, tmp_path), Given())

    def gives_up(queries, depth):
        raise RetrieverFailed(["it is down", "really"], "start it")
        yield

    with built:
        built._legs[1].retrieve = gives_up
        with pytest.raises(RetrieverFailed) as caught:
            list(built.retrieve(questions("q1"), 3))
    assert caught.value.problems == ("leg 2 (run): it is down", "really") and caught.value.cure == "start it"


def test_chunks_are_fused_where_every_leg_names_them():
    one = Ranking(["d", "d"], None, [Chunk("d#1", 0, 5), Chunk("d#2", 5, 9)], ms=2.0, cost=1.0)
    two = Ranking(["d"], None, [Chunk("d#2", 5, 9)], ms=3.0)
    found = fuse([one, two], (1, 1), 60)
    assert found.docs == ["d", "d"] and [chunk.chunk for chunk in found.chunks] == ["d#2", "d#1"] and found.candidates == ["d"]
    assert found.ms == 5.0 and found.cost is None
    plain = fuse([one, Ranking(["e", "d"])], (1, 1), 60)
    assert plain.docs == ["d", "e"] and plain.chunks is None and plain.scores == pytest.approx([1 / 61 + 1 / 62, 1 / 61])
    assert fuse([one, Ranking([])], (1, 1), 60).chunks is not None and fuse([Ranking([]), Ranking([])], (1, 1), 60).docs == []


LISTS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True).map(Ranking), min_size=2, max_size=4)


@given(LISTS, st.floats(0, 100))
def test_fusing_keeps_the_union_and_never_ranks_a_result_below_one_that_is_worse_everywhere(rankings, k):
    found = fuse(rankings, [1.0] * len(rankings), k)
    union = {doc for ranking in rankings for doc in ranking.docs}
    assert set(found.docs) == union and len(found.docs) == len(union) and found.scores == sorted(found.scores, reverse=True)
    places = [{doc: place for place, doc in enumerate(ranking.docs)} for ranking in rankings]
    order = {doc: place for place, doc in enumerate(found.docs)}
    for doc in union:
        for other in union - {doc}:
            if all(place.get(doc, 99) < place.get(other, 99) for place in places):
                assert order[doc] < order[other]


@given(LISTS)
def test_the_order_of_equally_weighted_legs_does_not_matter(rankings):
    one, two = fuse(rankings, [1.0] * len(rankings), 60), fuse(rankings[::-1], [1.0] * len(rankings), 60)
    assert dict(zip(one.docs, one.scores, strict=True)) == pytest.approx(dict(zip(two.docs, two.scores, strict=True)))


@pytest.mark.parametrize("collection", ["squad2-dev", "anthropic-docs"])  # of xquad-en the legs are stored less deep than they were fused
def test_fusing_the_stored_legs_gives_the_stored_hybrid_run(data, tmp_path, collection):
    runs = data / "runs" / collection
    for leg in ("bm25", "dense"):
        (tmp_path / f"{leg}.jsonl").write_bytes(gzip.decompress((runs / f"{leg}.jsonl.gz").read_bytes()))
    golden = read_golden(data / "collections" / collection / "golden.jsonl")
    stored = read_run(runs / "hybrid_rrf60.jsonl.gz").rankings
    found, _ = ask("  legs: [{kind: run, file: bm25.jsonl}, {kind: run, file: dense.jsonl}]\n", tmp_path, golden.queries, 100)
    assert found.keys() == stored.keys()
    for query, ranking in stored.items():
        assert found[query].scores == pytest.approx(ranking.scores, abs=1e-6)  # they are stored with six digits
        if collection == "squad2-dev":
            assert found[query].docs == ranking.docs
        else:  # equal sums in the order of the corpus there, by id here
            mine, theirs = ({score: {doc for doc, other in zip(docs, found[query].scores, strict=True) if other == score}
                             for score in found[query].scores[:-10]} for docs in (found[query].docs, ranking.docs))
            assert mine == theirs
