"""The two GraphQL requests that a commenting action needs: who am I, and folding an old comment away."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from .http_types import Answer, Request
from .render import node_id

if TYPE_CHECKING:
    from .fake import FakeGitHub


def handle(fake: FakeGitHub, request: Request) -> Answer:
    token = fake.tokens.get(request.headers.get("authorization", "").partition(" ")[2].strip())
    if token is None:
        return Answer(401, {"message": "Bad credentials"}, checked=False)
    request.token = token
    asked = json.loads(request.body)
    query = asked["query"]
    if re.search(r"\bviewer\b", query):
        # GraphQL knows a job token's name, which REST refuses to tell.
        return Answer(json={"data": {"viewer": {"login": token.identity.login}}}, checked=False)
    if "minimizeComment" not in query:
        fake.unexpected.append((request.method, request.path))
        return Answer(json={"errors": [{"message": "the fake does not know this query"}]}, checked=False)
    text = query + json.dumps(asked.get("variables") or {})
    reason = re.search(r"\b(OUTDATED|RESOLVED|DUPLICATE|OFF_TOPIC|SPAM|ABUSE)\b", text)
    for pr in fake.all_pulls():
        for comment in pr.comments:
            if node_id("IssueComment", comment.id) in text and reason:
                if not (token.grants("issues", "write") or token.grants("pull_requests", "write")):
                    break
                comment.minimized = reason[1].lower()
                return Answer(
                    json={"data": {"minimizeComment": {"minimizedComment": {"isMinimized": True}}}}, checked=False
                )
    error = {
        "type": "NOT_FOUND",
        "path": ["minimizeComment"],
        "message": "Could not resolve to a node with the global id",
    }
    return Answer(json={"data": {"minimizeComment": None}, "errors": [error]}, checked=False)
