"""The noise floor: its statistics, what it does to a decision, and a retriever that is asked several times."""

import itertools
import json
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import pipeline, references
from gate.cli import main
from gate.errors import CannotDecide
from gate.policy import Policy
from gate.repeats import TooNoisy
from gate.reports.html import render_html
from gate.reports.json_report import report_json
from gate.reports.text import render_text
from gate.runs import Ranking, Run
from gate.statistics.noise import noise_of, round_up
from tests.conftest import golden_set, run_of
from tests.fake_github import GATE_PATH, FakeGitHub
from tests.story import Story, golden

SCORES = st.integers(1, 12).flatmap(lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=2, max_size=5))


# -- statistics --------------------------------------------------------------------------------------------------------


@given(SCORES)
def test_the_floor_is_the_larger_of_what_was_seen_and_what_independent_queries_would_do(scores):
    n, found = len(scores[0]), noise_of(scores)
    means = [statistics.fmean(repeat) for repeat in scores]
    assert found.spread == pytest.approx(max(abs(a - b) for a, b in itertools.combinations(means, 2)), abs=1e-12)
    by_query = math.sqrt(2 * sum(statistics.variance(values) for values in zip(*scores, strict=True))) / n
    assert found.independent == pytest.approx(1.959963985 * by_query, rel=1e-6, abs=1e-7)
    assert found.floor == max(found.spread, found.independent) and found.repeats == len(scores)


@given(SCORES, st.randoms(use_true_random=False))
def test_the_order_of_repeats_does_not_matter(scores, shuffler):
    other = list(scores)
    shuffler.shuffle(other)
    assert noise_of(other).floor == pytest.approx(noise_of(scores).floor, abs=1e-7)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(2, 6))
def test_equal_repeats_have_no_noise_at_all_not_even_that_of_floats(scores, repeats):
    assert noise_of([scores] * repeats).floor == 0.0


def test_queries_of_one_cluster_vary_together_and_count_as_one():
    scores = [[1.0, 1.0, 0.5, 0.2], [0.0, 0.0, 0.5, 0.2]]
    together, apart = noise_of(scores, clusters=["a", "a", "", ""]), noise_of(scores)
    # One sum of 2 or 0, variance 2, against two scores of 1 or 0, variance 0.5 each.
    assert together.independent == pytest.approx(1.959964 * math.sqrt(2 * 2.0) / 4)
    assert apart.independent == pytest.approx(1.959964 * math.sqrt(2 * 1.0) / 4) and together.spread == apart.spread


def test_two_runs_of_independent_noise_differ_by_less_than_the_floor_as_often_as_promised():
    draw, n, within, trials = random.Random(7), 200, 0, 600

    def one():
        return [0.8 if draw.random() < 0.9 else 0.3 for _ in range(n)]

    for _ in range(trials):
        independent = noise_of([one() for _ in range(3)]).independent
        within += abs(statistics.fmean(one()) - statistics.fmean(one())) <= independent
    assert 0.93 <= within / trials <= 0.975


@pytest.mark.parametrize("scores", [[], [[0.5]], [[], []]])
def test_nothing_is_measured_by_one_repeat_or_no_query(scores):
    with pytest.raises(ValueError):
        noise_of(scores)


@given(st.floats(1e-6, 1.0))
def test_a_suggested_number_is_never_below_what_was_measured_and_has_two_digits(value):
    found = round_up(value)
    assert value - 1e-12 <= found <= value * 1.1 and f"{found:.2g}" == f"{found:.12g}"


@pytest.mark.parametrize("value, expected", [(0.0134, 0.014), (0.014, 0.014), (0.0996, 0.1), (0.5, 0.5), (0.0200001, 0.021)])
def test_a_number_with_two_digits_stays_as_it_is(value, expected):
    assert round_up(value) == expected


# -- the decision ------------------------------------------------------------------------------------------------------

N = 100
GOLDEN = golden_set({f"q{i}": [f"d{i}"] for i in range(N)})


def losing(*lost, name="candidate"):
    return run_of({f"q{i}": ["x"] if i in lost else [f"d{i}", "x"] for i in range(N)})._replace(name=name)


def assess(candidate, repeats, policy=None, **around):
    return pipeline.assess(GOLDEN, candidate, references.Reference(losing(name="main")), policy or Policy(),
                           pipeline.Circumstances(**around), repeats=repeats)


def test_a_retriever_that_repeats_itself_has_a_floor_of_0_and_the_report_says_so():
    report = assess(losing(), [losing(), losing()])
    (check,) = [c for c in report.checks if c.name == "noise"]
    assert check.outcome == "pass" and check.numbers["floor"] == 0.0 and "gave the same scores every time" in check.sentence
    assert report_json(report)["noise"] == {"repeats": 3, "floor": 0.0, "spread": 0.0, "means": [1.0, 1.0, 1.0], "unstable": []}
    assert report.verdict == "pass"


def test_without_repeats_nothing_is_said_of_noise():
    report = assess(losing(), [])
    assert report_json(report)["noise"] is None and "noise" not in [c.name for c in report.checks]


def test_a_lost_query_that_is_unstable_says_so_everywhere():
    report = assess(losing(*range(20)), [losing(*range(19))], Policy(tolerance=0.05))
    assert report.verdict == "fail" and report.noise.unstable == ("q19",)
    assert "1 query ranked differently between repeats, among them lost ones: q19" in render_text(report)
    assert "1 -> not in the top 1 (unstable)" in render_text(report)
    assert render_html(report).count("ranked differently between repeats</span>") == 1
    assert [flip["id"] for flip in report_json(report)["flips"]["lost"] if flip["unstable"]] == ["q19"]


def test_a_floor_above_the_tolerance_is_invalid_and_names_the_smallest_tolerance_that_would_do():
    repeats = [losing(0, 1, 2), losing(0)]
    with pytest.raises(TooNoisy) as caught:
        assess(losing(), repeats)
    error = caught.value
    floor = error.repeats.noise.floor
    # The scores of q0, q1 and q2 have a variance of 1/3 each; the means are 1, 0.97 and 0.99.
    assert error.repeats.noise.independent == pytest.approx(1.959964 * math.sqrt(2 * 3 / 3) / N, rel=1e-5)
    assert error.repeats.noise.spread == floor == pytest.approx(0.03)
    assert error.exit_code == 2 and "noise floor 0.030 is above the tolerance 0.02" in error.text() and "at least 0.03" in error.cure
    assert assess(losing(), repeats, Policy(tolerance=0.03)).verdict == "pass"
    with pytest.raises(TooNoisy):
        assess(losing(), repeats, Policy(tolerance=0.0299))


def test_no_approval_makes_a_noisy_gate_valid_but_one_that_raises_its_tolerance_can_be_approved():
    from gate.baseline.approval import Eligibility

    yes = Eligibility(True, (), 1, "a" * 40, "baseline-update", True, "maria", "fine")
    repeats = [losing(*range(5))]
    with pytest.raises(TooNoisy):
        assess(losing(), repeats, approval=yes, proposed=0.02)
    assert assess(losing(), repeats, proposed=0.2).verdict == "fail"
    assert assess(losing(), repeats, proposed=0.2, approval=yes).verdict == "accepted"


def test_a_repeat_that_cannot_be_judged_is_no_judgement_of_the_first_run_either():
    broken = Run(dict(losing().rankings) | {"q3": Ranking([], error="boom")}, "repeat 2 of 2")
    with pytest.raises(CannotDecide, match="repeat 2 of 2: the retriever failed on 1"):
        assess(losing(), [broken])


# -- asking several times ----------------------------------------------------------------------------------------------

RETRIEVER = """
import pathlib
place = pathlib.Path(__file__).with_name("starts")
start = len(place.read_text()) if place.exists() else 0
place.write_text("x" * (start + 1))
LOST = {lost}
if LOST[start % len(LOST)] is None:
    raise RuntimeError("no memory of the index")


def retrieve(query, n):
    i = int(query.rsplit(" ", 1)[1])
    return ["x"] if i < LOST[start % len(LOST)] else [f"d{{i}}", "x"]
"""
CONFIG = "golden: golden.jsonl\nretriever: {kind: python, function: 'noisy:retrieve'}\nrepeat: 3\n"


@pytest.fixture
def project(tmp_path):
    def files(lost, config=CONFIG):
        for name, text in (("golden.jsonl", golden()), ("retrieval-gate.yml", config), ("noisy.py", RETRIEVER.format(lost=lost))):
            (tmp_path / name).write_text(text)
        (tmp_path / "starts").unlink(missing_ok=True)
        return tmp_path

    return files


def gate(folder, *more):
    return main(["run", "--config", str(folder / "retrieval-gate.yml"), "--out", str(folder / "out"), *map(str, more)])


def reported(folder):
    return json.loads((folder / "out" / "report.json").read_text())


def test_every_repeat_is_a_process_of_its_own_and_the_first_run_is_judged_and_stored(project, capsys):
    folder = project([0, 0, 3])
    assert gate(folder, "--record", folder / "main.json.gz") == 0
    assert (folder / "starts").read_text() == "xxx"
    report = reported(folder)
    assert report["noise"]["means"] == pytest.approx([1.0, 1.0, 0.99]) and report["noise"]["unstable"] == ["q0", "q1", "q2"]
    assert report["primary"]["candidate"] == 1.0
    assert gate(project([0, 0, 0]), "--baseline", folder / "main.json.gz") == 0 and reported(folder)["noise"]["floor"] == 0.0


def test_a_noisy_retriever_is_exit_2_with_its_floor_until_the_tolerance_is_raised(project, capsys):
    folder = project([0, 30, 0])
    assert gate(folder) == 2
    report = reported(folder)
    assert report["verdict"] == "invalid" and report["noise"]["spread"] == pytest.approx(0.1) and report["primary"]["candidate"] is None
    assert "raise `policy.tolerance` of this tier to at least 0.1" in report["cure"] and "noise floor 0.100" in report["problems"][0]
    assert gate(project([0, 30, 0], CONFIG + "policy: {tolerance: 0.1}\n")) == 0


@pytest.mark.parametrize("lost, repeat", [([0, None], 2), ([0, 0, None], 3)])
def test_a_repeat_that_fails_is_a_failure_of_the_run_and_the_first_run_is_kept(project, capsys, lost, repeat):
    folder = project(lost)
    assert gate(folder) == 3
    report = reported(folder)
    assert report["verdict"] == "cannot-decide" and report["problems"][0].startswith(f"repeat {repeat} of 3: ")
    assert "no memory of the index" in report["problems"][0] and (folder / "out" / "run.jsonl.gz").is_file()


def test_a_run_is_asked_once_unless_the_tier_says_otherwise(project, capsys):
    folder = project([0, 30], CONFIG.replace("repeat: 3", "tiers: {nightly: {repeat: 2}}"))
    assert gate(folder) == 0 and (folder / "starts").read_text() == "x"
    (folder / "starts").unlink()
    assert gate(folder, "--tier", "nightly") == 2 and (folder / "starts").read_text() == "xx"


def test_in_ci_a_noisy_gate_is_red_whoever_approves_and_raising_the_tolerance_is_a_way_out(tmp_path, capsys):
    with FakeGitHub() as fake:
        quiet = {"retrieval-gate.yml": CONFIG, "golden.jsonl": golden(), "noisy.py": RETRIEVER.format(lost=[0]), GATE_PATH: "name: gate\n"}
        story = Story(fake, tmp_path, capsys, quiet)
        assert story.on_push().code == 0
        noisy = story.pull({"noisy.py": RETRIEVER.format(lost=[0, 30, 0])})
        story.approve(noisy)
        outcome = story.on_pull(noisy, "labeled", label="baseline-update", sender="maria")
        assert (outcome.code, outcome.verdict) == (2, "invalid") and "to at least 0.1" in story.comments(noisy)[0]
        story.fake.push(noisy, {"retrieval-gate.yml": CONFIG + "policy: {tolerance: 0.12}\n"})
        outcome = story.on_pull(noisy)
        assert (outcome.code, outcome.verdict) == (1, "fail") and "This change raises the tolerance to 0.12" in story.comments(noisy)[0]
        story.approve(noisy)
        assert story.on_pull(noisy, "labeled", label="baseline-update", sender="maria").verdict == "accepted"
        merged = story.merged(noisy)
        assert (merged.code, merged.outputs["baseline-updated"]) == (0, "approved") and merged.report["noise"]["repeats"] == 3
        fake.assert_clean()
