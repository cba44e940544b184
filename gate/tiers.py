"""Tiers: the same gate, asked more or less of at a pull request, at night and before a release. Pure values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gate.policy import Policy

TIERS = ("pr", "nightly", "release")
USUAL_TIER = TIERS[0]
# What is judged where the configuration says nothing. Blind queries are kept for the last question: what is asked daily gets tuned on.
USUAL_SPLITS: Mapping[str, tuple[str, ...]] = {"pr": ("dev",), "nightly": ("dev",), "release": ("dev", "blind")}


class Tier(NamedTuple):
    """What one tier judges by: its rules, the splits of the golden set that it asks, and how often it asks all of them."""

    name: str
    policy: Policy
    splits: tuple[str, ...]
    repeat: int = 1


def tier_rows(base: Mapping[str, Any], tiers: Iterable[tuple[Tier, Mapping[str, Any]]]) -> dict[str, Any]:
    """``nightly.tolerance`` → value, for what a tier has of its own: rules other than the base's, splits other than the usual ones, more
    than one repeat. ``tiers``: each with its rules as plain values, as ``base`` has them. A configuration without tiers has no row."""
    rows: dict[str, Any] = {}
    for tier, rules in tiers:
        own = {key: value for key, value in rules.items() if base.get(key) != value}
        own |= {"splits": list(tier.splits)} if tier.splits != USUAL_SPLITS[tier.name] else {}
        own |= {"repeat": tier.repeat} if tier.repeat != 1 else {}
        rows |= {f"{tier.name}.{key}": value for key, value in own.items()}
    return rows


def in_force(facts: Mapping[str, Any], key: str) -> Any:
    """The value of a row of policy facts. A tier's row that is not there has the base's value, or the usual one."""
    tier, _, rule = key.partition(".")
    if key in facts or not rule or tier not in TIERS:
        return facts.get(key)
    return {"splits": list(USUAL_SPLITS[tier]), "repeat": 1}.get(rule, facts.get(rule))
