"""The store in a branch of its own: baselines that never expire, where there is no artifact service too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from gate import jsonio
from gate.baseline.branch_shelf import BASELINE_FILE, README, BranchShelf, commit_message
from gate.baseline.choose import MANIFEST_SCHEMA, Manifest
from gate.baseline.found import CLEAN, Found, Missing
from gate.baseline.home import Home
from gate.baseline.latest import same_answers
from gate.baseline.lookups import Lookups
from gate.baseline.manifest import LATEST_FILE, MANIFEST_FILE, manifest_bytes
from gate.baseline.record import Record, pack
from gate.baseline.search import MAX_CLOSE, RECREATE, Search
from gate.baseline.settle import APART, EARLIER, LATER, SAME, settle
from gate.baseline.shelf import Item, Loaded
from gate.baseline.standing import UNUSABLE, Standing, newest_standing
from gate.baseline.stores import Published, check_publishable
from gate.baseline.timeline import HISTORY_FILE, history_bytes, merged, read_history, tells_more
from gate.errors import GitHubError, InvalidInput
from gate.github.branches import MAX_BLOB, Branch, Rewriting, blob_sha
from gate.github.failures import Conflict, Forbidden, Unprocessable
from gate.history import Point
from gate.reports import badge

# How often a run that finds the branch moved reads it again.
MAX_TRIES = 5


class BranchStore:
    """Baselines in the folder ``<gate>`` of the branch ``settings.branch``."""

    def __init__(self, home: Home) -> None:
        name = home.settings.branch
        if name == home.default_branch:
            raise InvalidInput(f"`baseline.branch` is {name}, the default branch", "name a branch that nothing else uses")
        self._repository, self._clock, self._url = home.repository, home.clock, home.url
        self._branch, self._signs = Branch(home.repository, name), _signs(home.server_url)
        self._wanted = home.wanted(f"{name}:{home.gate}")
        self._shelf = BranchShelf(self._branch, self._wanted, home.url, self._signs, home.clock)
        self._seen: frozenset[str] = frozenset()
        self._unread = False

    # -- finding -------------------------------------------------------------------------------------------------------

    def find(self, base_sha: str, own_run_id: int = 0) -> Found | Missing:
        """See :class:`~gate.baseline.stores.Store`. A branch that was deleted or rewritten is no way to start afresh: until a run of the
        default branch has stored something since, by an approval or by somebody's hand, nothing in it counts."""
        search = Search(self._repository, self._wanted, self._shelf, base_sha, own_run_id, self._clock())
        found = search.find()
        self._seen, self._unread = frozenset(item.source.sha for item in search.listed), search.history_unread
        rewriting = self._branch.last_rewriting()
        if rewriting is None or self._settled(search.listed, rewriting):
            return found
        if isinstance(found, Missing) and found.kind != "never":
            return found
        return Missing("unacceptable", f"the branch `{self._branch.name}` {rewriting.sentence}, and nothing has been stored in it since: "
                       "what it held before is lost or may have been put back", RECREATE)

    def _settled(self, items: Sequence[Item], rewriting: Rewriting) -> bool:
        """Whether a run of the default branch has stored something since; it did so only with an approval or by somebody's hand."""
        since = [item for item in items if _after(item.source.date, rewriting)]
        look = Lookups(self._repository, self._wanted.default_branch, self._shelf)
        return newest_standing(since, self._wanted, self._shelf, look, MAX_CLOSE) is not None

    # -- publishing ----------------------------------------------------------------------------------------------------

    def publish(self, data: bytes, state: str, *, head_sha: str, run_id: int, job: str = "", carried_from: int = 0,
                verdict: str = "", latest: Record | None = None, history: Sequence[Point] = ()) -> Published:
        """See :class:`~gate.baseline.stores.Store`. Only ever adds to the branch; where another run was faster, the branch is read again
        and :func:`~gate.baseline.settle.settle` decides."""
        record = check_publishable(data, state, self._wanted.gate)
        if latest is not None and same_answers(latest, record):
            latest = record
        manifest = Manifest(MANIFEST_SCHEMA, self._wanted.gate, self._wanted.repository_id, head_sha, record.digest, record.snapshot_digest,
                            state, str(run_id), job, 0, verdict, latest.digest if latest else "")
        if len(data) > MAX_BLOB:
            raise InvalidInput(f"the record has {len(data)} bytes, and GitHub takes no file above {MAX_BLOB} into a branch",
                               "lower `depth`, or keep the baseline in artifacts (`baseline.store: artifact`)")
        return self._publish(manifest, data, record, latest, tuple(history))

    def _publish(self, manifest: Manifest, data: bytes, record: Record, latest: Record | None, history: tuple[Point, ...]) -> Published:
        base = record.digest if manifest.state == "carried" else record.parent
        for _ in range(MAX_TRIES):
            items = self._shelf.items()
            tip, others = self._shelf.tip, [item for item in items if item.run_id != int(manifest.run_id)]
            look = Lookups(self._repository, self._wanted.default_branch, self._shelf)
            other = newest_standing(others, self._wanted, self._shelf, look)
            if self._unchanged(manifest, latest, other, others, history):
                return self._nothing(record)
            seen = other is None or other.item.source.sha in self._seen
            order = _order(look, manifest.head_sha, other.manifest.head_sha) if other else APART
            settled = settle(manifest.state, base, other.manifest if other else None, order, seen)
            if not settled.write:
                return self._nothing(record, settled.sentence)
            if settled.parent:
                followed = replace(record, parent=settled.parent)
                history = tuple(point._replace(digest=followed.digest) if point.digest == record.digest else point for point in history)
                data, base, record = pack(followed), settled.parent, followed
                manifest = replace(manifest, record_digest=record.digest)
            # A history that could not be read when it was to be drawn is there all the same, and must not begin anew for that.
            told = merged(self._told(other.loaded) or (), history) if other and (self._unread or not seen) else history
            done = self._stored(manifest, data, record, latest, tip, other, told)
            if done:
                url = f"{self._url}/tree/{done}/{self._wanted.gate}"
                return Published(self._shelf.words.name, record.digest, manifest.state, url)
        raise Conflict(f"the branch `{self._branch.name}` moved {MAX_TRIES} times while this run tried to store its baseline", 409,
                       "run the job again")

    def _told(self, loaded: Loaded) -> tuple[Point, ...] | None:
        """The history that another run has stored; None when GitHub does not hand it over."""
        try:
            return read_history(loaded.history, self._wanted.gate) or ()
        except InvalidInput:
            return ()
        except GitHubError:
            return None

    def _stored(self, manifest: Manifest, data: bytes, record: Record, latest: Record | None, tip: str, other: Standing | None,
                history: Sequence[Point]) -> str:
        """The commit that the branch has been moved to; "" when somebody was faster."""
        name = self._branch.name
        try:
            done = self._write(manifest, data, record, latest, tip, other, history)
            return done if self._branch.move(done, tip) else ""
        except Forbidden as refused:
            raise GitHubError(refused.problems[0], 403, "give the gate's job on the default branch the permission `contents: write`: it "
                              f"stores the baseline in the branch `{name}` (README, «Where the baseline is kept»)") from None
        except Unprocessable as refused:
            raise GitHubError(refused.problems[0], 422, f"see whether a rule of the repository forbids the push to `{name}`, and let the "
                              "app whose token the gate uses pass it (README, «Where the baseline is kept»)") from None

    def _write(self, manifest: Manifest, data: bytes, record: Record, latest: Record | None, tip: str, other: Standing | None,
               history: Sequence[Point]) -> str:
        known = other is not None and other.loaded.data == data
        files: dict[str, bytes | str] = {MANIFEST_FILE: manifest_bytes(manifest), BASELINE_FILE: blob_sha(data) if known else data}
        if latest is not None and latest is not record:
            beside = pack(latest)
            if len(beside) <= MAX_BLOB:
                files[LATEST_FILE] = beside
            else:
                files[MANIFEST_FILE] = manifest_bytes(replace(manifest, latest_digest=""))
        files |= _badge(latest or record, manifest.verdict) | ({HISTORY_FILE: history_bytes(history, self._wanted.gate)} if history else {})
        message = commit_message(manifest, record.provenance, f"{self._url}/actions/runs/{manifest.run_id}")
        made = self._branch.write(self._wanted.gate, files, message, tip, {"README.md": README})
        if self._signs and (made.get("verification") or {}).get("verified") is not True:
            raise GitHubError("GitHub has not signed the commit that this run wrote, so no later run would believe it", 0,
                              "let the gate write with the job's own token, or with that of an app: a person's token signs nothing")
        return str(made["sha"])

    def _unchanged(self, manifest: Manifest, latest: Record | None, other: Standing | None, others: Sequence[Item],
                   history: Sequence[Point]) -> bool:
        """Whether the branch says already what this run would write: the same commit, baseline, rankings, verdict and point of the history.
        What a run stored that ended red is no baseline by itself, but a red main that runs every night need not write it again."""
        if manifest.state != "carried" or latest is None or not others:
            return False
        top, stands = others[0], other is not None and other.item is others[0]
        if not stands and (top.fault or manifest.verdict in CLEAN):
            return False
        try:
            loaded = other.loaded if other and stands else self._shelf.load(top)
            there = loaded.manifest
            verdicts = {there.verdict, manifest.verdict}
            return ((there.head_sha, there.record_digest) == (manifest.head_sha, manifest.record_digest)
                    and (len(verdicts) == 1 or verdicts <= set(CLEAN)) and same_answers(latest, loaded.latest())
                    and ((told := self._told(loaded)) is None or not tells_more(history, told, manifest.head_sha)))
        except UNUSABLE:
            return False

    def _nothing(self, record: Record, sentence: str = "") -> Published:
        return Published(self._shelf.words.name, record.digest, "no", "", notes=(sentence,) if sentence else ())


def _badge(record: Record, verdict: str) -> dict[str, bytes | str]:
    """What main found at this commit, for whoever looks at the branch; nobody reads it back."""
    metric = str(record.policy.get("primary") or next(iter(record.metrics), ""))
    endpoint, picture = badge.badge(metric, record.metrics.get(metric), verdict)
    return {badge.JSON: jsonio.pretty(endpoint).encode(), badge.SVG: picture.encode()}


def _order(look: Lookups, ours: str, theirs: str) -> str:
    """Where our commit lies, seen from theirs."""
    if ours == theirs:
        return SAME
    return LATER if look.reaches(theirs, ours) else EARLIER if look.reaches(ours, theirs) else APART


def _signs(server_url: str) -> bool:
    """Whether GitHub there signs what apps write: github.com and ghe.com do, a server of one's own only when it is told to."""
    host = server_url.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    return host == "github.com" or host.endswith(".ghe.com")


def _after(date: str, rewriting: Rewriting) -> bool:
    try:
        return datetime.fromisoformat(date) > datetime.fromisoformat(rewriting.at)
    except (ValueError, TypeError):
        return False
