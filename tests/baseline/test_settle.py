"""Two runs that store at once: the table of who stays on top."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.baseline.choose import STATES, Manifest
from gate.baseline.settle import APART, EARLIER, LATER, SAME, settle


def theirs(state="carried", record="old"):
    return Manifest(1, "default", 1, "b" * 40, record, "", state)


@pytest.mark.parametrize("state, base, other, order, seen, writes, words", [
    # nobody else
    ("bootstrap", "", None, APART, True, True, ""),
    ("carried", "old", None, APART, True, True, ""),
    # another run has only carried what this one was judged by
    ("carried", "old", theirs(), LATER, False, True, ""),
    ("carried", "old", theirs(), SAME, True, True, ""),
    ("carried", "old", theirs(), EARLIER, False, False, "has stored its state already"),
    ("carried", "old", theirs(), APART, False, False, "has stored its state already"),
    ("approved", "old", theirs(), LATER, False, True, ""),
    ("approved", "old", theirs(), EARLIER, False, True, ""),
    # another run has moved the baseline
    ("carried", "old", theirs("approved", "new"), LATER, False, False, "stored another baseline (approved)"),
    ("carried", "old", theirs("approved", "new"), EARLIER, False, False, "has stored its state already"),
    ("approved", "old", theirs("approved", "new"), LATER, False, True, ""),
    ("approved", "old", theirs("approved", "new"), EARLIER, False, False, "stored another baseline (approved)"),
    ("approved", "old", theirs("carried", "new"), EARLIER, True, False, "stored another baseline (carried)"),
    # this one found none to build on
    ("bootstrap", "", theirs("bootstrap"), LATER, False, False, "stored another baseline (bootstrap)"),
    ("bootstrap", "", theirs("bootstrap"), LATER, True, True, ""),
    ("bootstrap", "", theirs("bootstrap"), EARLIER, True, False, "has stored its state already"),
    ("approved", "", theirs(), LATER, True, True, "")])
def test_the_later_commit_wins_and_what_was_approved_is_never_lost_to_a_carry(state, base, other, order, seen, writes, words):
    settled = settle(state, base, other, order, seen)
    assert settled.write is writes and words in settled.sentence and bool(settled.sentence) is not writes


def test_an_approved_record_follows_the_one_that_another_run_approved_before_it():
    assert settle("approved", "old", theirs("approved", "new"), LATER, False).parent == "new"


@given(st.sampled_from(STATES), st.sampled_from(["", "old"]), st.sampled_from(STATES), st.sampled_from([LATER, SAME, EARLIER, APART]),
       st.booleans())
def test_a_run_that_carries_never_goes_on_top_of_a_baseline_that_it_was_not_judged_by(state, base, other, order, seen):
    settled = settle(state, base, theirs(other, "new"), order, seen)
    assert not (settled.write and state == "carried")
    assert settled.write or settled.sentence
