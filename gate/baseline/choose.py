"""Which stored baseline may be trusted: one pure function over plain facts about an artifact and the run that made it.

An artifact's name proves nothing: every pull request, from forks too, can upload one of the same name from a branch of the same
name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from gate.baseline.approval import WRITERS
from gate.baseline.record import BASELINES, Record

MANIFEST_SCHEMA = 1
STATES = ("bootstrap", "carried", "approved")
EVENTS = ("push", "schedule", "workflow_dispatch")
WORKFLOWS = ".github/workflows/"
# GitHub's clocks need not agree to the second.
_SLACK = timedelta(minutes=1)


@dataclass(frozen=True)
class Origin:
    """What GitHub's list says about an artifact; of a commit in a branch, what its message claims. ``written_at``: when it was stored, ISO
    8601, where only that ties it to its run; "" elsewhere."""

    name: str
    repository_id: int
    head_repository_id: int
    head_branch: str
    head_sha: str
    expired: bool = False
    written_at: str = ""


@dataclass(frozen=True)
class Job:
    """One job of the run; ``conclusion`` is "" while it runs."""

    name: str
    conclusion: str


@dataclass(frozen=True)
class RunFacts:
    """What GitHub says about the run. ``actor_permission``: what the person who started it may do now; asked for dispatches
    only. ``began``, ``ended``: ISO 8601, "" for unknown or under way."""

    event: str
    status: str
    conclusion: str
    head_branch: str
    head_sha: str
    path: str
    repository_id: int
    head_repository_id: int
    actor: str = ""
    actor_permission: str = ""
    began: str = ""
    ended: str = ""


@dataclass(frozen=True)
class Manifest:
    """What the artifact says about itself. ``carried_from``: id of the artifact that a carried record was taken from, 0 when
    unknown; ``latest_digest``: of the record of the storing run itself, "" where there is none beside the baseline."""

    schema: int
    gate: str
    repository_id: int
    head_sha: str
    record_digest: str
    snapshot_digest: str
    state: str
    run_id: str = ""
    job: str = ""
    carried_from: int = 0
    verdict: str = ""
    latest_digest: str = ""


@dataclass(frozen=True)
class RecordFacts:
    """What the record inside says."""

    digest: str
    gate: str
    repository_id: int
    snapshot_digest: str
    provenance: str


def record_facts(record: Record) -> RecordFacts:
    """Of a whole record."""
    return RecordFacts(record.digest, record.gate, record.repository_id, record.snapshot_digest, record.provenance.kind)


@dataclass(frozen=True)
class Wanted:
    """What a baseline must be. ``names``: artifact names that count; ``workflow``: path of the workflow file; ``gate``: its
    id."""

    names: tuple[str, ...]
    gate: str
    repository_id: int
    default_branch: str
    workflow: str


@dataclass(frozen=True)
class Candidate:
    """An artifact and what is known of it so far; None = not looked up yet. ``fault``: why its bytes cannot be used, "" when
    they can."""

    origin: Origin
    run: RunFacts | None = None
    on_default: bool | None = None
    before_base: bool | None = None
    fault: str | None = None
    manifest: Manifest | None = None
    record: RecordFacts | None = None
    jobs: tuple[Job, ...] | None = None


@dataclass(frozen=True)
class Refusal:
    """Why a candidate is not taken. ``kind``: foreign (not made by this gate's runs on the default branch, so no trace of a
    baseline), unfinished (its run failed or is under way, so it never was one), expired, elsewhere (good, but the base does not
    contain its commit), or unusable."""

    kind: str
    reason: str


def refusal(candidate: Candidate, wanted: Wanted, complete: bool = False) -> Refusal | None:
    """Why not, or None. Looks only at what is known, so that looking up stops at the first refusal; with ``complete`` whatever
    is still unknown refuses. Cheap and telling questions come first."""
    return (
        _origin(candidate.origin, wanted)
        or (_run(candidate.run, candidate.origin, wanted) if candidate.run else None)
        or _expired(candidate)
        or _position(candidate)
        or _content(candidate, wanted)
        or (_success(candidate) if candidate.run else None)
        or (_unknown(candidate) if complete else None)
    )


def _origin(origin: Origin, wanted: Wanted) -> Refusal | None:
    if origin.name not in wanted.names:
        return _foreign(f"it is called {origin.name}")
    if not wanted.repository_id or origin.repository_id != wanted.repository_id:
        return _foreign("it belongs to another repository")
    if origin.head_repository_id != wanted.repository_id:
        return _foreign("it was made by a run for a fork")
    if not wanted.default_branch or origin.head_branch != wanted.default_branch:
        return _foreign(f"it was made on branch {origin.head_branch}, not on {wanted.default_branch}")
    return None


def _run(run: RunFacts, origin: Origin, wanted: Wanted) -> Refusal | None:
    if run.event not in EVENTS:
        return _foreign(f"it was made by a {run.event} run")
    if run.repository_id != wanted.repository_id or run.head_repository_id != wanted.repository_id:
        return _foreign("its run belongs to another repository or a fork")
    if run.head_branch != wanted.default_branch:
        return _foreign(f"its run was on {run.head_branch}, not on {wanted.default_branch}")
    if run.head_sha != origin.head_sha:
        return _foreign("its run was for another commit than the artifact says")
    if origin.written_at and run.began and not _within(origin.written_at, run):
        return _foreign(f"it was written at {origin.written_at}, and not while the run that it names was under way")
    expected = workflow_file(wanted.workflow)
    if not expected:
        return _foreign("it is not known which workflow may publish the baseline (setting `baseline.workflow`)")
    if workflow_file(run.path) != expected:
        return _foreign(f"it was made by the workflow {run.path.split('@')[0]}, not by {expected}")
    if run.event == "workflow_dispatch" and run.actor_permission not in WRITERS:
        return _foreign(f"it was started by hand by {run.actor or 'somebody unknown'}, who has no write permission")
    return None


def _within(moment: str, run: RunFacts) -> bool:
    try:
        at, began = datetime.fromisoformat(moment), datetime.fromisoformat(run.began)
        return began - _SLACK <= at and (not run.ended or at <= datetime.fromisoformat(run.ended) + _SLACK)
    except (ValueError, TypeError):
        return False


def _expired(candidate: Candidate) -> Refusal | None:
    # Only once the run is known to be ours: a stranger's expired artifact is no trace of a baseline.
    return Refusal("expired", "it has expired") if candidate.origin.expired and candidate.run else None


def _position(candidate: Candidate) -> Refusal | None:
    sha = candidate.origin.head_sha[:7]
    if candidate.on_default is False:
        return Refusal("unusable", f"its commit {sha} is not on the default branch (a tag, or history that was rewritten)")
    if candidate.before_base is False:
        return Refusal("elsewhere", f"its commit {sha} is not contained in the base of this change")
    return None


def _content(candidate: Candidate, wanted: Wanted) -> Refusal | None:
    if candidate.fault:
        return Refusal("unusable", candidate.fault)
    manifest, record = candidate.manifest, candidate.record
    if manifest is not None:
        facts = (
            ("schema", manifest.schema, MANIFEST_SCHEMA),
            ("gate", manifest.gate, wanted.gate),
            ("repository id", manifest.repository_id, wanted.repository_id),
            ("commit", manifest.head_sha, candidate.origin.head_sha),
        )
        for what, found, expected in facts:
            if found != expected:
                return Refusal("unusable", f"its manifest names the {what} {found!r} instead of {expected!r}")
        if manifest.state not in STATES:
            return Refusal("unusable", f"its manifest names the unknown state {manifest.state!r}")
    if manifest is not None and record is not None:
        agreed = (
            record.digest == manifest.record_digest
            and record.snapshot_digest == manifest.snapshot_digest
            and record.gate == wanted.gate
            and record.repository_id in (0, wanted.repository_id)
            and (record.provenance in BASELINES if manifest.state == "carried" else record.provenance == manifest.state)
        )
        if not agreed:
            return Refusal("unusable", "its manifest and its record contradict each other")
    return None


def _success(candidate: Candidate) -> Refusal | None:
    """The run succeeded, or the gate's own job did whatever else went wrong or is still going on."""
    run = candidate.run
    if run is None or run.conclusion == "success":
        return None
    if candidate.jobs is None or candidate.manifest is None:
        return None  # not looked up yet; `complete` will insist
    if _own_jobs_succeeded(candidate.jobs, candidate.manifest.job):
        return None
    return Refusal(
        "unfinished",
        f"its run {'ended with ' + run.conclusion if run.conclusion else 'is still ' + run.status.replace('_', ' ')}"
        ", and its gate job has not succeeded",
    )


def _own_jobs_succeeded(jobs: tuple[Job, ...], key: str) -> bool:
    """A job's display name is its key, the key with matrix values in brackets, or either behind the name of a calling job."""
    own = [job for job in jobs if key and job.name.rpartition(" / ")[2].split(" (")[0] == key]
    if not own and len(jobs) == 1:
        own = list(jobs)  # a job with a `name:` of its own
    return bool(own) and all(job.conclusion == "success" for job in own)


def _unknown(candidate: Candidate) -> Refusal | None:
    run, known = candidate.run, (candidate.run, candidate.on_default, candidate.before_base, candidate.manifest, candidate.record)
    if run is None or any(fact is None for fact in known) or (run.conclusion != "success" and candidate.jobs is None):
        return Refusal("unusable", "not everything about it could be looked up")
    return None


def _foreign(reason: str) -> Refusal:
    return Refusal("foreign", reason)


def workflow_file(path: str) -> str:
    """``gate.yml``, ``.github/workflows/gate.yml@refs/heads/main`` → ``.github/workflows/gate.yml``."""
    plain = path.split("@")[0].strip()
    return WORKFLOWS + plain if plain and "/" not in plain else plain
