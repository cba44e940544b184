from __future__ import annotations

import pytest

from gate.github.trigger import Pull, Trigger, find_pull, foreign, trigger_of

OURS, FORK, HEAD = 1, 2, "a" * 40
RUN = {
    "id": 77, "run_attempt": 3, "event": "pull_request", "status": "completed", "conclusion": "failure",
    "path": ".github/workflows/gate.yml@refs/pull/7/merge", "repository": {"id": OURS},
    "head_repository": {"id": FORK, "owner": {"login": "eve"}}, "head_branch": "main", "head_sha": HEAD,
}  # fmt: skip
TRIGGER = trigger_of(RUN)


def pull(number=7, sha=HEAD, head=FORK, base=OURS, state="open", author="eve"):
    return {"number": number, "state": state, "user": {"login": author}, "head": {"sha": sha, "repo": head and {"id": head}},
            "base": {"repo": {"id": base}}}


def test_the_facts_of_a_run_are_taken_as_github_gives_them():
    expected = Trigger(77, 3, "pull_request", "completed", "failure", ".github/workflows/gate.yml", OURS, FORK, "eve", "main", HEAD)
    assert expected == TRIGGER
    assert foreign(TRIGGER, 77, OURS) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": 78}, "does not belong to this repository"),
        ({"id": True}, "does not belong to this repository"),
        ({"repository": {"id": 9}}, "does not belong to this repository"),
        ({"repository": None}, "does not belong to this repository"),
        ({"event": "pull_request_target"}, "`pull_request_target`, not for a pull request"),
        ({"event": "push"}, "`push`, not for a pull request"),
        ({"status": "queued", "conclusion": None}, "under way again"),
        ({"head_repository": None}, "does not exist any more"),
        ({"head_repository": {"id": FORK, "owner": None}}, "does not exist any more"),
        ({"head_branch": None}, "does not exist any more"),
        ({"head_sha": ""}, "does not exist any more"),
    ],
)
def test_a_run_that_is_none_to_speak_for_is_refused_with_the_reason(change, words):
    assert words in foreign(trigger_of(RUN | change), 77, OURS)


def test_an_unknown_repository_id_is_nobodys():
    assert foreign(trigger_of(RUN | {"repository": {}}), 77, 0)


def test_the_pull_request_is_the_open_one_whose_head_is_the_runs_commit_now():
    others = [pull(8, sha="b" * 40), pull(9, head=3), pull(10, base=FORK), pull(11, state="closed"), pull(12, head=None)]
    assert find_pull(TRIGGER, [*others, pull()], OURS) == Pull(7, "eve")


@pytest.mark.parametrize(
    ("pulls", "words"),
    [
        ([], "no open pull request comes from eve:main"),
        ([pull(state="closed")], "no open pull request"),
        ([pull(base=FORK)], "no open pull request"),  # one within the fork
        ([pull(head=3)], "no open pull request"),
        ([pull(head=None)], "no open pull request"),
        ([pull(sha="b" * 40)], "has moved on"),
        ([pull(7), pull(8)], "several pull requests (#7, #8)"),
        ([{}, {"head": "x", "base": []}], "no open pull request"),
    ],
)
def test_without_exactly_one_such_pull_request_there_is_none(pulls, words):
    assert words in find_pull(TRIGGER, pulls, OURS)


@pytest.mark.parametrize(("author", "expected"), [("dependabot[bot]", Pull(7, "dependabot[bot]")), ("ada", None), ("dependabot", None)])
def test_from_this_repository_only_dependabots_runs_need_somebody_to_speak_for_them(author, expected):
    own = trigger_of(RUN | {"head_repository": {"id": OURS, "owner": {"login": "acme"}}})
    found = find_pull(own, [pull(head=OURS, author=author)], OURS)
    assert found == expected if expected else "own run writes its comment" in found
