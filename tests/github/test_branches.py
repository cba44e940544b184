"""One branch as a place for files, against the fake GitHub's git objects."""

import pytest

from gate.github.branches import Branch, blob_sha
from gate.github.failures import Forbidden, Unprocessable
from gate.github.repository import Repository


@pytest.fixture
def branch(repository):
    return Branch(repository, "store")


def write(branch, files, message="x", beside=None):
    tip = branch.tip()
    made = branch.write("a", files, message, tip, beside or {})
    assert branch.move(made["sha"], tip)
    return made["sha"]


def test_the_first_commit_is_an_orphan_and_brings_what_lies_beside_the_folder(repo, branch):
    sha = write(branch, {"f": b"1"}, beside={"README.md": "hello"})
    commit = repo.commit(sha)
    assert (commit.parents, commit.files) == ((), {"a/f": b"1", "README.md": b"hello"}) and branch.tip() == sha


def test_a_folder_is_replaced_as_a_whole_and_others_stay(repo, branch):
    write(branch, {"f": b"1", "gone": b"2"}, beside={"README.md": "hello"})
    tip = branch.tip()
    made = branch.write("b", {"g": b"3"}, "x", tip, {})
    branch.move(made["sha"], tip)
    sha = write(branch, {"f": blob_sha(b"1"), "new": b"4"})
    assert repo.commit(sha).files == {"a/f": b"1", "a/new": b"4", "b/g": b"3", "README.md": b"hello"}


def test_the_history_of_a_folder_is_that_of_its_own_commits_newest_first(fake, repo, branch):
    one = write(branch, {"f": b"1"}, "first")
    tip = branch.tip()
    made = branch.write("b", {"g": b"3"}, "other", tip, {})
    branch.move(made["sha"], tip)
    two = write(branch, {"f": b"2"}, "second")
    assert [(c.sha, c.message, c.app, c.signed) for c in branch.commits(branch.tip(), "a")] == [
        (two, "second", True, True), (one, "first", True, True)]
    assert branch.read("a/f", one) == b"1" and branch.read("a/g", one) is None


def test_history_is_read_to_a_bound(fake, repo, branch):
    parent = ()
    for number in range(230):
        parent = (fake.store_commit(repo, {"a/f": str(number).encode()}, parent).sha,)
    fake.set_branch(repo, "store", parent[0])
    assert len(branch.commits(branch.tip(), "a", limit=100)) == 100 and len(branch.commits(branch.tip(), "a")) == 230


def test_moving_is_refused_once_somebody_else_was_there(fake, repo, branch):
    write(branch, {"f": b"1"})
    tip = branch.tip()
    made = branch.write("a", {"f": b"2"}, "x", tip, {})
    other = write(branch, {"f": b"3"})
    assert branch.move(made["sha"], tip) is False and branch.tip() == other


def test_creating_is_refused_once_somebody_else_has(repo, branch):
    made = branch.write("a", {"f": b"2"}, "x", "", {})
    other = write(branch, {"f": b"3"})
    assert branch.move(made["sha"], "") is False and branch.tip() == other


def test_a_rule_that_forbids_the_push_is_no_race(fake, branch):
    write(branch, {"f": b"1"})
    tip = branch.tip()
    made = branch.write("a", {"f": b"2"}, "x", tip, {})
    fake.fail_next("PATCH", "/git/refs/", 422, body={"message": "Repository rule violations found", "errors": []})
    with pytest.raises(Unprocessable, match="rule violations"):
        branch.move(made["sha"], tip)


def test_a_token_that_only_reads_is_told_what_it_lacks(fake, repo, connect):
    fake.token("reading", permissions={"contents": "read"})
    with pytest.raises(Forbidden, match="contents=write"):
        Branch(Repository(connect("reading"), repo.full_name), "store").write("a", {"f": b"1"}, "x", "", {})


def test_who_wrote_a_commit_is_told_apart(fake, repo, connect, branch):
    write(branch, {"f": b"1"})
    fake.grant(repo, "maria", "write")
    fake.token("ghp", "maria")
    write(Branch(Repository(connect("ghp"), repo.full_name), "store"), {"f": b"2"})
    nobody = fake.store_commit(repo, {"a/f": b"3"}, (branch.tip(),))
    fake.set_branch(repo, "store", nobody.sha)
    told = [(c.author, c.app, c.signed) for c in branch.commits(branch.tip(), "a")]
    assert told == [("", False, False), ("maria", False, False), ("github-actions[bot]", True, True)]


def test_deleting_and_rewriting_are_remembered_and_plain_pushes_are_not(fake, repo, branch):
    assert branch.last_rewriting() is None
    first = write(branch, {"f": b"1"})
    write(branch, {"f": b"2"})
    assert branch.last_rewriting() is None
    fake.set_branch(repo, "store", first, by="ann", tick=True)
    assert branch.last_rewriting().sentence.startswith("was rewritten by ann at 20")
    fake.delete_branch(repo, "store", by="bea")
    assert branch.last_rewriting().kind == "branch_deletion" and branch.tip() == ""


@pytest.mark.parametrize("status", [403, 404])
def test_where_pushes_are_not_told_nothing_is_known_of_them(fake, branch, status):
    fake.fail_next("GET", "/activity", status, body={"message": "no"})
    assert branch.last_rewriting() is None


def test_a_file_of_more_than_a_megabyte_survives(branch):
    data = bytes(range(256)) * 8000
    sha = write(branch, {"f": data})
    assert branch.read("a/f", sha) == data
