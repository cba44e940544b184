"""Event payloads: GitHub's own examples, filled with the ids, shas and names of the fake's state."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

from . import render, render_actions, render_pulls
from .graph import compare
from .http_types import Urls
from .state import Commit, MergeGroup, PullRequest, Repo, Run, User
from .world_actions import ActionVerbs
from .world_repos import ZERO_SHA

EXAMPLES = Path(__file__).parent.parent / "data" / "github" / "webhook_examples"
Payload = dict[str, Any]
Who = User | str


@cache
def _text(name: str) -> str:
    return (EXAMPLES / f"{name}.json").read_text(encoding="utf-8")


def example(name: str) -> Payload:
    """The payload as published. The id of an app installation is dropped: it would name somebody else's."""
    payload: Payload = json.loads(_text(name))
    payload.pop("installation", None)
    return payload


def fill(base: Any, state: Any) -> Any:
    """`state` wins; keys that only the example has are kept, so that payloads are as full as real ones."""
    if isinstance(base, dict) and isinstance(state, dict):
        return {
            key: fill(base.get(key), state[key]) if key in state else base[key]
            for key in [*base, *(state.keys() - base.keys())]
        }
    return copy.deepcopy(state)


class EventVerbs(ActionVerbs):
    server_url: str

    def _urls(self) -> Urls:
        return Urls("https://api.github.com", self.server_url, "")

    def _common(self, base: Payload, repo: Repo, sender: Who) -> Payload:
        urls = self._urls()
        if repo.owner.type == "Organization":
            api = f"{urls.api}/orgs/{repo.owner.login}"
            base["organization"] = {
                "login": repo.owner.login, "id": repo.owner.id,
                "node_id": render.node_id("Organization", repo.owner.id),
                "url": api, "repos_url": f"{api}/repos", "events_url": f"{api}/events", "hooks_url": f"{api}/hooks",
                "issues_url": f"{api}/issues", "members_url": f"{api}/members{{/member}}",
                "public_members_url": f"{api}/public_members{{/member}}",
                "avatar_url": f"https://avatars.githubusercontent.com/u/{repo.owner.id}?v=4", "description": "",
            }  # fmt: skip
        else:
            base.pop("organization", None)
        base["repository"] = fill(base.get("repository", {}), render.repository(repo, urls))
        base["sender"] = fill(base.get("sender", {}), render.user(self.user(sender), urls))
        return base

    def pull_request_event(
        self,
        pr: PullRequest,
        action: str = "opened",
        *,
        label: str | None = None,
        before: str | None = None,
        sender: Who | None = None,
    ) -> Payload:
        """`labeled` and `unlabeled` take the label; `synchronize` takes the head before the push (default: its
        parent)."""
        known = ("opened", "synchronize", "labeled", "unlabeled", "closed")
        payload = example(f"pull_request.{action if action in known else 'opened'}")
        urls = self._urls()
        payload |= {"action": action, "number": pr.number}
        payload["pull_request"] = fill(payload["pull_request"], render_pulls.pull(self, pr, urls))
        if label is not None:
            payload["label"] = render.label(self.repo_label(pr.repo, label), pr.repo, urls)
        if action == "synchronize":
            parents = pr.repo.commit(pr.head_sha).parents
            payload |= {"before": before or (parents[0] if parents else ZERO_SHA), "after": pr.head_sha}
        return self._common(payload, pr.repo, sender or pr.author)

    def push_event(
        self,
        repo: Repo,
        sha: str | None = None,
        before: str | None = None,
        *,
        branch: str | None = None,
        sender: Who | None = None,
        forced: bool = False,
    ) -> Payload:
        """A push of `before`..`sha` (default: the branch's tip and its first parent; "0"*40 is a new branch)."""
        branch = branch or repo.default_branch
        sha = sha or repo.branches[branch]
        head, urls = repo.commit(sha), self._urls()
        before = before or (head.parents[0] if head.parents else ZERO_SHA)
        payload = example("push")
        found = compare(repo.network, before, sha) if before in repo.network.commits else None
        shas = [sha] if found is None else found.ahead
        html = f"{urls.html}/{repo.full_name}"
        self._common(payload, repo, sender or head.author or repo.owner)
        shown = payload["sender"]["login"]
        payload |= {
            "ref": f"refs/heads/{branch}", "before": before, "after": sha, "created": before == ZERO_SHA,
            "deleted": False,
            "forced": forced, "base_ref": None, "compare": f"{html}/compare/{before[:12]}...{sha[:12]}",
            "commits": [self._pushed(repo.commit(item), html) for item in shas[-20:]],
            "head_commit": self._pushed(head, html),
            "pusher": {"name": shown, "email": self.user(shown).email},
        }  # fmt: skip
        # In a push the repository has times as numbers, its html address as `url`, and an owner with name and e-mail.
        owner = payload["repository"]["owner"] | {"name": repo.owner.login, "email": repo.owner.email}
        born = int(repo.created_at.timestamp())
        payload["repository"] |= {
            "url": html, "owner": owner, "created_at": born, "pushed_at": int(self.clock.now.timestamp()),
            "stargazers": 0,
            "master_branch": repo.default_branch,
        }  # fmt: skip
        return payload

    def _pushed(self, commit: Commit, html: str) -> Payload:
        """Without the lists of files: the runner's copy of the payload has none."""
        shown = render.simple_commit(commit)
        name = commit.author.login if commit.author else None
        person = shown["author"] | ({"username": name} if name else {})
        return {**shown, "distinct": True, "url": f"{html}/commit/{commit.sha}", "author": person, "committer": person}

    def merge_group_event(self, group: MergeGroup, sender: Who = "github-merge-queue[bot]") -> Payload:
        payload = example("merge_group.checks_requested")
        head = render.simple_commit(group.repo.commit(group.head_sha))
        payload["merge_group"] = {
            "head_sha": group.head_sha, "head_ref": group.head_ref, "base_sha": group.base_sha,
            "base_ref": f"refs/heads/{group.base_ref}",
            "head_commit": fill(payload["merge_group"]["head_commit"], head),
        }  # fmt: skip
        return self._common(payload, group.repo, sender)

    def workflow_run_event(self, run: Run, action: str = "completed") -> Payload:
        payload = example("workflow_run.completed.with_pull_requests")
        urls = self._urls()
        payload["action"] = action
        payload["workflow_run"] = fill(payload["workflow_run"], render_actions.run(run, urls))
        payload["workflow"] = fill(payload["workflow"], render_actions.workflow(run.workflow, run.repo, urls))
        return self._common(payload, run.repo, run.triggering_actor)

    def schedule_event(self, repo: Repo, cron: str = "15 4 * * *") -> Payload:
        # There is no such webhook; Actions writes the line of the schedule beside the repository.
        return self._common({"schedule": cron, "workflow": ".github/workflows/gate.yml"}, repo, repo.owner)

    def dispatch_event(
        self, repo: Repo, sender: Who, inputs: dict[str, str] | None = None, branch: str | None = None
    ) -> Payload:
        ref = f"refs/heads/{branch or repo.default_branch}"
        path = ".github/workflows/gate.yml"
        return self._common({"inputs": inputs, "ref": ref, "workflow": path}, repo, sender)

    def job_env(self, run: Run, api_url: str, *, sha: str | None = None, ref: str | None = None) -> dict[str, str]:
        """The variables that the runner gives a job of `run`, pointed at this server (`fake.url` or
        `fake.url_for(host)`).
        The event file, the token input and the output files are the test's business."""
        pr = next(
            (p for p in run.repo.pulls.values() if run.event == "pull_request" and p.head_sha == run.head_sha), None
        )
        if pr is not None:
            sha, ref = sha or self.test_merge(pr), ref or f"refs/pull/{pr.number}/merge"
        ref = ref or f"refs/heads/{run.head_branch}"
        repo = run.repo
        return {
            "GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_API_URL": api_url,
            "GITHUB_GRAPHQL_URL": f"{api_url}/graphql",
            "GITHUB_SERVER_URL": self.server_url, "GITHUB_REPOSITORY": repo.full_name,
            "GITHUB_REPOSITORY_ID": str(repo.id),
            "GITHUB_REPOSITORY_OWNER": repo.owner.login, "GITHUB_REPOSITORY_OWNER_ID": str(repo.owner.id),
            "GITHUB_EVENT_NAME": run.event, "GITHUB_RUN_ID": str(run.id), "GITHUB_RUN_ATTEMPT": str(run.attempt),
            "GITHUB_RUN_NUMBER": str(run.number), "GITHUB_WORKFLOW": run.workflow.name, "GITHUB_JOB": run.jobs[0].name,
            "GITHUB_WORKFLOW_REF": f"{repo.full_name}/{run.workflow.path}@{ref}", "GITHUB_REF": ref,
            "GITHUB_WORKFLOW_SHA": sha or run.head_sha, "GITHUB_SHA": sha or run.head_sha,
            "GITHUB_REF_NAME": ref.removeprefix("refs/heads/").removeprefix("refs/pull/"), "GITHUB_REF_TYPE": "branch",
            "GITHUB_HEAD_REF": run.head_branch if pr else "", "GITHUB_BASE_REF": pr.base_ref if pr else "",
            "GITHUB_ACTOR": run.actor.login, "GITHUB_ACTOR_ID": str(run.actor.id),
            "GITHUB_TRIGGERING_ACTOR": run.triggering_actor.login, "GITHUB_RETENTION_DAYS": str(self.retention_days),
            "ACTIONS_RUNTIME_URL": f"{api_url}/", "ACTIONS_RESULTS_URL": f"{api_url}/",
            "ACTIONS_RUNTIME_TOKEN": self.runtime_token(run),
        }  # fmt: skip
