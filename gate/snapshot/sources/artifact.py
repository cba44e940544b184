"""Source ``artifact``: an artifact of a workflow run. Its name proves nothing; which run made it has to be the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from gate.errors import SnapshotUnavailable
from gate.fields import Section
from gate.secret_text import SecretText
from gate.snapshot.sources.base import Room, own_repository, read_name, read_repository, read_size, read_token, token_of

if TYPE_CHECKING:
    from gate.baseline.choose import RunFacts
    from gate.github.artifacts import Artifact
    from gate.github.repository import Repository

_CLOSE = 10
_SHOWN = 5


class Options(NamedTuple):
    """``run_id``: 0 for the newest run of ``workflow`` on ``branch`` ("" for the default one). ``repository``: "" for the job's own."""

    name: str
    repository: str
    run_id: int
    workflow: str
    branch: str
    limit: int
    token: SecretText = SecretText()

    @property
    def shown(self) -> str:
        return f"artifact {self.name}" + (f" of {self.repository}" if self.repository else "") + \
            (f", run {self.run_id}" if self.run_id else "")


def read(section: Section) -> Options:
    """Faults are remembered in the section."""
    found = Options(read_name(section, "name", required=True), read_repository(section), section.integer("run_id", 0, 1, 2**62),
                    read_name(section, "workflow"), read_name(section, "branch"), read_size(section), read_token(section))
    if bool(found.workflow) == bool(section.raw("run_id") is not None):
        section.problem("workflow", "an artifact is taken from one run (`run_id`) or from the newest run of a `workflow` on a `branch`; "
                                    "exactly one of `run_id` and `workflow` must be given")
    if found.branch and not found.workflow:
        section.problem("branch", "`branch` belongs to `workflow`")
    return found


def refusal(options: Options, branch: str, artifact: Artifact, run: RunFacts | None = None) -> str:
    """Why an artifact is not taken, as far as it is known; empty when nothing speaks against it."""
    from gate.baseline.choose import EVENTS, workflow_file

    if artifact.name != options.name:
        return f"it is called {artifact.name}"
    if not artifact.repository_id or artifact.repository_id != artifact.head_repository_id:
        return "it was made by a run for a fork"
    if artifact.expired:
        return "it has expired"
    if options.run_id:
        return "" if artifact.run_id == options.run_id else f"it was made by run {artifact.run_id}"
    if artifact.head_branch != branch:
        return f"it was made on branch {artifact.head_branch}, not on {branch}"
    if run is None:
        return ""
    if run.event not in EVENTS:
        return f"it was made by a {run.event} run"
    if not run.repository_id == run.head_repository_id == artifact.repository_id:
        return "its run belongs to another repository or a fork"
    if run.head_branch != branch or run.head_sha != artifact.head_sha:
        return f"its run was for {run.head_sha[:7]} on {run.head_branch}, which is not what the artifact says"
    if workflow_file(run.path) != workflow_file(options.workflow):
        return f"it was made by the workflow {run.path.split('@')[0]}, not by {workflow_file(options.workflow)}"
    if run.conclusion != "success":
        return f"its run {'ended with ' + run.conclusion if run.conclusion else 'is still under way'}"
    return ""


def fetch(options: Options, room: Room) -> None:
    """See :mod:`gate.snapshot.sources`."""
    from gate.github.repository import Repository
    from gate.github.transport import Transport
    from gate.snapshot.archive import fetch_archive
    from gate.snapshot.download import Wanted

    world = room.world
    name, token = own_repository(options.repository, world, "artifact"), token_of(options.token, world, "artifact", world.token)
    repository = Repository(Transport(world.api_url, token, sleep=room.sleep), name)
    found = _choose(options, repository)
    url = f"{world.api_url.rstrip('/')}/repos/{name}/actions/artifacts/{found.id}/zip"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    shown = f"{options.shown} (artifact {found.id} of run {found.run_id})"
    fetch_archive(room, Wanted(url, shown, options.limit, headers, urlsplit(world.api_url).scheme == "http"),
                  found.digest.removeprefix("sha256:"), pinned_by="GitHub recorded at the upload")


def _choose(options: Options, repository: Repository) -> Artifact:
    """The newest that nothing speaks against."""
    from gate.baseline.lookups import run_facts
    from gate.github.artifacts import list_artifacts, list_run_artifacts
    from gate.github.failures import NotFound

    branch = options.branch
    if options.run_id:
        try:
            listed = list_run_artifacts(repository, options.run_id, options.name)
        except NotFound:
            raise SnapshotUnavailable(f"{repository.full_name} has no run {options.run_id}, or the token may not read it",
                                      "name a run that is there; the job needs `actions: read`") from None
    else:
        branch = branch or repository.identity().default_branch
        listed = list_artifacts(repository, options.name)
    reasons: list[str] = []
    looked = 0
    for artifact in listed:
        why = refusal(options, branch, artifact)
        if not why and not options.run_id:
            if looked == _CLOSE:
                reasons.append(f"only the newest {_CLOSE} were looked at closely")
                break
            looked += 1
            try:
                run = run_facts(repository, artifact.run_id)
            except NotFound:
                why = "its run does not exist any more"
            else:
                why = refusal(options, branch, artifact, run) or _lost(repository, artifact, branch)
        if not why:
            return artifact
        reasons.append(f"artifact {artifact.id}: {why}")
    told = "; ".join(reasons[:_SHOWN]) + (f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else "")
    where = f"run {options.run_id}" if options.run_id else f"{options.workflow} on {branch}"
    raise SnapshotUnavailable(f"{options.shown}: {repository.full_name} has no usable one from {where}" + (f" ({told})" if told else ""),
                              "run the workflow that makes it; artifacts live as long as the repository's retention says")


def _lost(repository: Repository, artifact: Artifact, branch: str) -> str:
    """A tag can be called like the branch, and then the run says so too."""
    tip = repository.branch_tip(branch)
    if tip == artifact.head_sha or repository.is_ancestor_or_same(artifact.head_sha, tip):
        return ""
    return f"its commit {artifact.head_sha[:7]} is not on {branch}"
