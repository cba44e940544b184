from __future__ import annotations

import json

import pytest

from gate.errors import InvalidInput
from gate.github.event import SUPPORTED, Mode, choose_mode, mode, read_context, tier_of, workflow_path

SHA = "a" * 40
ENV = {
    "GITHUB_EVENT_NAME": "push",
    "GITHUB_EVENT_PATH": "/event.json",
    "GITHUB_REPOSITORY": "acme/search",
    "GITHUB_REPOSITORY_ID": "99",
    "GITHUB_SHA": SHA,
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_RUN_ID": "18400000901",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_ACTOR": "ann",
    "GITHUB_WORKFLOW_REF": "acme/search/.github/workflows/gate.yml@refs/heads/main",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_API_URL": "https://api.github.com",
    "GITHUB_JOB": "gate",
}
PAYLOAD = {"repository": {"id": 1, "full_name": "acme/search", "default_branch": "main"}}
PULL = PAYLOAD | {
    "action": "opened",
    "pull_request": {
        "number": 7,
        "user": {"login": "ann", "id": 5},
        "head": {"ref": "main", "sha": "b" * 40, "repo": {"id": 2}},
        "base": {"ref": "main", "sha": "c" * 40, "repo": {"id": 1}},
    },
}

ENDED = PAYLOAD | {"action": "completed", "workflow_run": {"id": 77, "event": "pull_request"}}


def context(payload=None, **env):
    return read_context(ENV | env, lambda path: json.dumps(PAYLOAD if payload is None else payload).encode())


@pytest.mark.parametrize(
    ("event", "ref", "payload", "expected"),
    [
        ("pull_request", "refs/pull/7/merge", PULL, Mode.PULL_REQUEST),
        ("pull_request", "refs/pull/7/merge", PULL | {"action": "labeled"}, Mode.PULL_REQUEST),
        ("pull_request", "refs/pull/7/merge", PULL | {"action": "synchronize"}, Mode.PULL_REQUEST),
        ("pull_request", "refs/pull/7/merge", PULL | {"action": "closed"}, Mode.IGNORED),
        ("push", "refs/heads/main", PAYLOAD | {"before": "d" * 40}, Mode.PUBLISH),
        ("push", "refs/heads/topic", PAYLOAD, Mode.COMPARE_ONLY),
        ("push", "refs/heads/main2", PAYLOAD, Mode.COMPARE_ONLY),
        ("push", "refs/tags/main", PAYLOAD, Mode.COMPARE_ONLY),
        ("push", "refs/heads/topic", PAYLOAD | {"deleted": True}, Mode.IGNORED),
        ("schedule", "refs/heads/main", PAYLOAD, Mode.PUBLISH),
        ("schedule", "refs/heads/main", {"schedule": "15 4 * * *"}, Mode.PUBLISH),
        ("workflow_dispatch", "refs/heads/main", PAYLOAD | {"inputs": None}, Mode.PUBLISH),
        ("workflow_dispatch", "refs/heads/topic", PAYLOAD, Mode.COMPARE_ONLY),
        ("workflow_dispatch", "refs/tags/main", PAYLOAD, Mode.COMPARE_ONLY),
        ("push", "refs/heads/main", {}, Mode.COMPARE_ONLY),  # an unknown default branch is nobody's
        ("merge_group", "refs/heads/gh-readonly-queue/main/pr-7-x", PAYLOAD, Mode.COMPARE_ONLY),
        ("release", "refs/tags/v1.2.0", PAYLOAD | {"action": "published"}, Mode.COMPARE_ONLY),
        ("release", "refs/heads/main", PAYLOAD | {"action": "created"}, Mode.COMPARE_ONLY),
        ("release", "refs/tags/v1.2.0", PAYLOAD | {"action": "deleted"}, Mode.IGNORED),
        ("workflow_run", "refs/heads/main", ENDED, Mode.COMMENT),
        ("workflow_run", "refs/heads/main", ENDED | {"action": "requested"}, Mode.IGNORED),
        ("workflow_run", "refs/heads/main", ENDED | {"action": "in_progress"}, Mode.IGNORED),
        ("workflow_run", "refs/heads/main", ENDED | {"workflow_run": {"id": 77, "event": "push"}}, Mode.IGNORED),
        ("workflow_run", "refs/heads/main", ENDED | {"workflow_run": {"id": 77}}, Mode.IGNORED),
        ("merge_group", "refs/heads/main", PAYLOAD, Mode.COMPARE_ONLY),  # some runners give it the default branch as ref
    ],
)
def test_only_runs_on_the_default_branch_publish(event, ref, payload, expected):
    choice = choose_mode(context(payload, GITHUB_EVENT_NAME=event, GITHUB_REF=ref))
    assert choice.mode is expected and choice.reason


@pytest.mark.parametrize(
    ("event", "tier"),
    [
        ("pull_request", "pr"),
        ("push", "pr"),
        ("merge_group", "pr"),
        ("workflow_dispatch", "pr"),
        ("schedule", "nightly"),
        ("release", "release"),
    ],
)
def test_the_event_says_which_tier_is_judged(event, tier):
    assert event in SUPPORTED and tier_of(event) == tier


@pytest.mark.parametrize("event", ["pull_request_target", "issue_comment", "repository_dispatch"])
def test_other_events_are_refused_with_the_ones_that_work(event):
    with pytest.raises(InvalidInput) as caught:
        mode(context(GITHUB_EVENT_NAME=event))
    text = caught.value.text()
    assert event in text and "`pull_request`" in text and "`merge_group`" in text


@pytest.mark.parametrize("event", ["pull_request_target", "issue_comment"])
def test_privileged_events_are_refused_because_they_would_run_the_pull_requests_code(event):
    with pytest.raises(InvalidInput, match="write access and secrets"):
        mode(context(GITHUB_EVENT_NAME=event))


def test_the_payloads_repository_id_wins_over_the_variable():
    assert context().repository_id == 1
    assert context({}).repository_id == 99
    assert context({}, GITHUB_REPOSITORY_ID="").repository_id == 0


def test_the_head_of_a_pull_request_is_not_the_test_merge():
    found = context(PULL, GITHUB_EVENT_NAME="pull_request")
    assert found.sha == SHA and found.head_sha == "b" * 40
    pull = found.pull_request
    assert (pull.number, pull.base_ref, pull.base_sha) == (7, "main", "c" * 40)


def test_a_runner_that_sets_few_variables_is_understood():
    sparse = {
        key: value for key, value in ENV.items() if key not in ("GITHUB_REPOSITORY_ID", "GITHUB_WORKFLOW_REF", "GITHUB_JOB")
    }
    found = read_context(sparse, lambda path: json.dumps(PAYLOAD).encode())
    assert (found.workflow_path, found.triggering_actor, found.repository_id) == ("", "ann", 1)


def test_a_new_branch_has_no_before():
    assert context(PAYLOAD | {"before": "0" * 40}).before == ""
    assert context(PAYLOAD | {"before": "d" * 40}).before == "d" * 40


def test_a_merge_group_builds_on_its_base():
    payload = PAYLOAD | {"merge_group": {"head_sha": "e" * 40, "base_sha": "f" * 40}}
    assert context(payload, GITHUB_EVENT_NAME="merge_group").before == "f" * 40


def test_the_workflow_file_is_taken_out_of_its_reference():
    assert context().workflow_path == ".github/workflows/gate.yml"
    assert workflow_path("o/r/.github/workflows/a.yml@refs/heads/x@y", "o/r") == ".github/workflows/a.yml"
    assert workflow_path("", "o/r") == ""


@pytest.mark.parametrize(
    ("api", "graphql"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://ghe.acme.com/api/v3", "https://ghe.acme.com/api/graphql"),
    ],
)
def test_the_graphql_address_follows_from_the_api_address(api, graphql):
    assert context(GITHUB_API_URL=api).graphql_url == graphql


def test_all_that_is_missing_is_told_at_once():
    with pytest.raises(InvalidInput) as caught:
        read_context({}, lambda path: b"")
    assert len(caught.value.problems) == 4
    for name in ("GITHUB_EVENT_PATH", "GITHUB_EVENT_NAME", "GITHUB_REPOSITORY", "GITHUB_SHA"):
        assert name in caught.value.text()


@pytest.mark.parametrize("data", [b"{", b"[1]", b'{"a": NaN}', b"\xff"])
def test_a_payload_that_is_no_json_object_is_told(data):
    with pytest.raises(InvalidInput, match="GITHUB_EVENT_PATH"):
        read_context(ENV, lambda path: data)


def test_a_payload_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_context(ENV | {"GITHUB_EVENT_PATH": str(tmp_path / "none.json")})


@pytest.mark.parametrize("name", ["acme", "acme/search/x", "acme/../x", "a b/c", ""])
def test_a_repository_that_is_not_owner_and_name_is_refused(name):
    with pytest.raises(InvalidInput, match="GITHUB_REPOSITORY"):
        context(GITHUB_REPOSITORY=name)


def test_a_pull_request_payload_without_number_or_commits_is_refused():
    with pytest.raises(InvalidInput) as caught:
        context(PAYLOAD | {"pull_request": {"head": {"sha": "../../x"}}}, GITHUB_EVENT_NAME="pull_request")
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize("trigger", [{}, {"workflow_run": {"id": 0}}, {"workflow_run": {"id": True}}, {"workflow_run": [77]}])
def test_the_end_of_a_run_without_the_run_is_refused(trigger):
    with pytest.raises(InvalidInput, match="no workflow run"):
        context(PAYLOAD | {"action": "completed"} | trigger, GITHUB_EVENT_NAME="workflow_run")


# -- payloads as GitHub writes them ----------


def real(fake, run, payload, **env):
    return read_context(
        fake.job_env(run, fake.url) | {"GITHUB_EVENT_PATH": "e", **env}, lambda path: json.dumps(payload).encode()
    )


def test_a_real_pull_request_from_a_fork(fake, repo):
    fork = fake.fork(repo, by="stranger")
    pr = fake.open_pr(repo, "stranger", {"a": "1"}, head_repo=fork, branch="main")
    found = real(fake, fake.run(repo, pr=pr), fake.pull_request_event(pr, "labeled", label="x"))
    assert found.pull_request.number == pr.number and found.head_sha == pr.head_sha and found.repository_id == repo.id
    assert found.api_url == fake.url and mode(found) is Mode.PULL_REQUEST


def test_a_real_push_schedule_and_dispatch_on_main(fake, repo):
    fake.commit(repo, {"a": "1"})
    for event, payload in (
        ("push", fake.push_event(repo)),
        ("schedule", fake.schedule_event(repo)),
        ("workflow_dispatch", fake.dispatch_event(repo, "maria")),
    ):
        run = fake.run(repo, event)
        found = real(fake, run, payload)
        assert mode(found) is Mode.PUBLISH and found.run_id == run.id and found.branch == "main"
        assert found.workflow_path == ".github/workflows/gate.yml"


def test_a_real_end_of_a_forks_run_is_for_a_comment_and_names_the_run_and_no_pull_request(fake, repo):
    fork = fake.fork(repo, by="stranger")
    pr = fake.open_pr(repo, "stranger", {"a": "1"}, head_repo=fork, branch="main")
    ended = fake.run(repo, pr=pr)
    own = fake.run(repo, "workflow_run", path=".github/workflows/comment.yml")
    payload = fake.workflow_run_event(ended)
    found = real(fake, own, payload)
    assert payload["workflow_run"]["pull_requests"] == []
    assert (mode(found), found.trigger_run, found.pull_request) == (Mode.COMMENT, ended.id, None)
    assert mode(real(fake, own, fake.workflow_run_event(ended, "requested"))) is Mode.IGNORED
    assert mode(real(fake, own, fake.workflow_run_event(fake.run(repo, "push")))) is Mode.IGNORED
