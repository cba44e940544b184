"""Two scored runs of one golden set → paired deltas, flips, strata. Pure.

Only queries that have a score on both sides are paired. What is not paired is listed, never dropped in silence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gate import unjudged
from gate.columns import columns_of, strata_of
from gate.golden.model import GoldenSet
from gate.runs import Run
from gate.scoring.metrics import Metric
from gate.scoring.score import QueryScore, ScoredRun
from gate.statistics.bootstrap import Interval, changed, mean_interval
from gate.statistics.clusters import count, gather
from gate.statistics.multiplicity import benjamini_hochberg
from gate.statistics.permutation import sign_flip_p
from gate.statistics.power import minimum_detectable_effect
from gate.statistics.tests01 import mcnemar

SMALL_STRATUM = 10  # below this many independent queries a tag is shown with its n and not tested


class Method(NamedTuple):
    """How uncertainty is expressed; part of the policy, so that it cannot drift between two runs."""

    confidence: float = 0.95
    bootstrap: str = "exact"
    resamples: int = 10_000
    seed: int = 0


class Paired(NamedTuple):
    """One metric over paired queries: means of both sides, mean delta (candidate − baseline) and what it is worth.

    ``ci``, ``p_value`` (sign-flip) and ``mde`` are None where nothing is tested; ``q_value`` is p after Benjamini–Hochberg over all
    metrics and tags but the primary one; ``mcnemar`` holds (exact p, mid-p) of a 0/1 metric, and None where queries share a cluster,
    because it presumes that none does. ``units`` and ``moved_units`` count what is independent, clusters or else queries; it is the latter
    that decide whether too few changed.
    """

    n: int
    baseline: float
    candidate: float
    delta: float
    better: int
    worse: int
    ci: Interval | None = None
    p_value: float | None = None
    q_value: float | None = None
    mde: float | None = None
    mcnemar: tuple[float, float] | None = None
    units: int = 0
    moved_units: int = 0

    @property
    def changed(self) -> int:
        return self.better + self.worse


class QueryChange(NamedTuple):
    """One paired query whose primary metric moved or that flipped. Ranks are from 1; None: no gold unit came back at all."""

    id: str
    delta: float
    baseline: float
    candidate: float
    baseline_rank: int | None
    candidate_rank: int | None


class Comparison(NamedTuple):
    """Everything a decision and a report need of two scored runs.

    ``identical``: every paired ranking is the same to full depth. ``lost`` / ``gained``: hit → miss / miss → hit at ``flip_k``, by damage.
    ``added``: queries that the baseline's golden set did not have; ``removed`` / ``relabelled``: what became of those it had.
    ``condensed``: the primary metric over the same pairs without unjudged documents (:mod:`gate.unjudged`); None where the candidate brings
    no more of those than the baseline. ``entered``: then, those that came into the top, with the number of queries, most frequent first.
    """

    primary: Metric
    metrics: Mapping[str, Paired]
    tags: Mapping[str, Mapping[str, Paired]]
    identical: bool
    flip_k: int | None
    lost: tuple[QueryChange, ...]
    gained: tuple[QueryChange, ...]
    changes: tuple[QueryChange, ...]
    paired: tuple[str, ...]
    unpaired: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    relabelled: tuple[str, ...]
    deltas: Mapping[str, float]
    condensed: Paired | None = None
    entered: tuple[tuple[str, int], ...] = ()

    @property
    def main(self) -> Paired:
        return self.metrics[str(self.primary)]


class LabelChanges(NamedTuple):
    """How this golden set differs from the one the baseline was scored with; ids in order."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    relabelled: tuple[str, ...] = ()


def label_changes(baseline_labels: Mapping[str, str] | None, golden: GoldenSet, but: Collection[str] = ()) -> LabelChanges:
    """Compare the label digests a baseline remembers with today's; nothing when it remembers none (a plain run file). ``but``: ids that
    are left out of it."""
    if baseline_labels is None:
        return LabelChanges()
    now = golden.labels
    if but:
        baseline_labels, now = ({i: digest for i, digest in labels.items() if i not in but} for labels in (baseline_labels, now))
    return LabelChanges(tuple(i for i in now if i not in baseline_labels), tuple(i for i in baseline_labels if i not in now),
                        tuple(i for i in now if baseline_labels.get(i, now[i]) != now[i]))


def pair(baseline: Sequence[float], candidate: Sequence[float], method: Method, *, test: bool = True,
         binary: bool = False, clusters: Sequence[str] | None = None) -> Paired:
    """Pair two equally long lists of scores in [0, 1], one a query. With ``test=False`` only means and counts.

    ``clusters``: one key a query; queries that share one are one independent observation, an empty key stands alone.
    """
    import numpy as np

    before, after = np.asarray(baseline, dtype=float), np.asarray(candidate, dtype=float)
    n = len(before)
    if len(after) != n:
        raise ValueError(f"{n} scores of the baseline, {len(after)} of the candidate")
    deltas = after - before
    moved = changed(deltas)
    better = int(np.count_nonzero(deltas > 1e-9))
    worse = len(moved) - better
    mean = sum(moved) / n if n else 0.0
    sums, sizes = gather(deltas.tolist(), clusters) if clusters else (deltas, None)
    # Added in order, as ScoredRun.mean does: numpy's own sum would differ from it in the last digit.
    means = [float(np.add.accumulate(side)[-1]) / n if n else 0.0 for side in (before, after)]
    result = Paired(n, *means, mean, better, worse, units=len(sums),
                    moved_units=len(moved) if sizes is None else len(changed(sums)))
    if not test or len(sums) < 2:
        return result
    return result._replace(
        ci=mean_interval(sums, method.confidence, method.bootstrap, method.seed, method.resamples, sizes),
        p_value=sign_flip_p(sums, seed=method.seed), mde=minimum_detectable_effect(sums, method.confidence, sizes),
        mcnemar=mcnemar(better, worse) if binary and sizes is None else None)


def identical_rankings(baseline: Run, candidate: Run, ids: Iterable[str]) -> bool:
    """Whether both runs rank exactly the same documents, to full depth, for every query of ``ids``; of no query nothing can be said.

    Candidates count as far as both runs name them: a metric may look at them alone.
    """
    ids, before, after = list(ids), baseline.rankings, candidate.rankings
    return bool(ids) and all(i in before and i in after and before[i].docs == after[i].docs and before[i].chunks == after[i].chunks
                             and (before[i].candidates is None or after[i].candidates in (None, before[i].candidates)) for i in ids)


def _with_q(metrics: dict[str, Paired], tags: dict[str, dict[str, Paired]], primary: str) -> None:
    """Benjamini–Hochberg over everything that was tested beside the primary metric; in place."""
    places = [(metrics, name) for name in metrics if name != primary]
    places += [(table, name) for table in tags.values() for name in table]
    places = [(table, name) for table, name in places if table[name].p_value is not None]
    for (table, name), q in zip(places, benjamini_hochberg([table[name].p_value or 0.0 for table, name in places]), strict=True):
        table[name] = table[name]._replace(q_value=q)


def compare(golden: GoldenSet, baseline: ScoredRun, candidate: ScoredRun, primary: Metric, *,
            runs: tuple[Run, Run] | None = None, method: Method | None = None, labels: LabelChanges | None = None,
            declared: Collection[str] = ()) -> Comparison:
    """Pair two runs that were scored under the same labels and metrics. ``runs``: (baseline, candidate), to see identical rankings;
    ``declared``: tags that are tested however few queries they have, because a rule depends on it."""
    import numpy as np

    method, labels = method or Method(), labels or LabelChanges()
    name = str(primary)
    fresh = set(labels.added)
    if not fresh and list(candidate.queries) == list(baseline.queries):  # the common case
        paired, unpaired = tuple(candidate.queries), ()
    else:
        paired = tuple(i for i in candidate.queries if i in baseline.queries and i not in fresh)
        unpaired = tuple(q.id for q in golden.queries
                         if q.id not in fresh and (q.id in candidate.queries) != (q.id in baseline.queries))
    before, after = ([run.queries[i] for i in paired] for run in (baseline, candidate))
    queries = [golden.by_id[i] for i in paired]
    clusters = [query.cluster for query in queries] if any(query.cluster for query in queries) else None
    # One score for both sides says that the rankings are equal; only the others have to be looked at.
    apart = [row for row, (old, new) in enumerate(zip(before, after, strict=True)) if old is not new]
    columns = columns_of(before, after, candidate.metrics, apart)

    def paired_over(rows: Any, metric: str, **more: bool) -> Paired:
        return pair(*(side[rows] for side in columns[metric][1:]), method, clusters=clusters and [clusters[row] for row in rows], **more)

    metrics = {str(m): paired_over(columns[str(m)][0], str(m), binary=m.binary) for m in candidate.metrics}
    partial = {str(m) for m in candidate.metrics if m.partial}
    strata = strata_of(query.tags for query in queries)
    tags: dict[str, dict[str, Paired]] = {}
    for tag in sorted(strata, key=lambda t: (-len(strata[t]), t)):
        rows = strata[tag]
        those = clusters and [clusters[row] for row in rows]
        tested = (count(those) if those else len(rows)) >= SMALL_STRATUM or tag in declared
        tags[tag] = {metric: paired_over(rows[np.isin(rows, columns[metric][0])] if metric in partial else rows, metric,
                                         test=tested and metric == name) for metric in columns}
    _with_q(metrics, tags, name)
    defined = set(columns[name][0].tolist()) if primary.partial else None
    entered = unjudged.entered(baseline, candidate, [paired[row] for row in apart if defined is None or row in defined], golden)
    if entered:
        condensed = np.fromiter((unjudged.condensed_value(score, name) for score in before), float, len(before))
        columns["condensed"] = columns[name][0], condensed, condensed.copy()
        for row in apart:
            columns["condensed"][1][row], columns["condensed"][2][row] = unjudged.condensed_pair(before[row], after[row], name)
    deltas = dict.fromkeys(paired if defined is None else [paired[row] for row in sorted(defined)], 0.0)
    every = [_change(paired[row], before[row], after[row], name) for row in apart if defined is None or row in defined]
    deltas.update((c.id, c.delta) for c in every)
    lost = [c for c in every if _hit(c.baseline_rank, primary.k) and not _hit(c.candidate_rank, primary.k)]
    gained = [c for c in every if not _hit(c.baseline_rank, primary.k) and _hit(c.candidate_rank, primary.k)]
    moved = [c for c in every if abs(c.delta) > 1e-12 or c.baseline_rank != c.candidate_rank]
    # A run that names candidates for some queries only has found none for the others, which moves metrics under equal rankings.
    identical = runs is not None and bool(paired) and not any(metric.changed for metric in metrics.values()) and (
        not apart or identical_rankings(*runs, (paired[row] for row in apart)))
    return Comparison(primary=primary, metrics=metrics, tags=tags, identical=identical, flip_k=primary.k,
                      lost=tuple(sorted(lost, key=lambda c: (c.delta, c.id))),
                      gained=tuple(sorted(gained, key=lambda c: (-c.delta, c.id))),
                      changes=tuple(sorted(moved, key=lambda c: (c.delta, c.id))), paired=paired, unpaired=unpaired,
                      added=labels.added, removed=labels.removed, relabelled=labels.relabelled,
                      deltas=deltas, entered=entered, condensed=paired_over(columns[name][0], "condensed") if entered else None)


def _hit(rank: int | None, k: int | None) -> bool:
    return rank is not None and (k is None or rank <= k)


def _change(query_id: str, before: QueryScore, after: QueryScore, metric: str) -> QueryChange:
    return QueryChange(query_id, after.values[metric] - before.values[metric], before.values[metric], after.values[metric],
                       before.first_rank, after.first_rank)
