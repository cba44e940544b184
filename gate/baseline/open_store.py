"""From a configuration to the store that it names, and what a change does to a store that lies in the repository."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from gate.baseline.file_store import FileStore
from gate.baseline.found import Found, Missing
from gate.baseline.home import Home
from gate.baseline.record import Record
from gate.baseline.stores import ArtifactStore, Store
from gate.errors import InvalidInput
from gate.github.artifact_upload import ArtifactService
from gate.github.event import Context
from gate.github.repository import Repository
from gate.pipeline import Evaluated
from gate.reports.report import InputChange
from gate.settings import Settings


def open_store(repository: Repository, rules: Settings, context: Context, workspace: Path, *, service: Callable[[], ArtifactService],
               keep: Callable[[str, bytes], None], clock: Callable[[], float]) -> Store:
    """``keep``: takes a name and bytes that go with the reports."""
    home = Home(repository, rules.baseline, rules.gate, context.repository_id, context.default_branch, context.workflow_path,
                context.server_url, clock)
    if rules.baseline.store == "branch":
        from gate.baseline.branch_store import BranchStore

        return BranchStore(home)
    if rules.baseline.store == "file":
        return FileStore(home, _within(rules, workspace), keep)
    return ArtifactStore(home, service)


def _within(rules: Settings, workspace: Path) -> str:
    """The file's path from the repository's root. It is asked of GitHub by name, so links play no part."""
    root, path = os.path.abspath(workspace), os.path.abspath(rules.baseline.file or "")
    if os.path.commonpath([root, path]) != root or path == root:
        raise InvalidInput(f"`baseline.path`: {rules.baseline.path!r} leads out of the repository")
    return Path(path).relative_to(root).as_posix()


def with_committed(store: Store, found: Found | Missing, old: str, context: Context, settings: Settings,
                   evaluated: Evaluated) -> tuple[Found | Missing, tuple[InputChange, ...]]:
    """What to compare with, and what the change from the commit ``old`` to that of the run does to a committed baseline. Where the base
    has none that can be used, the one that the change brings is compared with: it has been verified, and whoever approves the change
    approves it."""
    if not isinstance(store, FileStore) or evaluated.failure:
        return found, ()
    golden = evaluated.golden
    this_run = Record(settings.gate, evaluated.run.rankings, golden.digest, labels=golden.labels, corpus_digest=evaluated.corpus_digest,
                      snapshot_digest=evaluated.snapshot_digest, depth=settings.depth)
    # The base branch may have moved since the test merge was made; what it brought is not this change's doing.
    old = (store.built_on(context.sha) if context.event == "pull_request" else "") or old
    moved = store.committed(old, context.sha, this_run)
    if moved is None:
        return found, ()
    return (moved.found if isinstance(found, Missing) and moved.found else found), (moved.change,)
