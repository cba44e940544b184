"""The search for the baseline among all that a place holds for a gate: newest first, looking things up only as far as needed."""

from __future__ import annotations

from dataclasses import replace

from gate.baseline.choose import Candidate, Manifest, Refusal, Wanted, record_facts, refusal
from gate.baseline.found import Found, Missing, days_until
from gate.baseline.lookups import Lookups
from gate.baseline.record import Record
from gate.baseline.shelf import Item, Loaded, Shelf
from gate.baseline.timeline import read_history, with_baseline
from gate.errors import GitHubError, InvalidInput
from gate.github.artifacts import ArtifactTooLarge, WrongDigest
from gate.github.failures import Gone, NotFound
from gate.github.repository import Repository
from gate.history import Point
from gate.reports.report import BaselineInfo

WARN_DAYS = 14.0
# How many candidates are looked at closely; each costs some requests of the token's thousand an hour.
MAX_CLOSE = 25
MAX_OVERTAKEN = 10
_LINEAR = 8
_NO_RUN = "its run does not exist any more"
_SHOWN = 10

RECREATE = (
    "re-create it by an approved pull request, or by starting the workflow by hand (workflow_dispatch) on the default branch; "
    "README, «Baseline»"
)


class Search:
    """One search. ``base_sha``: what the baseline must be contained in; ``own_run_id``: of a run whose items are left out; ``now``:
    seconds since 1970. Afterwards, ``history_unread``: whether there is a history that GitHub did not hand over."""

    def __init__(self, repository: Repository, wanted: Wanted, shelf: Shelf, base_sha: str, own_run_id: int, now: float) -> None:
        self._wanted, self._shelf, self._base, self._own_run = wanted, shelf, base_sha, own_run_id
        self._now = now
        self._look = Lookups(repository, wanted.default_branch, shelf)
        self._refused: list[tuple[Item, Refusal]] = []
        self._sources: dict[int, int] = {}
        self._stopped = ""
        self._newest: Item | None = None
        self._latest: Record | None = None
        self._no_latest = ""
        self._history: tuple[Point, ...] | None = None
        self._no_history = ""
        self.history_unread = False
        self.listed: list[Item] = []

    def find(self) -> Found | Missing:
        self.listed = [item for item in self._shelf.items() if item.run_id != self._own_run]
        own = [item for item in self.listed if not self._note(item, item.fault or refusal(Candidate(item.origin), self._wanted))]
        alive = [item for item in own if not item.origin.expired]
        close = alive[self._first_before_base(alive) :]
        for place, item in enumerate(close[:MAX_CLOSE]):
            found = self._judge(item)
            if found is not None:
                return self._overtaken(found, close[place + 1 :]) or found
        if len(close) > MAX_CLOSE:
            # "Never" would be a guess, and it lets a run bootstrap.
            self._stopped = f"only the newest {MAX_CLOSE} of {len(close)} {self._shelf.words.more} were looked at"
        # Only to tell "there was one" from "there never was one": whose runs made the expired ones and those of other commits?
        seen = [item for item, refused in self._refused if refused.kind == "elsewhere"]
        self._refused = [(item, refused) for item, refused in self._refused if refused.kind != "elsewhere"]
        for item in [*seen, *[item for item in own if item.origin.expired][:5]]:
            run = self._look.run(item)
            self._note(
                item,
                refusal(Candidate(item.origin, run, before_base=False), self._wanted) if run else Refusal("foreign", _NO_RUN),
            )
        return self._missing()

    def _first_before_base(self, items: list[Item]) -> int:
        """Index of the first that the base contains. A pull request far behind would make looking at each expensive; beyond the
        first few, history is taken to be in order and halved."""
        for place, item in enumerate(items[:_LINEAR]):
            if self._look.reaches(item.head_sha, self._base):
                return place
            self._note(item, refusal(Candidate(item.origin, before_base=False), self._wanted))
        low, high = min(_LINEAR, len(items)), len(items)
        while low < high:
            middle = (low + high) // 2
            if self._look.reaches(items[middle].head_sha, self._base):
                high = middle
            else:
                low = middle + 1
        return low

    def _judge(self, item: Item) -> Found | None:
        """All conditions, looking up one fact after the other."""
        candidate = Candidate(item.origin)
        run = self._look.run(item)
        if run is None:
            self._note(item, Refusal("foreign", _NO_RUN))
            return None
        for look in (
            lambda: {"run": run},
            lambda: {"before_base": self._look.reaches(item.head_sha, self._base)},
            lambda: {"on_default": self._look.on_default(item.head_sha)},
        ):
            candidate = replace(candidate, **look())
            if self._note(item, refusal(candidate, self._wanted)):
                return None
        try:
            loaded = self._shelf.load(item)
        except Gone:
            self._note(item, Refusal("expired", "it has expired"))
            return None
        except (InvalidInput, ArtifactTooLarge, WrongDigest, NotFound) as fault:
            self._note(item, Refusal("unusable", fault.problems[0].removeprefix(f"{item.label}: ")))
            return None
        manifest, record = loaded.manifest, loaded.record
        candidate = replace(candidate, manifest=manifest, record=record_facts(record))
        if self._note(item, refusal(candidate, self._wanted)):
            return None
        if run.conclusion != "success":
            candidate = replace(candidate, jobs=self._look.jobs(item.run_id))
        refused = refusal(candidate, self._wanted, complete=True)
        if refused is None or refused.kind == "unfinished":
            self._remember_latest(item, loaded)
            self._remember_history(item, loaded)
        if self._note(item, refused):
            return None
        return self._found(item, manifest, record, loaded.data)

    def _remember_latest(self, item: Item, loaded: Loaded) -> None:
        """What the newest run on the default branch retrieved. A run that ended red has no say in what the baseline is, but what it
        retrieved is where the default branch stands: a change that is set against anything older would be blamed for it."""
        if self._newest is not None:
            return
        self._newest = item
        try:
            self._latest = loaded.latest()
        except InvalidInput as fault:
            self._no_latest = (
                f"this change is compared with the baseline only, not with what the default branch retrieves at {item.head_sha[:7]}: "
                f"{fault.problems[0]} ({item.label})"
            )

    def _remember_history(self, item: Item, loaded: Loaded) -> None:
        """The newest history that can be read. Whatever is wrong with one, a picture is all that it costs."""
        if self._history is not None:
            return
        try:
            self._history = read_history(loaded.history, self._wanted.gate)
        except (InvalidInput, GitHubError) as fault:
            self._no_history = f"the history of {item.label} is left out: {fault.problems[0]}"
            self.history_unread = isinstance(fault, GitHubError)

    def _overtaken(self, found: Found, older: list[Item]) -> Found | None:
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
                    f"artifact {found.artifact_id} carried an older record past the approved one of {item.label} "
                    f"(two runs on the default branch at the same time); the approved one is used"
                )
                # The bytes are the approved ones, but the default branch has been judged up to the later run.
                return replace(other, notes=(*other.notes, note), published_at=found.published_at, verdict=found.verdict)
        return None

    # -- telling -------------------------------------------------------------------------------------------------------

    def _note(self, item: Item, refused: Refusal | None) -> bool:
        if refused is not None:
            self._refused.append((item, refused))
        return refused is not None

    def _reasons(self) -> tuple[str, ...]:
        said = [f"{item.label}: {refused.reason}" for item, refused in self._refused]
        said = [self._stopped, *said] if self._stopped else said
        return tuple(said[:_SHOWN]) + ((f"… and {len(said) - _SHOWN} more {self._shelf.words.more}",) if len(said) > _SHOWN else ())

    def _found(self, item: Item, manifest: Manifest, record: Record, data: bytes) -> Found:
        left = days_until(item.expires_at, self._now)
        notes = []
        if left is not None and left <= WARN_DAYS:
            notes.append(
                f"the baseline expires in {max(left, 0):.0f} days; a run on the default branch renews it "
                f"(`schedule:` keeps a quiet repository's baseline alive)"
            )
        if self._look.gone(item):
            notes.append(f"the run that stored the baseline is gone from GitHub; {item.label} stands for itself")
        # Newer ones of our own that could not be used are news; strangers' artifacts are not.
        newer = {id(other) for other in self.listed[: self.listed.index(item)]}
        notes += [
            f"{other.label}, which is newer, was passed over: {refused.reason}"
            for other, refused in self._refused
            if refused.kind in ("unusable", "expired") and id(other) in newer
        ]
        notes += [note for note in (self._no_latest, self._no_history) if note]
        itself = item is self._newest and manifest.state != "carried"  # baseline and latest run are one
        age = days_until(record.created, self._now)
        info = BaselineInfo(
            digest=record.digest,
            commit=record.commit,
            created=record.created,
            provenance=record.provenance.sentence(),
            url=item.url,
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
            None if itself or (self._latest and self._latest.digest == record.digest) else self._latest,
            with_baseline(self._history or (), record, info.digest),
        )

    def _missing(self) -> Missing:
        kinds = {refused.kind for _, refused in self._refused}
        name = self._shelf.words.name
        if "expired" in kinds:
            return Missing(
                "expired",
                f"the baseline `{name}` has expired: artifacts live as long as the repository's retention says",
                RECREATE,
                self._reasons(),
            )
        if "unusable" in kinds or self._stopped:
            return Missing(
                "unacceptable",
                self._shelf.words.unusable,
                RECREATE,
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
            "merge the gate to the default branch; its first run there creates the baseline (README, «Baseline»). If it has run there, "
            "see its report: a run that fails (below a floor, without a must-hit query) makes none",
            self._reasons(),
        )
