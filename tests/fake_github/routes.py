"""The table of routes: which handler answers an operation and which permission it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .http_types import Answer, Page, Refused, Request, not_found
from .state import PullRequest, Repo

if TYPE_CHECKING:
    from .fake import FakeGitHub

Handler = Callable[["FakeGitHub", Request], Answer | Page]
Need = tuple[str, str]  # (scope, level)


@dataclass(frozen=True)
class Route:
    handler: Handler
    needs: tuple[Need, ...]  # one of them is enough
    anonymous: bool  # may be read on a public repository without a token


ROUTES: dict[tuple[str, str], Route] = {}
METADATA: tuple[Need, ...] = (("metadata", "read"),)
CONTENTS_READ: tuple[Need, ...] = (("contents", "read"),)
CONTENTS_WRITE: tuple[Need, ...] = (("contents", "write"),)
ACTIONS_READ: tuple[Need, ...] = (("actions", "read"),)
ACTIONS_WRITE: tuple[Need, ...] = (("actions", "write"),)
PULLS_READ: tuple[Need, ...] = (("pull_requests", "read"),)
PULLS_WRITE: tuple[Need, ...] = (("pull_requests", "write"),)
# A pull request is an issue too, so either permission opens its comments, labels and events.
ISSUES_READ: tuple[Need, ...] = (("issues", "read"), ("pull_requests", "read"))
ISSUES_WRITE: tuple[Need, ...] = (("issues", "write"), ("pull_requests", "write"))


def route(
    method: str, template: str, needs: tuple[Need, ...] = (), anonymous: bool = True
) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        ROUTES[method, template] = Route(handler, needs, anonymous and method == "GET")
        return handler

    return register


def find_repo(fake: FakeGitHub, request: Request) -> Repo:
    wanted = f"{request.params['owner']}/{request.params['repo']}".lower()
    for name, repo in fake.repos.items():
        if name.lower() == wanted:
            return repo
    raise not_found()


def find_pull(fake: FakeGitHub, request: Request) -> PullRequest:
    number = int(request.params.get("pull_number") or request.params["issue_number"])
    repo = find_repo(fake, request)
    if number not in repo.pulls:
        raise not_found()
    return repo.pulls[number]


def authorize(fake: FakeGitHub, request: Request, route: Route) -> None:
    """Raises what the service answers to a token that may not do this."""
    token = request.token
    repo = find_repo(fake, request) if "repo" in request.params else None
    writes = request.method != "GET"
    if token is None:
        if repo is not None and repo.private:
            raise not_found()
        if not route.anonymous:
            raise Refused(401, "Requires authentication")
        return
    accepted = {"X-Accepted-GitHub-Permissions": "; ".join(f"{scope}={level}" for scope, level in route.needs)}
    if repo is not None and token.repo is not None and repo is not token.repo:
        # A job token stops at its own repository: elsewhere it is as good as nobody.
        if repo.private:
            raise not_found()
        if writes:
            raise Refused(403, "Resource not accessible by integration", accepted)
        return
    if repo is not None and token.app is None:
        # A person's token can do at most what the person can.
        role = fake.role(repo, token.identity)[0]
        if role == "none":
            raise not_found()
        triage = any(scope in ("issues", "pull_requests") for scope, _ in route.needs)
        open_to_all = "comments" in request.path or "reviews" in request.path
        if writes and not (role in ("admin", "maintain", "write") or (role == "triage" and triage) or open_to_all):
            raise Refused(403, "Resource not accessible by personal access token", accepted)
    if route.needs and not any(token.grants(scope, level) for scope, level in route.needs):
        kind = "integration" if token.app is not None else "personal access token"
        raise Refused(403, f"Resource not accessible by {kind}", accepted)
