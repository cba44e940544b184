"""What a difference is worth, against scipy, statsmodels, plain enumeration and plain resampling."""

import gc
import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.statistics.bootstrap import FEW_CHANGES, _power, mean_interval
from gate.statistics.clusters import count, gather
from gate.statistics.levels import level_interval
from gate.statistics.multiplicity import benjamini_hochberg, holm
from gate.statistics.permutation import _signs, sign_flip_p
from gate.statistics.power import detectable, minimum_detectable_effect, queries_needed, queries_to_detect, variance
from gate.statistics.tests01 import clopper_pearson, mcnemar, wilson


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


@pytest.mark.parametrize("m", [17, 24, 1_000])
def test_looking_sums_up_eight_at_a_time_gives_the_p_of_adding_every_draw(m):
    import numpy as np

    rng = random.Random(m)
    values = [rng.gauss(0.03, 1.0) for _ in range(m)]
    rows = np.concatenate([_signs(5, 9_999, block) for block in range(m // 128 + 1)])
    bits = np.unpackbits(rows[:, :, None], axis=2).transpose(0, 2, 1).reshape(-1, 9_999)[:m]
    assert abs(bits.mean() - 0.5) < 0.005
    flipped = np.abs((1.0 - 2.0 * bits.T) @ values)
    assert sign_flip_p(values, seed=5) == (1 + np.count_nonzero(flipped >= abs(math.fsum(values)) - 1e-9)) / 10_000


@settings(deadline=None)
@given(st.integers(1, 10_000), st.integers(0, 2**32))
def test_frequencies_that_come_to_nothing_are_left_out_and_no_others(n, seed):
    import numpy as np

    angles, sizes = np.random.default_rng(seed).uniform(0, 1, (2, 50))
    base = sizes ** (1 / n) * np.exp(2j * math.pi * angles)
    assert _power(base, n) == pytest.approx(base**n, abs=1e-10)
    assert _power(base[:1] * 0.0, n).tolist() == [0.0]


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


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_statsmodels_agrees_with_the_corrections(p_values):
    gc.freeze()  # Holm's method there collects all garbage in every call, which takes a second with all tests in memory
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


# -- clusters ----------------------------------------------------------------------------------------------------------


def clustered(m, sizes, seed, kind="ndcg"):
    """Sums and sizes of m clusters whose queries move much alike."""
    rng, sums, many = random.Random(seed), [], []
    for _ in range(m):
        size, centre = rng.choice(sizes), rng.gauss(-0.05, 0.3)
        many.append(size)
        sums.append(math.fsum(max(-1.0, min(1.0, centre + rng.gauss(0, 0.1))) if kind == "ndcg" else float(rng.choice([-1, 0, 0, 1]))
                              for _ in range(size)))
    return sums, many


def test_deltas_are_gathered_by_key_and_a_query_without_one_stands_alone():
    assert gather([1.0, 2.0, 3.0, 4.0], ["a", "", "a", ""]) == ([4.0, 2.0, 4.0], [2, 1, 1])
    assert count(["a", "", "a", ""]) == 3
    # Nothing is shared: the very deltas, and no sizes, so that all that follows is as without clusters.
    for keys in (None, ["", ""], ["a", "b"], ["a", ""]):
        assert gather([0.1, 0.2], keys) == ([0.1, 0.2], None)
    # Thirds that cancel are a cluster that did not move.
    assert sign_flip_p(gather([1 / 3, 1 / 3, 1 / 3, -1.0], ["a"] * 4).sums) == 1.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.63, -0.37, 0.25, 0.5, 1.0, 0.0, 0.0]), min_size=2, max_size=40))
def test_clusters_of_one_give_exactly_the_numbers_of_queries(values):
    ones = [1] * len(values)
    assert mean_interval(values, sizes=ones) == mean_interval(values)
    assert mean_interval(values, method="resample", resamples=50, sizes=ones) == mean_interval(values, method="resample", resamples=50)
    assert minimum_detectable_effect(values, sizes=ones) == pytest.approx(minimum_detectable_effect(values))


@pytest.mark.parametrize("values", [deltas("ndcg", 40, 25, 3), deltas("hit", 60, 15, 4), deltas("recall", 30, 6, 5), [0.0] * 20])
def test_paraphrases_that_move_alike_are_worth_one_query(values):
    """Fifty wordings of each fact: the numbers are those of one wording each."""
    sums, sizes = gather([v for v in values for _ in range(50)], [f"fact {i}" for i in range(len(values)) for _ in range(50)])
    found, one = mean_interval(sums, sizes=sizes), mean_interval(values)
    assert (found.lo, found.hi) == (pytest.approx(one.lo, abs=1e-9), pytest.approx(one.hi, abs=1e-9)) and found.method == one.method
    assert sign_flip_p(sums) == pytest.approx(sign_flip_p(values))
    assert minimum_detectable_effect(sums, sizes=sizes) == pytest.approx(minimum_detectable_effect(values))


def test_ten_facts_in_fifty_wordings_are_no_five_hundred_queries():
    rng = random.Random(8)
    facts = [rng.gauss(-0.05, 0.2) for _ in range(10)]
    deltas, keys = [f for f in facts for _ in range(50)], [f"fact {i}" for i in range(10) for _ in range(50)]
    sums, sizes = gather(deltas, keys)
    wide, narrow = mean_interval(sums, sizes=sizes), mean_interval(deltas)
    assert wide.lo < 0 < wide.hi and wide.hi - wide.lo > 6 * (narrow.hi - narrow.lo)
    assert sign_flip_p(sums) > 0.05 > sign_flip_p(deltas)


@pytest.mark.parametrize("kind", ["ndcg", "hit"])
@pytest.mark.parametrize("m, sizes", [(12, [1, 2, 5]), (30, [1, 30]), (60, [1] * 9 + [20]), (150, [1, 2, 8]), (1500, [1, 2])])
def test_over_unequal_clusters_the_exact_interval_is_what_resampling_clusters_converges_to(kind, m, sizes):
    sums, many = clustered(m, sizes, m, kind)
    assert min(many) < max(many)
    exact = mean_interval(sums, sizes=many)
    drawn = mean_interval(sums, sizes=many, method="resample", resamples=20_000, seed=3)
    slack = 0.025 * (drawn.hi - drawn.lo) + (1.01 / sum(many) if kind == "hit" else 0.0)
    assert exact.method == "exact" and drawn.method == "resample"
    assert abs(exact.lo - drawn.lo) < slack and abs(exact.hi - drawn.hi) < slack


def test_over_unequal_clusters_the_exact_interval_equals_full_enumeration():
    # Four kinds of cluster, each three times: all 4^12 resamples by their counts.
    kinds = [(-1.0, 1), (-0.8, 2), (0.6, 3), (0.5, 1)]
    ratios = {}
    for counts in itertools.product(range(13), repeat=3):
        last = 12 - sum(counts)
        if last >= 0:
            many = (*counts, last)
            ways = math.factorial(12) // math.prod(map(math.factorial, many))
            ratio = sum(c * y for c, (y, _) in zip(many, kinds, strict=True)) / sum(c * s for c, (_, s) in zip(many, kinds, strict=True))
            ratios[ratio] = ratios.get(ratio, 0.0) + ways / 4**12
    running, ends = 0.0, []
    for ratio in sorted(ratios):
        before, running = running, running + ratios[ratio]
        ends += [ratio for level in (0.025, 0.975) if before < level <= running]
    found = mean_interval([y for y, _ in kinds] * 3, sizes=[s for _, s in kinds] * 3)
    assert (found.lo, found.hi) == (pytest.approx(ends[0], abs=2e-3), pytest.approx(ends[1], abs=2e-3))


def test_an_end_that_is_zero_is_zero_and_on_neither_side_of_it():
    for lost, gained in [(8, 2), (10, 3), (13, 5), (19, 9)]:
        sums = [-1.0] * lost + [1.0] * gained + [0.0] * (100 - lost - gained)
        assert mean_interval(sums).hi == mean_interval(sums, sizes=[2, 1, 3, 1] * 25).hi == 0.0
        for other in (gained - 1, gained + 1):
            sums = [-1.0] * lost + [1.0] * other + [0.0] * (100 - lost - other)
            assert (mean_interval(sums).hi < 0) == (mean_interval(sums, sizes=[2, 1, 3, 1] * 25).hi < 0) == (other < gained)


def test_few_changed_clusters_of_unequal_sizes_get_the_bound_with_the_sign_it_has_for_their_sums():
    """Whether zero is excluded depends on the sums alone, so McNemar's exact test still agrees."""
    for better, worse in [(0, 5), (0, 6), (1, 7), (1, 8), (2, 7), (0, 9)]:
        sums = [2.0] * better + [-2.0] * worse + [0.0] * 150
        found = mean_interval(sums, sizes=[2] * (better + worse) + [1, 4, 1] * 50)
        assert found.method == "few-changes" and (found.hi < 0) == (mcnemar(better, worse)[0] < 0.05)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-1, 1).map(lambda x: round(x, 4)), st.integers(1, 9)), min_size=2, max_size=40))
def test_over_clusters_the_interval_holds_the_mean_over_queries_and_mirrors(clusters):
    sizes = [size for _, size in clusters]
    sums = [mean * size for mean, size in clusters]
    found, mirrored = mean_interval(sums, sizes=sizes), mean_interval([-y for y in sums], sizes=sizes)
    mean = math.fsum(sums) / sum(sizes)
    assert -1 - 1e-6 <= found.lo <= found.hi <= 1 + 1e-6 and found.lo - 1e-6 <= mean <= found.hi + 1e-6
    assert found.lo == pytest.approx(-mirrored.hi, abs=0.05) and found.hi == pytest.approx(-mirrored.lo, abs=0.05)


def test_the_detectable_effect_over_clusters_is_the_spread_that_drawing_clusters_has():
    sums, sizes = clustered(300, [1, 1, 1, 6], 4)
    rng, means = random.Random(1), []
    for _ in range(2000):
        picked = rng.choices(range(300), k=300)
        means.append(sum(sums[i] for i in picked) / sum(sizes[i] for i in picked))
    centre = sum(means) / 2000
    spread = math.sqrt(sum((m - centre) ** 2 for m in means) / 2000)
    assert minimum_detectable_effect(sums, sizes=sizes) == pytest.approx(2.8016 * spread, rel=0.06)
    assert minimum_detectable_effect([0.0, 0.0], sizes=[1, 3]) > 0


@pytest.mark.parametrize("deltas, sizes", [([-1.0] * 12, None), ([-0.3] * 40, None), ([0.1, 0.2] * 10, [1, 2] * 10)])
def test_a_set_on_which_all_changed_alike_does_not_resolve_everything(deltas, sizes):
    assert minimum_detectable_effect(deltas, sizes=sizes) > 0.05


def test_as_many_queries_as_are_said_to_be_needed_detect_the_effect():
    spread = variance(deltas("ndcg", 200, 60, 6))
    needed = queries_to_detect(spread, 0.02)
    assert detectable(spread, needed) <= 0.02 < detectable(spread, needed - 1)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 400), st.integers(1, 400))
def test_scipy_agrees_with_clopper_pearson(successes, n):
    stats = pytest.importorskip("scipy.stats")
    successes = min(successes, n)
    oracle = stats.binomtest(successes, n).proportion_ci(0.95, "exact")
    assert clopper_pearson(successes, n) == (pytest.approx(oracle.low, abs=1e-10), pytest.approx(oracle.high, abs=1e-10))


def test_clopper_pearson_at_worked_values_at_the_edges_and_for_many():
    assert tuple(round(x, 4) for x in clopper_pearson(164, 200)) == (0.7596, 0.8706)
    assert clopper_pearson(0, 20) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20))) and clopper_pearson(20, 20)[1] == 1.0
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    low, high = clopper_pearson(50_000, 100_000)
    assert low < wilson(50_000, 100_000)[0] < 0.5 < high < 0.5032


def test_a_rate_has_wilsons_interval_unless_queries_share_a_cluster():
    hits = [1.0] * 164 + [0.0] * 36
    found = level_interval(hits, binary=True)
    assert (round(found.lo, 3), round(found.hi, 3), found.method) == (0.761, 0.867, "wilson")
    paired = level_interval(hits, binary=True, clusters=[f"fact {i // 2}" for i in range(200)])
    assert paired.method == "exact" and paired.hi - paired.lo > 1.2 * (found.hi - found.lo)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_equal_values_never_give_an_interval_of_width_zero(value):
    found = level_interval([value] * 40)
    assert found.lo <= value <= found.hi and found.hi - found.lo > 0.05 and found.lo >= 0.0 and found.hi <= 1.0


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.63093, 1.0]), min_size=2, max_size=80), st.booleans())
def test_the_interval_of_a_level_holds_the_mean_and_mirrors_with_the_values(values, clustered):
    clusters = [f"c{i % 7}" for i in range(len(values))] if clustered else None
    found, mirrored = (level_interval(v, clusters=clusters) for v in (values, [1.0 - v for v in values]))
    mean = sum(values) / len(values)
    assert found.lo <= mean + 1e-9 and mean - 1e-9 <= found.hi and found.lo >= 0.0 and found.hi <= 1.0
    assert found.lo == pytest.approx(1.0 - mirrored.hi, abs=2e-3) and found.hi == pytest.approx(1.0 - mirrored.lo, abs=2e-3)


@pytest.mark.parametrize("value, lo, hi", [(1.0, 0.025 ** (1 / 12), 1.0), (0.0, 0.0, 1 - 0.025 ** (1 / 12)), (0.2, 0.147, 0.412)])
def test_one_value_throughout_has_the_interval_of_a_rate_that_nothing_contradicts(value, lo, hi):
    assert clopper_pearson(12, 12)[0] == pytest.approx(0.025 ** (1 / 12))
    assert level_interval([value] * 12)[:2] == (pytest.approx(lo, abs=5e-4), pytest.approx(hi, abs=5e-4))


def test_one_query_has_no_interval():
    assert level_interval([0.4]) is None and level_interval([], clusters=[]) is None
