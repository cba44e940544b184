"""What a difference is worth, against scipy, statsmodels, plain enumeration and plain resampling."""

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.statistics.bootstrap import FEW_CHANGES, mean_interval
from gate.statistics.multiplicity import benjamini_hochberg, holm
from gate.statistics.permutation import sign_flip_p
from gate.statistics.power import minimum_detectable_effect, queries_needed
from gate.statistics.tests01 import mcnemar, wilson


def deltas(kind, n, moved, seed):
    rng = random.Random(seed)
    draw = {"hit": lambda: rng.choice([-1.0, -1.0, 1.0]), "recall": lambda: rng.choice([-1.0, -0.5, -1 / 3, 1 / 3, 0.5]),
            "ndcg": lambda: max(-1.0, min(1.0, rng.gauss(-0.1, 0.3)))}[kind]
    return [draw() for _ in range(moved)] + [0.0] * (n - moved)


@pytest.mark.parametrize("kind", ["hit", "recall", "ndcg"])
@pytest.mark.parametrize("n, moved", [(12, 12), (40, 15), (300, 20), (300, 150), (2000, 400)])
def test_the_exact_interval_is_what_resampling_converges_to(kind, n, moved):
    values = deltas(kind, n, moved, 1)
    exact = mean_interval(values)
    drawn = mean_interval(values, method="resample", resamples=40_000, seed=2)
    mean = sum(values) / n
    error = math.sqrt(sum((v - mean) ** 2 for v in values)) / n
    lattice = 1 / n if kind == "hit" else 1 / (6 * n)
    assert exact.method == "exact" and drawn.method == "resample"
    assert abs(exact.lo - drawn.lo) < 0.06 * error + lattice and abs(exact.hi - drawn.hi) < 0.06 * error + lattice


def test_scipy_draws_the_same_interval():
    stats = pytest.importorskip("scipy.stats")
    values = deltas("ndcg", 150, 60, 3)
    oracle = stats.bootstrap((values,), lambda x, axis: x.mean(axis=axis), n_resamples=20_000, method="percentile",
                             rng=1).confidence_interval
    ours = mean_interval(values)
    assert ours.lo == pytest.approx(oracle.low, abs=0.0012) and ours.hi == pytest.approx(oracle.high, abs=0.0012)


def test_the_exact_interval_equals_full_enumeration_on_a_tiny_set():
    values = [-1.0, -0.5, 0.5] * 4
    counts = {}
    # All 3^12 resamples of the three distinct, equally frequent values.
    for ups in itertools.product(range(13), repeat=2):
        a, b = ups
        if a + b <= 12:
            ways = math.factorial(12) // (math.factorial(a) * math.factorial(b) * math.factorial(12 - a - b))
            total = -1.0 * a - 0.5 * b + 0.5 * (12 - a - b)
            counts[total] = counts.get(total, 0) + ways
    running, lo, hi = 0, None, None
    for total in sorted(counts):
        running += counts[total] / 3**12
        lo = total / 12 if lo is None and running >= 0.025 else lo
        hi = total / 12 if hi is None and running >= 0.975 else hi
    found = mean_interval(values)
    assert (found.lo, found.hi) == (pytest.approx(lo), pytest.approx(hi))


def test_the_same_input_gives_the_same_interval_without_a_seed_and_with_one():
    values = deltas("ndcg", 80, 40, 5)
    assert mean_interval(values) == mean_interval(list(values))
    assert mean_interval(values, method="resample", seed=4) == mean_interval(values, method="resample", seed=4)


@pytest.mark.parametrize("successes, n", [(0, 10), (0, 300), (1, 20), (3, 50), (9, 1000)])
def test_with_few_changes_the_bound_of_losses_alone_is_clopper_pearsons(successes, n):
    beta = pytest.importorskip("scipy.stats").beta
    found = mean_interval([-1.0] * successes + [0.0] * (n - successes))
    assert found.method == "few-changes"
    assert -found.lo == pytest.approx(beta.ppf(0.975, successes + 1, n - successes), abs=1e-6)


@pytest.mark.parametrize("better, worse", [(0, 5), (0, 6), (1, 7), (1, 8), (2, 7), (0, 9)])
def test_with_few_changes_the_bound_agrees_with_mcnemars_exact_test(better, worse):
    found = mean_interval([1.0] * better + [-1.0] * worse + [0.0] * 200)
    assert (found.hi < 0) == (mcnemar(better, worse)[0] < 0.05)


def test_no_change_at_all_never_gives_an_interval_of_width_zero():
    for n in (5, 50, 5000):
        found = mean_interval([0.0] * n)
        assert found.lo < 0 < found.hi


def test_fewer_than_five_changed_queries_are_never_significant():
    for changes in range(1, 5):
        assert mean_interval([-1.0] * changes + [0.0] * 60).hi > 0
        assert sign_flip_p([-1.0] * changes + [0.0] * 60) > 0.05


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 4)), min_size=2, max_size=60))
def test_the_interval_is_ordered_mirrors_with_the_deltas_and_stays_in_range(values):
    found, mirrored = mean_interval(values), mean_interval([-v for v in values])
    mean = sum(values) / len(values)
    assert -1 - 1e-6 <= found.lo <= mean + 1e-6 and mean - 1e-6 <= found.hi <= 1 + 1e-6
    assert found.lo == pytest.approx(-mirrored.hi, abs=0.05) and found.hi == pytest.approx(-mirrored.lo, abs=0.05)


def test_one_query_gives_no_interval():
    assert mean_interval([0.3]) is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.63, -0.37, -0.5, 0.25, 0.5, 1.0, 0.0]), min_size=1, max_size=11))
def test_the_permutation_p_equals_plain_enumeration(values):
    moved = [v for v in values if v]
    observed = abs(sum(moved))
    oracle = sum(abs(sum(s * v for s, v in zip(signs, moved, strict=True))) >= observed - 1e-9
                 for signs in itertools.product((1, -1), repeat=len(moved))) / 2 ** len(moved)
    assert sign_flip_p(values) == pytest.approx(oracle)


def test_the_sampled_permutation_p_is_near_scipys_and_never_zero():
    stats = pytest.importorskip("scipy.stats")
    values = deltas("ndcg", 60, 40, 9)
    oracle = stats.permutation_test((values,), lambda x, axis: x.mean(axis=axis), permutation_type="samples",
                                    n_resamples=20_000, rng=1).pvalue
    assert sign_flip_p(values) == pytest.approx(oracle, abs=0.02)
    assert sign_flip_p([-0.1 - i / 1000 for i in range(200)]) > 0


def test_fourteen_against_six_sounds_convincing_and_is_not():
    exact, mid = mcnemar(14, 6)
    assert (round(exact, 4), round(mid, 4)) == (0.1153, 0.0784)
    assert sign_flip_p([1.0] * 14 + [-1.0] * 6) == pytest.approx(exact)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_statsmodels_agrees_with_mcnemar(better, worse):
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    if better + worse:
        oracle = tables.mcnemar([[0, better], [worse, 0]], exact=True).pvalue
        assert mcnemar(better, worse)[0] == pytest.approx(min(1.0, oracle))


def test_wilson_at_the_worked_value_and_at_the_edges():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    assert tuple(round(x, 3) for x in wilson(164, 200)) == (0.761, 0.867)
    assert wilson(0, 20)[0] == 0.0 and wilson(0, 20)[1] > 0.1 and wilson(20, 20)[0] < 0.9
    assert wilson(37, 90) == pytest.approx(proportion.proportion_confint(37, 90, method="wilson"))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_statsmodels_agrees_with_the_corrections(p_values):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert holm(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="holm")[1]))
    assert benjamini_hochberg(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="fdr_bh")[1]))


def test_more_queries_resolve_smaller_effects():
    small, large = deltas("ndcg", 60, 30, 2), deltas("ndcg", 60, 30, 2) * 16
    assert minimum_detectable_effect(large) == pytest.approx(minimum_detectable_effect(small) / 4)
    assert minimum_detectable_effect([0.0] * 50) > 0


def test_queries_needed_shrinks_the_interval_until_it_settles():
    assert queries_needed(100, 0.0, -0.04, 0.04, 0.02) == 400
    assert queries_needed(100, -0.02, -0.06, 0.02, 0.02) == 400
    assert FEW_CHANGES == 10


@pytest.mark.parametrize("values, upper", [([-1.0] + [-0.00131] * 9, -0.00131)])
def test_a_few_very_unequal_values_are_not_smeared(values, upper):
    assert mean_interval(values).hi == pytest.approx(upper, abs=5e-5)


@pytest.mark.parametrize("values", [[0.3 + i * 1e-10 for i in range(20)], [0.5 + i * 1e-6 for i in range(12)],
                                    [1e-8 * (i + 1) for i in range(30)], [-1.0, 1.0] * 2000 + [0.123456] * 10])
def test_values_that_hardly_differ_or_are_tiny_take_no_memory_and_keep_their_mean_inside(values):
    found = mean_interval(values)
    mean = sum(values) / len(values)
    assert found.lo - 1e-9 <= mean <= found.hi + 1e-9 and min(values) - 1e-9 <= found.lo and found.hi <= max(values) + 1e-9


def test_the_few_changes_bound_holds_its_level_when_signs_are_coin_flips():
    rng, wrong, trials = random.Random(11), 0, 1500
    for _ in range(trials):
        moved = rng.randint(6, 9)
        values = [rng.choice([1.0, 0.63, 0.5, 0.37, 0.13, 0.05]) * rng.choice([-1, 1]) for _ in range(moved)]
        wrong += mean_interval(values + [0.0] * 90).hi < 0
    assert wrong / trials <= 0.025
