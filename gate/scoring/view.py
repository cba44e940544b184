"""What the metrics see of one query and its ranking. Pure values that can be hashed: equal views have equal scores."""

from __future__ import annotations

from typing import NamedTuple

Credit = tuple[int, float]  # rank from 1, grade


class View(NamedTuple):
    """One query, its ranking already mapped to gold units.

    ``credits``: where gold units are found, by rank; each unit once, at its first rank; at least the first, and all down to the rank that
    somebody asks for. ``grades``: the positive grades of all gold units, best first; their number is R. ``judged``: ranks of judged
    results, for metrics that ask for it. ``coverage``: (rank, share of the gold spans' characters that is covered from this rank on), by
    rank, for metrics that ask for it; None where the query has no spans.
    ``shared``: several credits have one rank, which only a chunk that covers several spans can cause. ``candidates``: where the candidate
    stage has gold units, and how many there are for it, for metrics that ask for it; None where the run does not say what that stage
    returned. ``stale``: the rank from which on an outdated version stands above the current one, 0 if it never does, for metrics that ask
    for it; None where the query does not ask for a current version.
    """

    credits: tuple[Credit, ...]
    grades: tuple[float, ...]
    judged: tuple[int, ...] = ()
    coverage: tuple[tuple[int, float], ...] | None = None
    shared: bool = False
    candidates: tuple[tuple[int, ...], int] | None = None
    stale: int | None = None

    @property
    def places(self) -> tuple[Credit, ...]:
        """Credits with at most one unit a rank: what rank discounts, and the ideal they are divided by, are made for.

        Of units that were found together the best keeps the rank, and the others wait for the next ranks that are free. So a chunk that
        holds two units is worth as much as two neighbouring chunks with one each, and nothing is better than ideal.
        """
        if not self.shared:
            return self.credits
        import heapq  # only for spans

        placed: list[Credit] = []
        waiting: list[float] = []
        rank = at = 0
        while at < len(self.credits) or waiting:
            rank = rank + 1 if waiting else max(rank + 1, self.credits[at][0])
            while at < len(self.credits) and self.credits[at][0] <= rank:
                heapq.heappush(waiting, -self.credits[at][1])
                at += 1
            placed.append((rank, -heapq.heappop(waiting)))
        return tuple(placed)
