"""The ``policy:`` section of a configuration → a Policy, and a Policy → the plain values that records and comments hold."""

from __future__ import annotations

from typing import Any

from gate.comparison import Method
from gate.fields import Section
from gate.policy import DEFAULT_METRICS, LIMITS, RULES, Policy, Protected
from gate.scoring.metrics import Metric, UnknownMetric, parse_metric
from gate.scoring.units import OVERLAP, UNITS
from gate.statistics.bootstrap import METHODS


def rules_of(policy: Policy) -> dict[str, Any]:
    """Every rule as a plain value, under the name that the configuration gives it. ``score_floor`` is only reported on: it is none."""
    m = policy.method
    return {"primary": str(policy.primary), "metrics": [str(x) for x in policy.metrics], "tolerance": policy.tolerance,
            "unit": policy.unit, "overlap": policy.overlap, "inconclusive": policy.inconclusive, "floors": dict(policy.floors),
            "protected": {p.tag: {"tolerance": p.tolerance, "rule": p.rule} for p in policy.protected},
            "must_hit": list(policy.must_hit), "must_hit_tags": list(policy.must_hit_tags), "max_drop": dict(policy.max_drop),
            "max_errors": policy.max_errors, "confidence": m.confidence, "bootstrap": m.bootstrap, "resamples": m.resamples,
            "seed": m.seed, **({"limits": dict(policy.limits)} if policy.limits else {})}  # records from before have no such key


def _metric(section: Section, key: str, name: str) -> Metric | None:
    try:
        return parse_metric(name)
    except UnknownMetric as fault:
        section.problem(key, str(fault))
        return None


def _limits_by_metric(section: Section, key: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in section.mapping(key).items():
        metric = _metric(section, f"{key}.{name}", name)
        number = section.checked_number(f"{key}.{name}", value, 0.0, 1.0)
        if metric is not None and str(metric) in found:
            section.problem(f"{key}.{name}", f"metric {metric} is given twice, in two spellings")
        elif metric is not None and number is not None:
            found[str(metric)] = number
    return found


def _protected(section: Section, tolerance: float) -> tuple[Protected, ...]:
    """``protected: [tag, …]`` or ``{tag: tolerance}`` or ``{tag: {tolerance, rule}}``."""
    raw = section.raw("protected")
    if isinstance(raw, list):
        return tuple(Protected(tag, tolerance) for tag in section.strings("protected"))
    found = []
    for tag, value in section.mapping("protected").items():
        if isinstance(value, dict):
            inner = section.section(f"protected.{tag}", value)
            found.append(Protected(tag, inner.number("tolerance", tolerance, 0.0, 1.0), inner.choice("rule", RULES, "point")))
            inner.done()
        else:
            number = section.checked_number(f"protected.{tag}", value, 0.0, 1.0)
            found.append(Protected(tag, tolerance if number is None else number))
    return tuple(found)


def _score_floor(section: Section) -> float | None:
    value = section.raw("score_floor")
    return None if value is None else section.checked_number("score_floor", value, -1e12, 1e12)


def _usage_limits(section: Section) -> dict[str, float]:
    """``limits: {p95_ratio: 1.5, cost: 0.002, …}``, each a number of 0 or more."""
    inner = section.section("limits", section.mapping("limits"))
    found = {key: inner.number(key, 0.0, 0.0, 1e12) for key in LIMITS if inner.raw(key) is not None}
    inner.done()
    return found


def read_policy(section: Section) -> Policy:
    """The rules of a ``policy:`` section, defaults where it says nothing. Faults are remembered in the section."""
    tolerance = section.number("tolerance", 0.02, 0.0, 1.0)
    metrics = [_metric(section, "metrics", name) for name in section.strings("metrics", DEFAULT_METRICS)]
    policy = Policy(
        primary=_metric(section, "primary", section.text("primary", "ndcg@10")) or parse_metric("ndcg@10"),
        metrics=tuple(m for m in metrics if m is not None), tolerance=tolerance, unit=section.choice("unit", UNITS, "doc"),
        overlap=section.number("overlap", OVERLAP, 0.01, 1.0), score_floor=_score_floor(section),
        inconclusive=section.choice("inconclusive", ("warn", "fail"), "warn"), floors=_limits_by_metric(section, "floors"),
        protected=_protected(section, tolerance), must_hit=section.strings("must_hit"),
        must_hit_tags=section.strings("must_hit_tags"), max_drop=_limits_by_metric(section, "max_drop"), limits=_usage_limits(section),
        max_errors=section.integer("max_errors", 0, 0, 10**9),
        method=Method(section.number("confidence", 0.95, 0.5, 0.9999), section.choice("bootstrap", METHODS, "exact"),
                      section.integer("resamples", 10_000, 100, 1_000_000), section.integer("seed", 0, 0, 2**63 - 1)))
    section.done()
    return policy
