"""Queries that stand or fall together: paraphrases of one fact are one observation, however many they are.

The independent unit is the cluster. What is estimated stays the mean over queries, so over clusters it is a ratio of sums: the deltas' by
the sizes'. Fifty wordings of ten facts are worth about ten queries, and an interval over the five hundred would be √50 times too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Units(NamedTuple):
    """Independent units: ``sums`` of their queries' deltas; ``sizes``: how many queries each has, None when all have one."""

    sums: Sequence[float]
    sizes: Sequence[int] | None = None


def gather(deltas: Sequence[float], clusters: Sequence[str] | None) -> Units:
    """Deltas by cluster, in order of first appearance. A query whose key is empty is a cluster of one."""
    if clusters is None or not any(clusters):
        return Units(deltas)
    members: dict[str | int, list[float]] = {}
    for row, (delta, cluster) in enumerate(zip(deltas, clusters, strict=True)):
        members.setdefault(cluster or row, []).append(delta)
    sizes = [len(group) for group in members.values()]
    return Units([math.fsum(group) for group in members.values()], sizes if max(sizes) > 1 else None)


def count(clusters: Sequence[str]) -> int:
    """How many independent units these keys are."""
    return len({cluster or row for row, cluster in enumerate(clusters)})
