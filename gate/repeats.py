"""Repeats of one run: what the retriever changes on its own. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gate.errors import CannotDecide, InvalidInput
from gate.figures import fmt_value, metric_label, plural, within
from gate.golden.model import GoldenSet
from gate.policy import Check, Policy
from gate.runs import Run
from gate.scoring.metrics import Metric
from gate.scoring.score import ScoredRun
from gate.statistics.noise import FLOAT_NOISE, Noise, noise_of, round_up

_SHOWN = 20


class Repeats(NamedTuple):
    """What N repeats show. ``unstable``: ids of queries that were not ranked alike every time, in the order of the golden set."""

    noise: Noise
    unstable: tuple[str, ...]


class TooNoisy(InvalidInput):
    """The noise floor is above the tolerance: whatever this gate said would be chance."""

    def __init__(self, repeats: Repeats, problem: str, cure: str) -> None:
        self.repeats = repeats
        super().__init__(problem, cure)


def measure(golden: GoldenSet, runs: Sequence[Run], scored: Sequence[ScoredRun], metric: Metric, confidence: float) -> Repeats:
    """``runs`` and ``scored``: of every repeat, at least two. Queries count that have a score of ``metric`` in all. Raises CannotDecide
    where none has."""
    name = str(metric)
    ids = [query.id for query in golden.queries if all(query.id in one.queries and name in one.queries[query.id].values for one in scored)]
    if not ids:
        raise CannotDecide(f"no query has a {name} in all of the {len(runs)} repeats, so their noise is not known", "fix the retriever")
    noise = noise_of([[one.queries[i].values[name] for i in ids] for one in scored], confidence, [golden.by_id[i].cluster for i in ids])
    return Repeats(noise, tuple(query.id for query in golden.queries if _differs(runs, query.id)))


def _differs(runs: Sequence[Run], query_id: str) -> bool:
    first, *others = (run.rankings.get(query_id) for run in runs)
    return any((one is None) != (first is None) or (one and first and (one.docs != first.docs or one.chunks != first.chunks))
               for one in others)


def noise_check(repeats: Repeats, policy: Policy, lost: Sequence[str] = (), proposed: float | None = None) -> Check:
    """Whether the tolerance is above the noise. ``lost``: ids of lost queries. ``proposed``: the tolerance that this change would set.

    Raises :class:`TooNoisy`, which no approval can overrule, unless the change itself raises the tolerance far enough: that needs an
    approval, and must be possible, or a noisy gate could never be fixed.
    """
    noise, limit, label = repeats.noise, policy.tolerance, metric_label(policy.primary)
    numbers: dict[str, float | int | str | None] = {"repeats": noise.repeats, "floor": noise.floor, "spread": noise.spread,
                                                    "tolerance": limit, "unstable": len(repeats.unstable)}
    asked = f"Asked {noise.repeats} times, the retriever"
    moves = f"{asked} moves {label} by {fmt_value(noise.spread, limit)} without any change"
    enough = round_up(noise.floor) if noise.floor else 0.0
    floor = fmt_value(noise.floor, limit, enough)
    if noise.floor <= limit + FLOAT_NOISE:
        sentence = (f"{asked} gave the same scores every time." if noise.floor == 0 else
                    f"{moves}; its noise floor {floor} is not above the tolerance {limit:g}.")
        return Check("noise", "pass", sentence + _unstable(repeats, lost), numbers)
    beyond = f"its noise floor {floor} is above the tolerance {limit:g}, so a drop of {limit:g} cannot be told from chance"
    if proposed is not None and noise.floor <= proposed + FLOAT_NOISE:
        return Check("noise", "fail", f"{moves}; {beyond}. This change raises the tolerance to {proposed:g}, which needs the same "
                                      "approval as a change of the baseline.", numbers)
    other = f"raise `policy.tolerance` of this tier to at least {enough:g}" if enough <= 1 else "give the golden set more queries"
    raise TooNoisy(repeats, f"{within(moves)}: {beyond}",
                   f"make the retriever repeatable (seeds, ties, approximate search), or {other}")


def _unstable(repeats: Repeats, lost: Sequence[str]) -> str:
    if not repeats.unstable:
        return ""
    both = [i for i in lost if i in set(repeats.unstable)]
    among = f", among them lost ones: {', '.join(both[:_SHOWN])}{' …' if len(both) > _SHOWN else ''}" if both else ""
    return f" {plural(len(repeats.unstable), 'query')} ranked differently between repeats{among}."
