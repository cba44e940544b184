"""Workflow runs, jobs and artifacts as the public REST API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from . import render_actions
from .http_types import Answer, Page, Refused, Request, iso, not_found
from .routes import ACTIONS_READ, ACTIONS_WRITE, find_repo, route
from .state import Artifact, Repo, Run, Workflow

if TYPE_CHECKING:
    from .fake import FakeGitHub

R = "/repos/{owner}/{repo}/actions"


def _run(fake: FakeGitHub, request: Request) -> Run:
    repo, run = find_repo(fake, request), fake.runs.get(int(request.params["run_id"]))
    if run is None or run.repo is not repo:
        raise not_found()
    return run


def _in_range(moment: datetime, wanted: str) -> bool:
    """`created` takes a date search: `2026-01-01`, `>=2026-01-01`, `a..b` (dates or times; `*` is open)."""
    shown = iso(moment)
    if ".." in wanted:
        low, high = wanted.split("..")
        return (low == "*" or shown >= low) and (high == "*" or shown[: len(high)] <= high)
    for sign in (">=", "<=", ">", "<"):
        if wanted.startswith(sign):
            bound = wanted.removeprefix(sign)
            part = shown[: len(bound)]
            return {">=": part >= bound, "<=": part <= bound, ">": part > bound, "<": part < bound}[sign]
    return shown.startswith(wanted)


def _list_runs(fake: FakeGitHub, request: Request, workflow: Workflow | None = None) -> Page:
    repo, query = find_repo(fake, request), request.query
    found = [
        run
        for run in fake.runs.values()
        if run.repo is repo
        and workflow in (None, run.workflow)
        and query.get("branch", run.head_branch) == run.head_branch
        and query.get("event", run.event) == run.event
        and query.get("status", run.status) in (run.status, run.conclusion)
        and query.get("actor", run.actor.login) == run.actor.login
        and query.get("head_sha", run.head_sha) == run.head_sha
        and query.get("check_suite_id", str(run.suite_id)) == str(run.suite_id)
        and ("created" not in query or _in_range(run.created_at, query["created"]))
    ]
    found.sort(key=lambda run: (run.created_at, run.id), reverse=True)
    if query.keys() & {"actor", "branch", "check_suite_id", "created", "event", "head_sha", "status"}:
        found = found[:1000]  # documented cap of a filtered search
    hide = query.get("exclude_pull_requests") == "true"
    return Page(found, lambda run: render_actions.run(run, request.links, hide), wrap="workflow_runs")


@route("GET", R + "/runs", ACTIONS_READ)
def list_runs(fake: FakeGitHub, request: Request) -> Page:
    return _list_runs(fake, request)


@route("GET", R + "/runs/{run_id}", ACTIONS_READ)
def get_run(fake: FakeGitHub, request: Request) -> Answer:
    hide = request.query.get("exclude_pull_requests") == "true"
    return Answer(json=render_actions.run(_run(fake, request), request.links, hide))


@route("GET", R + "/runs/{run_id}/attempts/{attempt_number}", ACTIONS_READ)
def get_attempt(fake: FakeGitHub, request: Request) -> Answer:
    run, attempt = _run(fake, request), int(request.params["attempt_number"])
    if not 1 <= attempt <= run.attempt:
        raise not_found()
    shown = render_actions.run(run, request.links)
    if attempt < run.attempt:
        verdicts = [job.conclusion for job in run.jobs if job.attempt == attempt]
        conclusion = "success" if all(verdict == "success" for verdict in verdicts) else "failure"
        shown |= {"run_attempt": attempt, "status": "completed", "conclusion": conclusion}
    return Answer(json=shown)


@route("GET", R + "/runs/{run_id}/jobs", ACTIONS_READ)
def list_jobs(fake: FakeGitHub, request: Request) -> Page:
    run = _run(fake, request)
    every = request.query.get("filter") == "all"
    jobs = [job for job in run.jobs if every or job.attempt == run.attempt]
    return Page(jobs, lambda job: render_actions.job(job, run, request.links), wrap="jobs")


@route("GET", R + "/workflows", ACTIONS_READ)
def list_workflows(fake: FakeGitHub, request: Request) -> Page:
    repo = find_repo(fake, request)
    shown = list(repo.workflows.values())
    return Page(shown, lambda item: render_actions.workflow(item, repo, request.links), wrap="workflows")


def _workflow(repo: Repo, wanted: str) -> Workflow:
    for item in repo.workflows.values():
        if wanted in (str(item.id), item.path.rsplit("/", 1)[-1]):
            return item
    raise not_found()


@route("GET", R + "/workflows/{workflow_id}", ACTIONS_READ)
def get_workflow(fake: FakeGitHub, request: Request) -> Answer:
    repo = find_repo(fake, request)
    return Answer(json=render_actions.workflow(_workflow(repo, request.params["workflow_id"]), repo, request.links))


@route("GET", R + "/workflows/{workflow_id}/runs", ACTIONS_READ)
def workflow_runs(fake: FakeGitHub, request: Request) -> Page:
    return _list_runs(fake, request, _workflow(find_repo(fake, request), request.params["workflow_id"]))


# -- artifacts -------------------------------------------------------------------------------------------------------


def _artifact(fake: FakeGitHub, request: Request) -> Artifact:
    found = fake.artifacts.get(int(request.params["artifact_id"]))
    if found is None or not found.finalized or found.run.repo is not find_repo(fake, request):
        raise not_found()
    return found


def _list_artifacts(fake: FakeGitHub, request: Request, run: Run | None = None) -> Page:
    repo, name = find_repo(fake, request), request.query.get("name")
    found = [
        item
        for item in fake.artifacts.values()
        if item.finalized and item.run.repo is repo and run in (None, item.run) and name in (None, item.name)
    ]
    found.sort(key=lambda item: item.id, reverse=request.query.get("direction", "desc") == "desc")
    return Page(found, lambda item: render_actions.artifact(fake, item, request.links), wrap="artifacts")


@route("GET", R + "/artifacts", ACTIONS_READ)
def list_artifacts(fake: FakeGitHub, request: Request) -> Page:
    return _list_artifacts(fake, request)


@route("GET", R + "/runs/{run_id}/artifacts", ACTIONS_READ)
def run_artifacts(fake: FakeGitHub, request: Request) -> Page:
    return _list_artifacts(fake, request, _run(fake, request))


@route("GET", R + "/artifacts/{artifact_id}", ACTIONS_READ)
def get_artifact(fake: FakeGitHub, request: Request) -> Answer:
    return Answer(json=render_actions.artifact(fake, _artifact(fake, request), request.links))


@route("DELETE", R + "/artifacts/{artifact_id}", ACTIONS_WRITE)
def delete_artifact(fake: FakeGitHub, request: Request) -> Answer:
    del fake.artifacts[_artifact(fake, request).id]
    return Answer(204)


@route("GET", R + "/artifacts/{artifact_id}/{archive_format}", ACTIONS_READ, anonymous=False)
def download_artifact(fake: FakeGitHub, request: Request) -> Answer:
    artifact = _artifact(fake, request)
    if request.params["archive_format"] != "zip":
        raise not_found()
    if fake.expired(artifact):
        raise Refused(410, "Artifact has expired")
    return Answer(302, headers={"Location": fake.blobs.sign(artifact, "r", request.links.blob)})
