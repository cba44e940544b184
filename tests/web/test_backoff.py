"""How long is waited before a request is sent again."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.web.backoff import asked_wait, growing_wait

NOW = 1_800_000_000.0


@given(st.integers(0, 100), st.floats(0, 1))
def test_waits_grow_to_a_bound_with_up_to_half_on_top(attempt, random):
    wait, least = growing_wait(attempt, random), growing_wait(attempt, 0)
    assert 0.5 <= least <= wait <= 1.5 * least <= 30.0 and growing_wait(attempt + 1, 0) >= least


@given(st.integers(0, 999_999_999))
def test_seconds_are_read_as_they_are(seconds):
    assert asked_wait(f" {seconds} ", NOW) == seconds


@given(st.integers(-10**6, 10**6))
def test_a_date_is_read_from_now_and_the_past_is_no_wait(offset):
    date = format_datetime(datetime.fromtimestamp(NOW + offset, UTC), usegmt=True)
    assert asked_wait(date, NOW) == max(offset, 0)


@pytest.mark.parametrize("text", [None, "", "-1", "1.5", "soon", "1e9", "9" * 40, "Wed, 99 Foo 2026 00:00:00 GMT", "NaN", "١"])
def test_what_cannot_be_read_says_nothing(text):
    assert asked_wait(text, NOW) is None


@given(st.text(max_size=40))
def test_any_header_is_read_or_says_nothing(text):
    wait = asked_wait(text, NOW)
    assert wait is None or wait >= 0
