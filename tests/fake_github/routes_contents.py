"""The contents API: reading a file or directory at a ref, and writing one file."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from . import render
from .graph import blob_sha, tree_sha
from .http_types import Answer, Refused, Request, Urls, invalid, not_found
from .routes import CONTENTS_READ, CONTENTS_WRITE, find_repo, route
from .routes_repos import find_commit
from .state import Commit, Repo

if TYPE_CHECKING:
    from .fake import FakeGitHub

R = "/repos/{owner}/{repo}"


def _entry(path: str, data: bytes | None, sha: str, ref: str, repo: Repo, urls: Urls) -> dict[str, Any]:
    """One line of a directory listing; data is None for a directory."""
    kind, word = ("dir", "tree") if data is None else ("file", "blob")
    own = f"{render.repo_url(repo, urls)}/contents/{path}?ref={ref}"
    git, html = f"{render.repo_url(repo, urls)}/git/{word}s/{sha}", f"{urls.html}/{repo.full_name}/{word}/{ref}/{path}"
    return {
        "type": kind, "size": len(data or b""), "name": path.rsplit("/", 1)[-1], "path": path, "sha": sha, "url": own,
        "git_url": git, "html_url": html,
        "download_url": None if data is None else f"https://raw.githubusercontent.com/{repo.full_name}/{ref}/{path}",
        "_links": {"self": own, "git": git, "html": html},
    }  # fmt: skip


def _file(path: str, data: bytes, ref: str, repo: Repo, urls: Urls) -> dict[str, Any]:
    entry = _entry(path, data, blob_sha(data), ref, repo, urls)
    if len(data) > 1_000_000:
        # Between 1 and 100 MB the JSON form comes without the bytes; clients have to ask for the raw media type.
        return {**entry, "encoding": "none", "content": ""}
    return {**entry, "encoding": "base64", "content": base64.encodebytes(data).decode()}


@route("GET", R + "/contents/{path}", CONTENTS_READ)
def get_contents(fake: FakeGitHub, request: Request) -> Answer:
    repo, urls = find_repo(fake, request), request.links
    path, ref = request.params["path"].strip("/"), request.query.get("ref", repo.default_branch)
    files = find_commit(fake, repo, ref).files
    if path in files:
        data = files[path]
        if "vnd.github.raw" in request.accept:
            return Answer(raw=data, media="application/vnd.github.raw; charset=utf-8")
        return Answer(json=_file(path, data, ref, repo, urls))
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
        entries.append(_entry(child, content, sha, ref, repo, urls))
    if "vnd.github.object" in request.accept:
        own = _entry(path, None, tree_sha(files), ref, repo, urls)
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
    shown = _entry(path, data, blob_sha(data), branch, repo, request.links)
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
