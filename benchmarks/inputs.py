"""Makes a golden set and two runs of it, the same for the same size: what real ones look like, without any real text.

    python inputs.py FOLDER SIZE [--trec]

SIZE is a name from SIZES, or queries x depth, as in 1000x100.
"""

from __future__ import annotations

import json
import random
import sys
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

    def churned(self) -> Size:
        """The same with another ranking for every query, so that nothing can be saved on lines that are alike."""
        changed = round(0.3755 * self.queries)
        return self._replace(changed=changed, shuffled=self.queries - changed)


SIZES = {"S": Size(300, 20, 17, 7), "M": Size(10_000, 100, 599, 194), "L": Size(100_000, 100, 5_952, 1_764)}
SIZES["M-churn"] = SIZES["M"].churned()


def size_of(name: str) -> Size:
    """A size by its name, or ``queries x depth`` with the shares of L."""
    if name in SIZES:
        return SIZES[name]
    queries, depth = map(int, name.split("x"))
    return Size(queries, depth, round(0.06 * queries), round(0.018 * queries))


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


def make_trec(folder: Path) -> None:
    """The same three files as TREC has them: qrels.trec, baseline.trec, candidate.trec. Scores fall by one a rank, so nothing ties."""
    with open(folder / "golden.jsonl") as golden, open(folder / "qrels.trec", "w") as qrels:
        for query in map(json.loads, golden):
            labels = query["relevant"]
            for doc, grade in (labels.items() if isinstance(labels, dict) else ((doc, 1) for doc in labels)):
                qrels.write(f"{query['id']} 0 {doc} {grade}\n")
    for name in ("baseline", "candidate"):
        with open(folder / f"{name}.jsonl") as run, open(folder / f"{name}.trec", "w") as trec:
            for line in map(json.loads, run):
                depth = len(line["ranked"])
                trec.writelines(f"{line['id']} Q0 {doc} {rank} {depth - rank + 1} {name}\n" for rank, doc in enumerate(line["ranked"], 1))


if __name__ == "__main__":
    make(Path(sys.argv[1]), size_of(sys.argv[2]))
    if "--trec" in sys.argv[3:]:
        make_trec(Path(sys.argv[1]))
