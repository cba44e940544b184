"""Metric definitions: worked numbers, faults seen elsewhere, properties, and two independent implementations as oracles."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.scoring.metrics import UnknownMetric, parse_metric
from gate.scoring.score import score_run
from tests.conftest import golden_set, run_of

WORKED = ["x1", "A", "x2", "x3", "B", "x4", "x5", "x6", "x7", "x8"]


def value(metric, relevant, ranked, unit="doc"):
    scored = score_run(golden_set({"q": relevant}), run_of({"q": ranked}), [parse_metric(metric)], unit)
    return scored.mean(metric)


@pytest.mark.parametrize("metric, expected", [
    ("recall@5", 2 / 3), ("recall@10", 2 / 3), ("precision@5", 0.4), ("rr", 0.5), ("rr@10", 0.5), ("rr@1", 0.0),
    ("hit@1", 0.0), ("hit@2", 1.0),
    ("ndcg@10", 0.4776237), ("ndcg-exp@10", 0.4776237), ("ap", 0.3), ("ap@2", 1 / 6), ("r-precision", 1 / 3), ("recall-cap@2", 0.5),
    ("recall-cap@5", 2 / 3), ("judged@5", 0.4), ("judged@10", 0.2), ("judged@1", 0.0)])
def test_the_worked_example_of_the_field(metric, expected):
    assert value(metric, ["A", "B", "C"], WORKED) == pytest.approx(expected, abs=5e-8)


def test_a_document_ranked_twice_is_credited_once():
    for metric, expected in (("recall@3", 1.0), ("ndcg@3", 1.0), ("precision@3", 1 / 3)):
        assert value(metric, ["A"], ["A", "A", "X"]) == pytest.approx(expected)


def test_repeats_do_not_use_up_ranks_unless_chunks_are_counted():
    assert value("rr", ["B"], ["A", "A", "B"]) == 0.5
    assert value("rr", ["B"], ["A", "A", "B"], unit="chunk") == pytest.approx(1 / 3)
    assert value("hit@2", ["B"], ["A", "A", "B"], unit="chunk") == 0.0


def test_the_ideal_is_taken_from_all_judged_documents_not_from_what_came_back():
    # One hit at rank 1, five relevant of grade 3.
    assert value("ndcg@10", dict.fromkeys("abcde", 3), ["a", *"vwxyz"]) == pytest.approx(0.3392, abs=5e-5)


def test_precision_divides_by_k_also_when_fewer_came_back():
    assert value("precision@5", ["a"], ["a"]) == 0.2


def test_average_precision_divides_by_all_relevant_documents():
    assert value("ap@3", [str(i) for i in range(8)], ["0", "1", "2"]) == 0.375


def test_recall_below_one_of_a_perfect_short_list_is_no_bug_and_the_capped_recall_is_one():
    relevant = [str(i) for i in range(8)]
    assert value("recall@3", relevant, ["0", "1", "2"]) == 0.375
    assert value("recall-cap@3", relevant, ["0", "1", "2"]) == 1.0
    assert value("recall-cap@3", relevant, ["0", "x", "2"]) == pytest.approx(2 / 3)
    assert value("recall-cap@20", relevant, relevant) == 1.0


def test_r_precision_looks_at_as_many_results_as_there_are_relevant_documents():
    assert value("r-precision", ["a", "b"], ["a", "x", "b"]) == 0.5
    assert value("r-precision", ["a", "b", "c"], ["a", "x", "b"]) == pytest.approx(2 / 3)
    assert value("r-precision", ["a", "b"], []) == 0.0


def test_judged_is_a_share_of_k_also_when_fewer_came_back_and_counts_worthless_documents():
    assert value("judged@5", {"a": 1, "b": 0, "c": -1}, ["c", "x", "b"]) == 0.4
    assert value("judged@2", {"a": 1, "b": 0, "c": -1}, ["c", "x", "b"]) == 0.5
    assert value("judged@5", ["a"], []) == 0.0


def test_a_document_that_is_judged_for_another_query_only_is_a_hole_in_this_one():
    scored = score_run(golden_set({"q": ["a"], "p": ["b"]}), run_of({"q": ["a", "b"], "p": ["b", "a"]}), [parse_metric("judged@2")])
    assert [score.values["judged@2"] for score in scored.queries.values()] == [0.5, 0.5]


def test_every_chunk_of_a_judged_document_is_judged_where_chunks_are_counted():
    assert value("judged@4", ["a"], ["a", "a", "x", "a"], unit="chunk") == 0.75
    assert value("judged@4", ["a"], ["a", "a", "x", "a"]) == 0.25


def test_recall_is_not_hit_and_the_discount_starts_at_the_first_rank():
    assert value("recall@1", ["a", "b"], ["a"]) == 0.5 and value("hit@1", ["a", "b"], ["a"]) == 1.0
    assert value("ndcg@1", ["a"], ["a"]) == 1.0
    assert value("ndcg@3", ["a"], ["x", "x2", "a"]) == 0.5  # 1/log2(4)


def test_the_ideal_does_not_suppose_grades_that_nobody_gave_nor_any_order_of_the_labels():
    assert value("ndcg@2", {"a": 2, "b": 2}, ["a", "b"]) == 1.0
    assert value("ndcg@3", {"c": 1, "a": 3, "b": 2}, ["c", "b", "a"]) == value("ndcg@3", {"a": 3, "b": 2, "c": 1}, ["c", "b", "a"])


def test_graded_gains_are_linear_unless_the_name_says_exponential():
    assert value("ndcg@10", {"a": 1, "b": 3}, ["a", "b"]) == pytest.approx(0.7967, abs=5e-5)
    assert value("ndcg-exp@10", {"a": 1, "b": 3}, ["a", "b"]) == pytest.approx(0.7098, abs=5e-5)


def test_a_negative_grade_is_judged_and_worth_nothing():
    assert value("ndcg@10", {"a": 1, "b": -1}, ["b", "a"]) == pytest.approx(0.6309, abs=5e-5)
    assert value("recall@1", {"a": 1, "b": -1}, ["b", "a"]) == 0.0


def test_a_query_that_the_run_lacks_scores_zero_and_is_listed():
    scored = score_run(golden_set({"q": ["a"], "p": ["b"]}), run_of({"q": ["a"]}), [parse_metric("ndcg@10")])
    assert scored.mean("ndcg@10") == 0.5 and scored.excluded.missing == ("p",)


def test_an_empty_ranking_scores_zero():
    assert value("ndcg@10", ["a"], []) == 0.0


def test_undefined_unanswerable_errored_and_extra_queries_are_four_different_things():
    golden = golden_set({"q": ["a"], "undefined": [], "negative": {"a": -1}, "no-answer": [], "broken": ["a"]},
                        answerable={"no-answer": False})
    run = run_of({"q": ["a"], "no-answer": ["z"], "stray": ["a"], "broken": []})
    run.rankings["broken"].error = "timeout"
    run.rankings["no-answer"].scores = [0.25]
    scored = score_run(golden, run, [parse_metric("hit@1")])
    assert scored.mean("hit@1") == 1.0 and list(scored.queries) == ["q"]
    assert scored.excluded.undefined == ("undefined", "negative")
    assert scored.excluded.errored == ("broken",) and scored.excluded.extra == ("stray",)
    assert scored.unanswerable == {"no-answer": 0.25}


@pytest.mark.parametrize("name", ["ndcg@10", "ndcg-exp@3", "recall@5", "rr", "rr@10", "ap", "ap@100", "hit@1", "precision@20",
                                  "judged@10", "recall-cap@3", "r-precision", "span-coverage@5"])
def test_a_metric_name_prints_back_as_it_was_read(name):
    assert str(parse_metric(name)) == name


@pytest.mark.parametrize("name, hint", [("mrr@10", "rr@10"), ("MAP", "ap"), ("ndgc@10", "ndcg@10"), ("ndcg", "needs a cutoff"),
                                        ("recall@0", "at least 1"), ("recall@-1", "unknown"), ("P@5", "precision@5"), ("", "unknown"),
                                        ("rprec", r"did you mean r-precision\?"), ("Rprec@10", r"did you mean r-precision\?"),
                                        ("R_prec", r"did you mean r-precision\?"), ("r-precision@5", r"has no cutoff.*r-precision\?"),
                                        ("r_cap@5", "recall-cap@5"), ("recall_cap@5", "recall-cap@5"), ("judged", "needs a cutoff"),
                                        ("span_coverage@3", "span-coverage@3"), ("judgd@3", "judged@3"), ("span-coverage@0", "at least 1")])
def test_an_unknown_metric_is_refused_with_the_nearest_name(name, hint):
    with pytest.raises(UnknownMetric, match=hint):
        parse_metric(name)


documents = st.integers(0, 30).map(lambda i: f"d{i:02}")
metric_names = st.sampled_from(["ndcg@10", "ndcg-exp@5", "recall@5", "precision@5", "rr", "rr@3", "ap", "ap@10", "hit@3", "recall-cap@5",
                                "r-precision", "judged@5"])
relevances = st.dictionaries(documents, st.integers(1, 3), min_size=1, max_size=8)
ranked_lists = st.lists(documents, max_size=25)


@given(metric_names, relevances, ranked_lists, st.sampled_from(["doc", "chunk"]))
def test_every_metric_lies_between_zero_and_one_whatever_is_ranked(metric, relevant, ranked, unit):
    assert 0.0 <= value(metric, relevant, ranked, unit) <= 1.0 + 1e-12


@given(metric_names.filter(lambda m: not m.startswith("judged")), relevances,
       st.lists(documents, min_size=2, max_size=25, unique=True), st.data())
def test_moving_a_relevant_document_up_never_lowers_a_metric(metric, relevant, ranked, data):
    here = data.draw(st.integers(1, len(ranked) - 1))
    if relevant.get(ranked[here], 0) >= relevant.get(ranked[here - 1], 0):
        swapped = [*ranked[:here - 1], ranked[here], ranked[here - 1], *ranked[here + 1:]]
        assert value(metric, relevant, swapped) >= value(metric, relevant, ranked) - 1e-12


@given(metric_names, relevances, st.lists(documents, max_size=25, unique=True))
def test_renaming_documents_changes_nothing(metric, relevant, ranked):
    renamed = {f"z-{d}": g for d, g in relevant.items()}
    assert value(metric, renamed, [f"z-{d}" for d in ranked]) == value(metric, relevant, ranked)


@given(st.sampled_from(["ndcg@10", "recall@10", "precision@10", "rr@10", "hit@10", "ap@10", "recall-cap@10", "judged@10", "r-precision"]),
       relevances,
       st.lists(documents, min_size=10, max_size=10, unique=True), ranked_lists)
def test_what_comes_below_the_cutoff_changes_nothing(metric, relevant, ranked, junk):
    assert value(metric, relevant, ranked + junk) == value(metric, relevant, ranked)


@given(relevances)
def test_the_perfect_ranking_is_worth_one(relevant):
    best = sorted(relevant, key=lambda d: -relevant[d])
    for metric in ("ndcg@10", "recall@10", "ap", "rr", "hit@1", "r-precision", "recall-cap@3"):
        assert value(metric, relevant, best) == pytest.approx(1.0)


TREC = {"ndcg@10": "ndcg_cut_10", "recall@5": "recall_5", "precision@5": "P_5", "hit@5": "success_5", "rr": "recip_rank", "ap": "map",
        "ap@10": "map_cut_10", "r-precision": "Rprec"}


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.tuples(st.dictionaries(documents, st.integers(-1, 3), min_size=1).filter(
    lambda r: max(r.values()) > 0), st.lists(documents, min_size=1, max_size=25, unique=True)), min_size=1))
def test_trec_eval_agrees_on_random_input(cases):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    golden = golden_set({q: relevant for q, (relevant, _) in cases.items()})
    run = run_of({q: ranked for q, (_, ranked) in cases.items()})
    oracle = pytrec_eval.RelevanceEvaluator({q: r for q, (r, _) in cases.items()}, set(TREC.values())).evaluate(
        {q: {d: float(len(ranked) - i) for i, d in enumerate(ranked)} for q, (_, ranked) in cases.items()})
    scored = score_run(golden, run, [parse_metric(m) for m in TREC])
    for q in cases:
        for ours, theirs in TREC.items():
            assert scored.queries[q].values[ours] == pytest.approx(oracle[q][theirs], abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(relevances, st.lists(documents, min_size=1, max_size=25, unique=True))
def test_ir_measures_agrees_on_random_input(relevant, ranked):
    ir_measures = pytest.importorskip("ir_measures")
    names = {"ndcg@10": ir_measures.nDCG @ 10, "recall@5": ir_measures.R @ 5, "precision@5": ir_measures.P @ 5, "rr": ir_measures.RR,
             "ap": ir_measures.AP, "r-precision": ir_measures.Rprec}
    if len(ranked) >= 5:
        names["judged@5"] = ir_measures.Judged @ 5  # of a shorter list it takes the share of what came back
    qrels = [ir_measures.Qrel("q", d, g) for d, g in relevant.items()]
    docs = [ir_measures.ScoredDoc("q", d, float(len(ranked) - i)) for i, d in enumerate(ranked)]
    oracle = ir_measures.calc_aggregate(list(names.values()), qrels, docs)
    for ours, theirs in names.items():
        assert value(ours, relevant, ranked) == pytest.approx(oracle[theirs], abs=1e-9)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from("abcdefgh"), max_size=12), st.dictionaries(st.sampled_from("abcdz"), st.integers(0, 3), max_size=4),
       st.sampled_from(["doc", "chunk"]))
def test_looking_no_deeper_than_the_deepest_cutoff_changes_no_score(ranked, relevant, unit):
    golden, run = golden_set({"q": relevant}), run_of({"q": ranked})
    cut = [parse_metric(name) for name in ("ndcg@3", "ndcg-exp@2", "recall@3", "precision@2", "hit@1", "rr@3", "ap@3", "judged@3")]
    shallow, deep = (score_run(golden, run, metrics, unit).queries for metrics in (cut, [*cut, parse_metric("rr")]))
    for query_id, score in shallow.items():
        assert score.first_rank == deep[query_id].first_rank and score.values.items() <= deep[query_id].values.items()
