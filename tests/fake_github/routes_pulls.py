"""Pull requests, their commits, files and reviews, and the pull requests of a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import render, render_pulls
from .graph import ancestors, diff, merge_base
from .http_types import Answer, Page, Refused, Request, not_found
from .routes import CONTENTS_READ, PULLS_READ, PULLS_WRITE, find_pull, find_repo, route
from .state import PullRequest, Repo

if TYPE_CHECKING:
    from .fake import FakeGitHub

R = "/repos/{owner}/{repo}"


@route("GET", R + "/pulls", PULLS_READ)
def list_pulls(fake: FakeGitHub, request: Request) -> Page:
    query, repo = request.query, find_repo(fake, request)
    state, head, base = query.get("state", "open"), query.get("head"), query.get("base")
    found = [
        pr
        for pr in repo.pulls.values()
        if state in (pr.state, "all")
        # A head without `owner:` is ignored by the service instead of refused.
        and (not head or ":" not in head or head.lower() == f"{pr.head_owner.login}:{pr.head_ref}".lower())
        and (not base or base == pr.base_ref)
    ]
    sort = query.get("sort", "created")
    ascending = query.get("direction", "desc" if sort == "created" else "asc") == "asc"
    found.sort(key=lambda pr: (pr.updated_at if sort == "updated" else pr.created_at, pr.number), reverse=not ascending)
    return Page(found, lambda pr: render_pulls.pull_simple(fake, pr, request.links))


@route("GET", R + "/pulls/{pull_number}", PULLS_READ)
def get_pull(fake: FakeGitHub, request: Request) -> Answer:
    return Answer(json=render_pulls.pull(fake, find_pull(fake, request), request.links))


@route("GET", R + "/pulls/{pull_number}/merge", CONTENTS_READ)
def is_merged(fake: FakeGitHub, request: Request) -> Answer:
    if find_pull(fake, request).merged_at is None:
        # The one 404 without a body.
        return Answer(404)
    return Answer(204)


@route("GET", R + "/pulls/{pull_number}/commits", PULLS_READ)
def pull_commits(fake: FakeGitHub, request: Request) -> Page:
    pr = find_pull(fake, request)
    shas = fake.pr_commits(pr)[:250]  # documented cap
    return Page(shas, lambda sha: render.commit(pr.repo.commit(sha), pr.repo, request.links))


@route("GET", R + "/pulls/{pull_number}/files", PULLS_READ)
def pull_files(fake: FakeGitHub, request: Request) -> Page:
    pr = find_pull(fake, request)
    meeting = merge_base(pr.repo.network, pr.base_sha, pr.head_sha)
    changes = diff(pr.repo.commit(meeting) if meeting else None, pr.repo.commit(pr.head_sha))[:3000]
    return Page(changes, lambda change: render.diff_entry(change, pr.head_sha, pr.repo, request.links))


@route("GET", R + "/pulls/{pull_number}/requested_reviewers", PULLS_READ)
def requested_reviewers(fake: FakeGitHub, request: Request) -> Answer:
    find_pull(fake, request)
    return Answer(json={"users": [], "teams": []})


# -- reviews -------------------------------------------------------------------------------------------------


@route("GET", R + "/pulls/{pull_number}/reviews", PULLS_READ)
def list_reviews(fake: FakeGitHub, request: Request) -> Page:
    return Page(find_pull(fake, request).reviews, lambda review: render_pulls.review(review, request.links))


@route("GET", R + "/pulls/{pull_number}/reviews/{review_id}", PULLS_READ)
def get_review(fake: FakeGitHub, request: Request) -> Answer:
    for review in find_pull(fake, request).reviews:
        if review.id == int(request.params["review_id"]):
            return Answer(json=render_pulls.review(review, request.links))
    raise not_found()


@route("POST", R + "/pulls/{pull_number}/reviews", PULLS_WRITE)
def post_review(fake: FakeGitHub, request: Request) -> Answer:
    pr, body = find_pull(fake, request), request.json or {}
    assert request.token is not None
    event = body.get("event")
    if event is None:
        raise Refused(501, "pending reviews are not modelled")
    if event == "APPROVE" and request.token.identity is pr.author:
        raise Refused(422, "Unprocessable Entity", errors=["Can not approve your own pull request"])
    state = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}[event]
    made = fake.review(pr, request.token.identity, state, body.get("body", ""), body.get("commit_id"))
    return Answer(json=render_pulls.review(made, request.links))


# -- the pull requests of a commit ---------------------------------------------------------------------------


@route("GET", R + "/commits/{commit_sha}/pulls", PULLS_READ)
def pulls_of_commit(fake: FakeGitHub, request: Request) -> Page:
    repo, sha = find_repo(fake, request), request.params["commit_sha"]
    if sha not in repo.network.commits:
        raise Refused(422, f"No commit found for SHA: {sha}", errors=[])
    asked = fake.association_calls.get(sha, 0)
    fake.association_calls[sha] = asked + 1
    found = [] if asked < fake.association_lag else pulls_with(fake, repo, sha)
    return Page(found, lambda pr: render_pulls.pull_simple(fake, pr, request.links))


def pulls_with(fake: FakeGitHub, repo: Repo, sha: str) -> list[PullRequest]:
    if sha in ancestors(repo.network, repo.tip):
        # In the default branch: only what brought it there.
        return [pr for pr in repo.pulls.values() if pr.merged_at and (sha in pr.landed or sha in fake.pr_commits(pr))]
    # A commit that lives in a fork only is not associated with anything here, although the pull request is open.
    return [
        pr
        for pr in repo.pulls.values()
        if not pr.from_fork and (pr.state == "open" or pr.merged_at) and sha in fake.pr_commits(pr)
    ]
