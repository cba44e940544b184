"""What a golden set can resolve: the smallest change it shows, overall and by tag, and how many queries a tolerance takes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gate.comparison import SMALL_STRATUM
from gate.golden.model import GoldenSet
from gate.repeats import Repeats
from gate.runs import Run
from gate.scoring.metrics import parse_metric
from gate.scoring.score import score_run
from gate.statistics.bootstrap import FEW_CHANGES, changed
from gate.statistics.clusters import count, gather
from gate.statistics.noise import round_up
from gate.statistics.power import detectable, queries_to_detect, variance

# What two runs of an ordinary change look like when nobody has them yet: it is an assumption, and every report of it says so.
ASSUMED_SHARE = 0.1


class Row(NamedTuple):
    """The whole set, or one tag. ``n``: scored queries, ``clusters``: independent ones, ``changed``: of these, None without two runs.

    ``basis``: where the spread of single deltas comes from: ``observed`` here; ``pooled``, the whole set's, where too few moved here to
    tell; ``assumed``; or ``none`` where no query has a value, so that there is nothing to assume and ``needed`` is None. ``mde``: smallest
    change shown with 80 % power; ``needed``: queries like these for the tolerance. ``reason`` why it cannot be gated, empty when it can.
    """

    n: int
    clusters: int
    changed: int | None
    basis: str
    mde: float | None
    needed: int | None
    reason: str

    @property
    def gateable(self) -> bool:
        return not self.reason


class Documents(NamedTuple):
    """How many documents the corpus holds, and at how many of them a golden query points. A loss among the others cannot be seen."""

    pointed_at: int
    total: int

    @property
    def share(self) -> float:
        return self.pointed_at / self.total if self.total else 0.0


class Plan(NamedTuple):
    """Everything ``golden plan`` says. ``runs``: how many were given, 0 to 2; counts are over all queries of the file.

    ``unvalued``: queries for which the metric is not defined. ``noise``: of repeats of one run, None where none were given;
    ``suggested``: the smallest tolerance with two digits that is not below its floor, and what the set can do there, None without noise.
    """

    metric: str
    tolerance: float
    confidence: float
    runs: int
    overall: Row
    tags: Mapping[str, Row]
    answerable: int
    unanswerable: int
    undefined: int
    unscored: int
    splits: Mapping[str, int]
    sources: Mapping[str, int]
    documents: Documents | None
    unvalued: int = 0
    noise: Repeats | None = None
    suggested: tuple[float, Row] | None = None


def make_plan(golden: GoldenSet, metric: str, tolerance: float, scores: Sequence[Mapping[str, float]] = (), *,
              confidence: float = 0.95, documents: Documents | None = None, noise: Repeats | None = None) -> Plan:
    """``scores``: per run, query id → value of ``metric``: none, one (what there is to lose), or two (what really moved)."""
    # What has a score whatever is found: that depends on the labels only, but for candidates, which a run has to name.
    scored = score_run(golden, Run({}), [parse_metric(metric)]).queries
    defined = [i for i, score in scored.items() if metric in score.values or (scores and all(i in values for values in scores))]
    ids = [i for i in defined if all(i in values for values in scores)]
    moves = dict(zip(ids, _moves(ids, scores), strict=True))
    observed = len(scores) == 2
    overall, spread = _row(golden, ids, moves, observed, tolerance, confidence, None)
    tagged: dict[str, list[str]] = {}
    for i in ids:
        for tag in golden.by_id[i].tags:
            tagged.setdefault(tag, []).append(i)
    pooled = spread if overall.basis == "observed" else None
    tags = {tag: _row(golden, tagged[tag], moves, observed, tolerance, confidence, pooled)[0]
            for tag in sorted(tagged, key=lambda t: (-len(tagged[t]), t))}
    suggested = None
    if noise and noise.noise.floor > 0:
        enough = round_up(noise.noise.floor)
        suggested = enough, _row(golden, ids, moves, observed, enough, confidence, None)[0]
    answerable = sum(q.answerable for q in golden.queries)
    return Plan(metric, tolerance, confidence, len(scores), overall, tags, answerable, len(golden.queries) - answerable,
                answerable - len(scored), len(defined) - len(ids), _counts(q.split for q in golden.queries),
                _counts(q.source or "not said" for q in golden.queries), documents,
                len(scored) - len(defined), noise, suggested)


def _moves(ids: Iterable[str], scores: Sequence[Mapping[str, float]]) -> list[float]:
    """By how much each query moved; or, where that is not known, could: to 0 or to 1, whichever is further."""
    if len(scores) == 2:
        return [scores[1][i] - scores[0][i] for i in ids]
    return [max(scores[0][i], 1.0 - scores[0][i]) if scores else 1.0 for i in ids]


def _row(golden: GoldenSet, ids: Sequence[str], moves: Mapping[str, float], observed: bool, tolerance: float, confidence: float,
         pooled: float | None) -> tuple[Row, float]:
    keys = [golden.by_id[i].cluster for i in ids]
    sums, sizes = gather([moves[i] for i in ids], keys)
    n, independent = len(ids), count(keys)
    moved = len(changed(sums)) if observed else None
    if n == 0:
        return Row(0, 0, moved, "none", None, None, "no query has a value"), ASSUMED_SHARE
    if moved is not None and moved >= FEW_CHANGES:
        basis, spread = "observed", variance(sums, sizes)
    elif moved is not None and pooled is not None:
        basis, spread = "pooled", pooled
    else:
        # As many up as down, so that the mean is 0 and the spread the largest that this share can have. A cluster moves as a whole.
        if observed:
            sums, sizes = gather([1.0] * n, keys)
        basis, spread = "assumed", ASSUMED_SHARE * sum(s * s for s in sums) / n
    mde = detectable(spread, n, confidence) if independent > 1 else None
    needed = queries_to_detect(spread, tolerance, confidence)
    reason = ""
    if independent < SMALL_STRATUM:
        reason = f"fewer than {SMALL_STRATUM} independent queries"
    elif mde is not None and mde > tolerance:
        reason = "too few for this tolerance"
    return Row(n, independent, moved, basis, mde, needed, reason), spread


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def documents_of(golden: GoldenSet, units: Sequence[Mapping[str, object]]) -> Documents:
    """Of the documents that a golden set can name, those it does name: itself, one of its chunks, or what it was cut from."""
    named = {doc for query in golden.queries for doc, grade in query.documents.items() if grade > 0}
    pointed = {unit["doc"]: False for unit in units}
    for unit in units:
        pointed[unit["doc"]] |= any(unit.get(key) in named for key in ("id", "doc", "parent"))
    return Documents(sum(pointed.values()), len(pointed))
