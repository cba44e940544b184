"""How often 95 % intervals of a mean paired delta hold the truth, on samples from populations whose mean is known.

    python benchmarks/coverage.py [--trials N] [--processes N] [--out TABLES.md]
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gate.golden.read import read_golden  # noqa: E402
from gate.runs import read_run  # noqa: E402
from gate.scoring.metrics import parse_metric  # noqa: E402
from gate.scoring.score import score_run  # noqa: E402
from gate.statistics.beta import beta_quantile  # noqa: E402
from gate.statistics.bootstrap import FEW_CHANGES, changed, distribution  # noqa: E402
from gate.statistics.fewchanges import few_changes_bound  # noqa: E402
from gate.statistics.normal import quantile  # noqa: E402

SIZES = (20, 50, 150, 300)
TAIL = 0.025
TOLERANCE = 0.02
# (collection, candidate, baseline): harmless changes and drops, from few whole losses to many small moves.
REAL = (("squad2-dev", "bm25_nostopfilter", "bm25"), ("squad2-dev", "bm25_k09b04", "bm25"), ("squad2-dev", "dense_idshift", "dense"),
        ("squad2-dev", "dense_dim192", "dense"), ("squad2-dev", "bm25_stopbug_top300", "bm25"),
        ("xquad-en", "dense_chunk50", "dense"), ("xquad-en", "bm25_nostopfilter", "bm25"), ("xquad-en", "dense_dim192", "dense"),
        ("xquad-en", "hybrid_legbug_case", "hybrid_rrf60"), ("anthropic-docs", "hybrid_rrf10", "hybrid_rrf60"),
        ("anthropic-docs", "dense_dim192", "dense"), ("anthropic-docs", "bm25_nostopfilter", "bm25"))
METHODS = ("ours", "expanded", "BCa", "percentile", "t")


class Score(NamedTuple):
    """What became of one method on one population at one n: shares of trials."""

    above: float  # the upper bound lay below the truth: what makes a wrong «credible drop»
    below: float  # the lower bound lay above it: what makes a wrong pass
    width: float
    fired: float  # fail by the gate's rule: mean at or below −δ and upper bound below 0


def real(data: Path) -> dict[str, np.ndarray]:
    """nDCG@10 deltas of every query, by name of the pair."""
    metric, found = parse_metric("ndcg@10"), {}
    for collection, *runs in REAL:
        golden = read_golden(data / "collections" / collection / "golden.jsonl")
        after, before = (score_run(golden, read_run(data / "runs" / collection / f"{run}.jsonl.gz"), [metric]).queries for run in runs)
        found[f"{collection} {runs[0]}"] = np.array([after[i].values["ndcg@10"] - before[i].values["ndcg@10"] for i in before])
    return found


def synthetic(size: int = 20_000) -> dict[str, np.ndarray]:
    """Skewed populations, made the same every time; their means are those of these very values."""
    rng = np.random.default_rng(1)
    kind = rng.random(size)
    return {
        "synthetic 12 % lost, 4 % gained, whole points": np.where(kind < 0.12, -1.0, np.where(kind < 0.16, 1.0, 0.0)),
        "synthetic half rise a little, 4 % lose all": np.where(kind < 0.5, rng.uniform(0.0, 0.1, size), np.where(kind < 0.54, -1.0, 0.0)),
        "synthetic half fall a little, 4 % gain all": np.where(kind < 0.5, -rng.uniform(0.0, 0.1, size), np.where(kind < 0.54, 1.0, 0.0)),
        "synthetic every query falls, log-normal": -np.minimum(rng.lognormal(-4.0, 1.5, size), 1.0),
        "synthetic 40 % move, normal": np.where(kind < 0.4, np.clip(rng.normal(-0.03, 0.3, size), -1.0, 1.0), 0.0)}


def t_quantile(p: float, freedom: int) -> float:
    """Of Student's t, p > 1/2, through the beta distribution."""
    x = beta_quantile(2.0 * (1.0 - p), freedom / 2.0, 0.5)
    return math.sqrt(freedom * (1.0 - x) / x)


def normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def bca(sample: np.ndarray, sums, mean: float) -> tuple[float, float]:
    """Efron's (1987) bias-corrected and accelerated interval; the acceleration of a mean is the jackknife's skewness."""
    low, high = 0.0, 1.0
    for _ in range(40):  # the distribution below its own mean, half of what lies on it included
        middle = (low + high) / 2.0
        low, high = (middle, high) if sums.quantile(middle) < mean else (low, middle)
    z0 = quantile(min(max((low + high) / 2.0, 1e-6), 1.0 - 1e-6))
    centred = sample - mean
    squares = float((centred**2).sum())
    acceleration = float((centred**3).sum()) / (6.0 * squares**1.5) if squares else 0.0
    ends = []
    for z in (quantile(TAIL), quantile(1.0 - TAIL)):
        moved = z0 + z
        level = normal_cdf(z0 + moved / (1.0 - acceleration * moved))
        ends.append(sums.quantile(min(max(level, 1e-6), 1.0 - 1e-6)))
    return ends[0], ends[1]


def intervals(sample: np.ndarray, t: float, level: float) -> dict[str, tuple[float, float]]:
    """All methods on one sample. ``t``: Student's quantile; ``level``: the expanded tail."""
    n, mean = len(sample), float(sample.mean())
    moved = changed(sample.tolist())
    half = t * float(sample.std(ddof=1)) / math.sqrt(n)
    found = {"t": (mean - half, mean + half)}
    alike = len(moved) == n and max(moved) - min(moved) < 1e-9
    few = len(moved) < FEW_CHANGES or alike
    if moved and not alike:
        sums = distribution(moved, n)
        found["percentile"] = sums.quantile(TAIL), sums.quantile(1.0 - TAIL)
        if not few:
            found |= {"ours": found["percentile"], "expanded": (sums.quantile(level), sums.quantile(1.0 - level)),
                      "BCa": bca(sample, sums, mean)}
    else:
        found["percentile"] = mean, mean
    if few:
        bound = -few_changes_bound([-d for d in moved], n, TAIL), few_changes_bound(moved, n, TAIL)
        found |= dict.fromkeys(("ours", "expanded", "BCa"), bound)
    return found


def simulate(name: str, population: np.ndarray, n: int, trials: int, seed: int) -> tuple[str, int, float, dict[str, Score]]:
    """Draw ``trials`` samples of n with replacement, and count."""
    rng, truth = np.random.default_rng(seed), float(population.mean())
    t = t_quantile(1.0 - TAIL, n - 1)
    level = normal_cdf(-math.sqrt(n / (n - 1)) * t)  # Hesterberg (2015), 5.3
    total = {method: np.zeros(4) for method in METHODS}
    for _ in range(trials):
        sample = population[rng.integers(0, len(population), n)]
        drop = float(sample.mean()) <= -TOLERANCE
        for method, (low, high) in intervals(sample, t, level).items():
            # A bound on a lattice may be the truth itself; that is no miss.
            total[method] += (high < truth - 1e-9, low > truth + 1e-9, high - low, drop and high < 0.0)
    return name, n, truth, {method: Score(*(sums / trials)) for method, sums in total.items()}


def table(rows: list[list[str]]) -> str:
    """A Markdown table; the first row is its head."""
    head, *body = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *body]) + "\n"


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def summary(results: list) -> str:
    """By n and method: means over populations, and the worst of them."""
    rows = [["n", "method", "covers", "least", "upper bound misses", "most", "lower bound misses", "most", "width", "drops caught"]]
    for n in SIZES:
        here = [result for result in results if result[1] == n]
        ours = [scores["ours"].width for *_, scores in here]
        for method in METHODS:
            scores = [result[3][method] for result in here]
            covers = [1.0 - s.above - s.below for s in scores]
            caught = [result[3][method].fired for result in here if result[2] <= -TOLERANCE]
            rows.append([str(n), method, percent(np.mean(covers)), percent(min(covers)), percent(np.mean([s.above for s in scores])),
                         percent(max(s.above for s in scores)), percent(np.mean([s.below for s in scores])),
                         percent(max(s.below for s in scores)), f"{np.mean([s.width / w for s, w in zip(scores, ours, strict=True)]):.3f}",
                         percent(np.mean(caught)) if caught else "–"])
    return table(rows)


def every(results: list) -> str:
    """By population: misses of the upper and of the lower bound at every n."""
    rows = [["population", "mean", "n", *(f"{method}" for method in METHODS)]]
    for name, n, truth, scores in results:
        rows.append([name, f"{truth:+.4f}".replace("-", "−"), str(n),
                     *(f"{percent(scores[method].above)} / {percent(scores[method].below)}" for method in METHODS)])
    return table(rows)


def main() -> None:
    """Simulate everything and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=2000, help="samples of each population at each n (default: 2000)")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the tables there instead of printing them")
    options = parser.parse_args()
    data = Path(os.environ.get("RETRIEVAL_GATE_DATA", ROOT.parent / "shared" / "data"))
    populations = synthetic()
    if (data / "expected.json").is_file():
        populations = real(data) | populations
    else:
        print("the public collections are not on this machine (set RETRIEVAL_GATE_DATA): synthetic populations only", file=sys.stderr)
    jobs = [(name, values, n, options.trials, 1000 * i + n) for i, (name, values) in enumerate(populations.items()) for n in SIZES]
    with ProcessPoolExecutor(options.processes) as pool:
        results = list(pool.map(simulate, *zip(*jobs, strict=True)))
    kinds = {kind: [r for r in results if r[0].startswith("synthetic") == made] for kind, made in (("Real", False), ("Synthetic", True))}
    errors = [100 * math.sqrt(p * (1 - p) / options.trials) for p in (TAIL, 0.95)]
    text = (f"{len(populations)} populations, {options.trials:,} samples each. One Monte Carlo standard error of a miss rate near 2.5 % is "
            f"{errors[0]:.2f} points, of a coverage near 95 % {errors[1]:.2f}; of a mean over m populations, 1/√m of that. All in percent "
            "but the width, which is relative to ours.\n")
    for kind, those in kinds.items():
        if those:
            text += f"\n## {kind} populations ({len(those) // len(SIZES)})\n\n{summary(those)}"
    text += f"\n## Every population\n\nMisses of the upper / lower bound; 2.5 / 2.5 are allowed.\n\n{every(results)}"
    if options.out:
        options.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
