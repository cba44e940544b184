"""The store in the repository itself: the baseline is a committed file, and the gate only ever proposes its bytes."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gate import jsonio
from gate.baseline.choose import Candidate, Origin, refusal
from gate.baseline.found import Found, Missing, days_until
from gate.baseline.home import Home
from gate.baseline.latest import same_answers
from gate.baseline.lookups import run_facts
from gate.baseline.record import BASELINES, Record, unpack
from gate.baseline.search import RECREATE
from gate.baseline.stores import Published, check_publishable
from gate.errors import BaselineUnavailable, InvalidInput
from gate.github.archives import BadArchive, Caps, read_zip
from gate.github.artifact_upload import SUFFIXES
from gate.github.artifacts import ArtifactTooLarge, WrongDigest, download, list_run_artifacts
from gate.github.branches import MAX_BLOB, Branch
from gate.github.failures import Gone, NotFound
from gate.history import Point
from gate.reports.report import REPORT_ARTIFACT, BaselineInfo, InputChange

# What the proposed bytes are called in the report folder and its artifact.
PROPOSAL = "baseline.json.gz"
_RUN_ID = re.compile(r"[0-9]{1,18}\Z")
CHANGE = "baseline file"


class Uncommitted(BaselineUnavailable):
    """This run's record is the next baseline, and the repository does not hold it yet: exit 3, for nothing may be judged by it before."""


class Committed(NamedTuple):
    """What a change does to the committed file. ``found``: the file as it brings it, None when it removes it."""

    change: InputChange
    found: Found | None


class FileStore:
    """The baseline as ``path`` (from the repository's root). ``keep``: takes a name and bytes that go with the reports."""

    def __init__(self, home: Home, path: str, keep: Callable[[str, bytes], None]) -> None:
        self._repository, self._path, self._keep = home.repository, path, keep
        self._clock, self._url, self._wanted = home.clock, home.url, home.wanted(path)
        self._current: Record | None = None

    # -- finding -------------------------------------------------------------------------------------------------------

    def find(self, base_sha: str, own_run_id: int = 0) -> Found | Missing:
        """See :class:`~gate.baseline.stores.Store`. The file as of the base commit, never as of a checkout."""
        data = self._at(base_sha)
        if data is None:
            # A file that was there once is no first adoption.
            if Branch(self._repository, "").commits(base_sha, self._path, limit=1):
                return Missing("unacceptable", f"the baseline `{self._path}` was committed once and is not at {base_sha[:12]} any more",
                               f"bring it back from the history; or {RECREATE}")
            return Missing("never", f"no baseline has been committed as `{self._path}` yet",
                           "merge the gate to the default branch; its first run there writes the file to commit (README, «Baseline»)")
        try:
            found = self._verified(data, base_sha)
        except InvalidInput as fault:
            return Missing("unacceptable", f"the baseline `{self._path}` at {base_sha[:12]} may not be used",
                           f"bring an earlier one back from the history; or {RECREATE}", fault.problems)
        self._current = found.record
        return found

    def _at(self, ref: str) -> bytes | None:
        return self._repository.file_at(self._path, ref, MAX_BLOB)

    def _verified(self, data: bytes, ref: str, fresh: bool = False) -> Found:
        """The file's record, held against the run that it names. ``fresh``: nobody has agreed to it yet, so that there must be such a run.
        Raises InvalidInput with the reason."""
        record, wanted, name = unpack(data, self._path), self._wanted, self._path
        if record.gate != wanted.gate or record.repository_id != wanted.repository_id or record.provenance.kind not in BASELINES:
            raise InvalidInput(f"{name}: is a record of gate {record.gate!r} with the provenance {record.provenance.kind}, "
                               f"{'' if record.repository_id == wanted.repository_id else 'of another repository, '}"
                               f"not a baseline of {wanted.gate!r}")
        if not record.commit or not self._repository.is_ancestor_or_same(record.commit, ref):
            raise InvalidInput(f"{name}: its commit {record.commit[:7] or '(none)'} is not contained in {ref[:12]}")
        origin = Origin(wanted.names[0], wanted.repository_id, wanted.repository_id, wanted.default_branch, record.commit)
        if not _RUN_ID.match(record.run_id):
            raise InvalidInput(f"{name}: names no run")
        try:
            run = run_facts(self._repository, int(record.run_id))
        except NotFound:
            if fresh:
                raise InvalidInput(f"{name}: names the run {record.run_id}, which this repository does not have") from None
            run = None  # GitHub forgets runs after some months; what was committed after a review stays
        if run and (refused := refusal(Candidate(origin, run), wanted)):
            raise InvalidInput(f"{name}: {refused.reason}")
        age = days_until(record.created, self._clock())
        info = BaselineInfo(digest=record.digest, commit=record.commit, created=record.created, provenance=record.provenance.sentence(),
                            url=f"{self._url}/blob/{ref}/{self._path}", age_days=None if age is None else -age)
        return Found(record, data, info)

    # -- what a change brings ------------------------------------------------------------------------------------------

    def built_on(self, merge: str) -> str:
        """The base that a test merge was made with; "" when the commit is none."""
        parents = self._repository.commit(merge)["parents"]
        return str(parents[0]["sha"]) if len(parents) == 2 else ""

    def committed(self, old: str, new: str, this_run: Record) -> Committed | None:
        """What happens to the file between two commits; None when nothing does. ``this_run``: what the run at hand retrieves.

        Raises InvalidInput when the new file is not, byte for byte, what a run on the default branch proposed in its report, and does not
        say what this very run says either: a baseline is measured, not written."""
        before, after = self._at(old), self._at(new)
        if before == after:
            return None
        was = "none" if before is None else _digest(before)
        if after is None:
            return Committed(InputChange(CHANGE, was, f"removed ({self._path})", needs_approval=True), None)
        found = self._verified(after, new, fresh=True)
        if not same_answers(found.record, this_run) and not self._proposed(found.record, after):
            raise InvalidInput(f"{self._path}: is neither what the run {found.record.run_id} on the default branch proposed in its report "
                               "artifact nor what this run retrieves",
                               f"commit the `{PROPOSAL}` of that artifact unchanged, or leave the file as it is on the base branch")
        sentence = f"{_digest(after)}, of {found.record.commit[:7]}, {found.record.provenance.sentence()}"
        if before is not None and found.record.parent != self._digest_of(before):
            sentence += "; it was not made to follow the one that it replaces"
        return Committed(InputChange(CHANGE, was, sentence, needs_approval=True), found)

    def _digest_of(self, data: bytes) -> str:
        try:
            return unpack(data, self._path).digest
        except InvalidInput:
            return ""

    def _proposed(self, record: Record, data: bytes) -> bool:
        name = REPORT_ARTIFACT + self._wanted.gate
        for artifact in list_run_artifacts(self._repository, int(record.run_id)):
            if artifact.name not in [name + suffix for suffix in SUFFIXES] or artifact.expired or artifact.run_id != int(record.run_id):
                continue
            try:
                packed = download(self._repository, artifact)
                inside = read_zip(packed, (PROPOSAL,), Caps(file=MAX_BLOB, total=MAX_BLOB), artifact.name)
            except (BadArchive, ArtifactTooLarge, WrongDigest, NotFound, Gone):
                continue
            if inside.get(PROPOSAL) == data:
                return True
        return False

    # -- publishing ----------------------------------------------------------------------------------------------------

    def publish(self, data: bytes, state: str, *, head_sha: str, run_id: int, job: str = "", carried_from: int = 0,
                verdict: str = "", latest: Record | None = None, history: Sequence[Point] = ()) -> Published:
        """See :class:`~gate.baseline.stores.Store`. A file stays where it is, so there is nothing to carry, and no place for a history; a
        next baseline is handed out, and :class:`Uncommitted` is raised until it is committed."""
        record = check_publishable(data, state, self._wanted.gate)
        if state == "carried" or (self._current is not None and _alike(record, self._current)):
            return Published(self._path, record.digest, "no", "")
        self._keep(PROPOSAL, data)
        folder, path, gate = f"baseline-{run_id}", shlex.quote(self._path), self._wanted.gate
        message = shlex.quote(f"Baseline of gate {gate} as of {head_sha[:7]}")
        commands = (f"gh run download {run_id} --name {REPORT_ARTIFACT}{gate} --dir {folder}",
                    f"git switch --create {folder} origin/{shlex.quote(self._wanted.default_branch)}",
                    f"install -D -m 644 {folder}/{PROPOSAL} {path}", f"git add --force {path}", f"git commit --message {message}",
                    "git push --set-upstream origin HEAD")
        raise Uncommitted(f"the next baseline, {record.provenance.sentence()}, is not committed as {self._path} yet: it is {PROPOSAL} in "
                          f"the report folder and its artifact, {len(data)} bytes, {_digest(data)}",
                          "commit exactly these bytes in a pull request and have it approved: " + " && ".join(commands))


def _alike(one: Record, other: Record) -> bool:
    """Whether putting one in the other's place would change anything that a comparison sees."""
    return (same_answers(one, other) and one.snapshot_digest == other.snapshot_digest
            and jsonio.digest(dict(one.retriever)) == jsonio.digest(dict(other.retriever)))


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
