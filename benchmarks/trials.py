"""Repeated trials whose truth is known, judged by the product's own rule and by three plain ones.

Scores of real queries are computed once; a trial draws queries from them. Pure but for the seed that each batch is given.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gate.comparison import Comparison, Paired, pair
from gate.golden.model import GoldenSet
from gate.golden.read import read_golden
from gate.policy import Policy, quality_checks
from gate.runs import Ranking, Run, read_run
from gate.scoring.score import Excluded, ScoredRun, score_run

POLICY = Policy()
PRIMARY = str(POLICY.primary)
SIZES = (50, 150, 300)
LOSSES = (0.02, 0.05, 0.10)
BATCH = 1_000
RULES = ("fail", "inconclusive", "pass", "credible", "threshold", "bootstrap", "t-test")

REPLICATES, JITTER = 40, 0.01  # of the repeated-noise trials; JITTER is in units of cosine similarity
# One-sided 2.5 % points of Student's t with n - 1 degrees of freedom: three constants are no reason to depend on scipy.
T_POINTS = {50: 2.009575, 150: 1.976013, 300: 1.967930}
# Below this many changed queries the product does not use the bootstrap, and no approximation may stand in for it.
FEW = 10
# How near, in standard errors, an approximate bound may be to what decides before the product is asked; see ``judge``.
MARGIN, AUDITED = 0.25, 0.05

Pairs = tuple[np.ndarray, np.ndarray]  # scores of baseline and candidate, a trial a row
Draw = Callable[[np.random.Generator, int, int], Pairs]


class Scores(NamedTuple):
    """What the trials are made of: primary metric per collection and run, in order of the golden set, and the noisy repetitions."""

    runs: dict[tuple[str, str], np.ndarray]
    repeated: np.ndarray


# Each pair: how it is told, its collection, its two runs. Few, many and very many queries differ between the two.
PAIRS = {
    "few": ("BM25, with and without its stop words", "squad2-dev", "bm25", "bm25_nostopfilter"),
    "many": ("dense and hybrid", "squad2-dev", "dense", "hybrid_rrf60"),
    "very many": ("dense and hybrid, several documents a query", "anthropic-docs", "dense", "hybrid_rrf60"),
}
NULLS = (*PAIRS, "repeated", "skewed")
KINDS = ("alone", "amid")


def load_scores(folder: Path) -> Scores:
    runs: dict[tuple[str, str], np.ndarray] = {}
    for _, collection, *names in PAIRS.values():
        golden = read_golden(folder / "collections" / collection / "golden.jsonl")
        for name in names:
            runs[collection, name] = _column(golden, read_run(folder / "runs" / collection / f"{name}.jsonl.gz"))
    golden = read_golden(folder / "collections" / "squad2-dev" / "golden.jsonl")
    dense = read_run(folder / "runs" / "squad2-dev" / "dense.jsonl.gz")
    rng = np.random.default_rng(0)
    return Scores(runs, np.array([_column(golden, _jittered(dense, rng)) for _ in range(REPLICATES)]))


def _column(golden: GoldenSet, run: Run) -> np.ndarray:
    return np.array([query.values[PRIMARY] for query in score_run(golden, run, [POLICY.primary]).queries.values()])


def _jittered(run: Run, rng: np.random.Generator) -> Run:
    """The same retriever measured again: every score a little off, ranked by what it is then."""
    again = {}
    for i, ranking in run.rankings.items():
        scores = np.asarray(ranking.scores) + rng.normal(0.0, JITTER, len(ranking.docs))
        again[i] = Ranking([ranking.docs[row] for row in np.argsort(-scores, kind="stable")])
    return Run(again)


def _drawn(rng: np.random.Generator, trials: int, n: int, *columns: np.ndarray) -> list[np.ndarray]:
    """Queries drawn with replacement: a golden set of ``n`` from a population that looks like the collection."""
    rows = rng.integers(0, len(columns[0]), (trials, n))
    return [column[rows] for column in columns]


def _swapped(first: np.ndarray, second: np.ndarray) -> Draw:
    """Both sides are either system with equal chance for every query, so that neither is better in truth."""

    def draw(rng: np.random.Generator, trials: int, n: int) -> Pairs:
        a, b = _drawn(rng, trials, n, first, second)
        swap = rng.random((trials, n)) < 0.5
        return np.where(swap, b, a), np.where(swap, a, b)

    return draw


def _repeated(scores: np.ndarray) -> Draw:
    """Two measurements of one noisy retriever, independent for every query."""

    def draw(rng: np.random.Generator, trials: int, n: int) -> Pairs:
        rows = rng.integers(0, scores.shape[1], (trials, n))
        one = rng.integers(0, len(scores), (trials, n))
        other = (one + rng.integers(1, len(scores), (trials, n))) % len(scores)
        return scores[one, rows], scores[other, rows]

    return draw


def _skewed(first: np.ndarray, second: np.ndarray) -> Draw:
    """Equal in the mean but not symmetric: many small losses, few large gains, as real moves are, drawn so that they cancel.

    No rule that looks at one sample is exact here: a sample without the rare gains looks like a plain loss.
    """
    deltas = second - first
    sizes = np.abs(deltas[np.abs(deltas) > 1e-9])
    small = np.flatnonzero((deltas < -1e-9) & (-deltas <= np.median(sizes)))
    large = np.flatnonzero(deltas >= np.median(sizes))
    still = np.flatnonzero(np.abs(deltas) <= 1e-9)
    gain = -deltas[small].mean() / (deltas[large].mean() - deltas[small].mean())
    share = len(sizes) / len(deltas)
    weights = np.zeros(len(deltas))
    weights[still], weights[small], weights[large] = (1 - share) / len(still), share * (1 - gain) / len(small), share * gain / len(large)
    weights /= weights.sum()

    def draw(rng: np.random.Generator, trials: int, n: int) -> Pairs:
        rows = rng.choice(len(deltas), (trials, n), p=weights)
        return first[rows], second[rows]

    return draw


def null(scores: Scores, name: str) -> Draw:
    """Draws of two systems that are equal in truth."""
    if name == "repeated":
        return _repeated(scores.repeated)
    _, collection, first, second = PAIRS["many" if name == "skewed" else name]
    make = _skewed if name == "skewed" else _swapped
    return make(scores.runs[collection, first], scores.runs[collection, second])


def losing(scores: Scores, kind: str, loss: float) -> Draw:
    """Draws of a candidate that is worse by ``loss`` in the mean: of some queries it finds no relevant document in the top 10 any more.

    ``alone``: the candidate is the baseline but for that. ``amid``: while many rankings change for no better or worse.
    """
    _, collection, first, second = PAIRS["many"]
    dense, hybrid = scores.runs[collection, first], scores.runs[collection, second]
    before = _swapped(dense, dense if kind == "alone" else hybrid)
    share = loss / float((dense if kind == "alone" else (dense + hybrid) / 2).mean())

    def draw(rng: np.random.Generator, trials: int, n: int) -> Pairs:
        baseline, candidate = before(rng, trials, n)
        return baseline, np.where(rng.random(candidate.shape) < share, 0.0, candidate)

    return draw


def product(baseline: list[float], candidate: list[float]) -> tuple[str, bool]:
    """The verdict of the product's drop rule, and whether it calls the drop credible."""
    return decided(pair(baseline, candidate, POLICY.method))


def decided(paired: Paired) -> tuple[str, bool]:
    """What the product decides on one metric's numbers: verdict, and whether the interval is below 0."""
    nothing: Any = ()
    comparison = Comparison(primary=POLICY.primary, metrics={PRIMARY: paired}, tags={}, identical=False, flip_k=POLICY.primary.k,
                            lost=nothing, gained=nothing, changes=nothing, paired=nothing, unpaired=nothing, added=nothing,
                            removed=nothing, relabelled=nothing, deltas={})
    # With the default policy the drop is the only check on these numbers; what the candidate is beyond them nobody asks.
    check, = quality_checks(comparison, ScoredRun((POLICY.primary,), {}, Excluded(), {}), POLICY, ())
    return check.outcome, paired.ci is not None and paired.ci.hi < 0


@lru_cache(maxsize=1 << 16)
def _product_of_few(n: int, moved: tuple[float, ...]) -> tuple[str, bool]:
    """The same, remembered: few moves are often the same moves. Only deltas decide, so any scores that have them will do."""
    return product([max(-d, 0.0) for d in moved] + [0.0] * (n - len(moved)), [max(d, 0.0) for d in moved] + [0.0] * (n - len(moved)))


def judge(baseline: np.ndarray, candidate: np.ndarray, rng: np.random.Generator) -> Counter[str]:
    """How often each rule speaks, over the trials in the rows.

    The product takes milliseconds a trial, so it is asked only where it could go either way: bounds are approximated by a normal
    distribution corrected for skewness, and wherever one of them, or the mean, is near what decides, or few queries changed, the product
    decides. Elsewhere the answer is plain; a random share of those is put to the product all the same and has to agree.
    """
    deltas = candidate - baseline
    deltas[np.abs(deltas) <= 1e-9] = 0.0
    trials, n = deltas.shape
    moved = np.count_nonzero(deltas, axis=1)
    mean = deltas.sum(axis=1) / n
    centred = deltas - mean[:, None]
    sd = np.sqrt((centred**2).mean(axis=1))
    safe = np.where(sd > 0, sd, 1.0)
    se, z = safe / math.sqrt(n), 1.959964
    shift = (centred**3).mean(axis=1) / safe**3 / (6 * math.sqrt(n)) * (z * z - 1)
    lo, hi = mean + se * (shift - z), mean + se * (shift + z)
    tolerance = POLICY.tolerance
    credible = hi < 0
    outcome = np.where((mean <= -tolerance) & credible, "fail", np.where(lo > -tolerance, "pass", "inconclusive"))
    unsure = (moved < FEW) | (np.abs(hi) < MARGIN * se) | (np.abs(lo + tolerance) < MARGIN * se) | (np.abs(mean + tolerance) < 1e-9)
    audited = ~unsure & (rng.random(trials) < AUDITED)
    counts: Counter[str] = Counter({"trials": trials, "audited": int(audited.sum()), "changed": int(moved.sum())})
    for row in np.flatnonzero(unsure | audited):
        if moved[row] < FEW:
            said = _product_of_few(n, tuple(sorted(np.round(deltas[row][deltas[row] != 0], 12).tolist())))
        else:
            said = product(baseline[row].tolist(), candidate[row].tolist())
            counts["asked"] += 1
        counts["disagreed"] += bool(audited[row]) and said != (outcome[row], credible[row])
        outcome[row], credible[row] = said
    # From ten changed queries on the product's interval is the percentile bootstrap; below, the plain rule goes on with it.
    bootstrap = credible.copy()
    for row in np.flatnonzero(moved < FEW):
        bootstrap[row] = _plain_bootstrap(deltas[row][deltas[row] != 0], n, rng)
    counts.update({name: int((outcome == name).sum()) for name in ("fail", "inconclusive", "pass")})
    counts["credible"] = int(credible.sum())
    counts["threshold"] = int((mean <= -tolerance + 1e-12).sum())
    counts["bootstrap"] = int(bootstrap.sum())
    counts["t-test"] = int(((sd > 0) & (mean < -T_POINTS[n] * safe / math.sqrt(n - 1))).sum())
    return counts


def _plain_bootstrap(moved: np.ndarray, n: int, rng: np.random.Generator, resamples: int = 4_000) -> bool:
    """Whether the upper end of the percentile interval is below 0, with few changed queries: draw how often each comes up."""
    if not len(moved) or moved.sum() >= 0:
        return False
    if moved.max() < 0:  # a resample reaches 0 only when it holds none of them
        return (1.0 - len(moved) / n) ** n < 0.025
    drawn = rng.multinomial(n, [*[1.0 / n] * len(moved), 1.0 - len(moved) / n], resamples)[:, :-1]
    return bool(np.quantile(drawn @ moved, 0.975) < -1e-12)


def batch(scores: Scores, what: tuple[str, float], n: int, number: int) -> Counter[str]:
    """One batch of trials. ``what``: (name of a null, 0) or (kind of loss, its size). The seed is made of what is asked: order is free."""
    name, loss = what
    rng = np.random.default_rng([zlib.crc32(f"{name} {loss}".encode()), n, number])
    draw = losing(scores, name, loss) if loss else null(scores, name)
    return judge(*draw(rng, BATCH, n), rng)
