"""Baselines in a branch of their own: a folder for each gate, a commit for each run that had something to store."""

from __future__ import annotations

import re
from collections.abc import Callable

from gate.baseline.choose import Manifest, Origin, Refusal, RunFacts, Wanted
from gate.baseline.found import days_until
from gate.baseline.latest import read_latest
from gate.baseline.manifest import LATEST_FILE, MANIFEST_FILE, read_manifest
from gate.baseline.record import Provenance, Record, unpack
from gate.baseline.shelf import Item, Loaded, Words
from gate.baseline.timeline import HISTORY_FILE
from gate.baseline.timeline import MAX_BYTES as MAX_HISTORY
from gate.errors import InvalidInput
from gate.github.answers import one_line
from gate.github.branches import Branch, BranchCommit

BASELINE_FILE = "baseline.json.gz"
# No GitHub forgets a run earlier than that, unless somebody deletes it.
FORGOTTEN_DAYS = 90.0
README = """# Baselines of Retrieval Gate

Written by the gate's runs on the default branch, a folder for each gate, and read by its runs on pull requests. Nobody else has
anything to write here: what does not come from such a run is passed over. How it works is in the gate's README, «Baseline».
"""
_TRAILER = re.compile(r"^Head: (?P<head>[0-9a-f]{40}(?:[0-9a-f]{24})?)\nRun: \S*/actions/runs/(?P<run>\d{1,18})\Z", re.M)


class BranchShelf:
    """``signs``: whether GitHub signs there what apps write, so that nothing else has to be believed; ``url``: the repository's page."""

    def __init__(self, branch: Branch, wanted: Wanted, url: str, signs: bool, clock: Callable[[], float]) -> None:
        self._branch, self._wanted, self._url, self._signs, self._clock = branch, wanted, url, signs, clock
        name = f"{branch.name}:{wanted.gate}"
        self.words = Words(name, "commits of this branch",
                           f"the branch `{branch.name}` has commits for the gate `{wanted.gate}`, but none may be used here")
        self.tip = ""

    def items(self) -> list[Item]:
        """As the branch stands now, newest first. A branch that does not exist holds nothing."""
        self.tip = self._branch.tip()
        return [self._item(commit) for commit in self._branch.commits(self.tip, self._wanted.gate)] if self.tip else []

    def _item(self, commit: BranchCommit) -> Item:
        told = _TRAILER.search(commit.message)
        head, run = (told["head"], int(told["run"])) if told else ("", 0)
        # All of this is the message's claim. The run and the manifest are held against it.
        wanted = self._wanted
        origin = Origin(wanted.names[0], wanted.repository_id, wanted.repository_id, wanted.default_branch, head,
                        written_at=commit.date)
        fault = self._fault(commit) or ("" if told else "its message is not one that the gate writes")
        return Item(f"commit {commit.sha[:7]}", 0, run, origin, f"{self._url}/tree/{commit.sha}/{wanted.gate}",
                    fault=Refusal("unusable", fault) if fault else None, source=commit)

    def _fault(self, commit: BranchCommit) -> str:
        if not commit.app:
            return f"it was written by {commit.author or 'somebody without an account'}, and the gate writes as an app (the job's token)"
        if self._signs and not commit.signed:
            return f"it names {commit.author} as its author without a signature of GitHub, which signs what an app writes"
        return ""

    def load(self, item: Item) -> Loaded:
        """See :class:`~gate.baseline.shelf.Shelf`."""
        manifest = read_manifest(self._file(item, MANIFEST_FILE), item.label)
        if manifest.run_id != str(item.run_id):
            raise InvalidInput(f"{item.label}: its message names run {item.run_id}, its manifest run {manifest.run_id or 'none'}")
        data = self._file(item, BASELINE_FILE)
        record = unpack(data, f"{item.label}, {BASELINE_FILE}")
        return Loaded(manifest, record, data, lambda: self._latest(item, manifest, record), lambda: self._history(item))

    def _latest(self, item: Item, manifest: Manifest, record: Record) -> Record:
        if manifest.latest_digest == record.digest:
            return record  # the run found all as the baseline has it
        return read_latest(lambda: self._file(item, LATEST_FILE), manifest, record)

    def _history(self, item: Item) -> bytes | None:
        return self._branch.read(f"{self._wanted.gate}/{HISTORY_FILE}", item.source.sha, MAX_HISTORY)

    def _file(self, item: Item, name: str) -> bytes:
        data = self._branch.read(f"{self._wanted.gate}/{name}", item.source.sha)
        if data is None:
            raise InvalidInput(f"{item.label}: holds no {self._wanted.gate}/{name}")
        return data

    def forgotten(self, item: Item) -> RunFacts | None:
        """GitHub forgets runs after some months, and a branch outlives them: then the commit stands for itself. A young commit that names
        no run is not old but made up."""
        left = days_until(item.origin.written_at, self._clock())
        if item.fault or left is None or left > -FORGOTTEN_DAYS:
            return None
        wanted = self._wanted
        return RunFacts("push", "completed", "success", wanted.default_branch, item.head_sha, wanted.workflow, wanted.repository_id,
                        wanted.repository_id)


def commit_message(manifest: Manifest, provenance: Provenance, run_url: str) -> str:
    """What a commit of the branch says: what is stored, why and by whom, and which run did it."""
    what = {"carried": "baseline stays", "bootstrap": "first baseline", "approved": "approved baseline"}[manifest.state]
    # Text of a review must not call anybody, close anything or end where the facts begin.
    why = one_line(provenance.sentence()).replace("@", "@\u200b").replace("#", "#\u200b")
    verdict = f"The run came to «{manifest.verdict}».\n" if manifest.verdict else ""
    return (f"{manifest.gate}: {what}, as of {manifest.head_sha[:7]}\n\nThe record was {why}.\n{verdict}\n"
            f"Head: {manifest.head_sha}\nRun: {run_url}")
