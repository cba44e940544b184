"""What answers take: time and money beside quality, and the limits that a team may set on them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gate.policy import LIMITS, Check

if TYPE_CHECKING:
    from gate.runs import Run

class Latency(NamedTuple):
    """Milliseconds a query, median and 95th percentile (nearest rank); None where the run has no times."""

    baseline_p50: float | None = None
    baseline_p95: float | None = None
    candidate_p50: float | None = None
    candidate_p95: float | None = None

    @property
    def ratio(self) -> float | None:
        """Candidate p50 / baseline p50."""
        return _ratio(self.candidate_p50, self.baseline_p50)

    @property
    def p95_ratio(self) -> float | None:
        """Candidate p95 / baseline p95."""
        return _ratio(self.candidate_p95, self.baseline_p95)


class Cost(NamedTuple):
    """Mean cost of a query, in whatever unit the retriever reports; None where the run does not say."""

    baseline: float | None = None
    candidate: float | None = None

    @property
    def ratio(self) -> float | None:
        """Candidate / baseline."""
        return _ratio(self.candidate, self.baseline)


def _ratio(after: float | None, before: float | None) -> float | None:
    return after / before if after is not None and before else None


def quantiles(times: Iterable[float]) -> tuple[float | None, float | None]:
    """Median and 95th percentile; None without a value."""
    found = sorted(times)
    if not found:
        return None, None
    return found[-(-len(found) // 2) - 1], found[-(-19 * len(found) // 20) - 1]


def mean(costs: Sequence[float]) -> float | None:
    """None without a value."""
    return sum(costs) / len(costs) if costs else None


def usage_of(candidate: Run, baseline: Run | None = None) -> tuple[Latency, Cost]:
    """Of one run, or of two side by side."""
    sides = [((), ()) if run is None else (run.times, run.costs) for run in (baseline, candidate)]
    return Latency(*(q for times, _ in sides for q in quantiles(times))), Cost(*(mean(costs) for _, costs in sides))


def limit_checks(latency: Latency, cost: Cost, limits: Mapping[str, float], compared: bool) -> list[Check]:
    """One check for each limit. A limit on something that this run does not report fails, since it would guard nothing; a ratio to a
    baseline that does not report it cannot be decided. ``compared``: whether there is a baseline; without one ratios are not asked."""
    values = {"p50_ms": latency.candidate_p50, "p95_ms": latency.candidate_p95, "p50_ratio": latency.candidate_p50,
              "p95_ratio": latency.candidate_p95, "cost": cost.candidate, "cost_ratio": cost.candidate}
    ratios = {"p50_ratio": latency.ratio, "p95_ratio": latency.p95_ratio, "cost_ratio": cost.ratio}
    checks = []
    for key, limit in limits.items():
        if key in ratios and not compared:
            continue
        known, value, what = values[key], ratios.get(key, values[key]), LIMITS[key]
        if known is None:
            outcome, sentence = "fail", f"No query of this run says what {what} is, so its limit guards nothing."
        elif value is None:
            outcome, sentence = "inconclusive", f"Of the baseline {what} is 0 or not known, so there is nothing to hold it against."
        else:
            outcome = "fail" if value > limit + 1e-12 else "pass"
            sentence = f"{what[0].upper()}{what[1:]} is {_shown(key, value)}; {_shown(key, limit)} is allowed."
        checks.append(Check(f"limit {key}", outcome, sentence, {"value": value, "limit": limit}))
    return checks


def _shown(key: str, value: float) -> str:
    if key.endswith("_ratio"):
        return f"{value:.4g} times the baseline's"
    return f"{value:.4g}{' ms' if key.endswith('_ms') else ''}"
