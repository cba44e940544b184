"""report.json as somebody unknown wrote it → numbers, ids and tags that can be shown. Pure.

A pull request's own code can replace its report, so only what is read here leaves this module: numbers within their ranges, words of
fixed lists, and ids, tags and names of checks cut short. Sentences, links, titles, queries and what it says about baseline and approval
are not read at all. Unknown keys are passed over. Messages never repeat what was found, only where.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from gate import jsonio
from gate.comparison import Paired
from gate.errors import InvalidInput
from gate.policy import OUTCOMES
from gate.reports.json_report import SCHEMA
from gate.reports.report import VERDICTS
from gate.scoring.metrics import UnknownMetric, parse_metric
from gate.statistics.bootstrap import Interval
from gate.usage import Latency

MAX_BYTES = 16 * 1024**2
LONGEST_TEXT = 200
MAX_METRICS, MAX_TAGS, MAX_CHECKS, MAX_FLIPS, MAX_TAGS_OF_QUERY = 200, 10_000, 10_000, 100_000, 100
MAX_COUNT, MAX_ID, MAX_MS = 10**9, 2**53, 1e9
MAX_MDE = 10.0  # of a few queries more than a whole point
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_MOST_PROBLEMS = 20
_LONGEST_METRIC = 40
# Sums of floats: what is only rounded differently is no contradiction.
_NOISE = 1e-6
_EXIT_CODES = {"pass": (0,), "fail": (1,), "inconclusive": (0, 4), "accepted": (0,), "invalid": (2,), "cannot-decide": (3,),
               "no-baseline": (0,)}


class Flip(NamedTuple):
    """A query that is said to have lost or found its answer. Ranks from 1; None: not found."""

    id: str
    tags: tuple[str, ...]
    baseline_rank: int | None
    candidate_rank: int | None
    delta: float


class Claims(NamedTuple):
    """What a report says of itself, well-formed and otherwise unproven.

    ``metrics`` is empty when nothing was compared; ``tags`` holds the primary metric over each tag, ``checks`` (name, outcome).
    """

    gate: str
    verdict: str
    exit_code: int
    head_sha: str
    run_id: int
    attempt: int
    pull_request: int
    primary: str
    metrics: dict[str, Paired]
    tags: dict[str, Paired]
    checks: tuple[tuple[str, str], ...]
    lost: tuple[Flip, ...]
    gained: tuple[Flip, ...]
    problems: int
    latency: Latency


def read_claims(data: bytes, name: str) -> Claims:
    """Claims of a report.json. ``name``: what messages call it. Raises InvalidInput with the faults, at most 20."""
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{name}: {len(data)} bytes, more than is read of a report ({MAX_BYTES})")
    try:
        value = jsonio.loads(data.decode())
    except UnicodeDecodeError:
        raise InvalidInput(f"{name}: not UTF-8") from None
    except jsonio.NotJson:
        raise InvalidInput(f"{name}: not strict JSON") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{name}: no JSON object")
    if type(value.get("schema")) is not int or value["schema"] != SCHEMA:
        raise InvalidInput(f"{name}: not a report of schema {SCHEMA}", "use the same version of the gate in both workflows")
    reader = _Reader()
    claims = reader.claims(value)
    if reader.problems:
        raise InvalidInput([f"{name}: {problem}" for problem in reader.problems],
                           "nothing of it was shown; look at what the pull request changes in the workflow and in the gate's inputs")
    return claims


class _Enough(Exception):
    """A hostile file can be wrong in more places than anybody reads."""


class _Reader:
    """Takes values from their places and remembers every place where there is something else. What it returns after a fault is a
    harmless filler that nobody gets to see."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def wrong(self, place: str, wanted: str) -> None:
        self.problems.append(f"{place} must be {wanted}")
        if len(self.problems) >= _MOST_PROBLEMS:
            raise _Enough

    # -- single values -------------------------------------------------------------------------------------------------

    def number(self, place: str, value: Any, low: float, high: float) -> float:
        if jsonio.finite(value) and low - _NOISE <= value <= high + _NOISE:
            return min(max(float(value), low), high)
        self.wrong(place, f"a number from {low:g} to {high:g}")
        return low

    def maybe(self, place: str, value: Any, low: float, high: float) -> float | None:
        return None if value is None else self.number(place, value, low, high)

    def whole(self, place: str, value: Any, low: int, high: int) -> int:
        if type(value) is int and low <= value <= high:
            return value
        self.wrong(place, f"a whole number from {low} to {high}")
        return low

    def text(self, place: str, value: Any) -> str:
        if isinstance(value, str) and value.strip():
            return value[:LONGEST_TEXT]
        self.wrong(place, "text")
        return "?"

    def choice(self, place: str, value: Any, allowed: tuple[str, ...]) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        self.wrong(place, f"one of {', '.join(allowed)}")
        return allowed[0]

    def mapping(self, place: str, value: Any, most: int) -> dict[str, Any]:
        if isinstance(value, dict) and len(value) <= most:
            return value
        self.wrong(place, f"an object of at most {most} entries")
        return {}

    def list(self, place: str, value: Any, most: int) -> list[Any]:
        if isinstance(value, list) and len(value) <= most:
            return value
        self.wrong(place, f"a list of at most {most} entries")
        return []

    # -- what they make up ---------------------------------------------------------------------------------------------

    def claims(self, value: dict[str, Any]) -> Claims:
        found = Claims("", VERDICTS[0], 0, "", 0, 0, 0, "", {}, {}, (), (), (), 0, Latency())
        # One step after the other, so that the faults of all parts are told together.
        steps: tuple[Callable[[dict[str, Any], Claims], Claims], ...] = (self._head, self._where, self._numbers, self._lists)
        try:
            for step in steps:
                found = step(value, found)
        except _Enough:
            pass
        return found

    def _head(self, value: dict[str, Any], found: Claims) -> Claims:
        verdict = self.choice("verdict", value.get("verdict"), VERDICTS)
        exit_code = self.whole("exit_code", value.get("exit_code"), 0, 4)
        if exit_code not in _EXIT_CODES[verdict]:
            self.wrong("exit_code", "that of the verdict")
        problems = len(self.list("problems", value.get("problems"), MAX_FLIPS))
        return found._replace(gate=self.text("gate", value.get("gate")), verdict=verdict, exit_code=exit_code, problems=problems)

    def _where(self, value: dict[str, Any], found: Claims) -> Claims:
        meta = self.mapping("metadata", value.get("metadata"), MAX_CHECKS)
        sha = meta.get("head_sha")
        if not isinstance(sha, str) or not _SHA.match(sha):
            self.wrong("metadata.head_sha", "a commit id")
            sha = ""
        return found._replace(head_sha=sha, **{field: self.whole(f"metadata.{key}", meta.get(key), 1, MAX_ID) for field, key in (
            ("run_id", "run_id"), ("attempt", "run_attempt"), ("pull_request", "pull_request"))})

    def _numbers(self, value: dict[str, Any], found: Claims) -> Claims:
        primary = self.mapping("primary", value.get("primary"), MAX_METRICS)
        name = self.metric("primary.metric", primary.get("metric"))
        latency = self._latency(value.get("latency"))
        if primary.get("delta") is None:
            return found._replace(primary=name, latency=latency)
        metrics = {self.metric(f"name {n} of metrics", key): self.paired(f"metrics, entry {n},", item)
                   for n, (key, item) in enumerate(self.mapping("metrics", value.get("metrics"), MAX_METRICS).items(), 1)}
        if name not in metrics:
            self.wrong("metrics", "a table that holds the primary metric")
            return found
        mde = self.maybe("primary.mde", primary.get("mde"), 0.0, MAX_MDE)
        tags: dict[str, Paired] = {}
        for n, (tag, table) in enumerate(self.mapping("tags", value.get("tags"), MAX_TAGS).items(), 1):
            inner = self.mapping(f"tags, entry {n},", table, MAX_METRICS)
            inner = self.mapping(f"tags, entry {n}, metrics", inner.get("metrics"), MAX_METRICS)
            tags[self.text(f"name {n} of tags", tag)] = self.paired(f"tags, entry {n}, primary metric", inner.get(name))
        return found._replace(primary=name, latency=latency, tags=tags,
                              metrics=metrics | {name: metrics[name]._replace(mde=mde)})

    def _lists(self, value: dict[str, Any], found: Claims) -> Claims:
        checks = []
        for n, item in enumerate(self.list("checks", value.get("checks"), MAX_CHECKS), 1):
            check = self.mapping(f"checks, entry {n},", item, MAX_METRICS)
            checks.append((self.text(f"checks, entry {n}, name", check.get("name")),
                           self.choice(f"checks, entry {n}, outcome", check.get("outcome"), OUTCOMES)))
        flips = self.mapping("flips", value.get("flips"), MAX_METRICS)
        return found._replace(checks=tuple(checks), lost=self._flips("lost", flips.get("lost")),
                              gained=self._flips("gained", flips.get("gained")))

    def metric(self, place: str, value: Any) -> str:
        """A name as this version of the gate writes it: it is shown as it is, so nothing else may pass."""
        try:
            name = value if isinstance(value, str) and len(value) <= _LONGEST_METRIC else ""
            if name and str(parse_metric(name)) == name:
                return name
        except UnknownMetric:
            pass
        self.wrong(place, "a metric that this version of the gate knows")
        return ""

    def paired(self, place: str, value: Any) -> Paired:
        value = self.mapping(place, value, MAX_METRICS)
        n = self.whole(f"{place} n", value.get("n"), 0, MAX_COUNT)
        better, worse = (self.whole(f"{place} {key}", value.get(key), 0, n) for key in ("better", "worse"))
        if n == 0 and all(value.get(key) is None for key in ("baseline", "candidate", "delta")):
            return Paired(0, 0.0, 0.0, 0.0, 0, 0)  # of no query there is no mean
        before, after = (self.number(f"{place} {key}", value.get(key), 0.0, 1.0) for key in ("baseline", "candidate"))
        delta = self.number(f"{place} delta", value.get("delta"), -1.0, 1.0)
        if better + worse > n:
            self.wrong(f"{place} better + worse", "at most n")
        if abs(after - before - delta) > _NOISE:
            self.wrong(f"{place} delta", "candidate − baseline")
        p, q = (self.maybe(f"{place} {key}", value.get(key), 0.0, 1.0) for key in ("p_value", "q_value"))
        return Paired(n, before, after, delta, better, worse, self._interval(f"{place} ci", value.get("ci")), p, q, units=n,
                      moved_units=better + worse)

    def _interval(self, place: str, value: Any) -> Interval | None:
        if value is None:
            return None
        ends = self.list(place, value, 2)
        if len(ends) != 2:
            self.wrong(place, "two numbers")
            return None
        lo, hi = (self.number(place, end, -1.0, 1.0) for end in ends)
        if lo > hi:
            self.wrong(place, "in order")
        return Interval(lo, hi, "claimed")

    def _latency(self, value: Any) -> Latency:
        found = self.mapping("latency", value, MAX_METRICS)
        return Latency(*(self.maybe(f"latency.{key}", found.get(key), 0.0, MAX_MS) for key in Latency._fields))

    def _flips(self, kind: str, value: Any) -> tuple[Flip, ...]:
        found = []
        for n, item in enumerate(self.list(f"flips.{kind}", value, MAX_FLIPS), 1):
            place = f"flips.{kind}, entry {n},"
            flip = self.mapping(place, item, MAX_METRICS)
            tags = self.list(f"{place} tags", flip.get("tags"), MAX_TAGS_OF_QUERY)
            ranks = [None if flip.get(key) is None else self.whole(f"{place} {key}", flip.get(key), 1, MAX_COUNT)
                     for key in ("baseline_rank", "candidate_rank")]
            found.append(Flip(self.text(f"{place} id", flip.get("id")), tuple(self.text(f"{place} tags", tag) for tag in tags),
                              *ranks, self.number(f"{place} delta", flip.get("delta"), -1.0, 1.0)))
        return tuple(found)
