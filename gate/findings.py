"""What a report says of runs beside their metrics: stages, versions, the make-up of the top, refusals. Pure sums over query scores.

Nothing here decides anything, and each part is None where the runs say nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gate.comparison import Comparison
from gate.scoring.beside import CANDIDATES
from gate.scoring.score import QueryScore, ScoredRun
from gate.scoring.top import Makeup, makeup


class Ceiling(NamedTuple):
    """One side. ``candidates``: mean candidate-recall@100, which no reranker can exceed; ``final``: mean recall@k of what it made of it."""

    candidates: float
    final: float

    @property
    def loss(self) -> float:
        """What the candidates held and the top k do not."""
        return self.candidates - self.final


class Stages(NamedTuple):
    """``n``: queries that both sides are over (a side without candidates is None). ``lost``: lost query → the stage that lost it:
    ``candidates`` when no relevant document is among its first 100 candidates, else ``final``; None where that is not known."""

    k: int
    n: int
    baseline: Ceiling | None
    candidate: Ceiling | None
    lost: Mapping[str, str | None]


class Versions(NamedTuple):
    """How often the current version of a document comes before outdated ones, over the ``n`` queries that ask for it (on both sides).

    ``stale``: queries of the candidate where an outdated one comes first, and whether that is new; new ones first.
    """

    metric: str
    n: int
    baseline: float | None
    candidate: float | None
    stale: tuple[tuple[str, bool], ...]


class Answered(NamedTuple):
    """Queries of one kind by their top score: at or above the floor, with a score at all, and without one."""

    above: int
    scored: int
    unscored: int

    @property
    def share(self) -> float | None:
        return self.above / self.scored if self.scored else None


class Refusals(NamedTuple):
    """What a system that refuses below ``floor`` would answer; the baseline's are None without one."""

    floor: float
    unanswerable: Answered
    answerable: Answered
    unanswerable_before: Answered | None = None
    answerable_before: Answered | None = None


class Findings(NamedTuple):
    """``k``: the top that ``top`` (baseline, candidate) and ``stages`` speak of."""

    k: int = 0
    stages: Stages | None = None
    versions: Versions | None = None
    top: tuple[Makeup | None, Makeup | None] = (None, None)
    refusals: Refusals | None = None


def findings(candidate: ScoredRun, baseline: ScoredRun | None = None, comparison: Comparison | None = None,
             score_floor: float | None = None) -> Findings:
    """Of one run, or of two over their paired queries. The runs must have been scored with ``beside``."""
    ids = list(candidate.queries) if comparison is None else comparison.paired
    sides = [None if run is None else [run.queries[i] for i in ids] for run in (baseline, candidate)]
    return Findings(candidate.k, _stages(candidate.k, sides, comparison, candidate), _versions(candidate.k, ids, sides),
                    (_makeup(sides[0]), _makeup(sides[1])), _refusals(candidate, baseline, score_floor))


def _makeup(scores: Sequence[QueryScore] | None) -> Makeup | None:
    return None if scores is None else makeup(score.top for score in scores)


def _stages(k: int, sides: Sequence[Sequence[QueryScore] | None], comparison: Comparison | None, candidate: ScoredRun) -> Stages | None:
    name, recall = f"candidate-recall@{CANDIDATES}", f"recall@{k}"
    means = [_ceiling(scores, name, recall) for scores in sides]
    known = [scores for scores, mean in zip(sides, means, strict=True) if scores and mean]
    if not known:
        return None
    lost = {change.id: _stage(candidate.queries[change.id]) for change in comparison.lost} if comparison else {}
    return Stages(k, len(known[0]), means[0], means[1], lost)


def _ceiling(scores: Sequence[QueryScore] | None, name: str, recall: str) -> Ceiling | None:
    # A run with candidates has a value for every query.
    if not scores or name not in scores[0].values:
        return None
    return Ceiling(sum(score.values[name] for score in scores) / len(scores), sum(score.values[recall] for score in scores) / len(scores))


def _stage(score: QueryScore) -> str | None:
    return None if score.among_candidates is None else "final" if score.among_candidates else "candidates"


def _versions(k: int, ids: Sequence[str], sides: Sequence[Sequence[QueryScore] | None]) -> Versions | None:
    name, (before, after) = f"latest@{k}", sides
    rows = [row for row, score in enumerate(after or ()) if name in score.values]
    if after is None or not rows:
        return None
    now = {ids[row]: after[row].values[name] for row in rows}
    old = {ids[row]: before[row].values[name] for row in rows} if before else {}
    stale = [(i, bool(old) and old[i] == 1.0) for i in now if now[i] == 0.0]
    return Versions(name, len(rows), sum(old.values()) / len(rows) if before else None, sum(now.values()) / len(rows),
                  tuple(sorted(stale, key=lambda item: not item[1])))


def _refusals(candidate: ScoredRun, baseline: ScoredRun | None, floor: float | None) -> Refusals | None:
    if floor is None:
        return None
    return Refusals(floor, *_both(candidate, floor), *(_both(baseline, floor) if baseline else ()))


def _both(run: ScoredRun, floor: float) -> tuple[Answered, Answered]:
    return (_answered(run.unanswerable.values(), floor), _answered((score.top_score for score in run.queries.values()), floor))


def _answered(tops: Iterable[float | None], floor: float) -> Answered:
    every = list(tops)
    scored = [top for top in every if top is not None]
    return Answered(sum(top >= floor for top in scored), len(scored), len(every) - len(scored))
