"""Repositories, people, branches, commits, compare and contents."""

from __future__ import annotations

import base64
import binascii
import time
from typing import TYPE_CHECKING

from . import render, render_actions
from .graph import blob_sha, compare, diff, tree_sha
from .http_types import Answer, Page, Refused, Request, invalid, iso, not_found
from .routes import CONTENTS_READ, CONTENTS_WRITE, METADATA, find_repo, route
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


# -- contents ---------------------------------------------------------------------------------------------------------


@route("GET", R + "/contents/{path}", CONTENTS_READ)
def get_contents(fake: FakeGitHub, request: Request) -> Answer:
    repo, urls = find_repo(fake, request), request.links
    path, ref = request.params["path"].strip("/"), request.query.get("ref", repo.default_branch)
    files = find_commit(fake, repo, ref).files
    if path in files:
        data = files[path]
        if "vnd.github.raw" in request.accept:
            return Answer(raw=data, media="application/vnd.github.raw; charset=utf-8")
        return Answer(json=render.content_file(path, data, ref, repo, urls))
    prefix = f"{path}/" if path else ""
    children: dict[str, bytes | None] = {}
    for name in files:
        if name.startswith(prefix):
            child, _, deeper = name[len(prefix) :].partition("/")
            children[prefix + child] = None if deeper else files[name]
    if not children:
        raise not_found()
    entries = []
    for child, content in sorted(children.items()):
        inside = {name: inner for name, inner in files.items() if name.startswith(f"{child}/")}
        sha = tree_sha(inside) if content is None else blob_sha(content)
        entries.append(render.content_entry(child, content, sha, ref, repo, urls))
    if "vnd.github.object" in request.accept:
        own = render.content_entry(path, None, tree_sha(files), ref, repo, urls)
        return Answer(json={**own, "entries": entries}, media="application/vnd.github.object")
    return Answer(json=entries)


@route("PUT", R + "/contents/{path}", CONTENTS_WRITE)
def put_contents(fake: FakeGitHub, request: Request) -> Answer:
    repo, path, branch = find_repo(fake, request), request.params["path"], _branch(fake, request)
    old = repo.commit(repo.branches[branch]).files.get(path)
    _check_blob(path, old, request.json.get("sha"))
    try:
        data = base64.b64decode(request.json["content"], validate=False)
    except binascii.Error:
        raise Refused(422, "content is not valid Base64", errors=[]) from None
    made = _commit(fake, request, {path: data}, branch)
    shown = render.content_entry(path, data, blob_sha(data), branch, repo, request.links)
    return Answer(
        201 if old is None else 200, {"content": shown, "commit": render.git_commit(made, repo, request.links)}
    )


@route("DELETE", R + "/contents/{path}", CONTENTS_WRITE)
def delete_contents(fake: FakeGitHub, request: Request) -> Answer:
    repo, path, branch = find_repo(fake, request), request.params["path"], _branch(fake, request)
    old = repo.commit(repo.branches[branch]).files.get(path)
    if old is None:
        raise not_found()
    _check_blob(path, old, request.json["sha"])
    made = _commit(fake, request, {path: None}, branch)
    return Answer(json={"content": None, "commit": render.git_commit(made, repo, request.links)})


def _branch(fake: FakeGitHub, request: Request) -> str:
    repo = find_repo(fake, request)
    name = str(request.json.get("branch", repo.default_branch))
    if name not in repo.branches:
        raise Refused(404, f"Branch {name} not found")
    return name


def _commit(fake: FakeGitHub, request: Request, change: dict[str, bytes | None], branch: str) -> Commit:
    assert request.token is not None
    author, message = request.token.identity, request.json["message"]
    return fake.commit(find_repo(fake, request), change, branch, message=message, by=author)


def _check_blob(path: str, old: bytes | None, given: str | None) -> None:
    """Two writers: the second one names a blob that is no longer there and gets 409."""
    if old is not None and given is None:
        raise invalid("Content", "sha", "missing_field", '"sha" wasn\'t supplied.')
    if given is not None and (old is None or given != blob_sha(old)):
        raise Refused(409, f"{path} does not match {given}")
