"""Repositories, people, branches, commits, compare and contents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from . import render, render_actions
from .graph import compare, diff
from .http_types import Answer, Page, Refused, Request, iso, not_found
from .routes import CONTENTS_READ, METADATA, find_repo, route
from .state import Commit, Repo

if TYPE_CHECKING:
    from .fake import FakeGitHub

R = "/repos/{owner}/{repo}"


@route("GET", "/rate_limit")
def rate_limit(fake: FakeGitHub, request: Request) -> Answer:
    used = request.token.used if request.token else 0
    core = {
        "limit": fake.rate_limit,
        "remaining": max(0, fake.rate_limit - used),
        "reset": int(time.time()) + 3600,
        "used": used,
    }
    return Answer(json={"resources": {"core": core, "search": core}, "rate": core})


@route("GET", "/users/{username}")
def get_user(fake: FakeGitHub, request: Request) -> Answer:
    person = fake.users.get(request.params["username"])
    if person is None:
        raise not_found()
    return Answer(json=render.public_user(person, request.links))


@route("GET", R, METADATA)
def get_repo(fake: FakeGitHub, request: Request) -> Answer:
    return Answer(json=render.full_repo(find_repo(fake, request), request.links))


@route("GET", R + "/collaborators/{username}/permission", METADATA, anonymous=False)
def permission(fake: FakeGitHub, request: Request) -> Answer:
    repo, person = find_repo(fake, request), fake.users.get(request.params["username"])
    if person is None:
        raise Refused(404, f"{request.params['username']} is not a user")
    role, role_name = fake.role(repo, person)
    # The old field knows four values; maintain and triage are folded into them.
    legacy = {"maintain": "write", "triage": "read"}.get(role, role)
    order = ("read", "triage", "write", "maintain", "admin")
    level = order.index(role) if role in order else -1
    flags = {"pull": level >= 0, "triage": level >= 1, "push": level >= 2, "maintain": level >= 3, "admin": level >= 4}
    shown = {**render.user(person, request.links), "permissions": flags, "role_name": role_name}
    return Answer(json={"permission": legacy, "role_name": role_name, "user": shown})


@route("GET", R + "/branches/{branch}", CONTENTS_READ)
def get_branch(fake: FakeGitHub, request: Request) -> Answer:
    repo, name = find_repo(fake, request), request.params["branch"]
    if name not in repo.branches:
        raise Refused(404, "Branch not found")
    return Answer(json=render_actions.branch(repo, name, request.links))


@route("GET", R + "/rules/branches/{branch}", METADATA)
def branch_rules(fake: FakeGitHub, request: Request) -> Page:
    return Page(find_repo(fake, request).rules.get(request.params["branch"], []), lambda rule: rule)


@route("GET", R + "/activity", CONTENTS_READ)
def activity(fake: FakeGitHub, request: Request) -> Page:
    repo, query = find_repo(fake, request), request.query
    ref = query.get("ref", "")
    wanted = {ref, f"refs/heads/{ref}"}
    found = [
        entry
        for entry in repo.activity
        if (not ref or entry.ref in wanted)
        and query.get("actor", entry.actor.login) == entry.actor.login
        and query.get("activity_type", entry.kind) == entry.kind
    ]
    if query.get("direction") != "asc":
        found.reverse()
    return Page(
        found,
        lambda entry: {
            "id": entry.id, "node_id": render.node_id("PushLog", entry.id), "before": entry.before,
            "after": entry.after,
            "ref": entry.ref, "timestamp": iso(entry.timestamp), "activity_type": entry.kind,
            "actor": render.user(entry.actor, request.links),
        },
        cursor=True,
    )  # fmt: skip


# -- commits ----------------------------------------------------------------------------------------------------------


def find_commit(fake: FakeGitHub, repo: Repo, ref: str) -> Commit:
    """A branch, `owner:branch` of the same network, or a sha (also shortened)."""
    owner, _, branch = ref.rpartition(":")
    if owner:
        forks = [r for r in fake.repos.values() if r.network is repo.network and r.owner.login == owner]
        repo, ref = (forks[0] if forks else repo), branch
    name = ref.removeprefix("refs/").removeprefix("heads/")
    if name in repo.branches:
        return repo.commit(repo.branches[name])
    matches = [sha for sha in repo.network.commits if len(ref) >= 7 and sha.startswith(ref)]
    if len(matches) != 1:
        raise Refused(404, f"No commit found for the ref {ref}")
    return repo.commit(matches[0])


@route("GET", R + "/commits/{ref}", CONTENTS_READ)
def get_commit(fake: FakeGitHub, request: Request) -> Answer:
    repo = find_repo(fake, request)
    try:
        found = find_commit(fake, repo, request.params["ref"])
    except Refused:
        raise Refused(422, f"No commit found for SHA: {request.params['ref']}", errors=[]) from None
    if "vnd.github.sha" in request.accept:
        return Answer(raw=found.sha.encode(), media="application/vnd.github.sha; charset=utf-8")
    parent = repo.network.commits.get(found.parents[0]) if found.parents else None
    return Answer(json=render.commit(found, repo, request.links, diff(parent, found)))


@route("GET", R + "/git/commits/{commit_sha}", CONTENTS_READ)
def get_git_commit(fake: FakeGitHub, request: Request) -> Answer:
    repo = find_repo(fake, request)
    if request.params["commit_sha"] not in repo.network.commits:
        raise not_found()
    return Answer(json=render.git_commit(repo.commit(request.params["commit_sha"]), repo, request.links))


@route("GET", R + "/compare/{basehead}", CONTENTS_READ)
def get_compare(fake: FakeGitHub, request: Request) -> Answer | Page:
    repo, urls = find_repo(fake, request), request.links
    base_ref, dots, head_ref = request.params["basehead"].partition("...")
    if not dots:
        raise not_found()
    try:
        base, head = find_commit(fake, repo, base_ref), find_commit(fake, repo, head_ref)
    except Refused:
        raise not_found() from None
    found = compare(repo.network, base.sha, head.sha)
    if found is None:
        raise Refused(404, f"No common ancestor between {base_ref} and {head_ref}.")
    html = f"{urls.html}/{repo.full_name}/compare/{base_ref}...{head_ref}"
    meeting = repo.commit(found.merge_base)
    return Page(
        found.ahead,
        lambda sha: render.commit(repo.commit(sha), repo, urls),
        wrap="commits",
        counted=False,
        default_size=250,
        extra={
            "url": f"{render.repo_url(repo, urls)}/compare/{base_ref}...{head_ref}",
            "html_url": html, "permalink_url": html, "diff_url": f"{html}.diff", "patch_url": f"{html}.patch",
            "base_commit": render.commit(base, repo, urls),
            "merge_base_commit": render.commit(meeting, repo, urls),
            "status": found.status, "ahead_by": len(found.ahead), "behind_by": len(found.behind),
            "total_commits": len(found.ahead),
            "files": [render.diff_entry(change, head.sha, repo, urls) for change in diff(meeting, head)[:300]],
        },
    )  # fmt: skip
