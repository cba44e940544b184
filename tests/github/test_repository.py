from __future__ import annotations

import pytest

from gate.errors import GitHubError, InvalidInput
from gate.github import failures
from gate.github.repository import Repository


def test_identity_tells_id_and_default_branch(repository, repo):
    assert (repository.identity().id, repository.identity().default_branch) == (repo.id, "main")


def test_a_file_is_read_as_it_was_at_a_commit(fake, repo, repository):
    old = fake.commit(repo, {"gate/ü config.yml": b"a: 1\r\n\xff"}).sha
    fake.commit(repo, {"gate/ü config.yml": "a: 2"})
    assert repository.file_at("gate/ü config.yml", old) == b"a: 1\r\n\xff"
    assert repository.file_at("./gate/ü config.yml", "main") == b"a: 2"


def test_a_file_that_does_not_exist_at_a_readable_commit_is_none(repo, repository):
    assert repository.file_at("nothing.yml", repo.tip) is None


def test_a_file_that_may_not_be_read_is_an_error_and_not_absent(fake, repo, connect):
    """Absent would mean first adoption, and that passes."""
    fake.token("blind", permissions={"pull-requests": "write"})
    with pytest.raises(failures.Forbidden):
        Repository(connect("blind"), repo.full_name).file_at("README.md", repo.tip)
    repo.private = True
    fake.token("stranger", "stranger")
    with pytest.raises(failures.NotFound):
        Repository(connect("stranger"), repo.full_name).file_at("README.md", repo.tip)


def test_a_file_at_an_unknown_commit_is_an_error(repository):
    with pytest.raises(GitHubError):
        repository.file_at("README.md", "f" * 40)


def test_a_directory_is_no_file(fake, repo, repository):
    fake.commit(repo, {"dir/file": "x"})
    with pytest.raises(InvalidInput, match="a file was expected"):
        repository.file_at("dir", repo.tip)


@pytest.mark.parametrize("path", ["../x", "a/../../../user", "/etc/passwd", "a//b", ""])
def test_a_path_that_leaves_the_repository_is_never_asked_for(fake, repository, path):
    with pytest.raises(InvalidInput):
        repository.file_at(path, "main")
    assert not fake.requests


# -- people ----------


@pytest.mark.parametrize(
    ("role", "role_name", "expected"),
    [
        ("admin", None, "admin"),
        ("maintain", None, "maintain"),
        ("write", None, "write"),
        ("triage", None, "triage"),
        ("read", None, "read"),
        ("none", None, "none"),
        ("write", "release-manager", "write"),
        ("read", "admin-but-not-really", "read"),
        ("read", "admin", "read"),
    ],
)
def test_the_role_of_a_person(fake, repo, repository, role, role_name, expected):
    fake.grant(repo, "kim", role, role_name)
    assert repository.permission("kim") == expected


def test_a_permission_that_cannot_be_read_is_empty(fake, repository):
    assert repository.permission("nobody-at-all") == ""
    assert repository.permission("") == "" and repository.permission("..") == ""
    fake.fail_next("GET", "/permission", 403, body={"message": "Must have push access to view collaborator permission."})
    assert repository.permission("maria") == ""


def test_a_login_that_passed_to_another_account_has_no_permission(fake, repository):
    number = fake.user("maria").id
    assert repository.permission("maria", number) == "write"
    assert repository.permission("maria", number + 1) == ""


# -- history ----------


def test_ancestors(fake, repo, repository):
    root = repo.tip
    middle, tip = fake.commit(repo, {"a": "1"}).sha, fake.commit(repo, {"a": "2"}).sha
    side = fake.commit(repo, {"b": "1"}, "side", parent=middle).sha
    assert repository.is_ancestor_or_same(root, tip) and repository.is_ancestor_or_same(tip, tip)
    assert repository.is_ancestor_or_same(middle, "main") and repository.is_ancestor_or_same(middle, side)
    assert not repository.is_ancestor_or_same(tip, middle) and not repository.is_ancestor_or_same(side, tip)
    assert not repository.is_ancestor_or_same("f" * 40, tip)


def test_first_parents_of_a_push(fake, repo, repository):
    before = repo.tip
    shas = [fake.commit(repo, {"a": str(number)}).sha for number in range(130)]
    assert repository.first_parents(before, shas[-1]) == shas[::-1]
    assert repository.first_parents(shas[-1], before) is None
    assert repository.first_parents(before, shas[-1], limit=100) is None


def test_first_parents_step_over_what_a_merge_commit_brought(fake, repo, repository):
    before = repo.tip
    pr = fake.open_pr(repo, "ann", {"a": "1"})
    fake.push(pr, {"a": "2"})
    assert repository.first_parents(before, merged := fake.merge(pr, "maria", "merge")) == [merged]


def test_open_pulls_are_those_of_one_branch_of_one_owner(fake, repo, repository):
    fork = fake.fork(repo, by="eve")
    mine = fake.open_pr(repo, "eve", {"a": "1"}, branch="topic/ü&state=all", head_repo=fork)
    closed = fake.open_pr(repo, "eve", {"b": "1"}, branch="topic/ü&state=all", head_repo=fork)
    fake.close(closed, by="eve")
    fake.open_pr(repo, "ann", {"a": "1"}, branch="topic/ü&state=all")
    assert [pull["number"] for pull in repository.open_pulls("eve", "topic/ü&state=all")] == [mine.number]
    assert repository.open_pulls("nobody", "main") == []
