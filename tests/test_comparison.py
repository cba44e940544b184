import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.comparison import compare, label_changes
from gate.scoring.metrics import parse_metric
from gate.scoring.score import score_run
from tests.conftest import golden_set, run_of

METRICS = [parse_metric(m) for m in ("ndcg@3", "hit@3", "recall@3")]


def compared(golden, before, after, labels=None):
    a, b = run_of(before), run_of(after)
    return compare(golden, score_run(golden, a, METRICS), score_run(golden, b, METRICS), METRICS[0], runs=(a, b),
                   labels=label_changes(labels, golden))


def test_a_query_that_lost_its_document_is_a_flip_with_both_ranks():
    golden = golden_set({"q": ["a"], "p": ["b"]})
    found = compared(golden, {"q": ["a", "x"], "p": ["x", "b"]}, {"q": ["x", "y", "z", "a"], "p": ["b"]})
    assert [(c.id, c.baseline_rank, c.candidate_rank) for c in found.lost] == [("q", 1, 4)]
    assert not found.gained and found.main.better == 1 and found.main.worse == 1


def test_lost_queries_are_sorted_by_damage():
    golden = golden_set({"a": ["x"], "b": ["x"], "c": ["x"]})
    found = compared(golden, {"a": ["1", "x"], "b": ["x"], "c": ["1", "2", "x"]}, {i: ["1"] for i in "abc"})
    assert [c.id for c in found.lost] == ["b", "a", "c"]


def test_identical_rankings_are_recognised_to_full_depth():
    golden = golden_set({"q": ["a"]})
    assert compared(golden, {"q": ["a", "b"]}, {"q": ["a", "b"]}).identical
    assert not compared(golden, {"q": ["a", "b"]}, {"q": ["a", "c"]}).identical


def test_a_query_missing_from_one_side_scores_zero_there_and_is_never_silently_dropped():
    golden = golden_set({"q": ["a"], "p": ["b"]})
    found = compared(golden, {"q": ["a"], "p": ["b"]}, {"q": ["a"]})
    assert found.main.delta == -0.5 and [c.id for c in found.lost] == ["p"]


def test_an_errored_query_is_left_out_of_the_pairs_and_listed():
    golden = golden_set({"q": ["a"], "p": ["b"]})
    before, after = run_of({"q": ["a"], "p": ["b"]}), run_of({"q": ["a"], "p": []})
    after.rankings["p"].error = "timeout"
    found = compare(golden, score_run(golden, before, METRICS), score_run(golden, after, METRICS), METRICS[0])
    assert found.paired == ("q",) and found.unpaired == ("p",)


def test_queries_added_since_the_baseline_are_not_compared_removed_and_relabelled_ones_are_named():
    old = golden_set({"q": ["a"], "gone": ["b"], "p": ["b"]})
    new = golden_set({"q": ["a"], "p": ["c"], "new": ["z"]})
    found = compared(new, {"q": ["a"], "p": ["b"], "gone": ["b"]}, {"q": ["a"], "p": ["c"], "new": ["z"]}, old.labels)
    assert (found.added, found.removed, found.relabelled) == (("new",), ("gone",), ("p",))
    assert found.paired == ("q", "p")
    # The baseline's ranking is scored under the new label, so the label fix is paired exactly: b is no longer worth anything there.
    assert found.main.baseline == 0.5


def test_small_strata_are_shown_but_not_tested():
    golden = golden_set({f"q{i}": ["a"] for i in range(30)}, tags={f"q{i}": ("big", *(["small"] if i < 9 else [])) for i in range(30)})
    found = compared(golden, {f"q{i}": ["a"] for i in range(30)}, {f"q{i}": ["x", "a"] for i in range(30)})
    assert found.tags["big"]["ndcg@3"].ci is not None and found.tags["small"]["ndcg@3"].ci is None
    assert found.tags["small"]["ndcg@3"].n == 9


def test_the_primary_metric_is_tested_alone_all_others_are_corrected_together():
    golden = golden_set({f"q{i}": ["a"] for i in range(12)})
    found = compared(golden, {f"q{i}": ["a"] for i in range(12)}, {f"q{i}": ["x", "a"] for i in range(12)})
    assert found.metrics["ndcg@3"].q_value is None and found.metrics["recall@3"].q_value is not None


def paraphrased(facts, wordings, lost):
    """A golden set of paraphrases, and what is compared when the first ``lost`` facts fall from rank 1 to rank 2."""
    ids = [(fact, f"f{fact}w{wording}") for fact in range(facts) for wording in range(wordings)]
    golden = golden_set({i: ["a"] for _, i in ids}, cluster={i: f"fact {fact}" for fact, i in ids},
                        tags={i: ("some",) if fact < 5 else ("others",) for fact, i in ids})
    return compared(golden, {i: ["a"] for _, i in ids}, {i: ["x", "a"] if fact < lost else ["a"] for fact, i in ids})


def test_paraphrases_of_one_fact_are_one_independent_observation():
    one, many = paraphrased(40, 1, 15).main, paraphrased(40, 20, 15).main
    assert (many.n, many.changed, many.units, many.moved_units) == (800, 300, 40, 15)
    assert many.ci.lo == pytest.approx(one.ci.lo) and many.ci.hi == pytest.approx(one.ci.hi)
    assert many.p_value == pytest.approx(one.p_value) and many.mde == pytest.approx(one.mde) and many.delta == pytest.approx(one.delta)


def test_few_changed_facts_are_few_changes_however_often_they_are_asked():
    few = paraphrased(40, 20, 4).main
    assert few.changed == 80 and few.moved_units == 4 and few.ci.method == "few-changes" and few.ci.hi > 0 and few.p_value > 0.05


def test_a_tag_of_few_facts_is_not_tested_and_mcnemar_is_not_told_what_it_must_not_be():
    found = paraphrased(20, 20, 15)
    assert found.tags["some"]["ndcg@3"].n == 100 and found.tags["some"]["ndcg@3"].ci is None and found.tags["others"]["ndcg@3"].ci
    assert found.metrics["hit@3"].mcnemar is None and paraphrased(20, 1, 15).metrics["hit@3"].mcnemar is not None


def test_clusters_of_one_change_no_number():
    golden = golden_set({f"q{i}": ["a"] for i in range(30)})
    named = golden_set({f"q{i}": ["a"] for i in range(30)}, cluster={f"q{i}": f"only {i}" for i in range(30)})
    sides = {f"q{i}": ["a"] for i in range(30)}, {f"q{i}": ["x"] * (i % 3) + ["a"] for i in range(30)}
    assert compared(golden, *sides).metrics == compared(named, *sides).metrics


docs = st.lists(st.sampled_from("abcdef"), max_size=6, unique=True)


@given(st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q4"]), st.tuples(docs, docs), min_size=1))
def test_swapping_the_sides_mirrors_every_delta_and_every_flip(cases):
    golden = golden_set({i: ["a", "b"] for i in cases})
    there = compared(golden, {i: c[0] for i, c in cases.items()}, {i: c[1] for i, c in cases.items()})
    back = compared(golden, {i: c[1] for i, c in cases.items()}, {i: c[0] for i, c in cases.items()})
    assert there.main.delta == pytest.approx(-back.main.delta)
    assert {c.id for c in there.lost} == {c.id for c in back.gained}
    assert there.main.better == back.main.worse
