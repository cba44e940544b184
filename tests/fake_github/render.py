"""Renders users, repositories, labels and commits the way the REST API shows them."""

from __future__ import annotations

import base64
from typing import Any

from .graph import FileChange, tree_sha
from .http_types import Urls, iso
from .state import App, Commit, Label, Repo, User

Json = dict[str, Any]

# Suffixes of the API links that a repository carries; the templates in braces are part of the answer.
REPO_LINKS = {
    "archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}", "blobs": "/git/blobs{/sha}",
    "branches": "/branches{/branch}", "collaborators": "/collaborators{/collaborator}",
    "comments": "/comments{/number}",
    "commits": "/commits{/sha}", "compare": "/compare/{base}...{head}", "contents": "/contents/{+path}",
    "contributors": "/contributors", "deployments": "/deployments", "downloads": "/downloads", "events": "/events",
    "forks": "/forks", "git_commits": "/git/commits{/sha}", "git_refs": "/git/refs{/sha}",
    "git_tags": "/git/tags{/sha}",
    "hooks": "/hooks", "issue_comment": "/issues/comments{/number}", "issue_events": "/issues/events{/number}",
    "issues": "/issues{/number}", "keys": "/keys{/key_id}", "labels": "/labels{/name}", "languages": "/languages",
    "merges": "/merges", "milestones": "/milestones{/number}",
    "notifications": "/notifications{?since,all,participating}",
    "pulls": "/pulls{/number}", "releases": "/releases{/id}", "stargazers": "/stargazers",
    "statuses": "/statuses/{sha}",
    "subscribers": "/subscribers", "subscription": "/subscription", "tags": "/tags", "teams": "/teams",
    "trees": "/git/trees{/sha}",
}  # fmt: skip
USER_LINKS = {
    "followers": "/followers", "following": "/following{/other_user}", "gists": "/gists{/gist_id}",
    "starred": "/starred{/owner}{/repo}", "subscriptions": "/subscriptions", "organizations": "/orgs",
    "repos": "/repos",
    "events": "/events{/privacy}", "received_events": "/received_events",
}  # fmt: skip


def node_id(kind: str, number: int | str) -> str:
    return base64.b64encode(f"{kind}:{number}".encode()).decode()


def user(person: User, urls: Urls) -> Json:
    api = f"{urls.api}/users/{person.login}"
    return {
        "login": person.login,
        "id": person.id,
        "node_id": node_id("User", person.id),
        "avatar_url": f"https://avatars.githubusercontent.com/u/{person.id}?v=4",
        "gravatar_id": "",
        "url": api,
        "html_url": f"{urls.html}/{person.login}",
        **{f"{key}_url": api + suffix for key, suffix in USER_LINKS.items()},
        "type": person.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def public_user(person: User, urls: Urls) -> Json:
    blank = dict.fromkeys(("company", "blog", "location", "email", "hireable", "bio", "twitter_username"))
    numbers = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    born = "2019-01-01T00:00:00Z"
    return {**user(person, urls), "name": person.login, **blank, **numbers, "created_at": born, "updated_at": born}


def app(integration: App | None, urls: Urls) -> Json | None:
    if integration is None:
        return None
    born = "2018-07-30T09:30:17Z"
    return {
        "id": integration.id,
        "slug": integration.slug,
        "node_id": node_id("Integration", integration.id),
        "owner": user(User("github", 9919, "Organization"), urls),
        "name": integration.slug.replace("-", " ").title(),
        "description": None,
        "external_url": f"https://{integration.slug}.example",
        "html_url": f"{urls.html}/apps/{integration.slug}",
        "created_at": born,
        "updated_at": born,
        "permissions": {"issues": "write", "metadata": "read"},
        "events": [],
    }


def minimal_repo(repo: Repo, urls: Urls) -> Json:
    """The short form inside runs and check suites."""
    api = repo_url(repo, urls)
    links = {f"{key}_url": api + suffix for key, suffix in REPO_LINKS.items()}
    return {
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": user(repo.owner, urls),
        "html_url": f"{urls.html}/{repo.full_name}",
        "description": None,
        "fork": repo.fork_of is not None,
        "url": api,
        **links,
    }


def repository(repo: Repo, urls: Urls) -> Json:
    host = urls.html.split("//", 1)[-1]
    html, now = f"{urls.html}/{repo.full_name}", iso(repo.created_at)
    counts = dict.fromkeys(("forks_count", "stargazers_count", "watchers_count", "forks", "watchers", "size"), 0)
    opened = sum(pr.state == "open" for pr in repo.pulls.values())
    return {
        **minimal_repo(repo, urls),
        "git_url": f"git://{host}/{repo.full_name}.git",
        "ssh_url": f"git@{host}:{repo.full_name}.git",
        "clone_url": f"{html}.git",
        "svn_url": html,
        "mirror_url": None,
        "homepage": None,
        "language": "Python",
        "license": None,
        **counts,
        "default_branch": repo.default_branch,
        "open_issues_count": opened,
        "open_issues": opened,
        "topics": [],
        "has_issues": repo.has_issues,
        "has_projects": False,
        "has_wiki": False,
        "has_pages": False,
        "has_downloads": True,
        "has_discussions": False,
        "archived": False,
        "disabled": False,
        "visibility": "private" if repo.private else "public",
        "pushed_at": iso(repo.activity[-1].timestamp) if repo.activity else now,
        "created_at": now,
        "updated_at": now,
        "is_template": False,
        "allow_forking": True,
        "web_commit_signoff_required": False,
    }


def full_repo(repo: Repo, urls: Urls) -> Json:
    shown = {**repository(repo, urls), "subscribers_count": 0, "network_count": 0}
    if repo.fork_of is not None:
        shown["parent"] = shown["source"] = repository(repo.fork_of, urls)
    return shown


def repo_url(repo: Repo, urls: Urls) -> str:
    return f"{urls.api}/repos/{repo.full_name}"


def label(item: Label, repo: Repo, urls: Urls) -> Json:
    return {
        "id": item.id,
        "node_id": node_id("Label", item.id),
        "url": f"{repo_url(repo, urls)}/labels/{item.name}",
        "name": item.name,
        "color": item.color,
        "default": False,
        "description": item.description,
        "archived_at": None,
        "archived_by": None,
    }


# -- commits -------------------------------------------------------------------------------------------------------


def signature(item: Commit) -> Json:
    return {"name": item.git_name, "email": item.git_email, "date": iso(item.date)}


def _parents(item: Commit, repo: Repo, urls: Urls, kind: str) -> list[Json]:
    api, html = repo_url(repo, urls), f"{urls.html}/{repo.full_name}"
    return [{"sha": p, "url": f"{api}/{kind}/{p}", "html_url": f"{html}/commit/{p}"} for p in item.parents]


def _verification(item: Commit) -> Json:
    if not item.signed:
        return {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
    armour = "-----BEGIN PGP SIGNATURE-----\n\nfake\n-----END PGP SIGNATURE-----\n"
    return {"verified": True, "reason": "valid", "signature": armour, "payload": item.message, "verified_at": iso(item.date)}


def git_commit(item: Commit, repo: Repo, urls: Urls) -> Json:
    tree = tree_sha(item.files)
    return {
        "sha": item.sha,
        "node_id": node_id("Commit", item.sha),
        "url": f"{repo_url(repo, urls)}/git/commits/{item.sha}",
        "html_url": f"{urls.html}/{repo.full_name}/commit/{item.sha}",
        "author": signature(item),
        "committer": signature(item),
        "message": item.message,
        "tree": {"sha": tree, "url": f"{repo_url(repo, urls)}/git/trees/{tree}"},
        "parents": _parents(item, repo, urls, "git/commits"),
        "verification": _verification(item),
    }


def commit(item: Commit, repo: Repo, urls: Urls, changes: list[FileChange] | None = None) -> Json:
    api, tree = repo_url(repo, urls), tree_sha(item.files)
    person = None if item.author is None else user(item.author, urls)
    shown: Json = {
        "sha": item.sha,
        "node_id": node_id("Commit", item.sha),
        "url": f"{api}/commits/{item.sha}",
        "html_url": f"{urls.html}/{repo.full_name}/commit/{item.sha}",
        "comments_url": f"{api}/commits/{item.sha}/comments",
        "commit": {
            "url": f"{api}/git/commits/{item.sha}",
            "author": signature(item),
            "committer": signature(item),
            "message": item.message,
            "comment_count": 0,
            "tree": {"sha": tree, "url": f"{api}/git/trees/{tree}"},
            "verification": _verification(item),
        },
        "author": person,
        "committer": person,
        "parents": _parents(item, repo, urls, "commits"),
    }
    if changes is not None:
        added, removed = sum(c.additions for c in changes), sum(c.deletions for c in changes)
        shown["stats"] = {"additions": added, "deletions": removed, "total": added + removed}
        shown["files"] = [diff_entry(change, item.sha, repo, urls) for change in changes]
    return shown


def simple_commit(item: Commit) -> Json:
    """The form inside runs and webhook payloads."""
    person = {"name": item.git_name, "email": item.git_email}
    return {
        "id": item.sha, "tree_id": tree_sha(item.files), "message": item.message, "timestamp": iso(item.date),
        "author": person, "committer": person,
    }  # fmt: skip


def diff_entry(change: FileChange, sha: str, repo: Repo, urls: Urls) -> Json:
    html = f"{urls.html}/{repo.full_name}"
    shown = {
        "sha": change.blob_sha,
        "filename": change.path,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": f"{html}/blob/{sha}/{change.path}",
        "raw_url": f"{html}/raw/{sha}/{change.path}",
        "contents_url": f"{repo_url(repo, urls)}/contents/{change.path}?ref={sha}",
    }
    return shown if change.patch is None else {**shown, "patch": change.patch}
