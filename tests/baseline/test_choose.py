from __future__ import annotations

from dataclasses import replace

import pytest

from gate.baseline.choose import Candidate, Job, Manifest, Origin, RecordFacts, RunFacts, Wanted, refusal, workflow_file

HEAD = "1" * 40
WANTED = Wanted(("base-default", "base-default.2"), "default", 1, "main", ".github/workflows/gate.yml")
ORIGIN = Origin("base-default", 1, 1, "main", HEAD)
RUN = RunFacts("push", "completed", "success", "main", HEAD, ".github/workflows/gate.yml", 1, 1, "maria")
MANIFEST = Manifest(1, "default", 1, HEAD, "sha256:r", "sha256:s", "approved", "18", "gate")
RECORD = RecordFacts("sha256:r", "default", 1, "sha256:s", "approved")
GOOD = Candidate(ORIGIN, RUN, True, True, None, MANIFEST, RECORD)


def origin(**changes):
    return replace(GOOD, origin=replace(ORIGIN, **changes))


def run(**changes):
    return replace(GOOD, run=replace(RUN, **changes))


def manifest(**changes):
    return replace(GOOD, manifest=replace(MANIFEST, **changes))


def record(**changes):
    return replace(GOOD, record=replace(RECORD, **changes))


def jobs(*given, conclusion="failure", status="completed", key="gate"):
    made = run(conclusion=conclusion, status=status)
    return replace(made, jobs=tuple(Job(*job) for job in given), manifest=replace(MANIFEST, job=key))


@pytest.mark.parametrize(
    "candidate",
    [
        GOOD,
        origin(name="base-default.2"),
        run(event="schedule"),
        run(event="workflow_dispatch", actor_permission="write"),
        run(event="workflow_dispatch", actor_permission="admin"),
        run(path=".github/workflows/gate.yml@refs/heads/main"),
        replace(manifest(state="carried"), record=replace(RECORD, provenance="bootstrap")),
        replace(manifest(state="bootstrap"), record=replace(RECORD, provenance="bootstrap")),
        record(repository_id=0),
        jobs(("gate", "success"), ("lint", "failure")),
        jobs(("gate", "success"), ("deploy", ""), conclusion="", status="in_progress"),
        jobs(("gate (3.12, linux)", "success"), ("gate (3.13, linux)", "success"), ("other", "failure")),
        jobs(("quality / gate", "success"), ("other", "failure")),
        jobs(("Search quality", "success"), conclusion="", status="in_progress"),
    ],
)
def test_the_gates_own_runs_on_the_default_branch_are_accepted(candidate):
    assert refusal(candidate, WANTED, complete=True) is None


@pytest.mark.parametrize(
    ("candidate", "kind", "words"),
    [
        # 1: the artifact's own line
        (origin(name="base-other"), "foreign", "called base-other"),
        (origin(repository_id=2), "foreign", "another repository"),
        (origin(head_repository_id=2), "foreign", "a fork"),
        (origin(head_repository_id=0), "foreign", "a fork"),
        (origin(head_branch="topic"), "foreign", "branch topic"),
        (origin(expired=True), "expired", "has expired"),
        # 2: the run
        (run(event="pull_request"), "foreign", "pull_request run"),
        (run(event="pull_request_target"), "foreign", "pull_request_target run"),
        (run(event="workflow_run"), "foreign", "workflow_run run"),
        (run(event="merge_group"), "foreign", "merge_group run"),
        (run(event=""), "foreign", "run"),
        (run(head_repository_id=2), "foreign", "a fork"),
        (run(repository_id=2), "foreign", "another repository"),
        (run(head_branch="topic"), "foreign", "on topic"),
        (run(head_sha="2" * 40), "foreign", "another commit"),
        (run(path=".github/workflows/evil.yml"), "foreign", "evil.yml"),
        (run(path="dynamic/gate.yml"), "foreign", "dynamic/gate.yml"),
        (run(path=""), "foreign", "made by the workflow"),
        (run(event="workflow_dispatch", actor_permission="triage"), "foreign", "by maria, who has no write"),
        (run(event="workflow_dispatch", actor_permission=""), "foreign", "no write"),
        # 3: success
        (run(conclusion="failure"), "unusable", "not everything"),
        (jobs(("gate", "failure")), "unfinished", "ended with failure"),
        (jobs(("gate", ""), conclusion="", status="in_progress"), "unfinished", "still in progress"),
        (jobs(("gate", "cancelled"), ("x", "success"), conclusion="cancelled"), "unfinished", "ended with cancelled"),
        (jobs(("lint", "success"), ("test", "success")), "unfinished", "not succeeded"),
        (jobs(("gate (1)", "success"), ("gate (2)", "failure")), "unfinished", "not succeeded"),
        (jobs(("gateway", "success"), ("x", "failure")), "unfinished", "not succeeded"),
        (jobs(("x", "success"), ("y", "failure"), key=""), "unfinished", "not succeeded"),
        (jobs(), "unfinished", "not succeeded"),
        # 4, 5: its place in history
        (replace(GOOD, on_default=False), "unusable", "not on the default branch"),
        (replace(GOOD, before_base=False), "elsewhere", "not contained in the base"),
        # 6: what is inside
        (replace(GOOD, fault="damaged gzip data"), "unusable", "damaged gzip data"),
        (manifest(schema=2), "unusable", "schema"),
        (manifest(gate="other"), "unusable", "gate 'other'"),
        (manifest(repository_id=2), "unusable", "repository id"),
        (manifest(head_sha="2" * 40), "unusable", "commit"),
        (manifest(state="promoted"), "unusable", "state"),
        (manifest(record_digest="sha256:x"), "unusable", "contradict"),
        (manifest(snapshot_digest="sha256:x"), "unusable", "contradict"),
        (manifest(state="bootstrap"), "unusable", "contradict"),
        (record(gate="other"), "unusable", "contradict"),
        (replace(manifest(state="carried"), record=replace(RECORD, provenance="latest")), "unusable", "contradict"),
        (replace(manifest(state="latest"), record=replace(RECORD, provenance="latest")), "unusable", "state"),
        (replace(manifest(state="carried"), record=replace(RECORD, provenance="local")), "unusable", "contradict"),
        (record(repository_id=2), "unusable", "contradict"),
        # whatever is not known
        (replace(GOOD, run=None), "unusable", "looked up"),
        (replace(GOOD, on_default=None), "unusable", "looked up"),
        (replace(GOOD, before_base=None), "unusable", "looked up"),
        (replace(GOOD, manifest=None), "unusable", "looked up"),
        (replace(GOOD, record=None), "unusable", "looked up"),
    ],
)
def test_everything_else_is_refused_with_its_reason(candidate, kind, words):
    found = refusal(candidate, WANTED, complete=True)
    assert found is not None and found.kind == kind and words in found.reason


@pytest.mark.parametrize("wanted", [{"repository_id": 0}, {"default_branch": ""}, {"workflow": ""}, {"names": ()}])
def test_an_expectation_that_is_unknown_refuses_all(wanted):
    asked = replace(WANTED, **wanted)
    number, branch = asked.repository_id, asked.default_branch
    candidate = replace(
        GOOD,
        origin=replace(ORIGIN, head_branch=branch, repository_id=number, head_repository_id=number),
        run=replace(RUN, head_branch=branch, path=asked.workflow, repository_id=number, head_repository_id=number),
        manifest=replace(MANIFEST, repository_id=number),
        record=replace(RECORD, repository_id=number),
    )
    assert refusal(candidate, asked, complete=True) is not None


def test_what_is_not_known_yet_does_not_refuse_before_the_end():
    assert refusal(Candidate(ORIGIN), WANTED) is None
    assert refusal(Candidate(ORIGIN, RUN), WANTED) is None
    assert refusal(Candidate(ORIGIN, replace(RUN, conclusion="failure")), WANTED) is None


def test_a_strangers_expired_artifact_is_foreign_not_expired():
    expired = replace(ORIGIN, expired=True)
    assert refusal(Candidate(expired), WANTED) is None
    assert refusal(Candidate(expired, replace(RUN, event="pull_request")), WANTED).kind == "foreign"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("gate.yml", ".github/workflows/gate.yml"),
        (".github/workflows/gate.yml", ".github/workflows/gate.yml"),
        (".github/workflows/gate.yml@refs/heads/main", ".github/workflows/gate.yml"),
        ("", ""),
    ],
)
def test_a_workflow_may_be_named_by_file_or_path(given, expected):
    assert workflow_file(given) == expected
