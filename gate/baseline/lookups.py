"""Facts that judging a stored baseline takes, each asked of GitHub once."""

from __future__ import annotations

from gate.baseline.choose import Job, RunFacts
from gate.baseline.shelf import Item, Shelf
from gate.github.failures import NotFound
from gate.github.repository import Repository


class Lookups:
    """What is known of runs and commits so far."""

    def __init__(self, repository: Repository, default_branch: str, shelf: Shelf) -> None:
        self._repository, self._default_branch, self._shelf = repository, default_branch, shelf
        self._runs: dict[int, RunFacts | None] = {}
        self._reached: dict[tuple[str, str], bool] = {}
        self._tip = ""

    def reaches(self, old: str, new: str) -> bool:
        """Whether the commit ``old`` is ``new`` or an ancestor of it."""
        if (old, new) not in self._reached:
            self._reached[old, new] = bool(old) and (old == new or self._repository.is_ancestor_or_same(old, new))
        return self._reached[old, new]

    def on_default(self, sha: str) -> bool:
        """Whether a commit is on the default branch."""
        if not self._tip:
            self._tip = self._repository.branch_tip(self._default_branch)
        return self.reaches(sha, self._tip)

    def run(self, item: Item) -> RunFacts | None:
        """The run that stored an item; None when there is none."""
        if item.run_id not in self._runs:
            try:
                self._runs[item.run_id] = run_facts(self._repository, item.run_id)
            except NotFound:
                self._runs[item.run_id] = None
        return self._runs[item.run_id] or self._shelf.forgotten(item)

    def gone(self, item: Item) -> bool:
        """Whether GitHub does not know the run any more."""
        return item.run_id in self._runs and self._runs[item.run_id] is None

    def jobs(self, run_id: int) -> tuple[Job, ...]:
        """The jobs of a run."""
        return tuple(Job(str(job.get("name", "")), str(job.get("conclusion") or "")) for job in self._repository.jobs(run_id))


def run_facts(repository: Repository, run_id: int) -> RunFacts:
    """A run as plain facts; the starter's permission is asked for when the run was started by hand."""
    value = repository.run(run_id)
    person = value.get("triggering_actor") or value.get("actor") or {}
    actor, by_hand = str(person.get("login", "")), value.get("event") == "workflow_dispatch"
    return RunFacts(
        event=str(value.get("event", "")),
        status=str(value.get("status") or ""),
        conclusion=str(value.get("conclusion") or ""),
        head_branch=str(value.get("head_branch") or ""),
        head_sha=str(value.get("head_sha", "")),
        path=str(value.get("path") or ""),
        repository_id=int((value.get("repository") or {}).get("id") or 0),
        head_repository_id=int((value.get("head_repository") or {}).get("id") or 0),
        actor=actor,
        actor_permission=repository.permission(actor, person.get("id")) if by_hand else "",
        began=str(value.get("created_at") or ""),
        ended=str(value.get("updated_at") or "") if value.get("status") == "completed" else "",
    )
