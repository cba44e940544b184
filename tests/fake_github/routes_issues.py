"""The issue side of a pull request: comments, labels, events, timeline, reactions."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from . import render, render_pulls
from .http_types import Answer, Page, Refused, Request, invalid, iso, not_found
from .routes import ISSUES_READ, ISSUES_WRITE, find_pull, find_repo, route
from .state import Comment, IssueEvent, PullRequest

if TYPE_CHECKING:
    from .fake import FakeGitHub

R = "/repos/{owner}/{repo}"
N = R + "/issues/{issue_number}"
BODY_LIMIT = 65_536


def _pull(fake: FakeGitHub, request: Request) -> PullRequest:
    if not find_repo(fake, request).has_issues:
        raise Refused(410, "Issues are disabled for this repo")
    return find_pull(fake, request)


@route("GET", N, ISSUES_READ)
def get_issue(fake: FakeGitHub, request: Request) -> Answer:
    return Answer(json=render_pulls.issue(_pull(fake, request), request.links))


# -- comments ----------------------------------------------------------------------------------------------------------


def _since(request: Request, comments: list[Comment]) -> list[Comment]:
    since = request.query.get("since")
    return comments if since is None else [c for c in comments if c.updated_at >= datetime.fromisoformat(since)]


def _comment(fake: FakeGitHub, request: Request) -> Comment:
    for pr in find_repo(fake, request).pulls.values():
        for comment in pr.comments:
            if comment.id == int(request.params["comment_id"]):
                return comment
    raise not_found()


def _checked_body(request: Request) -> str:
    body = str(request.json["body"])
    if not body.strip():
        raise invalid("IssueComment", "data", "unprocessable", "Body cannot be blank")
    if len(body) > BODY_LIMIT:
        raise invalid("IssueComment", "data", "unprocessable", f"Body is too long (maximum is {BODY_LIMIT} characters)")
    return body


@route("GET", N + "/comments", ISSUES_READ)
def list_comments(fake: FakeGitHub, request: Request) -> Page:
    comments = sorted(_pull(fake, request).comments, key=lambda comment: comment.id)
    return Page(_since(request, comments), lambda comment: render_pulls.comment(comment, request.links))


@route("GET", R + "/issues/comments", ISSUES_READ)
def list_all_comments(fake: FakeGitHub, request: Request) -> Page:
    found = [comment for pr in find_repo(fake, request).pulls.values() for comment in pr.comments]
    by_update = request.query.get("sort") == "updated"
    found.sort(key=lambda c: (c.updated_at if by_update else c.created_at, c.id))
    if request.query.get("direction") == "desc" and "sort" in request.query:
        found.reverse()
    return Page(_since(request, found), lambda comment: render_pulls.comment(comment, request.links))


@route("POST", N + "/comments", ISSUES_WRITE)
def post_comment(fake: FakeGitHub, request: Request) -> Answer:
    pr = _pull(fake, request)
    assert request.token is not None
    if pr.locked and fake.role(pr.repo, request.token.identity)[0] not in ("admin", "maintain", "write"):
        raise Refused(403, "Unable to create comment because issue is locked.")
    made = fake.comment(pr, request.token.identity, _checked_body(request), request.token.app)
    shown = render_pulls.comment(made, request.links)
    return Answer(201, shown, headers={"Location": shown["url"]})


@route("GET", R + "/issues/comments/{comment_id}", ISSUES_READ)
def get_comment(fake: FakeGitHub, request: Request) -> Answer:
    return Answer(json=render_pulls.comment(_comment(fake, request), request.links))


@route("PATCH", R + "/issues/comments/{comment_id}", ISSUES_WRITE)
def patch_comment(fake: FakeGitHub, request: Request) -> Answer:
    comment = _comment(fake, request)
    _may_edit(fake, request, comment)
    fake.edit_comment(comment, _checked_body(request))
    return Answer(json=render_pulls.comment(comment, request.links))


@route("DELETE", R + "/issues/comments/{comment_id}", ISSUES_WRITE)
def delete_comment(fake: FakeGitHub, request: Request) -> Answer:
    comment = _comment(fake, request)
    _may_edit(fake, request, comment)
    fake.delete_comment(comment)
    return Answer(204)


def _may_edit(fake: FakeGitHub, request: Request, comment: Comment) -> None:
    """A job token with write may edit anybody's comment; a person only their own, unless they have write."""
    token = request.token
    assert token is not None
    stranger = token.app is None and token.identity is not comment.author
    if stranger and fake.role(comment.pr.repo, token.identity)[0] not in ("admin", "maintain", "write"):
        raise Refused(403, "Must have admin rights to Repository.")


# -- reactions ---------------------------------------------------------------------------------------------------------


def _reaction(item: tuple[int, object, str, datetime], request: Request) -> dict[str, object]:
    number, person, content, at = item
    shown = render.user(person, request.links)  # type: ignore[arg-type]
    return {
        "id": number,
        "node_id": render.node_id("Reaction", number),
        "user": shown,
        "content": content,
        "created_at": iso(at),
    }


@route("GET", R + "/issues/comments/{comment_id}/reactions", ISSUES_READ)
def list_reactions(fake: FakeGitHub, request: Request) -> Page:
    wanted = request.query.get("content")
    found = [item for item in _comment(fake, request).reactions if wanted in (None, item[2])]
    return Page(found, lambda item: _reaction(item, request))


@route("POST", R + "/issues/comments/{comment_id}/reactions", ISSUES_WRITE)
def post_reaction(fake: FakeGitHub, request: Request) -> Answer:
    comment, content = _comment(fake, request), request.json["content"]
    assert request.token is not None
    for item in comment.reactions:
        if item[1] is request.token.identity and item[2] == content:
            return Answer(200, _reaction(item, request))
    made = (fake.ids("reaction"), request.token.identity, content, fake.clock.tick())
    comment.reactions.append(made)
    return Answer(201, _reaction(made, request))


# -- labels ------------------------------------------------------------------------------------------------------------


def _labels_answer(pr: PullRequest, request: Request) -> Answer:
    return Answer(json=[render.label(item, pr.repo, request.links) for item in pr.labels])


def _names(request: Request) -> list[str]:
    entries = (request.json or {}).get("labels", [])
    return [entry if isinstance(entry, str) else entry["name"] for entry in entries]


@route("GET", N + "/labels", ISSUES_READ)
def list_labels(fake: FakeGitHub, request: Request) -> Page:
    pr = _pull(fake, request)
    return Page(pr.labels, lambda item: render.label(item, pr.repo, request.links))


@route("POST", N + "/labels", ISSUES_WRITE)
def add_labels(fake: FakeGitHub, request: Request) -> Answer:
    pr = _pull(fake, request)
    assert request.token is not None
    for name in _names(request):
        fake.label(pr, name, request.token.identity, request.token.app)
    return _labels_answer(pr, request)


@route("PUT", N + "/labels", ISSUES_WRITE)
def set_labels(fake: FakeGitHub, request: Request) -> Answer:
    pr = _pull(fake, request)
    assert request.token is not None
    wanted = _names(request)
    for name in [name for name in pr.label_names if name not in wanted]:
        fake.unlabel(pr, name, request.token.identity, request.token.app)
    for name in wanted:
        fake.label(pr, name, request.token.identity, request.token.app)
    return _labels_answer(pr, request)


@route("DELETE", N + "/labels", ISSUES_WRITE)
def clear_labels(fake: FakeGitHub, request: Request) -> Answer:
    pr = _pull(fake, request)
    assert request.token is not None
    for name in pr.label_names:
        fake.unlabel(pr, name, request.token.identity, request.token.app)
    return Answer(204)


@route("DELETE", N + "/labels/{name}", ISSUES_WRITE)
def remove_label(fake: FakeGitHub, request: Request) -> Answer:
    pr = _pull(fake, request)
    assert request.token is not None
    if request.params["name"] not in pr.label_names:
        raise Refused(404, "Label does not exist")
    fake.unlabel(pr, request.params["name"], request.token.identity, request.token.app)
    return _labels_answer(pr, request)


@route("GET", R + "/labels", ISSUES_READ)
def repo_labels(fake: FakeGitHub, request: Request) -> Page:
    repo = find_repo(fake, request)
    return Page(list(repo.labels.values()), lambda item: render.label(item, repo, request.links))


@route("GET", R + "/labels/{name}", ISSUES_READ)
def repo_label(fake: FakeGitHub, request: Request) -> Answer:
    repo, name = find_repo(fake, request), request.params["name"]
    if name not in repo.labels:
        raise not_found()
    return Answer(json=render.label(repo.labels[name], repo, request.links))


@route("POST", R + "/labels", ISSUES_WRITE)
def create_label(fake: FakeGitHub, request: Request) -> Answer:
    repo, wanted = find_repo(fake, request), request.json
    if wanted["name"] in repo.labels:
        raise invalid("Label", "name", "already_exists")
    color = wanted.get("color", "ededed")
    if not re.fullmatch(r"[0-9A-Fa-f]{6}", color):
        raise invalid("Label", "color", "invalid")
    made = fake.repo_label(repo, wanted["name"], color, wanted.get("description"))
    return Answer(201, render.label(made, repo, request.links))


# -- events ------------------------------------------------------------------------------------------------------------


@route("GET", N + "/events", ISSUES_READ)
def list_events(fake: FakeGitHub, request: Request) -> Page:
    pr = _pull(fake, request)
    events = [item for item in pr.timeline if isinstance(item, IssueEvent)]
    return Page(events, lambda event: render_pulls.issue_event(event, pr.repo, request.links))


@route("GET", N + "/timeline", ISSUES_READ)
def timeline(fake: FakeGitHub, request: Request) -> Page:
    pr = _pull(fake, request)
    return Page(pr.timeline, lambda item: render_pulls.timeline_item(item, pr, request.links))
