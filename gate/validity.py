"""Whether a run can say anything at all about a golden set: faults that would otherwise be numbers about something else. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gate.errors import InvalidInput
from gate.figures import plural
from gate.golden.model import GoldenSet
from gate.runs import Run
from gate.scoring.cut import too_short
from gate.scoring.score import ScoredRun

if TYPE_CHECKING:
    from gate.scoring.metrics import Metric


def check_cut(runs: Iterable[tuple[ScoredRun, str, bool]], metrics: Sequence[Metric]) -> None:
    """Raise when a run file was cut before a metric stops looking. ``runs``: scores, name, and whether it is such a file."""
    found = [(name, *too_short(scored.queries.values(), metrics)) for scored, name, plain in runs if plain]
    if problems := [f"{name}: every ranking ends after {plural(length, 'result')}, too few for {', '.join(deep)}"
                    for name, length, deep in found if deep]:
        raise InvalidInput(problems, "make the run again with more results for each query, or use smaller cutoffs")


def check_found(golden: GoldenSet, candidate: Run, *runs: ScoredRun) -> None:
    """A first run that finds nothing at all would become a baseline that nothing can ever fall below; and of two such runs neither is."""
    if fault := found_nothing(golden, candidate, *runs):
        raise InvalidInput(fault, "make both name documents alike; a run that finds nothing is no baseline")


def found_nothing(golden: GoldenSet, run: Run, *runs: ScoredRun) -> str:
    """That no query of any of the scored runs, ``run`` the first, found a relevant document; empty when one did."""
    if any(score.first_rank is not None for scored in runs for score in scored.queries.values()):
        return ""
    wanted = next(doc for query in golden.queries if query.id in runs[0].queries for doc in query.documents)
    given = next((doc for ranking in run.rankings.values() for doc in ranking.docs), "nothing")
    return (f"none of the {len(runs[0].queries)} queries found a relevant document, at any depth{' or side' * (len(runs) > 1)}: the golden "
            f"set names documents like {wanted!r}, the retriever returns {given!r}")
