"""Documents that nobody has judged: a drop that they alone make is not known to be one. Pure.

The condensed list of a query is its ranking without unjudged documents (T. Sakai, Alternatives to Bpref, SIGIR 2007). It is used only
for queries whose results somebody has judged, worthless ones among them. Where only relevant documents are labelled, taking the others
out would forgive every ranking that still holds the relevant ones somewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gate.figures import fmt_interval, fmt_size, plural

if TYPE_CHECKING:
    from gate.comparison import Comparison, Paired
    from gate.golden.model import GoldenSet
    from gate.scoring.score import QueryScore, ScoredRun

_NOISE = 1e-12
OF_BLIND = "(documents of blind queries)"


def entered(baseline: ScoredRun, candidate: ScoredRun, ids: Iterable[str], golden: GoldenSet) -> tuple[tuple[str, int], ...]:
    """Unjudged documents that came into the top of a judged query, with the number of such queries, the most frequent first; none when
    no query has more of them than before. What blind queries bring up is counted under one name that gives none away."""
    pairs = [(i, baseline.queries[i].strangers, candidate.queries[i].strangers) for i in ids if candidate.queries[i].strangers]
    if all(len(after) <= len(before) for _, before, after in pairs):
        return ()
    counts: dict[str, int] = {}
    for i, before, after in pairs:
        for doc in after:
            if doc not in before:
                shown = OF_BLIND if golden.by_id[i].blind else doc
                counts[shown] = counts.get(shown, 0) + 1
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def condensed_value(score: QueryScore, metric: str) -> float:
    """Of one query; the plain value where nothing was taken out, 0 where the metric has none."""
    return score.values.get(metric, 0.0) if score.condensed is None else score.condensed


def condensed_pair(baseline: QueryScore, candidate: QueryScore, metric: str) -> tuple[float, float]:
    """Both condensed values of one query; the candidate's may excuse a fall and never makes a gain.

    Where an unjudged document stands in place of a worthless one, the condensed list rises though nobody knows whether anything became
    better, and would pay for what other queries really lost. Nor is a query excused into whose top nothing unjudged came that was not
    there before: its fall is no newcomer's doing, and it keeps its plain values.
    """
    was, plain = baseline.values.get(metric, 0.0), candidate.values.get(metric, 0.0)
    before = condensed_value(baseline, metric)
    after = min(condensed_value(candidate, metric), max(before, plain))
    if plain - was < after - before and set(candidate.strangers) <= set(baseline.strangers):
        return was, plain
    return before, after


def ruled_out(condensed: Paired | None, tolerance: float) -> bool:
    """Whether judged documents alone rule a drop of ``tolerance`` out; like the plain comparison, without a test where nothing changed."""
    return condensed is not None and condensed.ci is not None and (condensed.changed == 0 or condensed.ci.lo > -tolerance + _NOISE)


def over_judged(condensed: Paired, tolerance: float) -> str:
    """``it fell by 0.003 (interval −0.008 to +0.001)``, or that no query changed."""
    if condensed.changed == 0:
        return "no query changed"
    span = f" (interval {fmt_interval(condensed.ci.lo, condensed.ci.hi, -tolerance)})" if condensed.ci else ""
    if abs(condensed.delta) <= _NOISE:
        return f"it did not move{span}"
    return f"it {'rose' if condensed.delta > 0 else 'fell'} by {fmt_size(condensed.delta, tolerance)}{span}"


def newcomers(comparison: Comparison, k: int) -> str:
    """How many unjudged documents came into the top k, as a sentence."""
    n, labels = len(comparison.entered), sum(count for _, count in comparison.entered)
    whose = "its query" if labels == 1 else "their queries" if n > 1 else "its queries"
    told = f"{plural(n, 'document')} that nobody has judged for {whose}"
    if any(doc == OF_BLIND for doc, _ in comparison.entered):  # one name for however many there are
        told = f"{plural(n - 1, 'document')} and some of blind queries that nobody has judged" if n > 1 else \
            "Documents of blind queries that nobody has judged"
    return f"{told} came into the top {k} ({plural(labels, 'missing label')})."
