"""Why one query moved: each cause is told by what it leaves behind."""

import json
from collections import Counter

import numpy as np
import pytest

from gate.cli import main
from gate.errors import InvalidInput
from gate.explain import alike, closeness, spans, terms
from gate.explain.model import Place, Side
from gate.explain.query import explain
from gate.golden.model import GoldenSet, Query, Span
from gate.reports.explained import explained_text
from gate.runs import Chunk, Ranking, Run
from gate.snapshot.build import build_dense
from gate.snapshot.model import Corpus, Document, Unit
from gate.snapshot.reader import Snapshot
from gate.snapshot.verify import verify
from tests.conftest import golden_set

GOLDEN = golden_set({"q": ["a", "b"], "other": ["z"]})


def facts(before, after, golden=GOLDEN, k=3, rest=()):
    runs = [Run({"q": side, "other": Ranking(list(rest))}) for side in (before, after)]
    return {fact.kind: fact for fact in explain("q", golden, *runs, k).facts}


def test_ranks_and_scores_stand_on_both_sides():
    old, new = Ranking(["a", "x", "b"], [3.0, 2.0, 1.0]), Ranking(["y", "a"], [5.0, 4.0])
    found = explain("q", GOLDEN, Run({"q": old}), Run({"q": new}), 2)
    assert found.relevant == (Place("a", 1.0, Side(1, 3.0), Side(2, 4.0)), Place("b", 1.0, Side(3, 1.0), Side()))
    assert found.instead == (Place("y", None, Side(), Side(1, 5.0)),)


def test_a_document_that_nobody_gets_any_more():
    assert "a is returned for no query of this run" in facts(Ranking(["a", "b"]), Ranking(["x", "b"]))["vanished"].seen
    assert "vanished" not in facts(Ranking(["a", "b"]), Ranking(["x", "b"]), rest=["a"])


def test_the_stage_that_lost_it():
    before = Ranking(["a"], candidates=["a", "x"])
    lost = facts(before, Ranking(["x"], candidates=["x", "a"]))["stage"]
    assert "a is candidate 2 of 2 and not in the final results" in lost.seen and "reranker" in lost.likely
    lost = facts(before, Ranking(["x"], candidates=["x", "y"]))["stage"]
    assert "none of the 2 candidates; before it was candidate 1" in lost.seen and "first stage" in lost.likely


def test_how_far_it_is_from_the_top():
    after = Ranking(["x", "y", "z", "a"], [0.9, 0.8, 0.7, 0.5])
    assert "a scores 0.5, result 3 scores 0.7: 3 results are ahead" in facts(Ranking(["a"]), after)["distance"].seen
    deep = Ranking([*"xyzuv", "a"], [0.9, 0.8, 0.7, 0.6, 0.6, 0.5])
    assert "result 3 scores 0.7: 5 results are ahead" in facts(Ranking(["a"]), deep)["distance"].seen
    tied = Ranking(["x", "y", "z", "a"], [0.9, 0.5, 0.5, 0.5])
    assert "same score as result 3; 3 results share it" in facts(Ranking(["a"]), tied)["tie"].seen


def test_errors_short_answers_and_repeats():
    assert "failed on this query: boom" in facts(Ranking(["a"]), Ranking([], error="boom\n| trace"))["error"].seen
    assert "Only 1 results came back, 3 before" in facts(Ranking(["a", "x", "y"]), Ranking(["a"]))["few"].seen
    assert "2 of the first 3 results repeat" in facts(Ranking(["a", "x", "y"]), Ranking(["x", "x", "x"]))["repeats"].seen


def spanned(start=100, end=200):
    return Query("q", "text", {}, spans=(Span("d", start, end),))


def test_a_boundary_that_cuts_the_answer():
    fact, = spans.facts(spanned(), Ranking([]), {"d": [("d#1", 0, 140), ("d#2", 140, 170), ("d#3", 170, 300)]}, 3)
    assert fact.kind == "cut" and "by more than 40%, cut at 140, 170" in fact.seen and "chunker" in fact.likely


def test_another_chunk_of_the_right_document():
    after = Ranking(["x", "d", "d"], chunks=[Chunk(), Chunk("c", 0, 90), Chunk("c2", 90, 210)])
    kinds = [fact.kind for fact in spans.facts(spanned(), after, {"d": [("d#1", 0, 90), ("d#2", 90, 210)]}, 2)]
    assert kinds == ["chunk", "chunk-rank"]
    after = Ranking(["d"], chunks=[Chunk("c", 0, 110)])
    assert [fact.kind for fact in spans.facts(spanned(), after, {}, 2)] == ["wrong-chunk"]


def test_of_several_chunks_that_hold_the_answer_the_first_counts():
    after = Ranking(["d", "x", "d", "d"], chunks=[Chunk("c", 140, 300), Chunk(), Chunk("c2", 90, 210), Chunk("c3", 100, 200)])
    assert list(spans.facts(spanned(), after, {}, 2)) == []
    fact, = spans.facts(spanned(), Ranking(after.docs[1:], chunks=after.chunks[1:]), {}, 1)
    assert fact.kind == "chunk-rank" and fact.seen.endswith("is result 2.")


def test_near_duplicates_in_the_way():
    text = ("the quick brown fox jumps over the lazy dog and runs home before the rain comes down upon the hill where he was born "
            "many years ago")
    texts = {"a": text, "v2": text.replace("lazy", "sleepy"), "x": "something else entirely that shares no run of words"}
    fact, = alike.facts(["a"], ["v2", "x", "unknown"], texts)
    assert fact.kind == "twin" and fact.seen.startswith("v2, which is not credited") and "equivalence group" in fact.likely
    assert alike.resemblance("", "") == 0.0 and alike.resemblance("one two", "One TWO!") == 1.0


def test_words_that_index_and_query_do_not_share():
    held = {"a": Counter(["gateways", "rotation"]), "r": Counter(["gateway", "gateway"])}
    found = {f.kind: f for f in terms.facts(["gateway", "zzyzx"], ["a"], "r", held, {"gateway": 3, "gateways": 1, "rotation": 2})}
    assert "does not know zzyzx" in found["unknown"].seen
    assert "a has 0 of 2 terms" in found["shared"].seen and "gateway / gateways" in found["shared"].likely
    assert "r, the first result that is not credited, holds more of gateway" in found["rival"].seen
    fact, = terms.facts([], ["a"], "", held, {})
    assert fact.kind == "no-terms"


def place(doc, before, after, before_score=None, after_score=None):
    return Place(doc, 1.0, Side(before, before_score), Side(after, after_score))


def test_model_or_search():
    scores, ids = np.array([0.9, 0.8, 0.1, 0.2]), ["a", "x", "b", "y"]
    lost, far = closeness.facts(scores, ids, {}, [place("a", 1, None), place("b", 4, 4)], 2)
    assert lost.kind == "search" and "puts a at 1" in lost.seen and "Not the model" in lost.likely
    assert far.kind == "model" and "0.100 against 0.900 of a" in far.seen
    other, = closeness.facts(scores, ids, {}, [place("a", 1, 9, 0.9, 0.3)], 2)
    assert "other vectors" in other.likely
    assert list(closeness.facts(scores, ids, {}, [place("a", 1, 1)], 2)) == []


def test_equal_vectors_are_ranked_as_the_search_ranks_them():
    lost, = closeness.facts(np.array([0.5, 0.5, 0.4]), ["a", "b", "c"], {}, [place("a", 1, None)], 1)
    assert lost.kind == "search" and "puts a at 1" in lost.seen


def test_windows_of_other_documents_are_not_taken_for_a_fault_of_the_search(tmp_path):
    """The run that is explained is exact search itself: windows of one document fill the top, and a document counted once each would
    seem to stand higher there than in the run."""
    corpus = [Document("a", "", "one"), Document("b", "", "red red red red")]
    units = [*(Unit(f"b#{n}", "b", "", "red", "b", n, n + 1) for n in range(1, 5)), Unit("a", "a", "", "one")]
    vectors = np.array([[1, n / 10] for n in range(1, 5)] + [[1, 1]], np.float32)
    (tmp_path / "q.jsonl").write_text('{"id": "q", "text": "text"}\n')
    build_dense(Corpus(tuple(corpus), tuple(units)), vectors, tmp_path / "snap", model="m", queries=tmp_path / "q.jsonl",
                query_vectors=np.array([[1, 0]], np.float32))
    snapshot = Snapshot(tmp_path / "snap", verify(tmp_path / "snap"))
    golden = GoldenSet((Query("q", "text", {"a": 1.0}),), path="golden.jsonl")
    run = Run({"q": Ranking(["b", "b", "b", "b", "a"], [0.9, 0.8, 0.7, 0.6, 0.5])})
    found = {fact.kind: fact for fact in explain("q", golden, run, run, 3, snapshot).facts}
    assert "search" not in found and "puts a at 5 too" in found["model"].seen


@pytest.mark.parametrize(("query", "words"), [(Query("q", "text", {"a": 0.0}), "no document has a grade above 0"),
                                              (Query("q", "text", {}, answerable=False), "the query is unanswerable")])
def test_a_query_with_nothing_to_find_says_why(query, words):
    found = explain("q", GoldenSet((query,), path="golden.jsonl"), Run({"q": Ranking(["a"])}), Run({"q": Ranking(["b"])}), 3)
    assert f"nothing: {words}\n" in explained_text(found)


def test_a_blind_query_is_not_explained():
    golden = GoldenSet((GOLDEN.queries[0]._replace(split="blind"),), path="golden.jsonl")
    with pytest.raises(InvalidInput, match="of the blind split"):
        explain("q", golden, Run({}), Run({}), 3)


@pytest.mark.parametrize(("base", "run", "kind"), [("dense", "dense_hnsw_lowef", "search"), ("dense", "dense_lost10pct", "vanished"),
                                                   ("dense", "dense_dim64", "search"), ("bm25", "bm25_querynostem", "shared")])
def test_real_losses_are_explained_through_the_command_line(data, tmp_path, capsys, base, run, kind):
    collection, vectors = data / "collections" / "squad2-dev", data / "embeddings" / "squad2-dev"
    build = ["snapshot", "build", "--corpus", str(collection / "corpus.jsonl"), "--out", str(tmp_path / "snap"), "--kind", base]
    if base == "dense":
        build += ["--vectors", str(vectors / "docs.npy"), "--model", "m", "--query-vectors", str(vectors / "queries.npy"),
                  "--queries", str(collection / "queries.jsonl")]
    assert main(build) == 0
    runs = ["--golden", str(collection / "golden.jsonl"), "--baseline", str(data / "runs" / "squad2-dev" / f"{base}.jsonl.gz"),
            "--candidate", str(data / "runs" / "squad2-dev" / f"{run}.jsonl.gz")]
    capsys.readouterr()
    main(["compare", *runs, "--format", "json"])
    lost = [flip["id"] for flip in json.loads(capsys.readouterr().out)["flips"]["lost"]][:5]
    told = 0
    for query_id in lost:
        assert main(["explain", query_id, *runs, "--snapshot", str(tmp_path / "snap"), "--format", "json"]) == 0
        told += kind in [fact["kind"] for fact in json.loads(capsys.readouterr().out)["facts"]]
    assert told >= 4
    assert main(["explain", lost[0], *runs]) == 0
    shown = capsys.readouterr().out
    assert lost[0] in shown and "Relevant" in shown and "What there is to see" in shown


def test_an_unknown_query_is_named_with_its_neighbours(write, capsys):
    golden = write("golden.jsonl", {"id": "q001", "query": "x", "relevant": ["a"]})
    run = write("r.jsonl", {"id": "q001", "ranked": ["a"]})
    assert main(["explain", "q01", "--golden", str(golden), "--baseline", str(run), "--candidate", str(run)]) == 2
    assert "did you mean q001?" in capsys.readouterr().err
