"""What is computed of every run beside the metrics that somebody asked for. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gate.golden.model import GoldenSet
from gate.scoring.metrics import Metric

if TYPE_CHECKING:
    from gate.scoring.score import ScoredRun

TOP = 10  # what «the top» is where the primary metric has no cutoff
CANDIDATES = 100  # how deep the candidate stage is looked at


class Beside(NamedTuple):
    """``k``: the top that is described. ``metrics``: shown where a query has a value. ``hidden``: computed for what is made of them.

    ``condensed``: the metric that is also computed over judged results alone, None where that would say nothing.
    """

    k: int
    metrics: tuple[Metric, ...]
    hidden: tuple[Metric, ...]
    condensed: Metric | None


def extras(primary: Metric, golden: GoldenSet, *, compared: bool = True) -> Beside:
    """What to compute besides, for a gate or an evaluation with this primary metric. ``compared``: two runs will be, which is what the
    condensed metric is for."""
    k = primary.k or TOP
    found = [Metric("candidate-recall", CANDIDATES)]
    if any(query.versions for query in golden.queries):
        found.append(Metric("latest", k))
    # A metric about judgements, versions or candidates means something else when what is unjudged has been taken out.
    ranks = primary.needs in ("", "coverage")
    return Beside(k, tuple(found), (Metric("recall", k),), primary if ranks and compared else None)


def with_shown(run: ScoredRun, more: Beside, *others: ScoredRun) -> ScoredRun:
    """``run``, showing of what nobody asked for every metric of which some query has a value, in it or in one of ``others``."""
    found = [metric for metric in more.metrics if metric not in run.metrics
             and any(str(metric) in score.values for each in (run, *others) for score in each.queries.values())]
    return run._replace(metrics=(*run.metrics, *found))
