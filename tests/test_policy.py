"""The decision: every check, three outcomes, exit codes, and what an approval may and may not overrule."""

import pytest

from gate import pipeline, references
from gate.baseline.approval import Eligibility
from gate.errors import CannotDecide, InvalidInput
from gate.policy import Check, Policy, Protected, accept, decide
from gate.reports.headline import headline
from gate.reports.report import InputChange
from gate.reports.words import plain
from gate.scoring.metrics import parse_metric
from tests.conftest import golden_set, run_of

APPROVED = Eligibility(True, (), approver="maria", reason="the new chunker is worth it")


def assessed(n=300, lost=0, gained=0, policy=None, tags=None, **around):
    """n queries with one relevant document at rank 1; the first ``lost`` fall out, the last ``gained`` were not there before."""
    policy = policy or Policy()
    golden = golden_set({f"q{i}": ["a"] for i in range(n)}, tags=tags or {})
    before = run_of({f"q{i}": ["x"] if i >= n - gained else ["a"] for i in range(n)})
    after = run_of({f"q{i}": ["x"] if i < lost else ["a"] for i in range(n)})
    return pipeline.assess(golden, after, references.Reference(before), policy, pipeline.Circumstances(**around))


def check(report, name):
    return next(c for c in report.checks if c.name == name)


@pytest.mark.parametrize("lost, gained, verdict, code", [
    (0, 0, "pass", 0), (1, 1, "pass", 0), (3, 0, "inconclusive", 0), (5, 0, "inconclusive", 0), (6, 0, "fail", 1), (30, 0, "fail", 1),
    (30, 40, "inconclusive", 0), (0, 30, "pass", 0)])
def test_credible_drops_fail_ruled_out_drops_pass_the_rest_is_inconclusive(lost, gained, verdict, code):
    report = assessed(lost=lost, gained=gained)
    assert (report.verdict, report.exit_code) == (verdict, code)


def test_a_credible_but_tiny_drop_is_not_a_fail():
    report = assessed(n=3000, lost=12)
    assert report.comparison.main.ci.hi < 0 and report.verdict == "pass"


def test_four_of_eight_lost_is_inconclusive_never_a_pass():
    report = assessed(n=8, lost=4)
    assert report.verdict == "inconclusive" and "Fewer than 6 queries changed" in check(report, "drop").sentence


def test_inconclusive_fails_with_its_own_exit_code_when_the_policy_says_so():
    assert assessed(lost=4, policy=Policy(inconclusive="fail")).exit_code == 4


def test_inconclusive_says_how_many_queries_would_settle_it():
    assert check(assessed(lost=4), "drop").numbers["queries_needed"] > 300


def test_identical_rankings_pass_without_a_test():
    report = assessed()
    assert report.comparison.identical and "nothing to test" in check(report, "drop").sentence


def test_a_floor_is_compared_unrounded_and_meeting_it_exactly_is_enough():
    policy = Policy(floors={"hit@5": 0.85})
    assert check(assessed(n=20, lost=3, policy=policy), "floor hit@5").outcome == "pass"
    assert check(assessed(n=20, lost=4, policy=policy), "floor hit@5").outcome == "fail"


def test_a_protected_tag_fails_on_its_point_estimate_though_the_average_hides_it():
    tags = {f"q{i}": ("exact-term",) for i in range(20)}
    report = assessed(lost=2, gained=40, tags=tags, policy=Policy(protected=(Protected("exact-term", 0.02),)))
    assert check(report, "drop").outcome == "pass" and report.verdict == "fail"


def test_the_credible_rule_wants_a_significant_drop_in_the_protected_tag():
    tags = {f"q{i}": ("exact-term",) for i in range(20)}
    policy = Policy(protected=(Protected("exact-term", 0.02, "credible"),))
    assert check(assessed(lost=0, gained=3, tags=tags, policy=policy), "protected exact-term").outcome == "pass"
    assert check(assessed(lost=3, tags=tags, policy=policy), "protected exact-term").outcome == "inconclusive"
    assert check(assessed(lost=9, tags=tags, policy=policy), "protected exact-term").outcome == "fail"


def test_a_protected_tag_that_no_query_carries_fails_because_nothing_guards_it():
    assert assessed(policy=Policy(protected=(Protected("gone", 0.02),))).verdict == "fail"


def test_a_missed_must_hit_query_fails_alone():
    report = assessed(n=5000, lost=1, policy=Policy(must_hit=("q0", "q9")))
    assert report.verdict == "fail" and "q0" in check(report, "must-hit").sentence


def test_must_hit_by_tag():
    assert assessed(n=5000, lost=1, tags={"q0": ("vital",)}, policy=Policy(must_hit_tags=("vital",))).verdict == "fail"


def test_a_must_hit_query_that_is_gone_is_missed_too():
    report = assessed(policy=Policy(must_hit=("nope",)))
    assert report.verdict == "fail" and "nope" in check(report, "must-hit").sentence


def test_max_drop_is_a_plain_threshold():
    policy = Policy(max_drop={"recall@5": 0.01})
    assert check(assessed(lost=3, policy=policy), "max-drop recall@5").outcome == "pass"
    assert check(assessed(lost=4, policy=policy), "max-drop recall@5").outcome == "fail"


def test_an_approval_turns_a_fail_into_accepted_and_keeps_the_reasons():
    report = assessed(lost=30, approval=APPROVED)
    assert (report.verdict, report.exit_code) == ("accepted", 0)
    assert check(report, "drop").outcome == "fail" and "maria" in check(report, "approval").sentence


def test_an_approval_without_need_changes_nothing():
    assert assessed(approval=APPROVED).verdict == "pass"


def test_an_approval_that_is_not_eligible_changes_nothing():
    assert assessed(lost=30, approval=Eligibility(False, ())).verdict == "fail"


def test_what_is_not_approvable_stays_failed():
    decision = decide([Check("a", "fail", "x"), Check("b", "fail", "y", approvable=False)], Policy())
    assert accept(decision, "maria").verdict == "fail"


def test_a_change_that_needs_approval_fails_until_it_has_one():
    row = InputChange("policy tolerance", "0.02", "0.5", needs_approval=True)
    assert assessed(changes=(row,)).verdict == "fail"
    assert assessed(changes=(row,), approval=APPROVED).verdict == "accepted"


def test_deleting_the_failing_queries_never_turns_the_check_green():
    golden = golden_set({f"q{i}": ["a"] for i in range(30, 300)})
    before, after = ({f"q{i}": ["a"] for i in range(300)}, {f"q{i}": ["x"] if i < 30 else ["a"] for i in range(300)})
    old = golden_set({f"q{i}": ["a"] for i in range(300)})
    report = pipeline.assess(golden, run_of(after), references.Reference(run_of(before), old.labels), Policy())
    assert report.verdict == "fail" and report.comparison.removed[:2] == ("q0", "q1")


def test_adding_queries_needs_no_approval_and_is_shown():
    golden = golden_set({f"q{i}": ["a"] for i in range(20)})
    run = run_of({f"q{i}": ["a"] for i in range(20)})
    report = pipeline.assess(golden, run, references.Reference(run, golden_set({f"q{i}": ["a"] for i in range(15)}).labels), Policy())
    assert report.verdict == "pass" and report.comparison.added == tuple(f"q{i}" for i in range(15, 20))
    assert any("added" in c.name for c in report.input_changes)


def test_errors_above_max_errors_are_no_judgement_at_all():
    golden, run = golden_set({"q": ["a"], "p": ["a"]}), run_of({"q": ["a"], "p": ["a"]})
    broken = run_of({"q": ["a"], "p": []})
    broken.rankings["p"].error = "ValueError: boom"
    with pytest.raises(CannotDecide, match="boom"):
        pipeline.assess(golden, broken, references.Reference(run), Policy())
    assert pipeline.assess(golden, broken, references.Reference(run), Policy(max_errors=1)).comparison.unpaired == ("p",)


def test_zero_overlap_between_golden_set_and_run_is_said_in_words():
    golden = golden_set({"q": ["a"]})
    with pytest.raises(InvalidInput, match="0 of 1 golden queries overlap"):
        pipeline.assess(golden, run_of({"other": ["a"]}), references.Reference(run_of({"q": ["a"]})), Policy())


def test_a_golden_set_without_any_answerable_query_cannot_be_judged():
    golden = golden_set({"q": []}, answerable={"q": False})
    with pytest.raises(InvalidInput, match="nothing to measure"):
        pipeline.assess(golden, run_of({"q": ["a"]}), None, Policy())


def test_one_paired_query_decides_nothing():
    assert assessed(n=1, lost=1).verdict == "inconclusive"


def test_without_a_baseline_floors_still_count():
    golden, run = golden_set({"q": ["a"], "p": ["b"]}), run_of({"q": ["a"], "p": ["x"]})
    assert pipeline.assess(golden, run, None, Policy()).verdict == "no-baseline"
    assert pipeline.assess(golden, run, None, Policy(floors={"hit@5": 0.6})).verdict == "fail"


def test_a_first_run_that_finds_nothing_at_all_is_no_baseline():
    with pytest.raises(InvalidInput, match="names documents like 'a', the retriever returns 'x'"):
        pipeline.assess(golden_set({"q": ["a"]}), run_of({"q": ["x"]}), None, Policy())


def test_every_metric_that_a_rule_names_is_computed():
    names = [str(m) for m in Policy(primary=parse_metric("rr"), floors={"ap@7": 0.1}, max_drop={"hit@2": 0.1}).all_metrics]
    assert names[0] == "rr" and {"ap@7", "hit@2"} <= set(names) and len(names) == len(set(names))


def test_a_drop_of_exactly_the_tolerance_is_a_drop():
    golden = golden_set({f"q{i}": ["a", "b", "c", "d", "e"] for i in range(200)})
    before = run_of({f"q{i}": ["a", "b", "c", "d", "e"] for i in range(200)})
    after = run_of({f"q{i}": ["a", "b", "c", "d", "x" if i < 10 else "e"] for i in range(200)})
    policy = Policy(primary=parse_metric("recall@5"), tolerance=0.01)
    assert pipeline.assess(golden, after, references.Reference(before), policy).verdict == "fail"


def test_a_small_protected_tag_that_loses_everything_fails_also_by_the_credible_rule():
    tags = {f"q{i}": ("vital",) for i in range(9)}
    assert assessed(lost=9, n=5000, tags=tags, policy=Policy(protected=(Protected("vital", 0.02, "credible"),))).verdict == "fail"
    tags = {f"q{i}": ("vital",) for i in range(5)}
    assert assessed(lost=4, n=5000, tags=tags, policy=Policy(protected=(Protected("vital", 0.02, "credible"),))).verdict == "inconclusive"


def test_a_protected_tag_that_is_not_settled_is_what_the_headline_tells_and_not_a_drop_that_is_ruled_out():
    tags = {f"q{i}": ("vital",) for i in range(10)}
    report = assessed(lost=4, n=5000, tags=tags, policy=Policy(protected=(Protected("vital", 0.02, "credible"),)))
    assert check(report, "drop").outcome == "pass" and report.verdict == "inconclusive"
    assert "; not settled: Protected tag vital (n=10)" in plain(headline(report)) and "ruled out" not in plain(headline(report))


def test_nothing_paired_is_never_identical():
    from gate.comparison import identical_rankings

    assert not identical_rankings(run_of({}), run_of({}), [])
