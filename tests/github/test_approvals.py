from __future__ import annotations

import pytest

from gate.baseline.approval import judge
from gate.github.approvals import approval_facts

LABEL, WHY = "baseline-update", "Rare terms lose a little, long answers win."


@pytest.fixture
def pr(fake, repo):
    fake.grant(repo, "leo", "maintain")
    fake.grant(repo, "tri", "triage")
    return fake.open_pr(repo, "ann", {"a": "1"})


@pytest.fixture
def facts(repository, pr):
    return lambda: approval_facts(repository, pr.number, LABEL)


def unmet(facts):
    return [condition.name for condition in judge(facts).unmet]


def test_a_reviewed_and_labelled_pull_request_is_eligible(fake, pr, facts):
    review = fake.approve(pr, "leo", WHY)
    event = fake.label(pr, LABEL, "maria")
    answer = judge(facts())
    assert answer.eligible and (answer.approver, answer.reason) == ("leo", WHY)
    assert (answer.review_id, answer.label_event_id, answer.head_sha) == (review.id, event.id, pr.head_sha)


def test_nothing_is_there_at_first(facts):
    assert unmet(facts()) == ["label-present", "review"]


def test_labels_and_reviews_behind_the_first_page_are_found(fake, pr, facts):
    for number in range(120):
        fake.label(pr, f"other-{number}", "tri")
        fake.review(pr, "tri", "COMMENTED", "chat")
    fake.label(pr, LABEL, "maria")
    fake.approve(pr, "leo", WHY)
    assert judge(facts()).eligible


@pytest.mark.parametrize("spelling", ["Baseline-Update", "baseline-update"])
def test_the_label_is_one_in_all_spellings(fake, pr, facts, spelling):
    fake.approve(pr, "leo", WHY)
    fake.label(pr, spelling, "maria")
    assert judge(facts()).eligible


def test_the_last_labelling_counts_also_within_one_second(fake, pr, facts):
    fake.approve(pr, "leo", WHY)
    fake.clock.step *= 0
    fake.label(pr, LABEL, "maria")
    fake.unlabel(pr, LABEL, "maria")
    fake.label(pr, LABEL, "tri")
    assert facts().labeling.actor.login == "tri" and unmet(facts()) == ["labeler-permission"]


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("tri", ["labeler-permission"]),
        ("ann", ["labeler-not-author", "labeler-permission"]),
        ("stranger", ["labeler-permission"]),
        ("helper[bot]", ["labeler-person", "labeler-permission"]),
    ],
)
def test_who_may_set_the_label(fake, pr, facts, who, expected):
    fake.approve(pr, "leo", WHY)
    fake.label(pr, LABEL, who)
    assert unmet(facts()) == expected


def test_a_label_set_through_an_app_in_somebodys_name_does_not_count(fake, repo, pr, facts):
    from tests.fake_github.state import App

    fake.approve(pr, "leo", WHY)
    fake.label(pr, LABEL, "maria", App("helper", 7))
    assert unmet(facts()) == ["labeler-person", "labeler-permission"]


def test_a_push_after_the_review_makes_it_stale(fake, pr, facts):
    fake.approve(pr, "leo", WHY)
    fake.label(pr, LABEL, "maria")
    fake.push(pr, {"a": "2"})
    assert unmet(facts()) == ["review"]


def test_updating_the_branch_makes_it_stale_too(fake, repo, pr, facts):
    fake.approve(pr, "leo", WHY)
    fake.label(pr, LABEL, "maria")
    fake.commit(repo, {"other": "1"})
    fake.update_branch(pr, "ann")
    assert unmet(facts()) == ["review"]


def test_push_reset_label_push_again_is_not_an_approval_of_what_was_pushed(fake, pr, facts):
    harmless = pr.head_sha
    hostile = fake.push(pr, {"a": "evil"}).sha
    fake.run(pr.repo, pr=pr)
    fake.force_push(pr, harmless)
    fake.approve(pr, "leo", WHY)
    fake.label(pr, LABEL, "maria")
    assert judge(facts()).eligible
    fake.force_push(pr, hostile)
    assert facts().head_sha == hostile and unmet(facts()) == ["review"]


def test_only_the_latest_opinion_of_a_reviewer_counts(fake, pr, facts):
    fake.label(pr, LABEL, "maria")
    fake.approve(pr, "leo", WHY)
    fake.review(pr, "leo", "COMMENTED", "one more thought")
    assert judge(facts()).eligible
    fake.review(pr, "leo", "CHANGES_REQUESTED", "no")
    assert unmet(facts()) == ["review"]
    fake.dismiss(fake.approve(pr, "leo", WHY), "maria")
    assert unmet(facts()) == ["review"] and "dismissed" in judge(facts()).unmet[0].sentence


def test_an_approval_of_an_older_commit_replaces_one_of_the_head(fake, pr, facts):
    first = pr.head_sha
    fake.push(pr, {"a": "2"})
    fake.label(pr, LABEL, "maria")
    fake.approve(pr, "leo", WHY)
    fake.approve(pr, "leo", WHY, commit_id=first)
    assert unmet(facts()) == ["review"]


def test_permissions_are_those_of_now_and_asked_once_a_person(fake, repo, pr, facts):
    fake.approve(pr, "maria", WHY)
    fake.label(pr, LABEL, "maria")
    fake.grant(repo, "maria", "read")
    assert unmet(facts()) == ["labeler-permission", "review"]
    assert len(fake.sent("GET", "/permission")) == 1


def test_a_permission_that_cannot_be_read_counts_as_none(fake, pr, facts):
    fake.approve(pr, "leo", WHY)
    fake.label(pr, LABEL, "maria")
    fake.fail_next("GET", "/permission", 403, times=2, body={"message": "Resource not accessible by integration"})
    assert unmet(facts()) == ["labeler-permission", "review"]


@pytest.mark.parametrize("method", ["squash", "merge", "rebase"])
def test_after_the_merge_the_same_approval_holds(fake, pr, facts, method):
    fake.approve(pr, "leo", WHY)
    fake.label(pr, LABEL, "maria")
    fake.merge(pr, "leo", method)
    found = facts()
    assert found.merged_at and judge(found).eligible


def test_what_is_approved_after_the_merge_comes_too_late(fake, pr, facts):
    fake.merge(pr, "leo")
    fake.approve(pr, "leo", WHY)
    fake.label(pr, LABEL, "maria")
    assert unmet(facts()) == ["label-before-merge", "review-before-merge"]
