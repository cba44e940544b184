"""Metric names and what they compute.

A ranking is first mapped to *credits*: the ranks (from 1) at which gold units are found, each unit once, at its first rank. The textbook
formula is then applied to the credits, so nothing exceeds 1. With R gold units of positive grade, ``found@k`` of them in the top k:

=============== ==================================== =====================================================================
name            formula                              worked value for x1 A x2 x3 B x4…x8, relevant A, B, C
=============== ==================================== =====================================================================
recall@k        found@k / R                          recall@5 = 2/3
recall-cap@k    found@k / min(R, k): 1 is within     recall-cap@2 = 1/2, recall-cap@5 = 2/3
                reach also where R > k
precision@k     found@k / k (also when fewer came)   precision@5 = 0.4
r-precision     found in the top R / R               1/3
hit@k           1 if found@k > 0                     hit@1 = 0, hit@2 = 1
rr, rr@k        1 / rank of the first unit, else 0   rr = 0.5
ap, ap@k        Σ precision at each unit / R         (1/2 + 2/5) / 3 = 0.3
ndcg@k          DCG / ideal DCG, gain = grade,       1.0178 / 2.1309 = 0.4776
                discount 1/log2(rank + 1); the ideal
                is over ALL judged units, cut at k
ndcg-exp@k      the same with gain 2^grade − 1       0.4776 (grades are all 1)
judged@k        results in the top k that are judged judged@5 = 0.4; 0.6 when x1 is judged worthless. The smaller it is, the more
                for THIS query (whatever the grade)  of a low score may be documents that nobody has looked at
                / k (also when fewer came)
span-coverage@k share of a gold span's characters    span 100–200, chunks 50–130 and 160–300 of its document: 0.3 at k = 1,
                that the union of the top k covers,  0.7 at k = 2 (while recall@2 = 0: no single chunk holds half of it)
                mean over spans; undefined for a
                query without spans
candidate-      recall@k over the run's `candidates` candidates x1 C A x2, relevant A, B, C: candidate-recall@2 = 1/3,
recall@k        in place of its results: the most    candidate-recall@3 = 2/3, which no reranker of the first 3 can exceed
                that the final list can hold
latest@k        0 if an outdated version stands in   current A, outdated A1, A2: x1 A1 A has latest@1 = 1, latest@2 = 0, latest@3 = 0;
                the top k above the current one or   x1 A A1 has 1 everywhere
                without it, else 1
=============== ==================================== =====================================================================

Definitions agree with trec_eval where it has the metric (recall, P, Rprec, success, recip_rank, map, ndcg_cut).

candidate-recall@k counts a document with spans once, because candidates carry no offsets. It is undefined for a run that says nothing of
its candidates; in a run that does for some queries it is 0 for the others, so that leaving them out lifts no mean. latest@k is undefined
for a query that does not ask for the current version: one whose relevant documents lack it, or that grades an outdated one higher. With
neither version in the top k it is 1: to find nothing is recall's matter.

One chunk can cover several spans, so credits can share a rank. ``found@k`` counts them all, at most k in precision and recall-cap; ap and
ndcg let all but one of them wait for the next free ranks (:attr:`View.places`).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from gate.scoring.view import View


@lru_cache(maxsize=4096)
def discount(rank: int) -> float:
    """1 / log2(rank + 1)."""
    return 1.0 / math.log2(rank + 1)


@lru_cache(maxsize=4096)
def _ideal(grades: tuple[float, ...], k: int, exponential: bool) -> float:
    return math.fsum((2.0**g - 1.0 if exponential else g) * discount(i) for i, g in enumerate(grades[:k], 1))


def _found(view: View, k: int | None) -> int:
    return len(view.credits) if k is None else bisect_right(view.credits, (k, math.inf))


def _recall(view: View, k: int | None) -> float:
    return _found(view, k) / len(view.grades)


def _recall_cap(view: View, k: int | None) -> float:
    most = min(len(view.grades), k or 0)
    return min(_found(view, k), most) / most if most else 0.0


def _precision(view: View, k: int | None) -> float:
    return min(_found(view, k), k) / k if k else 0.0


def _r_precision(view: View, k: int | None) -> float:
    return _found(view, len(view.grades)) / len(view.grades)


def _hit(view: View, k: int | None) -> float:
    return 1.0 if _found(view, k) else 0.0


def _rr(view: View, k: int | None) -> float:
    return 1.0 / view.credits[0][0] if view.credits and (k is None or view.credits[0][0] <= k) else 0.0


def _ap(view: View, k: int | None) -> float:
    ranks = [rank for rank, _ in view.places if k is None or rank <= k]
    return math.fsum(found / rank for found, rank in enumerate(ranks, 1)) / len(view.grades)


def _ndcg(view: View, k: int | None) -> float:
    cut = k or 0
    dcg = math.fsum(grade * discount(rank) for rank, grade in view.places if rank <= cut)
    return dcg / _ideal(view.grades, cut, False) if dcg else 0.0


def _ndcg_exp(view: View, k: int | None) -> float:
    cut = k or 0
    dcg = math.fsum((2.0**grade - 1.0) * discount(rank) for rank, grade in view.places if rank <= cut)
    return dcg / _ideal(view.grades, cut, True) if dcg else 0.0


def _judged(view: View, k: int | None) -> float:
    return len([rank for rank in view.judged if rank <= k]) / k if k else 0.0


def _span_coverage(view: View, k: int | None) -> float | None:
    if view.coverage is None:
        return None
    return next((share for rank, share in reversed(view.coverage) if rank <= (k or 0)), 0.0)


def _candidate_recall(view: View, k: int | None) -> float | None:
    if view.candidates is None:
        return None
    ranks, units = view.candidates
    return len([rank for rank in ranks if rank <= (k or 0)]) / units


def _latest(view: View, k: int | None) -> float | None:
    return None if view.stale is None else 0.0 if 0 < view.stale <= (k or 0) else 1.0


class _Family(NamedTuple):
    """``cutoff``: required | optional | none. ``needs``: the field of a View that is filled only when a metric asks for it."""

    formula: Callable[[View, int | None], float | None]
    cutoff: str = "required"
    needs: str = ""


_FAMILIES = {
    "hit": _Family(_hit), "recall": _Family(_recall), "recall-cap": _Family(_recall_cap), "precision": _Family(_precision),
    "r-precision": _Family(_r_precision, "none"), "rr": _Family(_rr, "optional"), "ap": _Family(_ap, "optional"), "ndcg": _Family(_ndcg),
    "ndcg-exp": _Family(_ndcg_exp), "judged": _Family(_judged, needs="judged"),
    "span-coverage": _Family(_span_coverage, needs="coverage"), "candidate-recall": _Family(_candidate_recall, needs="candidates"),
    "latest": _Family(_latest, needs="stale")}
_PARTIAL = ("span-coverage", "candidate-recall", "latest")
_SYNONYMS = {"mrr": "rr", "recip_rank": "rr", "map": "ap", "p": "precision", "success": "hit", "hit_rate": "hit", "hits": "hit",
             "ndcg_cut": "ndcg", "r": "recall", "rprec": "r-precision", "r-prec": "r-precision", "r-cap": "recall-cap",
             "rcap": "recall-cap", "coverage": "span-coverage", "candidates": "candidate-recall", "freshness": "latest"}
_NAME = re.compile(r"([A-Za-z][A-Za-z_-]*?)(?:@([0-9]{1,9}))?\Z")


class UnknownMetric(ValueError):
    """A metric name that is not one; the message names the nearest."""


class Metric(NamedTuple):
    """A metric with its cutoff; prints back as its name. ``k`` is None for an uncut metric."""

    family: str
    k: int | None = None

    def __str__(self) -> str:
        return self.family if self.k is None else f"{self.family}@{self.k}"

    def __call__(self, view: View) -> float | None:
        """Value in [0, 1] for one query with at least one gold unit; None where this metric alone is undefined (``partial``)."""
        return self.formula(view, self.k)

    @property
    def formula(self) -> Callable[[View, int | None], float | None]:
        """(view, cutoff) → value."""
        return _FAMILIES[self.family].formula

    @property
    def binary(self) -> bool:
        """Whether values are only 0 and 1, so that McNemar's test applies."""
        return self.family in ("hit", "latest")

    @property
    def partial(self) -> bool:
        """Whether queries that other metrics score can be without a value: its mean is over fewer queries, its pairs are fewer."""
        return self.family in _PARTIAL

    @property
    def depth(self) -> int:
        """How many results a run has to hold for each query; 0 where no number is asked for, as for what looks at candidates only."""
        return 0 if self.family == "candidate-recall" else self.k or 0

    @property
    def needs(self) -> str:
        """The field of a :class:`View` that has to be filled for this metric; empty when credits and grades are enough."""
        return _FAMILIES[self.family].needs


def parse_metric(name: str) -> Metric:
    """``ndcg@10`` → Metric. Raises :class:`UnknownMetric` with the nearest known name."""
    match = _NAME.match(name.strip()) if isinstance(name, str) else None
    family, cut = (match.group(1).lower(), match.group(2)) if match else (str(name).strip().lower(), None)
    if family not in _FAMILIES:
        raise UnknownMetric(f"unknown metric {name!r}{_hint(family, cut)} (known: {', '.join(_FAMILIES)}, with a cutoff as in ndcg@10)")
    cutoff = _FAMILIES[family].cutoff
    if cut is None and cutoff == "required":
        raise UnknownMetric(f"metric {name!r} needs a cutoff, for instance {family}@10")
    if cut is not None and cutoff == "none":
        raise UnknownMetric(f"metric {name!r}: {family} has no cutoff, it looks at as many results as there are gold units; "
                            f"did you mean {family}?")
    if cut is not None and int(cut) == 0:
        raise UnknownMetric(f"metric {name!r}: the cutoff must be at least 1")
    return Metric(family, int(cut) if cut else None)


def _hint(family: str, cut: str | None) -> str:
    import difflib

    plain = family.replace("_", "-")
    near = _SYNONYMS.get(family) or _SYNONYMS.get(plain) or next(iter(difflib.get_close_matches(plain, _FAMILIES, 1, 0.5)), None)
    if near is None:
        return ""
    return f"; did you mean {near}{f'@{cut}' if cut and _FAMILIES[near].cutoff != 'none' else ''}?"
