"""Metric names and what they compute.

A ranking is first mapped to *credits*: the ranks (from 1) at which gold units are found, each unit once, at its first rank. The textbook
formula is then applied to the credits, so nothing exceeds 1. With R gold units of positive grade, ``found@k`` of them in the top k:

========== ==================================== =====================================================================
name       formula                              worked value for x1 A x2 x3 B x4…x8, relevant A, B, C
========== ==================================== =====================================================================
recall@k   found@k / R                          recall@5 = 2/3
precision@k found@k / k (also when fewer came)  precision@5 = 0.4
hit@k      1 if found@k > 0                     hit@1 = 0, hit@2 = 1
rr, rr@k   1 / rank of the first unit, else 0   rr = 0.5
ap, ap@k   Σ precision at each unit / R         (1/2 + 2/5) / 3 = 0.3
ndcg@k     DCG / ideal DCG, gain = grade,       1.0178 / 2.1309 = 0.4776
           discount 1/log2(rank + 1); the ideal
           is over ALL judged units, cut at k
ndcg-exp@k the same with gain 2^grade − 1       0.4776 (grades are all 1)
========== ==================================== =====================================================================

Definitions agree with trec_eval where it has the metric (recall, P, success, recip_rank, map, ndcg_cut).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

Credit = tuple[int, float]  # rank from 1, grade


class Gold(NamedTuple):
    """The positive grades of a query's gold units, best first. ``len`` is R."""

    grades: tuple[float, ...]


@lru_cache(maxsize=4096)
def discount(rank: int) -> float:
    """1 / log2(rank + 1)."""
    return 1.0 / math.log2(rank + 1)


@lru_cache(maxsize=4096)
def _ideal(grades: tuple[float, ...], k: int, exponential: bool) -> float:
    return math.fsum((2.0**g - 1.0 if exponential else g) * discount(i) for i, g in enumerate(grades[:k], 1))


def _found(credits: Sequence[Credit], k: int | None) -> int:
    return len(credits) if k is None else len([rank for rank, _ in credits if rank <= k])


def _recall(credits: Sequence[Credit], gold: Gold, k: int | None) -> float:
    return _found(credits, k) / len(gold.grades)


def _precision(credits: Sequence[Credit], gold: Gold, k: int | None) -> float:
    return _found(credits, k) / k if k else 0.0


def _hit(credits: Sequence[Credit], gold: Gold, k: int | None) -> float:
    return 1.0 if _found(credits, k) else 0.0


def _rr(credits: Sequence[Credit], gold: Gold, k: int | None) -> float:
    return 1.0 / credits[0][0] if credits and (k is None or credits[0][0] <= k) else 0.0


def _ap(credits: Sequence[Credit], gold: Gold, k: int | None) -> float:
    ranks = [rank for rank, _ in credits if k is None or rank <= k]
    return math.fsum(found / rank for found, rank in enumerate(ranks, 1)) / len(gold.grades)


def _ndcg(credits: Sequence[Credit], gold: Gold, k: int | None) -> float:
    cut = k or len(credits)
    dcg = math.fsum(grade * discount(rank) for rank, grade in credits if rank <= cut)
    return dcg / _ideal(gold.grades, cut, False) if dcg else 0.0


def _ndcg_exp(credits: Sequence[Credit], gold: Gold, k: int | None) -> float:
    cut = k or len(credits)
    dcg = math.fsum((2.0**grade - 1.0) * discount(rank) for rank, grade in credits if rank <= cut)
    return dcg / _ideal(gold.grades, cut, True) if dcg else 0.0


_FAMILIES: dict[str, tuple[Callable[[Sequence[Credit], Gold, int | None], float], bool]] = {
    # family → formula, whether a cutoff is required
    "hit": (_hit, True), "recall": (_recall, True), "precision": (_precision, True), "rr": (_rr, False),
    "ap": (_ap, False), "ndcg": (_ndcg, True), "ndcg-exp": (_ndcg_exp, True)}
_SYNONYMS = {"mrr": "rr", "recip_rank": "rr", "map": "ap", "p": "precision", "success": "hit", "hit_rate": "hit", "hits": "hit",
             "ndcg_cut": "ndcg", "r": "recall"}
_NAME = re.compile(r"([A-Za-z][A-Za-z_-]*?)(?:@([0-9]{1,9}))?\Z")


class UnknownMetric(ValueError):
    """A metric name that is not one; the message names the nearest."""


class Metric(NamedTuple):
    """A metric with its cutoff; prints back as its name. ``k`` is None for an uncut metric."""

    family: str
    k: int | None = None

    def __str__(self) -> str:
        return self.family if self.k is None else f"{self.family}@{self.k}"

    def __call__(self, credits: Sequence[Credit], gold: Gold) -> float:
        """Value in [0, 1] for one query; ``credits`` sorted by rank, ``gold`` not empty."""
        return _FAMILIES[self.family][0](credits, gold, self.k)

    @property
    def binary(self) -> bool:
        """Whether values are only 0 and 1, so that McNemar's test applies."""
        return self.family == "hit"


def parse_metric(name: str) -> Metric:
    """``ndcg@10`` → Metric. Raises :class:`UnknownMetric` with the nearest known name."""
    match = _NAME.match(name.strip()) if isinstance(name, str) else None
    family, cut = (match.group(1).lower(), match.group(2)) if match else (str(name).strip().lower(), None)
    if family not in _FAMILIES:
        import difflib

        near = _SYNONYMS.get(family) or next(iter(difflib.get_close_matches(family, _FAMILIES, 1, 0.5)), None)
        hint = f"; did you mean {near}{'@' + cut if cut else ''}?" if near else ""
        raise UnknownMetric(f"unknown metric {name!r}{hint} (known: {', '.join(_FAMILIES)}, with a cutoff as in ndcg@10)")
    if cut is None and _FAMILIES[family][1]:
        raise UnknownMetric(f"metric {name!r} needs a cutoff, for instance {family}@10")
    if cut is not None and int(cut) == 0:
        raise UnknownMetric(f"metric {name!r}: the cutoff must be at least 1")
    return Metric(family, int(cut) if cut else None)
