"""Renders pull requests and what hangs on them: labels, events, timeline, reviews, comments."""

from __future__ import annotations

from . import render
from .graph import diff, merge_base
from .http_types import Urls, iso, iso_or_none
from .render import Json, node_id, repo_url, user
from .state import Comment, Commit, IssueEvent, Label, PullRequest, Repo, Review, User
from .world_actions import ActionVerbs


def association(repo: Repo, person: User) -> str:
    if person is repo.owner:
        return "OWNER"
    # Says nothing about write access: a triage collaborator is shown the same way.
    return "COLLABORATOR" if person.login in repo.roles else "NONE"


def reactions(url: str, comment: Comment | None = None) -> Json:
    found = [content for _, _, content, _ in comment.reactions] if comment else []
    names = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    return {"url": f"{url}/reactions", "total_count": len(found), **{name: found.count(name) for name in names}}


def _side(label_owner: User, ref: str, sha: str, repo: Repo | None, urls: Urls) -> Json:
    return {
        "label": f"{label_owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(label_owner, urls),
        "repo": None if repo is None else render.repository(repo, urls),
    }


def pull_simple(world: ActionVerbs, pr: PullRequest, urls: Urls) -> Json:
    """The form in lists."""
    repo, api = pr.repo, repo_url(pr.repo, urls)
    own, issue = f"{api}/pulls/{pr.number}", f"{api}/issues/{pr.number}"
    html = f"{urls.html}/{repo.full_name}/pull/{pr.number}"
    links = {
        "self": own, "html": html, "issue": issue, "comments": f"{issue}/comments",
        "review_comments": f"{own}/comments",
        "review_comment": f"{api}/pulls/comments{{/number}}", "commits": f"{own}/commits",
        "statuses": f"{api}/statuses/{pr.head_sha}",
    }  # fmt: skip
    return {
        "url": own,
        "id": pr.id,
        "node_id": node_id("PullRequest", pr.id),
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": issue,
        **{
            f"{key}_url": links[key] for key in ("commits", "review_comments", "review_comment", "comments", "statuses")
        },
        "number": pr.number,
        "state": pr.state,
        "locked": pr.locked,
        "active_lock_reason": None,
        "title": pr.title,
        "user": user(pr.author, urls),
        "body": pr.body,
        "labels": [render.label(item, repo, urls) for item in pr.labels],
        "milestone": None,
        "created_at": iso(pr.created_at),
        "updated_at": iso(pr.updated_at),
        "closed_at": iso_or_none(pr.closed_at),
        "merged_at": iso_or_none(pr.merged_at),
        # While open this is the test merge; after the merge it is what landed.
        "merge_commit_sha": pr.merge_commit_sha
        or (world.test_merge(pr) if pr.state == "open" and pr.mergeable else None),
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "head": _side(pr.head_owner, pr.head_ref, pr.head_sha, pr.head_repo, urls),
        "base": _side(repo.owner, pr.base_ref, pr.base_sha, repo, urls),
        "_links": {key: {"href": href} for key, href in links.items()},
        "author_association": association(repo, pr.author),
        "auto_merge": None,
        "draft": pr.draft,
    }


def pull(world: ActionVerbs, pr: PullRequest, urls: Urls) -> Json:
    meeting = merge_base(pr.repo.network, pr.base_sha, pr.head_sha)
    changes = diff(pr.repo.commit(meeting) if meeting else None, pr.repo.commit(pr.head_sha))
    opened = pr.state == "open"
    state = "unknown" if not opened or pr.mergeable is None else "clean" if pr.mergeable else "dirty"
    return {
        **pull_simple(world, pr, urls),
        "merged": pr.merged_at is not None,
        "mergeable": pr.mergeable if opened else None,
        "rebaseable": pr.mergeable if opened else None,
        "mergeable_state": state,
        "merged_by": None if pr.merged_by is None else user(pr.merged_by, urls),
        "comments": len(pr.comments),
        "review_comments": 0,
        "maintainer_can_modify": pr.from_fork,
        "commits": len(world.pr_commits(pr)),
        "additions": sum(change.additions for change in changes),
        "deletions": sum(change.deletions for change in changes),
        "changed_files": len(changes),
    }


def pull_minimal(pr: PullRequest, urls: Urls) -> Json:
    """The form inside workflow runs."""

    def side(ref: str, sha: str, repo: Repo) -> Json:
        return {"ref": ref, "sha": sha, "repo": {"id": repo.id, "url": repo_url(repo, urls), "name": repo.name}}

    return {
        "id": pr.id,
        "number": pr.number,
        "url": f"{repo_url(pr.repo, urls)}/pulls/{pr.number}",
        "head": side(pr.head_ref, pr.head_sha, pr.head_repo or pr.repo),
        "base": side(pr.base_ref, pr.base_sha, pr.repo),
    }


def _issue_label(item: Label, repo: Repo, urls: Urls) -> Json:
    return {key: value for key, value in render.label(item, repo, urls).items() if not key.startswith("archived")}


def issue(pr: PullRequest, urls: Urls) -> Json:
    api = f"{repo_url(pr.repo, urls)}/issues/{pr.number}"
    html = f"{urls.html}/{pr.repo.full_name}/pull/{pr.number}"
    return {
        "id": pr.id + 1,  # an issue's id is not its pull request's
        "node_id": node_id("PullRequest", pr.id),
        "url": api,
        "repository_url": repo_url(pr.repo, urls),
        "labels_url": f"{api}/labels{{/name}}",
        "comments_url": f"{api}/comments",
        "events_url": f"{api}/events",
        "timeline_url": f"{api}/timeline",
        "html_url": html,
        "number": pr.number,
        "state": pr.state,
        "state_reason": None,
        "title": pr.title,
        "body": pr.body,
        "user": user(pr.author, urls),
        "labels": [_issue_label(item, pr.repo, urls) for item in pr.labels],
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "locked": pr.locked,
        "active_lock_reason": None,
        "comments": len(pr.comments),
        "pull_request": {
            "url": f"{repo_url(pr.repo, urls)}/pulls/{pr.number}", "html_url": html, "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch", "merged_at": iso_or_none(pr.merged_at),
        },
        "closed_at": iso_or_none(pr.closed_at),
        "created_at": iso(pr.created_at),
        "updated_at": iso(pr.updated_at),
        "draft": pr.draft,
        "author_association": association(pr.repo, pr.author),
        "reactions": reactions(api),
        "performed_via_github_app": None,
    }  # fmt: skip


def issue_event(event: IssueEvent, repo: Repo, urls: Urls) -> Json:
    api = repo_url(repo, urls)
    shown = {
        "id": event.id,
        "node_id": node_id("Event", event.id),
        "url": f"{api}/issues/events/{event.id}",
        "actor": user(event.actor, urls),
        "event": event.event,
        "commit_id": event.commit_id,
        "commit_url": None if event.commit_id is None else f"{api}/commits/{event.commit_id}",
        "created_at": iso(event.created_at),
        "performed_via_github_app": render.app(event.app, urls),
        **event.extra,
    }
    if event.label is not None:
        return {**shown, "label": {"name": event.label.name, "color": event.label.color}}
    if not event.extra:
        # The description knows closed, merged and force-pushed events only loosely; this is the form that it accepts.
        shown["lock_reason"] = None
    return shown


def timeline_item(item: IssueEvent | Comment | Review | Commit, pr: PullRequest, urls: Urls) -> Json:
    if isinstance(item, IssueEvent):
        return issue_event(item, pr.repo, urls)
    if isinstance(item, Comment):
        return {"event": "commented", "actor": user(item.author, urls), **comment(item, urls)}
    if isinstance(item, Review):
        return {"event": "reviewed", **review(item, urls)}
    # No actor and no server time: only what the committer wrote into the commit.
    return {"event": "committed", **render.git_commit(item, pr.repo, urls)}


def review(item: Review, urls: Urls) -> Json:
    pr = item.pr
    own = f"{repo_url(pr.repo, urls)}/pulls/{pr.number}"
    html = f"{urls.html}/{pr.repo.full_name}/pull/{pr.number}#pullrequestreview-{item.id}"
    return {
        "id": item.id,
        "node_id": node_id("PullRequestReview", item.id),
        "user": user(item.author, urls),
        "body": item.body,
        "state": item.state,
        "html_url": html,
        "pull_request_url": own,
        "author_association": association(pr.repo, item.author),
        "_links": {"html": {"href": html}, "pull_request": {"href": own}},
        "submitted_at": iso(item.submitted_at),
        "commit_id": item.commit_id,
    }


def comment(item: Comment, urls: Urls) -> Json:
    pr = item.pr
    own = f"{repo_url(pr.repo, urls)}/issues/comments/{item.id}"
    return {
        "id": item.id,
        "node_id": node_id("IssueComment", item.id),
        "url": own,
        "html_url": f"{urls.html}/{pr.repo.full_name}/pull/{pr.number}#issuecomment-{item.id}",
        "issue_url": f"{repo_url(pr.repo, urls)}/issues/{pr.number}",
        "user": user(item.author, urls),
        "created_at": iso(item.created_at),
        "updated_at": iso(item.updated_at),
        "author_association": association(pr.repo, item.author),
        "body": item.body,
        "reactions": reactions(own, item),
        "performed_via_github_app": render.app(item.app, urls),
        "minimized": None if item.minimized is None else {"reason": item.minimized},
    }
