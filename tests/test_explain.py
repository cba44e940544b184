"""Why one query moved: each cause is told by what it leaves behind."""

import gzip
import html
import json
import shlex
from collections import Counter

import numpy as np
import pytest

from gate.cli import main
from gate.errors import InvalidInput
from gate.explain import alike, closeness, spans, terms, worded
from gate.explain.model import Place, Side
from gate.explain.query import Rules, explain
from gate.figures import fmt_part
from gate.golden.model import GoldenSet, Query, Span
from gate.policy import Policy
from gate.reports.explained import explained_text
from gate.runs import Chunk, Ranking, Run
from gate.snapshot.build import build_dense
from gate.snapshot.model import Corpus, Document, Unit
from gate.snapshot.reader import Snapshot
from gate.snapshot.verify import verify
from tests.conftest import golden_set

GOLDEN = golden_set({"q": ["a", "b"], "other": ["z"]})


def top(k, unit="doc"):
    return Rules(Policy().primary, k, unit)


def facts(before, after, golden=GOLDEN, k=3, rest=(), unit="doc"):
    runs = [Run({"q": side, "other": Ranking(list(rest))}) for side in (before, after)]
    return {fact.kind: fact for fact in explain("q", golden, *runs, top(k, unit)).facts}


def test_ranks_and_scores_stand_on_both_sides():
    old, new = Ranking(["a", "x", "b"], [3.0, 2.0, 1.0]), Ranking(["y", "a"], [5.0, 4.0])
    found = explain("q", GOLDEN, Run({"q": old}), Run({"q": new}), top(2))
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
    assert "Only 1 result came back, 3 results before" in facts(Ranking(["a", "x", "y"]), Ranking(["a"]))["few"].seen
    assert "Nothing came back, 1 result before" in facts(Ranking(["a"]), Ranking([]))["few"].seen
    assert "2 of the first 3 results repeat" in facts(Ranking(["a", "x", "y"]), Ranking(["x", "x", "x"]), unit="chunk")["repeats"].seen
    few = facts(Ranking(["a", "x", "y"]), Ranking(["x", "x", "x"]))["few"]
    assert "Only 1 different document among the 3 results, 3 before" in few.seen and "group them by document" in few.likely


def spanned(start=100, end=200):
    return Query("q", "text", {}, spans=(Span("d", start, end),))


def test_a_boundary_that_cuts_the_answer():
    fact, = spans.facts(spanned(), Ranking([]), {"d": [("d#1", 0, 140), ("d#2", 140, 170), ("d#3", 170, 300)]}, 3)
    assert fact.kind == "cut" and "by more than 40%, cut at 140, 170" in fact.seen and "chunker" in fact.likely


def test_another_chunk_of_the_right_document():
    after = Ranking(["x", "d", "d"], chunks=[Chunk(), Chunk("c", 0, 90), Chunk("c2", 90, 210)])
    kinds = [fact.kind for fact in spans.facts(spanned(), after, {"d": [("d#1", 0, 90), ("d#2", 90, 210)]}, 2, "chunk")]
    assert kinds == ["chunk", "chunk-rank"]
    after = Ranking(["d"], chunks=[Chunk("c", 0, 110)])
    assert [fact.kind for fact in spans.facts(spanned(), after, {}, 2)] == ["wrong-chunk"]


def test_of_several_chunks_that_hold_the_answer_the_first_counts():
    after = Ranking(["d", "x", "d", "d"], chunks=[Chunk("c", 140, 300), Chunk(), Chunk("c2", 90, 210), Chunk("c3", 100, 200)])
    assert list(spans.facts(spanned(), after, {}, 2)) == []
    whole, = spans.facts(spanned(), after, {}, 2, "chunk", 0.8)
    assert whole.kind == "chunk-rank" and whole.seen.endswith("is at rank 3.")
    fact, = spans.facts(spanned(), Ranking(after.docs[1:], chunks=after.chunks[1:]), {}, 1)
    assert fact.kind == "chunk-rank" and fact.seen.endswith("is at rank 2.")


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
    found = {fact.kind: fact for fact in explain("q", golden, run, run, top(3, "chunk"), snapshot).facts}
    assert "search" not in found and "puts a at 5 too" in found["model"].seen


@pytest.mark.parametrize(("query", "words"), [(Query("q", "text", {"a": 0.0}), "no document has a grade above 0"),
                                              (Query("q", "text", {}, answerable=False), "the query is unanswerable")])
def test_a_query_with_nothing_to_find_says_why(query, words):
    found = explain("q", GoldenSet((query,), path="golden.jsonl"), Run({"q": Ranking(["a"])}), Run({"q": Ranking(["b"])}), top(3))
    assert f"nothing: {words}\n" in explained_text(found)


def test_a_blind_query_is_not_explained():
    golden = GoldenSet((GOLDEN.queries[0]._replace(split="blind"),), path="golden.jsonl")
    with pytest.raises(InvalidInput, match="of the blind split"):
        explain("q", golden, Run({}), Run({}), top(3))


@pytest.mark.parametrize(("base", "run", "kind"), [("dense", "dense_hnsw_lowef", "search"), ("dense", "dense_lost10pct", "vanished"),
                                                   ("dense", "dense_dim64", "search"), ("dense", "dense_dim64", "stirred"),
                                                   ("dense", "dense_idshift", "parted"), ("bm25", "bm25_querynostem", "shared"),
                                                   ("bm25", "bm25_querynostem", "search"), ("bm25", "bm25_querycase", "fell")])
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


def scored(**docs):
    return Ranking(list(docs), list(docs.values()))


def test_one_document_alone_lost_score():
    before, after = scored(a=9.0, x=5.0, y=4.0, z=3.0, b=2.5), scored(x=5.0, y=4.0, z=3.0, b=2.5, a=2.0)
    fact = facts(before, after)["fell"]
    assert fact.seen == "a alone fell, from 9 to 2; all 3 other documents that both rankings hold score as before."
    assert "no longer" in fact.likely and "case, stemming" in fact.likely


def test_one_document_alone_is_gone():
    fact = facts(scored(a=9.0, x=5.0, y=4.0, z=3.0), scored(x=5.0, y=4.0, z=3.0), rest=["a"])["gone"]
    assert fact.seen.startswith("a alone is gone, though its score 9 would be enough; 3 of the 3 other documents")


def test_a_document_that_nobody_gets_is_not_said_to_be_gone_alone():
    found = facts(scored(a=9.0, x=5.0, y=4.0, z=3.0), scored(x=5.0, y=4.0, z=3.0))
    assert "vanished" in found and "gone" not in found


def test_every_score_is_another_one():
    fact = facts(scored(a=9.0, x=5.0, y=4.0, z=3.0), scored(x=6.0, y=5.5, z=5.1, a=5.05))["stirred"]
    assert "none of the 3 other documents" in fact.seen and "another or shortened embedding" in fact.likely


def test_the_same_scores_under_other_names():
    fact = facts(scored(a=9.0, x=5.0, y=4.0), Ranking(["a2", "x2", "y2"], [9.0, 5.0, 4.0]))["parted"]
    assert fact.seen.startswith("3 of the first 3 results have exactly the score that stood at their rank before")


def test_cutoffs_count_documents_unless_the_policy_counts_chunks():
    before, after = Ranking(["a"]), Ranking(["x", "x", "x", "a"])
    assert explain("q", GOLDEN, Run({"q": before}), Run({"q": after}), top(3)).relevant[0].after.rank == 2
    assert explain("q", GOLDEN, Run({"q": before}), Run({"q": after}), top(3, "chunk")).relevant[0].after.rank == 4


def test_the_share_of_a_span_is_the_policys():
    after = Ranking(["d"], chunks=[Chunk("c", 100, 170)])
    assert list(spans.facts(spanned(), after, {}, 3)) == []
    fact, = spans.facts(spanned(), after, {}, 3, "doc", 0.8)
    assert fact.kind == "wrong-chunk" and "cut it at 170" in fact.seen and "larger chunks" in fact.likely


def index(pages):
    """A search that counts shared words, as case-insensitive as an index is."""
    def search(text):
        asked = {word.strip("?.,").lower() for word in text.split()}
        hits = {page: len(asked & set(words.split())) for page, words in pages.items()}
        return [page for page in sorted(hits, key=lambda page: (-hits[page], page)) if hits[page]]
    return search


PAGES = {"dutch": "dutch revolt leader", "leader": "leader of a team", "cafe": "café menu in summer", "menu": "menu of the day summer",
         "err": "error 9002 log full", "log": "error log rotation full", "one": "alpha beta gamma delta epsilon", "two": "alpha beta"}


@pytest.mark.parametrize(("text", "heard", "gone", "why"), [
    ("the leader of Dutch Revolt", "the leader of", "'Dutch', 'Revolt'", "not lower-cased"),
    ("error 9002 log", "error log", "'9002'", "digits"), ("summer café menu", "summer menu", "'café'", "ASCII"),
    ("alpha beta gamma delta epsilon", "alpha beta", "'gamma', 'delta', 'epsilon'", "ends after 2 words")])
def test_the_words_that_a_lexical_run_has_stopped_to_look_for(text, heard, gone, why):
    pages = PAGES if "alpha" not in text else PAGES | {"three": "gamma delta", "four": "delta epsilon"}
    search = index(pages)
    after = search(heard)
    found = {fact.kind: fact for fact in worded.facts(search, text, search(text), after, [], 3)}
    if search(text)[:3] != after[:3]:
        assert f"as if the query had no {gone}:" in found["words"].seen and why in found["words"].likely


def test_a_baseline_that_is_no_search_over_this_index_is_not_taken_for_one():
    assert list(worded.facts(index(PAGES), "Dutch leader", ["q", "r"], ["leader"], [], 3)) == []


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """A small project: golden set, snapshot, configuration, two runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for n in range(12):
        (tmp_path / "docs" / f"d{n}.md").write_text(f"# Marktitel {n}\n\nMarktext word{n} of page {n}\n")
    assert main(["snapshot", "build", "--kind", "bm25", "--corpus", "docs", "--out", "snap"]) == 0
    digest = json.loads((tmp_path / "snap" / "manifest.json").read_text())["tree_digest"]
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps({"id": f"q{n}", "query": f"Markfrage word{n}", "relevant": [f"d{n}"]}) + "\n"
                                                   for n in range(12)))
    for folder, shift in (("base", 0), ("report", 1)):
        rows = (json.dumps({"id": f"q{n}", "ranked": [f"d{(n + at + shift) % 12}" for at in range(11)]}) + "\n" for n in range(12))
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.jsonl.gz").write_bytes(gzip.compress("".join(rows).encode()))

    def config(**more):
        settings = {"golden": "golden.jsonl", "snapshot": {"path": "snap", "digest": digest}, "retriever": {"kind": "bm25"}} | more
        (tmp_path / "gate.yml").write_text(json.dumps(settings))
    config()
    return config


EXPLAIN = ["explain", "q3", "--config", "gate.yml", "--baseline", "base", "--candidate", "report"]


def test_rules_golden_set_and_snapshot_are_the_configurations(configured, capsys):
    configured(policy={"primary": "recall@5", "metrics": ["recall@5"], "unit": "chunk"})
    assert main([*EXPLAIN, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["k"], found["unit"], found["score"]) == (5, "chunk", {"metric": "recall@5", "before": 1.0, "after": 0.0})
    assert found["relevant"][0]["title"].startswith("Marktitel") and {"search"} <= {fact["kind"] for fact in found["facts"]}


def test_a_snapshot_that_cannot_be_opened_is_said_and_costs_only_what_it_knows(configured, capsys, tmp_path):
    (tmp_path / "snap" / "units.jsonl").unlink()
    assert main(EXPLAIN) == 0
    found = capsys.readouterr()
    assert "warning: without the snapshot" in found.err and "not found" in found.out


def test_hidden_queries_are_not_explained_in_words(configured, capsys):
    assert main(EXPLAIN) == 0
    assert "Markfrage" in (shown := capsys.readouterr().out) and "Marktitel" in shown
    configured(show_queries=False)
    for more in ([], ["--format", "json"]):
        assert main([*EXPLAIN, *more]) == 0
        shown = capsys.readouterr().out
        assert "q3" in shown and not any(word in shown.lower() for word in ("markfrage", "marktitel", "word3"))


def test_without_a_configuration_the_golden_set_is_asked_for(capsys, tmp_path):
    assert main(["explain", "q", "--baseline", str(tmp_path), "--candidate", str(tmp_path), "--tier", "nightly", "-k", "0"]) == 2
    said = capsys.readouterr().err
    assert "--golden: is needed" in said and "--tier: there is no configuration" in said and "-k: 0" in said


def test_a_folder_without_rankings_says_what_was_looked_for(configured, capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    assert main([*EXPLAIN[:-1], "empty"]) == 2
    assert "is a folder without run.jsonl.gz or record.json.gz or baseline.json.gz" in capsys.readouterr().err


def test_the_report_says_how_to_ask_why_and_that_command_works(configured, capsys, tmp_path):
    sides = ["--golden", "golden.jsonl", "--baseline", "base", "--candidate", "report"]
    assert main(["compare", *sides, "--out", "out"]) == 1
    shown = capsys.readouterr().out
    command = next(line.strip() for line in shown.splitlines() if "retrieval-gate explain" in line)
    assert main(shlex.split(command)[1:]) == 0
    assert "What there is to see" in capsys.readouterr().out
    assert command.replace(command.split()[2], "QUERY_ID") in html.unescape((tmp_path / "out" / "report.html").read_text())


def test_alone_is_what_moved_alone():
    others = {"x": 7.0, "y": 6.0, "z": 5.0, "w": 4.0}
    fact = facts(scored(a=9.0, b=8.0, **others), scored(**others, a=3.0, b=2.0))["fell"]
    assert fact.seen == ("a fell from 9 to 3, and 1 more relevant document with it; all 4 other documents that both rankings hold score as "
                         "before.")
    fact = facts(scored(a=9.0, b=8.0, m=7.5, **others), scored(**others, v=3.0), rest=["a", "b"])["gone"]
    assert fact.seen.startswith("a and 2 more results are gone, though their scores (9 of a) would be enough; 4 of the 4 other documents")


def test_what_is_missing_for_everybody_is_not_missed_once_more_beside_others():
    others = {"x": 7.0, "y": 6.0, "z": 5.0, "w": 4.0}
    assert "gone" not in facts(scored(a=9.0, m=8.0, **others), scored(**others, v=3.0))


def test_what_rose_did_not_fall():
    many = {f"x{n}": 90.0 - n for n in range(40)}
    now = {name: score if n < 30 else score + 9 if n == 39 else score - 20 for n, (name, score) in enumerate(many.items())}
    order = dict(sorted({**now, "a": 20.0}.items(), key=lambda pair: -pair[1]))
    fact = facts(scored(a=99.0, **many), scored(**order))["fell"]
    assert fact.seen == ("a fell from 99 to 20; 30 of the 40 other documents that both rankings hold score as before, 9 fell as well and 1 "
                         "rose.")


def test_one_result_ahead_and_one_that_repeats_are_singular():
    assert "result 1 scores 3: 1 result is ahead of it" in facts(scored(a=3.0, x=2.0), scored(x=3.0, a=2.0), k=1)["distance"].seen
    assert facts(Ranking([*"axyz"]), Ranking([*"xxya"]), unit="chunk")["repeats"].seen == \
        "1 of the first 3 results repeats a document above it."


def test_vectors_explain_nothing_that_a_run_finds_all_the_same():
    found = [Place("a", 1.0, Side(1, 0.9), Side(2, 0.9))]
    assert not list(closeness.facts(np.array([0.9, 0.8, 0.7, 0.1]), ["x", "y", "z", "a"], {}, found, 2))


def test_a_query_that_a_run_lacks_was_not_asked():
    asked, lacks = Run({"q": Ranking(["a", "b"]), "other": Ranking(["z"])}), Run({"other": Ranking(["z"])})
    fact, = explain("q", GOLDEN, asked, lacks, top(3)).facts
    assert (fact.kind, fact.seen) == ("not-asked", "The candidate has no ranking of this query.")
    assert explain("q", GOLDEN, lacks, asked, top(3)).facts[0].seen == "The baseline has no ranking of this query."
    assert "not-asked" not in {fact.kind for fact in explain("q", GOLDEN, asked, asked, top(3)).facts}


def test_a_share_is_not_rounded_across_what_is_asked_for():
    query = Query("q", "words", {}, spans=(Span("d", 0, 1000, 1.0),))
    fact, = spans.facts(query, Ranking([]), {"d": [("d#1", 0, 497)]}, 10, overlap=0.5)
    assert "is in no chunk of the index by more than 49.7%, cut at 497; a chunk has to hold 50%." in fact.seen
    assert [fmt_part(*each) for each in ((0.9996, 1.0), (1.0, 1.0), (0.5,), (0.004, 1.0))] == ["99.96%", "100%", "50%", "0%"]
