"""Makes a golden set and two runs of it, the same for the same size: what real ones look like, without any real text."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

TAGS = [f"topic-{number}" for number in range(1, 13)]
_ZIPF = [1 / number for number in range(1, 13)]


class Size(NamedTuple):
    """Of ``queries``, ``changed`` have other metrics in the candidate, and ``shuffled`` only other documents that do not matter."""

    queries: int
    depth: int
    changed: int
    shuffled: int


SIZES = {"S": Size(300, 20, 17, 7), "M": Size(10_000, 100, 599, 194)}


def make(folder: Path, size: Size, seed: int = 0) -> None:
    """Write golden.jsonl, baseline.jsonl and candidate.jsonl, line by line."""
    rng = random.Random(seed)
    moving = rng.sample(range(size.queries), size.changed + size.shuffled)
    changed, shuffled = set(moving[:size.changed]), set(moving[size.changed:])
    with (open(folder / "golden.jsonl", "w") as golden, open(folder / "baseline.jsonl", "w") as baseline,
          open(folder / "candidate.jsonl", "w") as candidate):
        for number in range(size.queries):
            ranked = [f"doc-{i:06d}" for i in rng.sample(range(1_000_000), size.depth)]
            # Relevant documents stand near the top; every fifth is not found at all.
            spots = rng.sample(range(min(10, size.depth)), rng.randint(1, 5))
            relevant = [ranked[spots[0]], *(ranked[at] if rng.random() < 0.8 else f"lost-{number}-{at}" for at in spots[1:])]
            after = list(ranked)
            if number in changed:
                top = spots[0]
                other = rng.choice([at for at in range(size.depth) if ranked[at] not in relevant])
                after[top], after[other] = after[other], after[top]
            elif number in shuffled:
                a, b = rng.sample([at for at in range(size.depth) if ranked[at] not in relevant], 2)
                after[a], after[b] = after[b], after[a]
            query = {"id": f"q{number}", "query": f"question number {number}", "relevant": _labels(rng, relevant, number),
                     "tags": list(dict.fromkeys(rng.choices(TAGS, _ZIPF, k=rng.randint(1, 3))))}
            for file, record in ((golden, query), (baseline, {"id": f"q{number}", "ranked": ranked}),
                                 (candidate, {"id": f"q{number}", "ranked": after})):
                file.write(json.dumps(record) + "\n")


def _labels(rng: random.Random, relevant: list[str], number: int) -> list[str] | dict[str, int]:
    """Three of ten queries have grades from 1 to 3, and up to two documents that were judged worthless."""
    if rng.random() < 0.7:
        return relevant
    return {doc: rng.randint(1, 3) for doc in relevant} | {f"judged-{number}-{i}": 0 for i in range(rng.randint(0, 2))}
