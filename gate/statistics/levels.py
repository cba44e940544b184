"""Interval of one run's own mean: how sure its level is, before anything is compared with it."""

from __future__ import annotations

from collections.abc import Sequence

from gate.statistics.bootstrap import Interval, changed, mean_interval
from gate.statistics.clusters import gather
from gate.statistics.tests01 import clopper_pearson, wilson


def level_interval(values: Sequence[float], confidence: float = 0.95, clusters: Sequence[str] | None = None,
                   binary: bool = False) -> Interval | None:
    """Two-sided interval of the mean of ``values`` in [0, 1], one a query; None for fewer than two independent ones.

    A rate of independent queries (``binary``) gets Wilson's score interval: 164 hits in 200 queries are .82, [.761, .867]. Anything else
    gets the bootstrap's, over queries or, where keys are given, ``clusters``. It is taken over what is missing to 1 where less is missing
    than there is, because its bound for rare events knows those only that differ from zero. Of one value throughout it is the interval
    that Clopper and Pearson give a rate of 0 or 1: what was not seen may lie at either end.
    """
    sums, sizes = gather(values, clusters)
    if len(sums) < 2:
        return None
    if binary and sizes is None:
        return Interval(*wilson(sum(value > 0.5 for value in values), len(values), confidence), "wilson")
    if max(values) - min(values) < 1e-9:
        seen, _ = clopper_pearson(len(sums), len(sums), confidence)
        return Interval(values[0] * seen, 1.0 - (1.0 - values[0]) * seen, "few-changes")
    rest, _ = gather([1.0 - value for value in values], clusters)
    found, other = mean_interval(sums, confidence, sizes=sizes), mean_interval(rest, confidence, sizes=sizes)
    if found is None or other is None:
        return None
    mirrored = Interval(1.0 - other.hi, 1.0 - other.lo, other.method)
    if found.method == mirrored.method == "few-changes":  # what was not seen may lie on either side
        return _within(Interval(min(found.lo, mirrored.lo), max(found.hi, mirrored.hi), found.method))
    return _within(mirrored if len(changed(rest)) < len(changed(sums)) else found)


def _within(interval: Interval) -> Interval:
    return interval._replace(lo=max(0.0, interval.lo), hi=min(1.0, interval.hi))
