"""Whether an outdated version of a document stands above the current one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gate.golden.model import Version


def stale_from(versions: Iterable[Version], ranked: Sequence[str]) -> int:
    """The rank (from 1) of the first outdated document that has no current one of its group above it; 0 when there is none.

    From that rank on every cutoff shows the outdated version first, or alone: whether the current one follows further down, within the
    cutoff or beyond it, makes no difference.
    """
    returned = set(ranked)
    ranks = [old for version in versions if (old := first_rank(version.older, ranked, returned))
             and not 0 < first_rank(version.current, ranked, returned) < old]
    return min(ranks, default=0)


def first_rank(docs: Iterable[str], ranked: Sequence[str], returned: Collection[str] | None = None) -> int:
    """Rank of the first of ``docs`` in ``ranked``, 0 when none is in it. ``returned``: ``ranked`` as a set, when it is at hand."""
    # Going through the ranking happens in C, once for each document that is there at all.
    return min((ranked.index(doc) + 1 for doc in docs if doc in (ranked if returned is None else returned)), default=0)
