"""Git refs, commit statuses and check runs: the places where a verdict can be pinned to a sha."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import render
from .graph import ancestors
from .http_types import Answer, Page, Refused, Request, iso, not_found
from .routes import CONTENTS_READ, CONTENTS_WRITE, find_repo, route
from .routes_repos import find_commit
from .state import Repo

if TYPE_CHECKING:
    from .fake import FakeGitHub

R = "/repos/{owner}/{repo}"
STATUSES_READ, STATUSES_WRITE = (("statuses", "read"),), (("statuses", "write"),)
CHECKS_READ, CHECKS_WRITE = (("checks", "read"),), (("checks", "write"),)


def _ref(repo: Repo, branch: str, request: Request) -> dict[str, Any]:
    sha, api = repo.branches[branch], render.repo_url(repo, request.links)
    target = {"type": "commit", "sha": sha, "url": f"{api}/git/commits/{sha}"}
    url = f"{api}/git/refs/heads/{branch}"
    return {"ref": f"refs/heads/{branch}", "node_id": render.node_id("Ref", branch), "url": url, "object": target}


def _branch(repo: Repo, ref: str, status: int = 404) -> str:
    branch = ref.removeprefix("refs/").removeprefix("heads/")
    if branch not in repo.branches:
        raise not_found() if status == 404 else Refused(422, "Reference does not exist", errors=[])
    return branch


@route("GET", R + "/git/ref/{ref}", CONTENTS_READ)
def get_ref(fake: FakeGitHub, request: Request) -> Answer:
    repo = find_repo(fake, request)
    return Answer(json=_ref(repo, _branch(repo, request.params["ref"]), request))


@route("POST", R + "/git/refs", CONTENTS_WRITE)
def create_ref(fake: FakeGitHub, request: Request) -> Answer:
    repo, ref, sha = find_repo(fake, request), request.json["ref"], request.json["sha"]
    branch = ref.removeprefix("refs/heads/")
    assert request.token is not None
    if sha not in repo.network.commits:
        raise Refused(422, "Object does not exist", errors=[])
    if branch == ref or branch in repo.branches:
        raise Refused(422, "Reference already exists" if branch != ref else "Reference name is invalid", errors=[])
    fake.set_branch(repo, branch, sha, by=request.token.identity, tick=True)
    return Answer(201, _ref(repo, branch, request))


@route("PATCH", R + "/git/refs/{ref}", CONTENTS_WRITE)
def update_ref(fake: FakeGitHub, request: Request) -> Answer:
    repo, sha = find_repo(fake, request), request.json["sha"]
    branch = _branch(repo, request.params["ref"], 422)
    assert request.token is not None
    if sha not in repo.network.commits:
        raise Refused(422, "Object does not exist", errors=[])
    if repo.branches[branch] not in ancestors(repo.network, sha) and not request.json.get("force"):
        raise Refused(422, "Update is not a fast forward", errors=[])
    fake.set_branch(repo, branch, sha, by=request.token.identity, tick=True)
    return Answer(json=_ref(repo, branch, request))


@route("DELETE", R + "/git/refs/{ref}", CONTENTS_WRITE)
def delete_ref(fake: FakeGitHub, request: Request) -> Answer:
    repo = find_repo(fake, request)
    assert request.token is not None
    fake.delete_branch(repo, _branch(repo, request.params["ref"], 422), request.token.identity)
    return Answer(204)


# -- statuses ------------------------------------------------------------------------------------------------


@route("POST", R + "/statuses/{sha}", STATUSES_WRITE)
def post_status(fake: FakeGitHub, request: Request) -> Answer:
    repo, wanted, sha = find_repo(fake, request), request.json, request.params["sha"]
    assert request.token is not None
    if sha not in repo.network.commits:
        raise Refused(422, f"No commit found for SHA: {sha}", errors=[])
    number, now = fake.ids("status"), iso(fake.clock.tick())
    made = {
        "url": f"{render.repo_url(repo, request.links)}/statuses/{sha}", "avatar_url": None, "id": number,
        "node_id": render.node_id("Status", number), "state": wanted["state"], "description": wanted.get("description"),
        "target_url": wanted.get("target_url"), "context": wanted.get("context", "default"), "created_at": now,
        "updated_at": now,
    }  # fmt: skip
    fake.statuses.setdefault((repo.id, sha), {})[made["context"]] = made
    return Answer(201, {**made, "creator": render.user(request.token.identity, request.links)})


@route("GET", R + "/commits/{ref}/status", STATUSES_READ)
def combined_status(fake: FakeGitHub, request: Request) -> Page:
    repo = find_repo(fake, request)
    commit = find_commit(fake, repo, request.params["ref"])
    latest = list(fake.statuses.get((repo.id, commit.sha), {}).values())
    states = {item["state"] for item in latest}
    state = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
    url = f"{render.repo_url(repo, request.links)}/commits/{commit.sha}"
    more = {
        "state": state, "sha": commit.sha, "repository": render.minimal_repo(repo, request.links), "commit_url": url,
        "url": f"{url}/status",
    }  # fmt: skip
    return Page(latest, lambda item: item, wrap="statuses", extra=more)


# -- check runs ----------------------------------------------------------------------------------------------


def _check(fake: FakeGitHub, request: Request) -> dict[str, Any]:
    repo = find_repo(fake, request)
    found = fake.checks.get(int(request.params["check_run_id"]))
    if found is None or found[0] is not repo:
        raise not_found()
    return found[1]


def _merge_check(fake: FakeGitHub, check: dict[str, Any], wanted: dict[str, Any]) -> None:
    for key in ("name", "status", "conclusion", "details_url", "external_id", "started_at", "completed_at"):
        check[key] = wanted.get(key, check[key])
    if wanted.get("conclusion"):
        check["status"] = "completed"
        check["completed_at"] = check["completed_at"] or iso(fake.clock.now)
    output = wanted.get("output", {})
    notes = fake.annotations.setdefault(check["id"], [])
    notes.extend(output.get("annotations", []))
    check["output"] |= {key: output[key] for key in ("title", "summary", "text") if key in output}
    check["output"]["annotations_count"] = len(notes)


@route("POST", R + "/check-runs", CHECKS_WRITE)
def post_check(fake: FakeGitHub, request: Request) -> Answer:
    repo, wanted = find_repo(fake, request), request.json
    assert request.token is not None
    if wanted["head_sha"] not in repo.network.commits:
        raise Refused(422, f"No commit found for SHA: {wanted['head_sha']}", errors=[])
    number = fake.ids("check")
    api = f"{render.repo_url(repo, request.links)}/check-runs/{number}"
    html = f"{request.links.html}/{repo.full_name}/runs/{number}"
    output = {
        "title": None,
        "summary": None,
        "text": None,
        "annotations_count": 0,
        "annotations_url": f"{api}/annotations",
    }
    made: dict[str, Any] = {
        "id": number, "node_id": render.node_id("CheckRun", number), "head_sha": wanted["head_sha"], "external_id": "",
        "url": api, "html_url": html, "details_url": html, "status": "queued", "conclusion": None,
        "started_at": iso(fake.clock.tick()), "completed_at": None, "output": output, "name": wanted["name"],
        "check_suite": {"id": fake.ids("suite")}, "app": render.app(request.token.app, request.links),
        "pull_requests": [],
    }  # fmt: skip
    fake.checks[number] = (repo, made)
    _merge_check(fake, made, wanted)
    return Answer(201, made)


@route("GET", R + "/check-runs/{check_run_id}", CHECKS_READ)
def get_check(fake: FakeGitHub, request: Request) -> Answer:
    return Answer(json=_check(fake, request))


@route("PATCH", R + "/check-runs/{check_run_id}", CHECKS_WRITE)
def patch_check(fake: FakeGitHub, request: Request) -> Answer:
    check = _check(fake, request)
    _merge_check(fake, check, request.json)
    return Answer(json=check)


@route("GET", R + "/commits/{ref}/check-runs", CHECKS_READ)
def list_checks(fake: FakeGitHub, request: Request) -> Page:
    repo = find_repo(fake, request)
    sha, name = find_commit(fake, repo, request.params["ref"]).sha, request.query.get("check_name")
    found = [c for r, c in fake.checks.values() if r is repo and c["head_sha"] == sha and name in (None, c["name"])]
    return Page(found[::-1], lambda check: check, wrap="check_runs")
