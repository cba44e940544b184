import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.figures import fmt_delta, fmt_pair, fmt_size, fmt_value, plural
from gate.policy import Policy, Protected
from gate.reports.advice import advice, shows_approval
from gate.reports.beside import share
from gate.reports.headline import headline
from gate.reports.report import InputChange
from gate.reports.words import fmt_ms, marked, plain
from gate.scoring.metrics import parse_metric
from tests.reports import build
from tests.reports.build import q


@pytest.mark.parametrize(("value", "shown"), [(-0.0431, "−0.043"), (0.0431, "+0.043"), (0.0, "0.000"), (-1e-15, "0.000"),
                                              (0.0004, "+0.0004"), (-0.00004, "−0.00004"), (1e-9, "+1e-09"),
                                              (None, "—"), (float("nan"), "—")])
def test_a_delta_has_a_sign_and_a_change_is_never_shown_as_nothing(value, shown):
    assert fmt_delta(value) == shown


def test_a_number_is_never_shown_on_the_other_side_of_its_limit():
    assert fmt_delta(-0.0196, -0.02) == "−0.0196"
    assert fmt_delta(-0.02, -0.02) == "−0.020"
    assert fmt_value(0.84996, 0.85) == "0.84996"
    assert fmt_size(-0.0304, 0.03) == "0.0304"


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_rounding_keeps_the_order_of_value_and_limit(value, limit):
    shown = float(fmt_delta(value, limit).replace("−", "-"))
    if abs(value - limit) > 1e-5 and round(limit, 3) == limit:
        assert (shown < limit) == (value < limit)
    if abs(value) > 1e-12:
        assert shown != 0 and (shown < 0) == (value < 0)


def test_two_means_that_differ_look_different():
    assert fmt_pair(0.8123, 0.8121) == ("0.8123", "0.8121")
    assert fmt_pair(0.5, 0.5) == ("0.500", "0.500")


@pytest.mark.parametrize(("ms", "shown"), [(None, "—"), (0.001, "under 0.01 ms"), (0.98, "0.98 ms"), (1.0, "1.0 ms"), (44.4, "44 ms"),
                                           (1234.0, "1.23 s")])
def test_times_of_one_kind_have_digits_of_one_kind(ms, shown):
    assert fmt_ms(ms) == shown


def test_one_query_and_two_queries():
    assert (plural(1, "query"), plural(2, "query"), plural(1024, "day")) == ("1 query", "2 queries", "1,024 days")


def test_backticks_in_a_sentence_mark_names():
    assert plain(marked("set `label` now")) == "set `label` now"
    assert [type(piece).__name__ for piece in marked("set `label` now")] == ["str", "Name", "str"]


def sentence(report):
    return plain(headline(report))


def test_a_drop_is_told_with_its_interval_its_flips_and_the_tag_that_took_most_of_it():
    text = sentence(build.failing())
    assert text.startswith("10 of 60 queries lost their answer, 1 found one: nDCG@10 fell by 0.153 (95 % interval −0.255 to −0.060); "
                           "`exact-term` took most of it.")


def test_an_average_that_hides_a_protected_tag_is_called_that():
    lines = [q(f"a{i}", 1, 3 if i < 2 else 1, tags=["codes"]) for i in range(10)]
    lines += [q(f"b{i}", 2, 1 if i < 3 else 2) for i in range(90)]
    text = sentence(build.make(lines, Policy(protected=(Protected("codes", 0.05),))))
    assert text.startswith("The protected tag `codes` got worse and the average hides it: nDCG@10 fell by 0.100 over 10 queries (0.05 is "
                           "allowed), while it rose by 0.012 over the other 90. Over all queries it rose by 0.001; no query lost or found ")


def test_an_average_that_shows_the_fall_of_a_protected_tag_hides_nothing():
    tagged = [q(f"a{i}", 1, None if i < 4 else 1, tags=["t"]) for i in range(10)]
    text = sentence(build.make([*tagged, *(q(f"b{i}") for i in range(30))], Policy(protected=(Protected("t", 0.01),))))
    assert text.startswith("The protected tag `t` got worse: nDCG@10 fell by 0.400 over 10 queries (0.01 is allowed). Over all queries it "
                           "fell by 0.100; 4 queries lost")
    lines = [q(f"a{i}", 1, 2 if i < 3 else 1, tags=["t"]) for i in range(40)]
    text = sentence(build.make(lines, Policy(protected=(Protected("t", 0.01),), tolerance=0.2)))
    assert text == ("The protected tag `t` got worse: nDCG@10 fell by 0.028 over 40 queries (0.01 is allowed); no query lost or found its "
                    "answer, 3 ranked lower.")


RED = Policy(inconclusive="fail")
UNSETTLED = [q(f"a{i}", 1, None if i < 2 else 1) for i in range(60)]


def test_what_is_accepted_though_nothing_was_shown_is_told_as_it_is():
    report = build.make(UNSETTLED, RED, approval=build.APPROVED)
    assert report.verdict == "accepted" and sentence(report) == (
        "nDCG@10 fell by 0.033 (95 % interval −0.115 to +0.038): a drop of 0.02 can be neither shown nor ruled out; 2 queries lost their "
        "answer, none found one; accepted by `bob`: “codes are now found by the code index; see #11”.")
    assert report.checks[-1].sentence.endswith("what could not be decided is accepted.")


def test_a_red_check_that_could_not_decide_says_who_may_accept_it():
    report = build.make(UNSETTLED, RED)
    assert report.exit_code == 4 and "sets the label `baseline-update`; this check then turns green" in plain(advice(report))
    assert shows_approval(build.make(UNSETTLED, RED, approval=replace(build.NOT_YET, label_present=False)))
    assert "label" not in plain(advice(build.make(UNSETTLED)))


def test_a_share_is_all_or_nothing_only_where_it_is():
    assert [share(x) for x in (0, 1 / 3000, 0.125, 2999 / 3000, 1)] == ["0.0 %", "under 0.1 %", "12.5 %", "over 99.9 %", "100.0 %"]


def test_a_floor_alone_is_told_with_what_the_rankings_did():
    text = sentence(build.make([q(f"a{i}", 2, 2) for i in range(20)], Policy(floors={"recall@5": 1.0, "ndcg@10": 0.9})))
    assert text == "nDCG@10 is 0.631, below its floor 0.9; nDCG@10 did not move."


def test_a_change_that_three_digits_do_not_show_is_not_told_as_a_fall():
    lines = [q(f"a{i}", 19, 20 if i == 0 else 19) for i in range(60)]
    text = sentence(build.make(lines, Policy(primary=parse_metric("ndcg@20"))))
    assert text.startswith("nDCG@20 hardly moved (−0.0001; 95 % interval")


def test_one_lost_query_is_singular():
    report = build.make([q("a", 1, None), *(q(f"b{i}") for i in range(30))])
    assert "1 query lost its answer, none found one" in sentence(report)


def test_no_culprit_is_named_when_a_tag_only_has_its_share():
    lines = [q(f"a{i}", 1, None if i % 2 else 1, tags=["everything"]) for i in range(40)]
    assert "took most" not in sentence(build.make(lines))


@pytest.mark.parametrize(("name", "start"), [
    ("accepted", "10 of 60 queries lost their answer"), ("pass", "nDCG@10 rose by 0.005"), ("gain", "nDCG@10 rose by 0.200"),
    ("inconclusive", "nDCG@10 fell by 0.038"), ("identical", "All rankings are the same as the baseline's, 60 queries compared."),
    ("cannot-decide", "Nothing was judged: The artifact `retrieval-gate-baseline` of run 61 has expired"),
    ("invalid", "Nothing was judged: golden.jsonl:14: not valid JSON"),
    ("no-baseline", "nDCG@10 is 0.710 over 60 queries; there is no baseline"),
    ("traceback", "Nothing was judged: candidate: the retriever failed on 2 of 60 queries; max_errors is 0 (and 2 more problems).")])
def test_every_verdict_has_one_sentence(name, start):
    text = sentence(build.EVERY[name]())
    assert text.startswith(start) and text.endswith(".")


def test_a_rise_that_decides_nothing_does_not_read_like_a_fall():
    text = sentence(build.make([q(f"a{i}", 3 if i < 4 else 1, 1 if i < 4 else 2 if i < 6 else 1) for i in range(9)]))
    assert text.startswith("nDCG@10 rose by 0.14") and ", too few queries to rule out a drop of 0.02; no query lost" in text


@pytest.mark.parametrize(("change", "start"), [
    (InputChange("policy gate", "default", "bm", True), "The rule `gate` changes from `default` to `bm`, which needs the same approval"),
    (InputChange("corpus digest", "aaa", "bbb", True), "The corpus digest changes from `aaa` to `bbb`, which needs"),
    (InputChange("golden queries removed", "2 known to the baseline", "q1, q2", True),
     "Golden queries that the baseline knows are removed (`q1, q2`), which needs")])
def test_a_change_of_the_inputs_is_told_as_a_sentence(change, start):
    report = build.make([q(f"a{i}") for i in range(20)], changes=[change])
    text = sentence(report)
    assert report.verdict == "fail" and text.startswith(start) and text.endswith("of the baseline; nDCG@10 did not move.")


def test_a_headline_begins_with_a_capital():
    lines = [q(f"a{i}", 2, 2) for i in range(20)]
    assert sentence(build.make(lines, Policy(floors={"precision@5": 0.9}))).startswith("Precision@5 is 0.200")
    assert sentence(build.first_adoption([q("a", 2, 2)], Policy(primary=parse_metric("recall@5"), floors={}))).startswith("Recall@5 is")


def told(report):
    return plain(advice(report))


def test_on_a_command_line_the_advice_says_what_ci_would_do():
    assert told(build.local()).startswith("On a pull request this check would fail: look at the lost queries and fix the change. If ")
    assert told(build.passing(metadata=build.LOCAL)) == "On a pull request this check would pass."
    assert told(build.inconclusive(metadata=build.LOCAL)).startswith("On a pull request this check would pass with a warning.")
    assert told(build.local_first()) == "Nothing was compared. Write a record with `--record` and compare with `--baseline`."
    for make in (build.local, build.local_first):
        assert not {"push", "Merge"} & set(told(make()).split())


def test_what_main_gained_is_no_part_of_a_fall():
    report = build.beside(dict.fromkeys(range(20, 28), (None, 1, None)) | dict.fromkeys(range(12), (1, 1, None)))
    assert "took most of it; main had gained 0.133 before, this change takes away 0.333. 1 more check failed." in sentence(report)
    assert report.checks[0].sentence.endswith(" Main had gained 0.133 before, this change takes away 0.333.")
    report = build.beside(dict.fromkeys(range(14), (1, None, None)) | dict.fromkeys(range(14, 17), (1, None, 1)))
    assert sentence(report).endswith("main had lost 0.283 before, this change brings 0.050.")
    assert "of it was on main before" in sentence(build.slipping())


LANDED = {key: value for key, value in build.METADATA.items() if key not in ("pull_request", "base_sha")} | {"branch": "main"}


@pytest.mark.parametrize("name", build.EVERY)
def test_what_is_on_the_default_branch_already_is_not_to_be_merged_or_pushed_again(name):
    text = told(replace(build.EVERY[name](), metadata=LANDED))
    assert not re.search(r"[Mm]erge when|the merge|push again|turns green", text) and text.endswith((".", "!", "?"))


def test_on_the_default_branch_the_advice_says_how_it_becomes_the_baseline_or_is_mended():
    approve = "a pull request that contains it is approved: somebody with write access who is not the author approves the head commit"
    assert told(build.passing(metadata=LANDED)) == "Nothing."
    assert f"It is locked in when {approve}" in told(build.gaining(metadata=LANDED))
    assert told(build.failing(metadata=LANDED)).startswith("Look at the lost queries and bring a fix by another pull request. If the "
                                                           f"change is intended, it becomes the baseline when {approve}")
    assert "has its own report) and bring a fix by another" in told(replace(build.behind(), metadata=LANDED))
    assert told(replace(build.no_baseline(), metadata=LANDED)).startswith("Nothing for the rankings. This run makes the baseline;")
    assert told(build.accepted(metadata=LANDED)).endswith("become the new baseline, whose record says who accepted them and why.")


def test_in_ci_the_advice_of_a_first_run_is_to_merge():
    assert told(build.no_baseline()).startswith("Merge when ready. The first run on the default branch makes the baseline")


def test_an_approval_is_told_with_name_and_reason():
    assert sentence(build.accepted()).endswith("accepted by `bob`: “codes are now found by the code index; see #11”.")


def test_a_failed_floor_without_any_baseline_is_told():
    report = build.first_adoption([q(f"a{i}", 2, 2) for i in range(20)], Policy(floors={"ndcg@10": 0.9}))
    assert report.verdict == "fail"
    assert sentence(report) == "nDCG@10 is 0.631, below its floor 0.9."
