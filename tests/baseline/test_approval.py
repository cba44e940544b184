from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.baseline.approval import ApprovalFacts, Labeling, Person, Review, judge

HEAD, OLD = "1" * 40, "2" * 40
AUTHOR = Person("ann", 1, permission="write")
MARIA = Person("maria", 2, permission="write")
LEO = Person("leo", 3, permission="admin")
REASON = "New chunker: rare terms lose a little, long answers win."
REVIEW = Review(50, LEO, "APPROVED", HEAD, REASON, "2026-03-02T10:00:00Z")
LABELING = Labeling(40, MARIA, "2026-03-02T09:00:00Z")
GOOD = ApprovalFacts(7, AUTHOR, HEAD, "baseline-update", True, LABELING, (REVIEW,))
MERGED = replace(GOOD, merged_at="2026-03-02T11:00:00Z")


def reviewed(**changes):
    return replace(GOOD, reviews=(replace(REVIEW, **changes),))


def labeled_by(**changes):
    return replace(GOOD, labeling=replace(LABELING, actor=replace(MARIA, **changes)))


def test_a_label_and_a_reasoned_review_of_the_head_by_others_with_write_are_enough():
    answer = judge(GOOD)
    assert answer.eligible and not answer.unmet
    assert (answer.approver, answer.reason, answer.review_id, answer.label_event_id) == ("leo", REASON, 50, 40)
    assert (answer.pull_request, answer.head_sha, answer.label, answer.label_present) == (7, HEAD, "baseline-update", True)


def test_the_same_person_may_set_the_label_and_review():
    assert judge(replace(GOOD, reviews=(replace(REVIEW, reviewer=MARIA),))).eligible


@pytest.mark.parametrize("permission", ["admin", "maintain", "write"])
def test_write_maintain_and_admin_are_enough(permission):
    assert judge(reviewed(reviewer=replace(LEO, permission=permission))).eligible
    assert judge(labeled_by(permission=permission)).eligible


UNMET = [
    (replace(GOOD, label_present=False), "label-present", "`baseline-update` is not set"),
    (replace(GOOD, labeling=None), "label-event", "no event that says who"),
    (labeled_by(permission="triage"), "labeler-permission", "`triage`, which is not enough"),
    (labeled_by(permission="read"), "labeler-permission", "`read`"),
    (labeled_by(permission="none"), "labeler-permission", "`none`"),
    (labeled_by(permission=""), "labeler-permission", "GitHub did not tell"),
    (labeled_by(permission="Write"), "labeler-permission", "not enough"),
    (replace(GOOD, labeling=replace(LABELING, actor=AUTHOR)), "labeler-not-author", "is the author"),
    (labeled_by(id=1, login="renamed"), "labeler-not-author", "is the author"),
    (labeled_by(type="Bot"), "labeler-person", "a bot or an app"),
    (labeled_by(type="App"), "labeler-person", "a bot or an app"),
    (labeled_by(login="helper[bot]"), "labeler-person", "a bot or an app"),
    (labeled_by(type="Organization"), "labeler-person", "a bot or an app"),
    (labeled_by(id=0, login=""), "labeler-person", "a deleted account"),
    (replace(GOOD, reviews=()), "review", "nobody has approved 1111111"),
    (reviewed(commit=OLD), "review", "leo approved 2222222, but the head is now 1111111"),
    (reviewed(commit=""), "review", "an unknown commit"),
    (reviewed(commit=HEAD[:7]), "review", "approved 1111111"),
    (reviewed(state="DISMISSED"), "review", "was dismissed"),
    (reviewed(state="CHANGES_REQUESTED"), "review", "leo requested changes"),
    (reviewed(state="approved"), "review", "dismissed"),
    (reviewed(reviewer=replace(LEO, permission="read")), "review", "`read`, which is not enough"),
    (reviewed(reviewer=replace(LEO, permission="triage")), "review", "`triage`, which is not enough"),
    (reviewed(reviewer=replace(LEO, permission="")), "review", "GitHub did not tell"),
    (reviewed(reviewer=AUTHOR), "review", "is the author"),
    (reviewed(reviewer=replace(LEO, type="Bot")), "review", "a bot or an app"),
    (reviewed(reviewer=replace(LEO, id=0)), "review", "a bot or an app"),
    (replace(GOOD, head_sha=""), "review", "leo approved 1111111"),
    (replace(reviewed(commit=""), head_sha=""), "review", "the head is unknown"),
    (reviewed(body=""), "review-reason", "does not say why"),
    (reviewed(body=" \n\t "), "review-reason", "does not say why"),
    (reviewed(body="👍 :+"), "review-reason", "does not say why"),
    (reviewed(body="<!-- why? write here -->"), "review-reason", "does not say why"),
    (reviewed(body="<!-- an unclosed comment hides all"), "review-reason", "does not say why"),
    (replace(MERGED, labeling=replace(LABELING, at="2026-03-02T11:00:01Z")), "label-before-merge", "the label"),
    (replace(MERGED, reviews=(replace(REVIEW, at="2026-03-02T12:00:00Z"),)), "review-before-merge", "the review of leo"),
    (replace(MERGED, reviews=(replace(REVIEW, at=""),)), "review-before-merge", "time unknown"),
    (replace(MERGED, labeling=replace(LABELING, at="yesterday")), "label-before-merge", "yesterday"),
    (replace(GOOD, merged_at="nonsense"), "label-before-merge", "nonsense"),
]


@pytest.mark.parametrize(("facts", "name", "words"), UNMET, ids=[f"{n}-{name}" for n, (_, name, _) in enumerate(UNMET)])
def test_each_condition_fails_alone_with_a_sentence_and_a_cure(facts, name, words):
    answer = judge(facts)
    assert not answer.eligible
    unmet = {condition.name: condition for condition in answer.unmet}
    assert name in unmet and words in unmet[name].sentence and unmet[name].cure


def test_what_is_approved_before_the_merge_counts_after_it():
    assert judge(MERGED).eligible
    assert judge(replace(MERGED, merged_at=REVIEW.at)).eligible


def test_an_approval_of_the_head_does_not_cover_a_run_of_another_commit():
    assert judge(GOOD, measured_sha=HEAD).eligible
    answer = judge(GOOD, measured_sha=OLD)
    assert [condition.name for condition in answer.unmet] == ["measured-head"]


def test_pushing_an_earlier_commit_again_does_not_bring_its_approval_back():
    """S was pushed, the branch reset to T, T labelled and reviewed, S pushed again: the latest review is of T."""
    s, t = HEAD, OLD
    answer = judge(replace(GOOD, head_sha=s, reviews=(replace(REVIEW, commit=t),)))
    assert not answer.eligible and [condition.name for condition in answer.unmet] == ["review"]


def test_one_good_review_is_enough_among_others():
    others = (
        replace(REVIEW, id=51, reviewer=replace(LEO, id=9, login="eve", permission="read"), at="2026-03-02T10:30:00Z"),
        replace(REVIEW, id=52, reviewer=replace(LEO, id=10, login="old"), commit=OLD),
        replace(REVIEW, id=53, reviewer=replace(LEO, id=11, login="no"), state="CHANGES_REQUESTED"),
    )
    assert judge(replace(GOOD, reviews=(*others, REVIEW))).review_id == 50


def test_a_review_that_says_why_is_preferred_to_a_later_silent_one():
    silent = replace(REVIEW, id=51, reviewer=replace(LEO, id=9, login="kim"), body="", at="2026-03-02T10:30:00Z")
    answer = judge(replace(GOOD, reviews=(REVIEW, silent)))
    assert answer.eligible and answer.approver == "leo"


def test_the_nearest_miss_is_told_first():
    near = replace(REVIEW, id=51, reviewer=replace(LEO, id=9, login="kim", permission="read"))
    stale = replace(REVIEW, commit=OLD, at="2026-03-02T10:30:00Z")
    (unmet,) = judge(replace(GOOD, reviews=(stale, near))).unmet
    assert "kim" in unmet.sentence


def test_a_dismissed_review_of_a_deleted_account_has_a_name_in_the_sentence():
    (unmet,) = judge(reviewed(state="DISMISSED", reviewer=Person("", 0, ""))).unmet
    assert "a deleted account" in unmet.sentence


def test_without_the_label_nobody_is_blamed_for_setting_it():
    for labeling in (LABELING, replace(LABELING, actor=AUTHOR), None):
        answer = judge(replace(GOOD, label_present=False, labeling=labeling))
        assert [condition.name for condition in answer.unmet] == ["label-present"]


def test_an_open_pull_request_is_not_asked_about_its_merge():
    assert not any("merge" in condition.name for condition in judge(GOOD).conditions)


# -- whatever the facts ----------

people = st.builds(
    Person,
    st.sampled_from(["ann", "maria", "leo", "ci[bot]", ""]),
    st.sampled_from([0, 1, 2, 3]),
    st.sampled_from(["User", "Bot", "App", ""]),
    st.sampled_from(["admin", "maintain", "write", "triage", "read", "none", ""]),
)
times = st.sampled_from(["2026-03-02T09:00:00Z", "2026-03-02T11:00:00Z", "2026-03-02T12:00:00Z", "", "soon"])
shas = st.sampled_from([HEAD, OLD, ""])
reviews = st.builds(
    Review,
    st.integers(1, 9),
    people,
    st.sampled_from(["APPROVED", "CHANGES_REQUESTED", "DISMISSED"]),
    shas,
    st.sampled_from([REASON, "", "…"]),
    times,
)
any_facts = st.builds(
    ApprovalFacts,
    st.just(7),
    people,
    shas,
    st.just("baseline-update"),
    st.booleans(),
    st.none() | st.builds(Labeling, st.integers(1, 9), people, times),
    st.lists(reviews, max_size=4).map(tuple),
    times,
)


def person_ok(person, facts):
    return (
        person.type == "User"
        and person.id > 0
        and person.permission in ("admin", "maintain", "write")
        and person.id != facts.author.id
        and person.login != facts.author.login
        and not person.login.endswith("[bot]")
    )


def in_time(at, facts):
    return not facts.merged_at or (at.startswith("2026") and facts.merged_at.startswith("2026") and at <= facts.merged_at)


@given(any_facts)
def test_eligible_exactly_when_the_rules_written_down_once_more_hold(facts):
    answer = judge(facts)
    assert answer.eligible == (not answer.unmet)
    assert all(condition.sentence for condition in answer.conditions) and all(condition.cure for condition in answer.unmet)
    label = (
        facts.label_present and facts.labeling and person_ok(facts.labeling.actor, facts) and in_time(facts.labeling.at, facts)
    )
    good = [r for r in facts.reviews if r.state == "APPROVED" and facts.head_sha and r.commit == facts.head_sha]
    good = [r for r in good if person_ok(r.reviewer, facts) and r.body == REASON and in_time(r.at, facts)]
    assert answer.eligible == bool(label and good)


@given(any_facts, st.sampled_from(["label", "labeling", "reviews"]))
def test_taking_something_away_never_makes_it_eligible(facts, what):
    less = {"label": {"label_present": False}, "labeling": {"labeling": None}, "reviews": {"reviews": ()}}[what]
    assert not judge(replace(facts, **less)).eligible
