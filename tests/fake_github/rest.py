"""From a request to an answer of the REST API: token, path, description, permission, handler, page, check."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from . import (
    openapi,
    routes_actions,
    routes_contents,
    routes_git,
    routes_git_data,
    routes_issues,
    routes_pulls,
    routes_releases,
    routes_repos,
)
from .http_types import Answer, Page, Refused, Request
from .routes import ROUTES, authorize

if TYPE_CHECKING:
    from .fake import FakeGitHub

# Importing a module registers its routes.
HANDLERS = (
    routes_actions,
    routes_contents,
    routes_git,
    routes_git_data,
    routes_issues,
    routes_pulls,
    routes_releases,
    routes_repos,
)
VERSIONS = ("2022-11-28", "2026-03-10")
# What the newer version of the API no longer says. Whoever needs merge_commit_sha has to ask for the older one.
DROPPED = ("merge_commit_sha", "assignee", "has_downloads", "use_squash_pr_title_as_default", "master_branch", "rate")


def handle(fake: FakeGitHub, request: Request) -> Answer:
    try:
        answer = _answer(fake, request)
    except Refused as refused:
        answer = Answer(refused.status, refused.json, headers=refused.headers)
        found = openapi.load().find(request.method, request.path)
        if fake.validate and found and refused.status not in (401, 501):
            answer = _checked(fake, request, found[0], answer)
    version = request.headers.get("x-github-api-version", VERSIONS[0])
    answer.headers["X-GitHub-Api-Version-Selected"] = version
    if version == VERSIONS[1] and answer.raw is None:
        answer.json = _without(answer.json, DROPPED)
    if request.method == "GET" and answer.status == 200:
        body = answer.raw if answer.raw is not None else json.dumps(answer.json).encode()
        answer.headers["ETag"] = f'W/"{hashlib.sha256(body).hexdigest()}"'
        if request.headers.get("if-none-match") == answer.headers["ETag"]:
            return Answer(304, headers={"ETag": answer.headers["ETag"]})
    return answer


def _without(node: Any, names: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_without(item, names) for item in node]
    if isinstance(node, dict):
        return {key: _without(value, names) for key, value in node.items() if key not in names}
    return node


def _answer(fake: FakeGitHub, request: Request) -> Answer:
    _identify(fake, request)
    _real_path(fake, request)
    if request.path == "/user":
        # GITHUB_TOKEN is nobody: this is how a client finds out that it cannot ask for its own name.
        raise Refused(403, "Resource not accessible by integration")
    found = openapi.load().find(request.method, request.path)
    if found is None:
        fake.unexpected.append((request.method, request.path))
        raise Refused(404, "Not Found")
    operation, request.params = found
    route = ROUTES.get((operation.method, operation.template))
    if route is None:
        fake.unexpected.append((request.method, request.path))
        raise Refused(501, f"the fake does not answer {operation.method} {operation.template} yet")
    if request.body:
        try:
            request.json = json.loads(request.body)
        except ValueError:
            raise Refused(400, "Problems parsing JSON") from None
    if fake.validate:
        problems = operation.query_problems(request.query) + operation.body_problems(request.json, bool(request.body))
        if problems:
            return _violation(fake, request, "request", problems)
    authorize(fake, request, route)
    result = route.handler(fake, request)
    answer = _page(fake, request, result) if isinstance(result, Page) else result
    return _checked(fake, request, operation, answer) if fake.validate else answer


def _identify(fake: FakeGitHub, request: Request) -> None:
    if not request.headers.get("user-agent"):
        raise Refused(
            403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header"
        )
    if request.headers.get("x-github-api-version", VERSIONS[0]) not in VERSIONS:
        raise Refused(400, "The API version is not supported")
    if "authorization" in request.headers:
        scheme, _, value = request.headers["authorization"].partition(" ")
        request.token = fake.tokens.get(value.strip())
        if scheme.lower() not in ("bearer", "token") or request.token is None:
            raise Refused(401, "Bad credentials")
        request.token.used += 1


def _real_path(fake: FakeGitHub, request: Request) -> None:
    """`/repositories/{id}/…` is the form that the service writes into Link headers."""
    match = re.match(r"/repositories/(\d+)(/.*)?\Z", request.path)
    for repo in fake.repos.values() if match else ():
        if match and repo.id == int(match[1]):
            request.path = f"/repos/{repo.full_name}{match[2] or ''}"


def _violation(fake: FakeGitHub, request: Request, what: str, problems: list[str]) -> Answer:
    text = f"{what} {request.method} {request.path}: " + "; ".join(problems)
    fake.violations.append(text)
    return Answer(500, {"message": f"Against GitHub's OpenAPI description: {text}"}, checked=False)


def _checked(fake: FakeGitHub, request: Request, operation: openapi.Operation, answer: Answer) -> Answer:
    if answer.raw is not None or not answer.checked:
        return answer
    if fake.distort is not None:
        answer.json = fake.distort(operation.template, answer.json)
    problems = operation.answer_problems(answer.status, answer.json, answer.media.split(";")[0])
    return _violation(fake, request, "answer to", problems) if problems else answer


def _page(fake: FakeGitHub, request: Request, page: Page) -> Answer:
    size = min(100, int(request.query.get("per_page", page.default_size)) or page.default_size)
    if "per_page" not in request.query:
        size = page.default_size
    if page.cursor:
        return _cursor_page(fake, request, page, size)
    number = max(1, int(request.query.get("page", "1")))
    last = max(1, math.ceil(len(page.items) / size))
    shown = [page.render(item) for item in page.items[(number - 1) * size : number * size]]
    headers = {}
    wanted = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
    if number == 1:
        del wanted["prev"], wanted["first"]
    if number >= last:
        wanted.pop("next"), wanted.pop("last")
    if number > last:
        wanted["prev"] = last
    links = [f'<{_link(fake, request, page=str(target))}>; rel="{rel}"' for rel, target in wanted.items()]
    if links:
        headers["Link"] = ", ".join(links)
    if page.wrap is None:
        return Answer(json=shown, headers=headers)
    count = {"total_count": len(page.items)} if page.counted else {}
    return Answer(json={**count, **page.extra, page.wrap: shown}, headers=headers)


def _cursor_page(fake: FakeGitHub, request: Request, page: Page, size: int) -> Answer:
    start = int(request.query.get("after") or 0)
    end = start + size
    more = {"Link": f'<{_link(fake, request, after=str(end))}>; rel="next"'} if end < len(page.items) else {}
    return Answer(json=[page.render(item) for item in page.items[start:end]], headers=more)


def _link(fake: FakeGitHub, request: Request, **target: str) -> str:
    repo = fake.repos.get("/".join(request.path.split("/")[2:4]))
    path = request.raw_path
    if repo is not None:
        # Real links leave the name of the repository: code that rebuilds them by hand instead of following breaks here.
        path = f"/repositories/{repo.id}/" + "/".join(path.removeprefix("/api/v3").split("/")[4:])
        if request.raw_path.startswith("/repositories/"):
            path = request.raw_path
    return f"{request.links.api}{path}?{urlencode({**request.query, **target})}"
