from __future__ import annotations

import pytest

from gate.github.merges import merged_pulls


@pytest.fixture
def find(fake, repo, repository, naps):
    return lambda after, before="": merged_pulls(repository, after, before, repo.id, "main", sleep=naps)


def numbers(found):
    return [pull.number for pull in found.pulls]


def open_pr(fake, repo, name, **more):
    return fake.open_pr(repo, "ann", {name: "1"}, branch=name, title=f"Change {name}", **more)


@pytest.mark.parametrize("method", ["squash", "merge", "rebase"])
def test_the_pull_request_of_a_push(fake, repo, find, naps, method):
    pr, before = open_pr(fake, repo, "a"), repo.tip
    fake.push(pr, {"a": "2"})
    after = fake.merge(pr, "maria", method)
    found = find(after, before)
    assert numbers(found) == [pr.number] and not found.unexplained and not naps
    (pull,) = found.pulls
    assert (pull.head_sha, pull.merge_commit) == (pr.head_sha, after) and pull.merged_at


def test_a_pull_request_from_a_fork(fake, repo, find):
    pr = open_pr(fake, repo, "a", head_repo=fake.fork(repo, by="ann"))
    before = repo.tip
    assert numbers(find(fake.merge(pr, "maria"), before)) == [pr.number]


def test_without_a_before_only_the_tip_is_looked_at(fake, repo, find):
    pr = open_pr(fake, repo, "a")
    assert numbers(find(fake.merge(pr, "maria"))) == [pr.number]


@pytest.mark.parametrize("method", ["squash", "merge", "rebase"])
def test_all_pull_requests_of_a_merge_queue_group_in_their_order(fake, repo, find, method):
    prs, before = [open_pr(fake, repo, name) for name in "abc"], repo.tip
    after = fake.land(fake.queue(*prs, method=method))
    assert numbers(find(after, before)) == [pr.number for pr in prs]


def test_the_lag_after_a_merge_is_waited_for(fake, repo, find, naps):
    fake.association_lag = 2
    pr, before = open_pr(fake, repo, "a"), repo.tip
    assert numbers(find(fake.merge(pr, "maria"), before)) == [pr.number]
    assert naps == [2, 4]


@pytest.mark.parametrize("method", ["squash", "merge"])
def test_a_lasting_lag_is_bridged_by_the_number_in_the_message_when_github_confirms_it(fake, repo, find, naps, method):
    fake.association_lag = 99
    pr, before = open_pr(fake, repo, "a"), repo.tip
    assert numbers(find(fake.merge(pr, "maria", method), before)) == [pr.number]
    assert naps == [2, 4, 8]


def test_a_direct_push_has_no_pull_request(fake, repo, find, naps):
    before = repo.tip
    after = fake.commit(repo, {"a": "1"}, by="maria").sha
    found = find(after, before)
    assert found.direct and found.unexplained == (after,) and naps == [2, 4, 8]


@pytest.mark.parametrize("message", ["Tuning (#1)", "Merge pull request #1 from ann/a", "Tuning (#999)"])
def test_a_message_that_names_a_merged_pull_request_proves_nothing(fake, repo, find, message):
    pr = open_pr(fake, repo, "a")
    fake.merge(pr, "maria")
    before = repo.tip
    assert find(fake.commit(repo, {"b": "1"}, message=message, by="maria").sha, before).direct


def test_an_open_pull_request_that_holds_the_commit_does_not_count(fake, repo, find):
    pr = open_pr(fake, repo, "a")
    assert find(pr.head_sha, repo.tip).direct


def test_something_pushed_on_top_of_approved_commits_is_a_direct_push(fake, repo, find):
    pr, before = open_pr(fake, repo, "a"), repo.tip
    fake.merge(pr, "maria")
    extra = fake.commit(repo, {"evil": "1"}, by="maria").sha
    assert find(extra, before).direct


def test_a_commit_below_the_merge_that_no_pull_request_explains_is_named(fake, repo, find):
    before = repo.tip
    direct = fake.commit(repo, {"b": "1"}, by="maria").sha
    pr = open_pr(fake, repo, "a")
    found = find(fake.merge(pr, "maria"), before)
    assert numbers(found) == [pr.number] and found.unexplained == (direct,)


def test_a_commit_that_borrows_the_number_of_a_pull_request_in_the_same_push_is_not_explained_by_it(fake, repo, find):
    before = repo.tip
    first, second = open_pr(fake, repo, "a"), open_pr(fake, repo, "b")
    fake.merge(first, "maria")
    direct = fake.commit(repo, {"c": "1"}, message=f"More (#{first.number})", by="maria").sha
    found = find(fake.merge(second, "maria"), before)
    assert numbers(found) == [first.number, second.number] and found.unexplained == (direct,)


def test_a_merge_into_another_branch_does_not_count(fake, repo, find):
    fake.commit(repo, {"x": "1"}, "release")
    pr = open_pr(fake, repo, "a", base="release")
    after = fake.merge(pr, "maria")
    before = repo.tip
    fake.set_branch(repo, "main", after, by="maria")
    assert find(after, before).direct


def test_a_force_push_to_an_earlier_merge_is_a_direct_push(fake, repo, find):
    pr = open_pr(fake, repo, "a")
    earlier = fake.merge(pr, "maria")
    before = fake.commit(repo, {"b": "1"}).sha
    fake.set_branch(repo, "main", earlier, by="maria")
    assert find(earlier, before).direct
