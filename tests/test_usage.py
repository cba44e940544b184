"""Time and cost beside quality, and limits on them."""

import pytest

from gate.policy import LIMITS
from gate.usage import Cost, Latency, limit_checks, mean, quantiles


def both(p50=None, p95=None, now50=None, now95=None, cost=None, now=None):
    return Latency(p50, p95, now50, now95), Cost(cost, now)


def outcome(usage, key, limit, compared=True):
    return [check.outcome for check in limit_checks(*usage, {key: limit}, compared)]


def test_median_and_95th_percentile_are_values_that_were_measured():
    assert quantiles(range(100, 0, -1)) == (50, 95) and quantiles([7.0]) == (7.0, 7.0) and quantiles([]) == (None, None)
    assert mean([1.0, 2.0]) == 1.5 and mean([]) is None


@pytest.mark.parametrize("key, limit, at", [("p50_ms", 10.0, "pass"), ("p50_ms", 9.9, "fail"), ("p95_ms", 40.0, "pass"),
    ("p95_ms", 39.0, "fail"), ("p50_ratio", 2.0, "pass"), ("p50_ratio", 1.99, "fail"), ("p95_ratio", 2.0, "pass"),
    ("cost", 0.3, "pass"), ("cost", 0.2, "fail"), ("cost_ratio", 3.0, "pass"), ("cost_ratio", 2.9, "fail")])
def test_a_limit_holds_at_its_own_value_and_not_beyond(key, limit, at):
    assert outcome(both(5.0, 20.0, 10.0, 40.0, 0.1, 0.3), key, limit) == [at]


@pytest.mark.parametrize("key", LIMITS)
def test_a_limit_on_what_the_run_does_not_report_fails(key):
    assert outcome(both(5.0, 20.0, None, None, 0.1, None), key, 1e9) == ["fail"]


@pytest.mark.parametrize("key", ["p50_ratio", "p95_ratio", "cost_ratio"])
def test_a_ratio_to_a_baseline_that_does_not_report_it_cannot_be_decided(key):
    assert outcome(both(None, None, 10.0, 40.0, None, 0.3), key, 1e9) == ["inconclusive"]
    assert outcome(both(0.0, 0.0, 10.0, 40.0, 0.0, 0.3), key, 1e9) == ["inconclusive"]
    assert outcome(both(None, None, 10.0, 40.0, None, 0.3), key, 1.0, compared=False) == []


def test_the_sentence_says_value_and_limit():
    check, = limit_checks(*both(5.0, 20.0, 10.0, 50.0), {"p95_ratio": 1.5}, True)
    assert check.sentence == ("The 95th percentile of the latency is 2.5 times the baseline's; 1.5 times the baseline's is allowed.")
    check, = limit_checks(*both(5.0, 20.0, 10.0, 412.3), {"p95_ms": 400}, True)
    assert check.sentence == "The 95th percentile of the latency is 412.3 ms; 400 ms is allowed."
