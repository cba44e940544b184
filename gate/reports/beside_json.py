"""The same as :mod:`gate.reports.beside` for programs: plain values, unrounded."""

from __future__ import annotations

from typing import Any

from gate.comparison import Comparison
from gate.findings import Answered, Ceiling, Findings
from gate.scoring.beside import CANDIDATES

_MOST_DOCUMENTS = 1000


def stages_json(found: Findings | None) -> dict[str, Any] | None:
    """Both stages of both sides, and how many lost queries each stage lost; None when no run names its candidates."""
    stages = found.stages if found else None
    if stages is None:
        return None
    sides = {name: side and _ceiling(side)
             for name, side in (("baseline", stages.baseline), ("candidate", stages.candidate))}
    lost = list(stages.lost.values())
    return {"k": stages.k, "candidates": CANDIDATES, "n": stages.n, **sides,
            "lost": {"candidates": lost.count("candidates"), "final": lost.count("final"), "unknown": lost.count(None)}}


def top_json(found: Findings | None) -> dict[str, Any] | None:
    """Shares of the top k."""
    if found is None:
        return None
    return {"k": found.k, **{name: side and side._asdict() for name, side in zip(("baseline", "candidate"), found.top, strict=True)}}


def versions_json(found: Findings | None) -> dict[str, Any] | None:
    """Rates of both sides, and the queries where an outdated version comes first."""
    versions = found.versions if found else None
    if versions is None:
        return None
    return versions._asdict() | {"stale": [{"id": i, "new": new} for i, new in versions.stale]}


def condensed_json(comparison: Comparison | None) -> dict[str, Any] | None:
    """The primary metric over judged documents alone, and what came up unjudged."""
    c = comparison
    if c is None or c.condensed is None:
        return None
    p = c.condensed
    return {"metric": str(c.primary), "baseline": p.baseline, "candidate": p.candidate, "delta": p.delta,
            "ci": [p.ci.lo, p.ci.hi] if p.ci else None, "n": p.n, "documents": len(c.entered),
            "entered": [{"doc": doc, "queries": n} for doc, n in c.entered[:_MOST_DOCUMENTS]]}


def refusals_json(found: Findings | None) -> dict[str, Any]:
    """``floor`` and the counts at or above it; nothing without a floor."""
    refusals = found.refusals if found else None
    if refusals is None:
        return {}

    def side(unanswerable: Answered | None, answerable: Answered | None) -> dict[str, Any] | None:
        if unanswerable is None or answerable is None:
            return None
        return {"unanswerable": unanswerable._asdict(), "answerable": answerable._asdict()}

    return {"floor": refusals.floor, "above": {"baseline": side(refusals.unanswerable_before, refusals.answerable_before),
                                               "candidate": side(refusals.unanswerable, refusals.answerable)}}


def scores_beside(found: Findings) -> dict[str, Any]:
    """The keys of one run that was compared with nothing."""
    stages, versions, top = found.stages, versions_json(found), found.top[1]
    return {"top_k": top and {"k": found.k} | top._asdict(),
            "stages": stages and stages.candidate and {"k": stages.k, "candidates": CANDIDATES, "n": stages.n} | _ceiling(stages.candidate),
            "versions": versions and {"metric": versions["metric"], "n": versions["n"], "mean": versions["candidate"],
                                  "stale": [row["id"] for row in versions["stale"]]}}


def _ceiling(side: Ceiling) -> dict[str, float]:
    return {"candidate_recall": side.candidates, "recall": side.final, "loss": side.loss}
