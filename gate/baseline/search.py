"""The search for the baseline among all artifacts of its name: newest first, looking things up only as far as needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gate.baseline.choose import Candidate, Job, Manifest, Origin, RecordFacts, Refusal, RunFacts, Wanted, refusal
from gate.baseline.found import Found, Missing, days_until
from gate.baseline.latest import read_latest
from gate.baseline.manifest import unpack_artifact
from gate.baseline.record import Record
from gate.errors import InvalidInput
from gate.github.artifacts import Artifact, ArtifactTooLarge, WrongDigest, download, list_artifacts
from gate.github.failures import Gone, NotFound
from gate.github.repository import Repository
from gate.reports.report import BaselineInfo

WARN_DAYS = 14.0
# How many candidates are looked at closely; each costs some requests of the token's thousand an hour.
MAX_CLOSE = 25
MAX_OVERTAKEN = 10
_LINEAR = 8
_NO_RUN = "its run does not exist any more"
_SHOWN = 10

_RECREATE = (
    "re-create it by an approved pull request, or by starting the workflow by hand (workflow_dispatch) on the default branch; "
    "README, «Baseline»"
)


class Search:
    """One search. ``base_sha``: what the baseline must be contained in; ``url``: the repository's page; ``now``: seconds since
    1970."""

    def __init__(
        self, repository: Repository, wanted: Wanted, base_sha: str, own_run_id: int, url: str, now: float, session: Any = None
    ) -> None:
        self._repository, self._wanted, self._base, self._own_run = repository, wanted, base_sha, own_run_id
        self._url, self._now, self._session = url, now, session
        self._runs: dict[int, RunFacts | None] = {}
        self._reached: dict[tuple[str, str], bool] = {}
        self._refused: list[tuple[Artifact, Refusal]] = []
        self._sources: dict[int, int] = {}
        self._stopped = self._default_tip = ""
        self._newest: Artifact | None = None
        self._latest: Record | None = None
        self._no_latest = ""

    def find(self) -> Found | Missing:
        listed = [
            item for name in self._wanted.names for item in list_artifacts(self._repository, name) if item.run_id != self._own_run
        ]
        # By run and not by time: re-running an old push makes a new artifact of an old state.
        listed.sort(key=lambda item: (item.run_id, item.id), reverse=True)
        own = [item for item in listed if not self._note(item, refusal(Candidate(_origin(item)), self._wanted))]
        alive = [item for item in own if not item.expired]
        close = alive[self._first_before_base(alive) :]
        for place, item in enumerate(close[:MAX_CLOSE]):
            found = self._judge(item)
            if found is not None:
                return self._overtaken(found, close[place + 1 :]) or found
        if len(close) > MAX_CLOSE:
            # "Never" would be a guess, and it lets a run bootstrap.
            self._stopped = f"only the newest {MAX_CLOSE} of {len(close)} artifacts were looked at"
        # Only to tell "there was one" from "there never was one": whose runs made the expired ones and those of other commits?
        seen = [item for item, refused in self._refused if refused.kind == "elsewhere"]
        self._refused = [(item, refused) for item, refused in self._refused if refused.kind != "elsewhere"]
        for item in [*seen, *[item for item in own if item.expired][:5]]:
            run = self._run(item.run_id)
            self._note(
                item,
                refusal(Candidate(_origin(item), run, before_base=False), self._wanted) if run else Refusal("foreign", _NO_RUN),
            )
        return self._missing()

    def _first_before_base(self, items: list[Artifact]) -> int:
        """Index of the first that the base contains. A pull request far behind would make looking at each expensive; beyond the
        first few, history is taken to be in order and halved."""
        for place, item in enumerate(items[:_LINEAR]):
            if self._reaches(item.head_sha, self._base):
                return place
            self._note(item, refusal(Candidate(_origin(item), before_base=False), self._wanted))
        low, high = min(_LINEAR, len(items)), len(items)
        while low < high:
            middle = (low + high) // 2
            if self._reaches(items[middle].head_sha, self._base):
                high = middle
            else:
                low = middle + 1
        return low

    def _judge(self, item: Artifact) -> Found | None:
        """All conditions, looking up one fact after the other."""
        candidate = Candidate(_origin(item))
        run = self._run(item.run_id)
        if run is None:
            self._note(item, Refusal("foreign", _NO_RUN))
            return None
        for look in (
            lambda: {"run": run},
            lambda: {"before_base": self._reaches(item.head_sha, self._base)},
            lambda: {"on_default": self._reaches(item.head_sha, self._tip())},
        ):
            candidate = replace(candidate, **look())
            if self._note(item, refusal(candidate, self._wanted)):
                return None
        try:
            packed = download(self._repository, item, session=self._session)
            manifest, record, data = unpack_artifact(packed, f"artifact {item.id}")
        except Gone:
            self._note(item, Refusal("expired", "it has expired"))
            return None
        except (InvalidInput, ArtifactTooLarge, WrongDigest, NotFound) as fault:
            self._note(item, Refusal("unusable", fault.problems[0].removeprefix(f"artifact {item.id}: ")))
            return None
        facts = RecordFacts(record.digest, record.gate, record.repository_id, record.snapshot_digest, record.provenance.kind)
        candidate = replace(candidate, manifest=manifest, record=facts)
        if self._note(item, refusal(candidate, self._wanted)):
            return None
        if run.conclusion != "success":
            candidate = replace(candidate, jobs=self._jobs(item.run_id))
        refused = refusal(candidate, self._wanted, complete=True)
        if refused is None or refused.kind == "unfinished":
            self._remember_latest(item, packed, manifest, record)
        if self._note(item, refused):
            return None
        return self._found(item, manifest, record, data)

    def _remember_latest(self, item: Artifact, packed: bytes, manifest: Manifest, record: Record) -> None:
        """What the newest run on the default branch retrieved. A run that ended red has no say in what the baseline is, but what it
        retrieved is where the default branch stands: a change that is set against anything older would be blamed for it."""
        if self._newest is not None:
            return
        self._newest = item
        try:
            self._latest = read_latest(packed, manifest, record)
        except InvalidInput as fault:
            self._no_latest = (
                f"this change is compared with the baseline only, not with what the default branch retrieves at {item.head_sha[:7]}: "
                f"{fault.problems[0]} (artifact {item.id})"
            )

    def _overtaken(self, found: Found, older: list[Artifact]) -> Found | None:
        """An approved baseline that the carried one passed over: when two pushes are handled at once, the later one may carry
        what it read before the earlier one stored what had been approved. Whoever carries names the source, so only what lies
        between counts."""
        source = self._sources.get(found.artifact_id, 0)
        if found.state != "carried" or not source:
            return None
        for item in older[:MAX_OVERTAKEN]:
            if item.id == source:
                return None
            other = self._judge(item)
            if other is not None and other.state == "approved":
                note = (
                    f"artifact {found.artifact_id} carried an older record past the approved one of artifact {item.id} "
                    f"(two runs on the default branch at the same time); the approved one is used"
                )
                # The bytes are the approved ones, but the default branch has been judged up to the later run.
                return replace(other, notes=(*other.notes, note), published_at=found.published_at, verdict=found.verdict)
        return None

    # -- looking up ----------------------------------------------------------------------------------------------------

    def _reaches(self, old: str, new: str) -> bool:
        if (old, new) not in self._reached:
            self._reached[old, new] = bool(old) and (old == new or self._repository.is_ancestor_or_same(old, new))
        return self._reached[old, new]

    def _tip(self) -> str:
        if not self._default_tip:
            self._default_tip = self._repository.branch_tip(self._wanted.default_branch)
        return self._default_tip

    def _run(self, run_id: int) -> RunFacts | None:
        if run_id not in self._runs:
            try:
                self._runs[run_id] = run_facts(self._repository, run_id)
            except NotFound:
                self._runs[run_id] = None
        return self._runs[run_id]

    def _jobs(self, run_id: int) -> tuple[Job, ...]:
        return tuple(Job(str(job.get("name", "")), str(job.get("conclusion") or "")) for job in self._repository.jobs(run_id))

    # -- telling -------------------------------------------------------------------------------------------------------

    def _note(self, item: Artifact, refused: Refusal | None) -> bool:
        if refused is not None:
            self._refused.append((item, refused))
        return refused is not None

    def _reasons(self) -> tuple[str, ...]:
        said = [f"artifact {item.id}: {refused.reason}" for item, refused in self._refused]
        said = [self._stopped, *said] if self._stopped else said
        return tuple(said[:_SHOWN]) + ((f"… and {len(said) - _SHOWN} more artifacts of this name",) if len(said) > _SHOWN else ())

    def _found(self, item: Artifact, manifest: Manifest, record: Record, data: bytes) -> Found:
        left = days_until(item.expires_at, self._now)
        notes = []
        if left is not None and left <= WARN_DAYS:
            notes.append(
                f"the baseline expires in {max(left, 0):.0f} days; a run on the default branch renews it "
                f"(`schedule:` keeps a quiet repository's baseline alive)"
            )
        # Newer ones of our own that could not be used are news; strangers' artifacts are not.
        notes += [
            f"artifact {other.id}, which is newer, was passed over: {refused.reason}"
            for other, refused in self._refused
            if refused.kind in ("unusable", "expired")
        ]
        notes += [self._no_latest] if self._no_latest else []
        itself = item is self._newest and manifest.state != "carried"  # baseline and latest run are one
        age = days_until(record.created, self._now)
        info = BaselineInfo(
            digest=record.digest,
            commit=record.commit,
            created=record.created,
            provenance=record.provenance.sentence(),
            url=f"{self._url}/actions/runs/{item.run_id}/artifacts/{item.id}",
            age_days=None if age is None else -age,
            expires_in_days=left,
        )
        self._sources[item.id] = manifest.carried_from
        return Found(
            record,
            data,
            info,
            tuple(notes),
            manifest.state,
            item.id,
            item.head_sha,
            manifest.verdict,
            self._reasons(),
            None if itself else self._latest,
        )

    def _missing(self) -> Missing:
        kinds = {refused.kind for _, refused in self._refused}
        name = self._wanted.names[0]
        if "expired" in kinds:
            return Missing(
                "expired",
                f"the baseline `{name}` has expired: artifacts live as long as the repository's retention says",
                _RECREATE,
                self._reasons(),
            )
        if "unusable" in kinds or self._stopped:
            return Missing(
                "unacceptable",
                f"there are artifacts `{name}` from the default branch, but none may be used here",
                _RECREATE,
                self._reasons(),
            )
        if "elsewhere" in kinds:
            return Missing(
                "elsewhere",
                f"baselines `{name}` exist only for commits that {self._base[:7]} does not contain",
                "update the branch to the newest commit of the default branch",
                self._reasons(),
            )
        return Missing(
            "never",
            f"no run on the default branch has published a baseline `{name}` yet",
            "merge the gate to the default branch; its first run there creates the baseline (README, «Baseline»)",
            self._reasons(),
        )


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
    )


def _origin(item: Artifact) -> Origin:
    return Origin(item.name, item.repository_id, item.head_repository_id, item.head_branch, item.head_sha, item.expired)
