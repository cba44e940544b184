"""The measurements: which commands take turns, what must agree before anything is timed, and what became of it all."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from inputs import size_of
from peer_list import ALL, EXACT, METHODS, Method, Peer, Tools, compare, our_statistics, ours, read_report
from timing import Failed, Run, Side, in_turn, rounds_for, run

HERE = Path(__file__).resolve().parent
BUDGET = {"S": 20.0, "M": 30.0, "M-churn": 30.0, "L": 60.0}  # seconds for each peer; at least three rounds all the same
MOST = 21
GROWTH = (("1000x100", "10000x100", "100000x100", "1000000x100"), ("10000x10", "10000x100", "10000x1000"))
SLOW_GROWTH = "1000000x100"


class Versus(NamedTuple):
    """Rounds of ``compare``, of our phases one by one (:mod:`peers.ours`), and of a peer; the peer's scaled to 10,000 resamples."""

    compare: list[Run]
    phases: list[Run]
    theirs: list[Run]


class Results(NamedTuple):
    """Everything measured. Keys: (size, key of the peer), (size, key of the method), size; ``growth``: name of the size."""

    peers: dict[tuple[str, str], Versus]
    methods: dict[tuple[str, str], tuple[list[Run], list[Run]]]
    statistics: dict[str, list[Run]]
    start: tuple[list[Run], list[Run]]
    reports: tuple[list[Run], list[Run]]
    growth: dict[str, list[Run]]
    changed: dict[str, int]
    skipped: list[str]

    def compared(self, size: str) -> list[Run]:
        """Every run of ``compare`` at a size, beside whomever."""
        return [each for (at, _), versus in self.peers.items() if at == size for each in versus.compare]


class Disagreement(Exception):
    """Two programs that should compute the same do not; the message lists every difference."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def made(folder: Path, size: str, trec: bool) -> None:
    """Made by a process of its own: a child's peak memory cannot read below what its parent has once held."""
    run([sys.executable, str(HERE / "inputs.py"), str(folder), size, *(["--trec"] if trec else [])])


def differences(who: str, theirs: dict[str, Any], reference: dict[str, Any], tolerance: float) -> list[str]:
    """Means of either run that are not the reference's, of all metrics that both have."""
    return [f"{name} of the {side}: {value} by {who}, {reference[side][name]} by ours"
            for side in ("baseline", "candidate") for name, value in theirs[side].items()
            if not abs(value - reference[side][name]) <= tolerance]


def unlike(method: Method, theirs: dict[str, Any], reference: dict[str, Any], drawn: int) -> list[str]:
    """Where resampling lands far from the exact interval or p: a tenth of the interval's width, three points of p."""
    if method.key == "t-test" or drawn < 1_000:  # another question; too few draws to tell
        return []
    if method.ours == "p":
        return [] if abs(theirs["p"] - reference["p"]) < 0.03 else [f"p: {theirs['p']} by {method.key}, {reference['p']} by ours"]
    (low, high), mine = theirs["interval"], reference["interval"]
    near = max(abs(low - mine[0]), abs(high - mine[1])) < 0.1 * (mine[1] - mine[0])
    return [] if near else [f"interval: {low} to {high} by {method.key}, {mine} by ours"]


def available() -> float:
    """MiB of memory that can be had now; without bound where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return float("inf")
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable:"))


class Bench:
    """One session: ``rounds`` overrides how often, ``slow`` allows what takes minutes."""

    def __init__(self, tools: Tools, peers: Iterable[Peer], rounds: int | None, slow: bool) -> None:
        self.tools, self.peers, self.rounds, self.slow = tools, list(peers), rounds, slow
        self.found = Results({}, {}, {}, ([], []), ([], []), {}, {}, [])

    def skip(self, why: str) -> None:
        say(f"  not run: {why}")
        self.found.skipped.append(why)

    def often(self, seconds: float, size: str) -> int:
        return self.rounds or rounds_for(seconds, BUDGET[size], 3, MOST)

    def start(self) -> None:
        """What it costs to start at all."""
        say("--help beside python -c pass")
        sides = [Side([self.tools.gate, "--help"]), Side([self.tools.python, "-c", "pass"])]
        in_turn(sides, 1)
        for kept, runs in zip(self.found.start, in_turn(sides, self.rounds or MOST), strict=True):
            kept.extend(runs)

    def at(self, folder: Path, size: str) -> None:
        """Everything at one size: agreement first, then rounds. Raises :class:`Disagreement`."""
        say(f"size {size}: making inputs")
        chosen = [peer for peer in self.peers if size in peer.sizes or (self.slow and size in peer.slow)]
        for peer in self.peers:
            if size in peer.slow and not self.slow:
                self.skip(f"{peer.title} at {size}: takes minutes; ask for it with --slow")
        made(folder, size, any(peer.trec for peer in chosen))
        mine = run(*ours(self.tools, folder, "--save"))
        report = run(*compare(self.tools, folder, read=read_report))
        self.found.changed[size] = report.said["changed"]
        wrong = differences("compare", report.said, mine.said, EXACT)
        first: dict[str, Run] = {}
        for peer in chosen:
            if not self._fits(peer, size):
                continue
            say(f"  checking {peer.title}")
            try:
                first[peer.key] = run(*peer.side(self.tools, folder, size))
            except Failed as failure:
                self.skip(f"{peer.title} at {size}: {failure}")
                continue
            wrong += differences(peer.title, first[peer.key].said, mine.said, peer.tolerance)
        if wrong:
            raise Disagreement("\n".join(wrong))
        say(f"  all means agree: {', '.join(first) or 'nobody else is here'}")
        for peer in chosen:
            if peer.key in first:
                self._versus(peer, folder, size, first[peer.key], mine.wall + report.wall)
        if size in ALL:
            self._statistics(folder, size)
        if size == "M":
            self._reports(folder)

    def _fits(self, peer: Peer, size: str) -> bool:
        """Memory grows with the queries; a peer that would push others out of it is not started."""
        before = self.found.peers.get(("M", peer.key))
        if size != "L" or before is None:
            return True
        expected = median(each.peak for each in before.theirs) * 10 * peer.drawn(size) / peer.drawn("M")
        if expected < 0.8 * available():
            return True
        self.skip(f"{peer.title} at {size}: would need about {expected / 1024:.0f} GiB, {available() / 1024:.0f} GiB are free")
        return False

    def _versus(self, peer: Peer, folder: Path, size: str, first: Run, more: float) -> None:
        sides = [compare(self.tools, folder), ours(self.tools, folder), peer.side(self.tools, folder, size)]
        if size in peer.slow or peer.key == "ranx cold":  # the run that was checked is the one that counts
            columns = [*in_turn(sides[:2], 1), [first]]
        else:
            often = self.often(first.wall + more, size)
            say(f"  timing {peer.title}, {often} {'round' if often == 1 else 'rounds'}")
            columns = in_turn(sides, often)
        columns[2] = [each.scaled(peer.factor(size)) for each in columns[2]]
        self.found.peers[size, peer.key] = Versus(*columns)

    def _statistics(self, folder: Path, size: str) -> None:
        say("  statistics on ready differences")
        every = our_statistics(self.tools, folder, "all")
        self.found.statistics[size] = in_turn([every], self.rounds or 7)[0]
        wanted = {peer.family for peer in self.peers}
        for method in METHODS:
            family = {"gather": "numpy", "choices": "choices"}.get(method.key, "scipy")
            if size not in method.sizes or family not in wanted:
                continue
            sides = [our_statistics(self.tools, folder, method.ours), method.side(self.tools, folder, size)]
            reference, first = (run(*side) for side in sides)
            if wrong := unlike(method, first.said, reference.said, method.drawn(size)):
                raise Disagreement("\n".join(wrong))
            mine, theirs = in_turn(sides, self.often(reference.wall + first.wall, size))
            self.found.methods[size, method.key] = mine, [each.scaled(method.factor(size)) for each in theirs]

    def _reports(self, folder: Path) -> None:
        """What the files of --out cost on top: comment, HTML, JUnit, report.json and the packed run."""
        say("  reports")
        sides = [compare(self.tools, folder, "--out", str(folder / "out")), compare(self.tools, folder)]
        for kept, runs in zip(self.found.reports, in_turn(sides, self.rounds or 5), strict=True):
            kept.extend(runs)

    def growth(self, folder: Path) -> None:
        """Our own tool alone, with ten times the queries and ten times the depth."""
        for names in GROWTH:
            last = 0.0
            for name in names:
                if name in self.found.growth:
                    last = median(each.peak for each in self.found.growth[name])
                    continue
                if name == SLOW_GROWTH and not self.slow:
                    self.skip(f"growth to {size_of(name).queries:,} queries: takes minutes; ask for it with --slow")
                    continue
                if 10 * last > 0.8 * available():
                    self.skip(f"growth to {name}: could need {10 * last / 1024:.0f} GiB, {available() / 1024:.0f} GiB are free")
                    continue
                say(f"growth: {name}")
                made(folder, name, False)
                first = run(*compare(self.tools, folder))
                more = self.rounds or rounds_for(first.wall, 10.0, 0, 7)
                self.found.growth[name] = in_turn([compare(self.tools, folder)], more)[0] if more else [first]
                last = first.peak
