"""``tiers:``, ``splits`` and ``repeat`` of a configuration → the tiers, each whole."""

from __future__ import annotations

from gate.fields import Section
from gate.golden.model import SPLITS
from gate.policy import Policy
from gate.policy_settings import read_policy
from gate.tiers import TIERS, USUAL_SPLITS, Tier

_MOST_REPEATS = 100


def read_tiers(top: Section, rules: Section, base: Policy, depth: int, kind: str) -> dict[str, Tier]:
    """Tier name → tier, all of them. ``rules``: the base ``policy:`` section, whose keys a tier's own replace one by one, and ``base`` what
    was read from it; ``depth`` and the retriever's ``kind`` have to suit every tier. Faults are remembered in the sections."""
    splits, repeat = _splits(top, ()), _repeat(top, 1, kind)
    section = top.section("tiers", top.mapping("tiers"))
    found = {}
    for name in TIERS:
        own = section.section(name, section.mapping(name))
        given = own.mapping("policy")
        policy = read_policy(own.section("policy", given, rules)) if given else base
        for metric in policy.all_metrics:
            if metric not in base.all_metrics and metric.depth > depth:
                own.problem("policy", f"depth {depth} is too shallow for {metric} of the tier {name}")
        found[name] = Tier(name, policy, _splits(own, splits or USUAL_SPLITS[name]), _repeat(own, repeat, kind))
        own.done()
    section.done()
    return found


def _splits(section: Section, default: tuple[str, ...]) -> tuple[str, ...]:
    given = section.raw("splits")
    named = section.strings("splits", default)
    for name in named:
        if name not in SPLITS:
            section.problem("splits", f"`splits` names {name!r}; a query is in one of {', '.join(SPLITS)}")
    if given == []:
        section.problem("splits", f"`splits` is empty; it must name at least one of {', '.join(SPLITS)}")
    return tuple(name for name in SPLITS if name in named) or default


def _repeat(section: Section, default: int, kind: str) -> int:
    repeat = section.integer("repeat", default, 1, _MOST_REPEATS)
    if repeat > 1 and section.raw("repeat") is not None and kind == "run":
        section.problem("repeat", f"`repeat` is {repeat}, but a run file says the same every time; let the earlier step write several "
                                  "runs, and measure them with `retrieval-gate golden plan GOLDEN --repeats RUN RUN …`")
        return default
    return repeat
