"""Blobs, trees and commits through the API, and the list of commits: how a branch is written without a checkout."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from . import render
from .graph import ancestors, blob_sha, topological, tree_sha
from .http_types import Answer, Page, Refused, Request, not_found
from .routes import CONTENTS_READ, CONTENTS_WRITE, find_repo, route
from .routes_repos import find_commit
from .state import Commit, Network

if TYPE_CHECKING:
    from .fake import FakeGitHub

R = "/repos/{owner}/{repo}"
# What the service takes for one blob; beyond it the request itself is refused.
LARGEST_BLOB = 100 * 1024**2


@route("POST", R + "/git/blobs", CONTENTS_WRITE)
def post_blob(fake: FakeGitHub, request: Request) -> Answer:
    repo, wanted = find_repo(fake, request), request.json
    try:
        data = base64.b64decode(wanted["content"], validate=True) if wanted.get("encoding") == "base64" else wanted["content"].encode()
    except binascii.Error:
        raise Refused(422, "content is not valid Base64", errors=[]) from None
    if len(data) > LARGEST_BLOB:
        raise Refused(422, "Sorry, your input was too large to process.", errors=[])
    sha = blob_sha(data)
    repo.network.blobs[sha] = data
    return Answer(201, {"sha": sha, "url": f"{render.repo_url(repo, request.links)}/git/blobs/{sha}"})


@route("POST", R + "/git/trees", CONTENTS_WRITE)
def post_tree(fake: FakeGitHub, request: Request) -> Answer:
    repo, wanted = find_repo(fake, request), request.json
    files = dict(_tree(repo.network, wanted["base_tree"])) if "base_tree" in wanted else {}
    for entry in wanted["tree"]:
        _enter(repo.network, files, entry)
    sha, api = tree_sha(files), render.repo_url(repo, request.links)
    repo.network.trees[sha] = files
    shown = [{"path": path, "mode": "100644", "type": "blob", "sha": blob_sha(data), "size": len(data),
              "url": f"{api}/git/blobs/{blob_sha(data)}"} for path, data in sorted(files.items()) if "/" not in path]  # fmt: skip
    return Answer(201, {"sha": sha, "url": f"{api}/git/trees/{sha}", "truncated": False, "tree": shown})


def _enter(network: Network, files: dict[str, bytes], entry: dict[str, Any]) -> None:
    path, sha = entry["path"], entry.get("sha")
    if not path or path.startswith("/") or any(part in ("", ".", "..", ".git") for part in path.split("/")):
        raise Refused(422, f"tree.path {path} is malformed", errors=[])
    if entry["type"] == "tree":
        for name in [name for name in files if name.startswith(f"{path}/")]:
            del files[name]
        files.update({f"{path}/{name}": data for name, data in _tree(network, str(sha)).items()})
    elif "content" in entry:
        files[path] = entry["content"].encode()
    elif sha is None:
        if files.pop(path, None) is None:
            raise Refused(422, "GitRPC::BadObjectState", errors=[])
    else:
        files[path] = _blob(network, sha)


def _blob(network: Network, sha: str) -> bytes:
    if sha in network.blobs:
        return network.blobs[sha]
    for commit in network.commits.values():
        for data in commit.files.values():
            if blob_sha(data) == sha:
                return data
    raise Refused(422, f"tree.sha {sha} is not a valid blob", errors=[])


def _tree(network: Network, sha: str) -> dict[str, bytes]:
    if sha in network.trees:
        return network.trees[sha]
    for commit in network.commits.values():
        if sha in (commit.sha, tree_sha(commit.files)):
            return commit.files
    raise Refused(422, f"tree.sha {sha} is not a valid tree", errors=[])


@route("POST", R + "/git/commits", CONTENTS_WRITE)
def post_commit(fake: FakeGitHub, request: Request) -> Answer:
    repo, wanted, token = find_repo(fake, request), request.json, request.token
    assert token is not None
    for parent in wanted.get("parents", []):
        if parent not in repo.network.commits:
            raise Refused(422, "Parent SHA does not exist or is not a commit object", errors=[])
    if wanted["tree"] not in repo.network.trees:
        raise Refused(422, "Tree SHA does not exist", errors=[])
    files = repo.network.trees[wanted["tree"]]
    fake.clock.tick()
    made = fake.store_commit(repo, files, tuple(wanted.get("parents", ())), wanted["message"], token.identity)
    if "author" in wanted:
        made.git_name, made.git_email = wanted["author"]["name"], wanted["author"]["email"]
        made.author = next((user for user in fake.users.values() if user.email == made.git_email), None)
    # Only what an app writes in its own name; whoever names an author is not vouched for.
    made.signed = fake.signs_commits and token.app is not None and not {"author", "committer"} & wanted.keys()
    return Answer(201, render.git_commit(made, repo, request.links))


@route("GET", R + "/commits", CONTENTS_READ)
def list_commits(fake: FakeGitHub, request: Request) -> Page:
    repo, query = find_repo(fake, request), request.query
    try:
        tip = find_commit(fake, repo, query.get("sha", repo.default_branch))
    except Refused:
        raise not_found() from None
    network, path = repo.network, query.get("path", "").strip("/")
    found = [network.commits[sha] for sha in reversed(topological(network, ancestors(network, tip.sha)))]
    return Page([c for c in found if not path or _touches(network, c, path)], lambda c: render.commit(c, repo, request.links))


def _touches(network: Network, commit: Commit, path: str) -> bool:
    """Whether a commit changed a file or anything below a folder, against its first parent."""

    def there(files: dict[str, bytes]) -> dict[str, bytes]:
        return {name: data for name, data in files.items() if name == path or name.startswith(f"{path}/")}

    parent = network.commits.get(commit.parents[0]) if commit.parents else None
    return there(commit.files) != (there(parent.files) if parent else {})
