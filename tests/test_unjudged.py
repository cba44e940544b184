"""A drop that only unjudged documents make: known to be none, known to be one, or not known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate import pipeline, references
from gate.golden.model import GoldenSet, Query
from gate.policy import Policy, Protected
from gate.reports.advice import advice
from gate.reports.headline import headline
from gate.reports.json_report import report_json
from gate.reports.text import render_text
from gate.reports.words import plain
from gate.runs import Chunk, Ranking, Run
from gate.scoring.beside import extras
from gate.scoring.metrics import parse_metric
from gate.scoring.score import score_run
from tests.conftest import golden_set, run_of

N = 60
POOLED = {f"q{i}": {"a": 1, "b": 0, "c": -1} for i in range(N)}
ONLY_RELEVANT = {f"q{i}": ["a"] for i in range(N)}


def judged(after, relevant=None, policy=None, before=("a", "b", "c"), **fields):
    """``after``: the candidate's ranking of the first 40 queries; the others keep the baseline's."""
    relevant = relevant or POOLED
    old = run_of(dict.fromkeys(relevant, before))
    new = run_of({i: after if n < 40 else before for n, i in enumerate(relevant)})
    return pipeline.assess(golden_set(relevant, **fields), new, references.Reference(old), policy or Policy())


def drop(report):
    return next(check for check in report.checks if check.name == "drop")


def test_unjudged_documents_above_the_relevant_ones_make_a_drop_inconclusive_and_are_named():
    report = judged(["new1", "new2", "a", "b", "c"])
    assert (report.verdict, report.exit_code) == ("inconclusive", 0)
    assert "fell by" in drop(report).sentence and "over judged documents alone no query changed" in drop(report).sentence
    assert "2 documents that nobody has judged for their queries came into the top 10 (80 missing labels)." in drop(report).sentence
    assert "Label them" in drop(report).sentence and "README, «Unjudged documents»" in drop(report).sentence
    assert report_json(report)["condensed"]["entered"] == [{"doc": "new1", "queries": 40}, {"doc": "new2", "queries": 40}]
    assert "but not over judged documents alone" in plain(headline(report)) and "Label the unjudged" in plain(advice(report))
    assert "new1: 40 queries" in render_text(report)


def test_it_ends_with_4_where_an_inconclusive_comparison_counts_as_failed():
    assert judged(["new1", "new2", "a"], policy=Policy(inconclusive="fail")).exit_code == 4


@pytest.mark.parametrize("garbage", [["g1", "g2", "g3"], [f"g{i}" for i in range(20)], ["g1", "b", "c"], ["b", "g1", "a"]])
def test_garbage_in_place_of_relevant_documents_and_known_worthless_ones_above_them_still_fail(garbage):
    report = judged(garbage)
    assert report.verdict == "fail" and report.comparison.condensed is not None
    assert "Over judged documents alone" in render_text(report)


def test_where_only_relevant_documents_are_labelled_nothing_is_forgiven():
    report = judged(["new1", "new2", "a"], ONLY_RELEVANT, before=("a", "x"))
    assert report.verdict == "fail" and report.comparison.condensed is None


def test_a_query_whose_results_nobody_judged_keeps_its_plain_value_beside_judged_ones():
    mixed = {i: POOLED[i] if n % 2 else ["a"] for n, i in enumerate(POOLED)}
    condensed = judged(["new1", "new2", "a"], mixed).comparison.condensed
    assert condensed.candidate == pytest.approx((20 * 0.5 + 40) / N) and condensed.n == N


def test_nothing_is_computed_when_no_more_unjudged_documents_came_up():
    assert judged(["b", "a", "c"]).comparison.condensed is None
    assert judged(["y", "b", "a"], before=("a", "b", "x")).comparison.condensed is None


def test_a_drop_that_judged_documents_cannot_rule_out_is_a_fail():
    report = judged(["new", "b", "b2", "a", "c"])
    assert report.comparison.condensed.delta < -0.02 and report.verdict == "fail"


def test_unjudged_documents_in_place_of_worthless_ones_are_no_gain_that_pays_for_what_was_lost():
    relevant = dict.fromkeys((f"q{i}" for i in range(N)), {"a": 1, "b": 0})
    old, new = run_of(dict.fromkeys(relevant, ["b", "a"])), run_of({i: ["new", "a"] if n >= 12 else ["x"] for n, i in enumerate(relevant)})
    report = pipeline.assess(golden_set(relevant), new, references.Reference(old), Policy())
    assert report.verdict == "fail" and report.comparison.condensed.better == 0 and report.comparison.condensed.worse == 12


def test_one_newcomer_does_not_excuse_queries_whose_unjudged_documents_were_there_before():
    known = [f"u{n}" for n in range(8)]
    base, new = (run_of(dict.fromkeys(POOLED, ranked)) for ranked in (["a", *known], [*known, "a"]))
    plain = pipeline.assess(golden_set(POOLED), new, references.Reference(base), Policy())
    new.rankings["q0"].docs.append("new")
    report = pipeline.assess(golden_set(POOLED), new, references.Reference(base), Policy())
    assert plain.verdict == report.verdict == "fail"
    assert report.comparison.condensed.worse == N - 1 and report.comparison.entered == (("new", 1),)


def test_what_blind_queries_bring_up_is_not_counted_as_one_document():
    split = {i: "blind" for n, i in enumerate(POOLED) if n % 2}
    assert "1 document and some of blind queries that nobody has judged came into the top 10 (40 missing labels)." in drop(
        judged(["new", "a", "b", "c"], split=split)).sentence
    only = drop(judged(["new1", "new2", "a"], split=dict.fromkeys(POOLED, "blind"))).sentence
    assert "Documents of blind queries that nobody has judged came into the top 10 (80 missing labels)." in only and "new" not in only


def test_known_unjudged_documents_that_vanish_from_the_top_are_no_gain_that_pays_for_what_was_lost():
    base = run_of(dict.fromkeys(POOLED, ["x", "a"]))
    new = run_of({i: ["a"] if n < 20 else ["g"] if n < 40 else ["g1", "g2", "a"] for n, i in enumerate(POOLED)})
    found = pipeline.assess(golden_set(POOLED), new, references.Reference(base), Policy()).comparison.condensed
    assert (found.better, found.worse) == (0, 20)


def test_a_gain_among_judged_documents_counts():
    report = judged(["a", "new", "b"], before=("b", "a", "c"))
    assert report.comparison.condensed.better == 40 and report.verdict == "pass"


def test_other_rules_are_not_forgiven():
    tags = dict.fromkeys(POOLED, ("exact",))
    for policy in (Policy(protected=(Protected("exact", 0.02),)), Policy(floors={"ndcg@10": 0.9}), Policy(max_drop={"rr@10": 0.1})):
        report = judged(["new1", "new2", "a", "b", "c"], policy=policy, tags=tags)
        assert drop(report).outcome == "inconclusive" and report.verdict == "fail"
    must = judged([f"n{i}" for i in range(10)] + ["a", "b", "c"], policy=Policy(must_hit=("q0",)))
    assert drop(must).outcome == "inconclusive" and must.verdict == "fail"


def test_a_passing_comparison_stays_one_and_shows_the_condensed_value_beside_it():
    report = judged(["a", "b", "new"])
    assert report.verdict == "pass" and report.comparison.condensed.delta == 0.0
    assert "condensed_delta" not in drop(report).numbers and "Over judged documents alone" in render_text(report)


@pytest.mark.parametrize("metric", ["judged@3", "latest@3", "candidate-recall@3"])
def test_a_metric_about_something_else_than_relevance_is_never_condensed(metric):
    assert extras(parse_metric(metric), golden_set(POOLED)).condensed is None


docs = st.lists(st.sampled_from("abcdefghxyz"), max_size=10)
grades = st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 2), min_size=1, max_size=5).filter(
    lambda g: max(g.values()) > 0 and min(g.values()) <= 0)


@settings(max_examples=200)
@given(grades, docs, st.sampled_from(["ndcg@3", "recall@2", "rr@4", "ap@5", "precision@3"]), st.sampled_from(["doc", "chunk"]),
       st.booleans())
def test_the_condensed_value_is_that_of_the_ranking_without_unjudged_documents(relevant, ranked, metric, unit, chunked):
    golden, asked = GoldenSet((Query("q", "x", {d: float(g) for d, g in relevant.items()}),)), parse_metric(metric)

    def score(kept):
        chunks = [Chunk(f"{d}#{n}") for n, d in enumerate(kept)] if chunked else None
        return score_run(golden, Run({"q": Ranking(kept, chunks=chunks)}), [asked], unit, beside=extras(asked, golden)).queries["q"]

    found, kept = score(ranked), [doc for doc in ranked if doc in relevant]
    assert found.strangers == tuple(dict.fromkeys(doc for doc in ranked[:asked.k] if doc not in relevant))
    assert (found.condensed is None) == (not found.strangers)
    if found.condensed is not None:
        assert found.condensed == score(kept).values[metric] and 0.0 <= found.condensed <= 1.0


def test_of_two_references_each_is_forgiven_only_what_judged_documents_alone_rule_out():
    """Main already had what the baseline had; the change brings two unjudged documents up, or, in the second case, garbage."""
    golden = golden_set(POOLED)
    base, main = run_of(dict.fromkeys(POOLED, ["a", "b", "c"])), run_of(dict.fromkeys(POOLED, ["a", "c", "b"]))
    for ranked, outcome in ((["new1", "new2", "a"], "inconclusive"), (["g1", "g2", "g3"], "fail")):
        run = run_of({i: ranked if n < 40 else ["a", "b", "c"] for n, i in enumerate(POOLED)})
        report = pipeline.assess(golden, run, references.Reference(base), Policy(), latest=references.Reference(main))
        assert {check.name: check.outcome for check in report.checks} == {"anchor": outcome, "drop": outcome}
        assert report.verdict == outcome
        if outcome == "inconclusive":
            assert "but not over judged documents alone" in plain(headline(report))


def test_unjudged_documents_that_main_had_already_are_told_of_the_change_that_drops_below_it():
    golden = golden_set(POOLED)
    base = run_of(dict.fromkeys(POOLED, ["x1", "x2", "x3", "a"]))
    main = run_of(dict.fromkeys(POOLED, ["a", "b", "c"]))
    run = run_of(dict.fromkeys(POOLED, ["x1", "x2", "a"]))
    report = pipeline.assess(golden, run, references.Reference(base), Policy(), latest=references.Reference(main))
    assert report.comparison.condensed is None and report.verdict == "inconclusive"
    assert plain(headline(report)).startswith("Against main as it is now, nDCG@10 fell by") and "x1: 60 queries" in render_text(report)
    assert "Against main as it is now: 2 documents that nobody has judged" in render_text(report)


def test_the_documents_to_label_are_those_that_came_up_in_the_comparison_that_they_leave_open():
    golden = golden_set(POOLED)
    base = run_of(dict.fromkeys(POOLED, ["x1", "b", "a"]))
    main = run_of(dict.fromkeys(POOLED, ["a", "b", "c"]))
    run = run_of(dict.fromkeys(POOLED, ["x1", "x2", "a"]))
    report = pipeline.assess(golden, run, references.Reference(base), Policy(), latest=references.Reference(main))
    assert [name for name, check in ((c.name, c) for c in report.checks) if "condensed_delta" in check.numbers] == ["drop"]
    assert {row["doc"] for row in report_json(report)["condensed"]["entered"]} == {"x1", "x2"}
