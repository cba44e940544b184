"""The yardstick: what articles on retrieval evaluation suggest for a CI job, written plainly with numpy.

    python numpy_script.py FOLDER INTERVALS [RESAMPLES]

Scores both runs in FOLDER and bootstraps the mean paired difference of the first INTERVALS metrics: 10,000 resamples of the queries,
drawn as one matrix of indices. No validation, no tags, no tests, no decision.
"""

import time

START = time.perf_counter()

import json  # noqa: E402
import math  # noqa: E402
import sys  # noqa: E402

import numpy as np  # noqa: E402

NAMES = ("ndcg@10", "recall@5", "recall@10", "hit@5", "rr@10", "precision@5")


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def dcg(gains):
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def scores(ranked, gains):
    """nDCG@10, recall@5, recall@10, hit@5, RR@10, precision@5."""
    relevant = {doc for doc, gain in gains.items() if gain > 0}
    at5, at10 = len(relevant & set(ranked[:5])), len(relevant & set(ranked[:10]))
    first = next((rank for rank, doc in enumerate(ranked[:10], 1) if doc in relevant), None)
    return (dcg([gains.get(doc, 0) for doc in ranked[:10]]) / dcg(sorted(gains.values(), reverse=True)[:10]),
            at5 / len(relevant), at10 / len(relevant), float(at5 > 0), 1 / first if first else 0.0, at5 / 5)


def interval(differences, rng, resamples):
    chosen = rng.integers(0, len(differences), size=(resamples, len(differences)))
    return np.quantile(differences[chosen].mean(axis=1), [0.025, 0.975])


def main(folder, intervals, resamples=10_000):
    laps = [START, time.perf_counter()]
    golden = read(f"{folder}/golden.jsonl")
    baseline, candidate = ({line["id"]: line["ranked"] for line in read(f"{folder}/{name}.jsonl")} for name in ("baseline", "candidate"))
    laps.append(time.perf_counter())
    rows = []
    for query in golden:
        labels = query["relevant"]
        gains = labels if isinstance(labels, dict) else dict.fromkeys(labels, 1)
        rows.append((scores(baseline[query["id"]], gains), scores(candidate[query["id"]], gains)))
    before, after = np.array(rows).swapaxes(0, 1)
    laps.append(time.perf_counter())
    processor = time.process_time()
    rng = np.random.default_rng(0)
    found = [interval((after - before)[:, metric], rng, resamples).tolist() for metric in range(intervals)]
    laps.append(time.perf_counter())
    processor = time.process_time() - processor
    print(json.dumps({"baseline": dict(zip(NAMES, before.mean(axis=0), strict=True)),
                      "candidate": dict(zip(NAMES, after.mean(axis=0), strict=True)), "intervals": found,
                      "seconds": dict(zip(("import", "load", "score", "statistics"), np.diff(laps), strict=True)),
                      "processor": {"statistics": processor}}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
