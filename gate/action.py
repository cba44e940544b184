"""One GitHub event → exit code. Builds the outside world and hands it to a step, or to the run that comments for others."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, MutableMapping
from dataclasses import replace
from pathlib import Path

from gate.errors import EXIT_CANNOT_DECIDE, GateError, GitHubError
from gate.github import commands
from gate.github.event import Context, Mode, choose_mode, read_context
from gate.github.repository import Repository
from gate.github.transport import Transport
from gate.inputs import drop_secrets, read_inputs
from gate.step import Step
from gate.world import world_of


def main(environ: MutableMapping[str, str] | None = None, sleep: Callable[[float], None] = time.sleep,
         clock: Callable[[], float] = time.time) -> int:
    """The step. Never lets an unforeseen error look like a pass."""
    environ = os.environ if environ is None else environ
    try:
        return _run(environ, sleep, clock)
    except GateError as error:
        print(commands.annotation("error", error.text(), title="Retrieval Gate"))
        return error.exit_code
    except Exception:
        print(commands.neutralise(traceback.format_exc()))
        print(commands.annotation("error", "The gate itself broke; the log has the traceback. This is no judgement of the change.",
                                  title="Retrieval Gate"))
        return EXIT_CANNOT_DECIDE
    finally:
        sys.stdout.flush()


def _run(environ: MutableMapping[str, str], sleep: Callable[[float], None], clock: Callable[[], float]) -> int:
    inputs, context = read_inputs(environ), read_context(environ)
    service_environ = {name: environ[name] for name in ("ACTIONS_RESULTS_URL", "ACTIONS_RUNTIME_TOKEN") if name in environ}
    files = {name: environ.get(name, "") for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    workspace = Path(environ.get("GITHUB_WORKSPACE") or ".")
    world = world_of(environ, workspace=workspace, token=inputs.token, api_url=context.api_url, repository=context.repository)
    drop_secrets(environ)
    choice = choose_mode(context)
    print(f"Retrieval Gate: {choice.reason}")
    if choice.mode is Mode.IGNORED:
        return 0
    if not inputs.token:
        raise GitHubError("input `token`: is empty", 0, "leave it out to take the job's token, or pass a secret that exists")
    repository = Repository(Transport(context.api_url, inputs.token, sleep=sleep), context.repository)
    if choice.mode is Mode.COMMENT:
        from gate.companion import Companion

        return Companion(inputs, _completed(context, repository), repository).run(files)
    step = Step(inputs, _completed(context, repository), workspace, repository, service_environ, world, sleep, clock)
    return step.run(choice.mode, files)


def _completed(context: Context, repository: Repository) -> Context:
    """The payloads of some events, and some runners, leave out what must be known of the repository and the workflow."""
    if not context.repository_id or not context.default_branch:
        known = repository.identity()
        context = replace(context, repository_id=context.repository_id or known.id,
                          default_branch=context.default_branch or known.default_branch)
    if not context.workflow_path and context.run_id:
        path = str(repository.run(context.run_id).get("path") or "")
        context = replace(context, workflow_path=path.split("@")[0])
    return context
