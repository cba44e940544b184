"""Renders workflow runs, jobs, artifacts and branches."""

from __future__ import annotations

from . import render
from .http_types import Urls, iso, iso_or_none
from .render import Json, node_id, repo_url
from .render_pulls import pull_minimal
from .state import Artifact, Job, Repo, Run, Workflow
from .world_actions import ActionVerbs


def run(item: Run, urls: Urls, exclude_pulls: bool = False) -> Json:
    repo, api = item.repo, f"{repo_url(item.repo, urls)}/actions/runs/{item.id}"
    head = item.repo.network.commits.get(item.head_sha)
    suite = f"{repo_url(repo, urls)}/check-suites/{item.suite_id}"
    return {
        "id": item.id,
        "name": item.workflow.name,
        "node_id": node_id("WorkflowRun", item.id),
        "head_branch": item.head_branch,
        "head_sha": item.head_sha,
        "path": item.path,
        "display_title": head.message.splitlines()[0] if head and head.message else item.workflow.name,
        "run_number": item.number,
        "run_attempt": item.attempt,
        "event": item.event,
        "status": item.status,
        "conclusion": item.conclusion,
        "workflow_id": item.workflow.id,
        "check_suite_id": item.suite_id,
        "check_suite_node_id": node_id("CheckSuite", item.suite_id),
        "url": api,
        "html_url": f"{urls.html}/{repo.full_name}/actions/runs/{item.id}",
        "pull_requests": [] if exclude_pulls else [pull_minimal(pr, urls) for pr in item.pulls],
        "created_at": iso(item.created_at),
        "updated_at": iso(item.updated_at),
        "run_started_at": iso(item.started_at),
        "actor": render.user(item.actor, urls),
        "triggering_actor": render.user(item.triggering_actor, urls),
        "referenced_workflows": [],
        "jobs_url": f"{api}/jobs",
        "logs_url": f"{api}/logs",
        "check_suite_url": suite,
        "artifacts_url": f"{api}/artifacts",
        "cancel_url": f"{api}/cancel",
        "rerun_url": f"{api}/rerun",
        "previous_attempt_url": f"{api}/attempts/{item.attempt - 1}" if item.attempt > 1 else None,
        "workflow_url": f"{repo_url(repo, urls)}/actions/workflows/{item.workflow.id}",
        "head_commit": None if head is None else render.simple_commit(head),
        "repository": render.minimal_repo(repo, urls),
        "head_repository": render.minimal_repo(item.head_repo, urls),
    }


def workflow(item: Workflow, repo: Repo, urls: Urls) -> Json:
    html = f"{urls.html}/{repo.full_name}"
    return {
        "id": item.id,
        "node_id": node_id("Workflow", item.id),
        "name": item.name,
        "path": item.path,
        "state": "active",
        "created_at": iso(item.created_at),
        "updated_at": iso(item.created_at),
        "url": f"{repo_url(repo, urls)}/actions/workflows/{item.id}",
        "html_url": f"{html}/blob/{repo.default_branch}/{item.path}",
        "badge_url": f"{html}/workflows/{item.name}/badge.svg",
    }


def job(item: Job, of: Run, urls: Urls) -> Json:
    api = repo_url(of.repo, urls)
    return {
        "id": item.id,
        "run_id": of.id,
        "run_url": f"{api}/actions/runs/{of.id}",
        "run_attempt": item.attempt,
        "node_id": node_id("CheckRun", item.id),
        "head_sha": of.head_sha,
        "head_branch": of.head_branch,
        "url": f"{api}/actions/jobs/{item.id}",
        "html_url": f"{urls.html}/{of.repo.full_name}/actions/runs/{of.id}/job/{item.id}",
        "status": item.status,
        "conclusion": item.conclusion,
        "created_at": iso(item.started_at),
        "started_at": iso(item.started_at),
        "completed_at": iso_or_none(item.completed_at),
        "name": item.name,
        "steps": [],
        "check_run_url": f"{api}/check-runs/{item.id}",
        "labels": ["ubuntu-latest"],
        "runner_id": 1,
        "runner_name": "GitHub Actions 1",
        "runner_group_id": 0,
        "runner_group_name": "GitHub Actions",
        "workflow_name": of.workflow.name,
    }


def artifact(world: ActionVerbs, item: Artifact, urls: Urls) -> Json:
    api = f"{repo_url(item.run.repo, urls)}/actions/artifacts/{item.id}"
    return {
        "id": item.id,
        "node_id": node_id("Artifact", item.id),
        "name": item.name,
        "size_in_bytes": item.size,
        "url": api,
        "archive_download_url": f"{api}/zip",
        "expired": world.expired(item),
        "digest": item.digest,
        "created_at": iso(item.created_at),
        "updated_at": iso(item.created_at),
        "expires_at": iso(item.expires_at),
        # Deliberately little: event, conclusion and path have to be looked up on the run itself.
        "workflow_run": {
            "id": item.run.id,
            "repository_id": item.run.repo.id,
            "head_repository_id": item.run.head_repo.id,
            "head_branch": item.run.head_branch,
            "head_sha": item.run.head_sha,
        },
    }


def branch(repo: Repo, name: str, urls: Urls) -> Json:
    own = f"{repo_url(repo, urls)}/branches/{name}"
    protected = name in repo.protected
    return {
        "name": name,
        "commit": render.commit(repo.commit(repo.branches[name]), repo, urls),
        "_links": {"self": own, "html": f"{urls.html}/{repo.full_name}/tree/{name}"},
        "protected": protected,
        "protection": {
            "enabled": protected,
            "required_status_checks": {"enforcement_level": "off", "contexts": [], "checks": []},
        },
        "protection_url": f"{own}/protection",
    }
