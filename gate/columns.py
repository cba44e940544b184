"""Scores of paired queries as arrays: a column a metric, a row a query, and which rows a tag has. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gate.scoring.metrics import Metric
    from gate.scoring.score import QueryScore


def columns_of(baseline: Sequence[QueryScore], candidate: Sequence[QueryScore], metrics: Sequence[Metric],
               apart: Sequence[int]) -> dict[str, tuple[Any, Any, Any]]:
    """Of each metric arrays: the rows for which it is defined (which depends on labels, so on both sides alike), and the values of all
    rows, of the baseline and of the candidate. ``apart``: rows in which these are not one and the same score."""
    import numpy as np

    names = [str(metric) for metric in metrics if not metric.partial]
    before = _matrix([score.values for score in baseline], names)
    after = before.copy()
    after[:, apart] = _matrix([candidate[row].values for row in apart], names)
    every = np.arange(len(baseline))
    columns = {name: (every, *pair) for name, *pair in zip(names, before, after, strict=True)}
    for name in (str(metric) for metric in metrics if metric.partial):
        rows = [row for row, (old, new) in enumerate(zip(baseline, candidate, strict=True)) if name in old.values and name in new.values]
        columns[name] = (np.array(rows, dtype=int), *(np.array([score.values.get(name, 0.0) for score in side], dtype=float)
                                                      for side in (baseline, candidate)))
    return {str(metric): columns[str(metric)] for metric in metrics}


def _matrix(values: Sequence[Mapping[str, float]], names: Sequence[str]) -> Any:
    """A row for each name, a column for each query."""
    import numpy as np

    if not names:
        return np.empty((0, len(values)))
    wanted = (*names, names[0])  # itemgetter of a single name would give no tuple
    numbers = np.fromiter(chain.from_iterable(map(itemgetter(*wanted), values)), float, len(values) * len(wanted))
    return numbers.reshape(len(values), len(wanted)).T[:-1].copy()


def strata_of(tags: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    """Tag → array of the rows that have it. Queries have few different sets of tags, so these are gathered first."""
    import numpy as np

    alike: dict[tuple[str, ...], list[int]] = {}
    for row, those in enumerate(tags):
        alike.setdefault(those, []).append(row)
    strata: dict[str, list[list[int]]] = {}
    for those, rows in alike.items():
        for tag in those:
            strata.setdefault(tag, []).append(rows)
    return {tag: np.sort(np.concatenate(parts)) for tag, parts in strata.items()}
