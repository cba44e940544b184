"""Whether a run can be judged at all. Pure: raises CannotDecide or InvalidInput, with what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gate import policy as policies
from gate.errors import CannotDecide, InvalidInput
from gate.figures import plural
from gate.golden.model import GoldenSet
from gate.policy import Policy
from gate.runs import Run
from gate.scoring.cut import too_short
from gate.scoring.score import ScoredRun
from gate.unquoted import unquoted

if TYPE_CHECKING:
    from gate.baseline.record import Record
    from gate.scoring.metrics import Metric


def too_deep(metrics: Sequence[Metric], record: Record) -> list[str]:
    """Metrics that look deeper than a record's rankings reach: what was never fetched would count as not found."""
    return [str(metric) for metric in metrics if record.depth and metric.depth > record.depth]


def check_depth(metrics: Sequence[Metric], record: Record) -> None:
    """Raise when a record is too shallow for a metric."""
    if deep := too_deep(metrics, record):
        raise InvalidInput(f"the record holds {record.depth} results for each query, too few for {', '.join(deep)}",
                           "make the record again with a larger `depth`, or use smaller cutoffs")


def check_validity(scored: ScoredRun, run: Run, policy: Policy, side: str, stored: bool = False, golden: GoldenSet | None = None,
                   kept: str = "", quoting: bool = True) -> None:
    """Raise unless a run can be judged: CannotDecide for a broken retriever, InvalidInput for inputs that do not belong together.

    ``stored``: a record of the past. Since then the rules may have become stricter, or the golden set another; an approval has covered
    the one and has to cover the other, so neither may make every later run impossible. ``golden``: whose blind queries are not quoted;
    ``kept``: the file that keeps the answers, where there is one; ``quoting``: what the retriever said may be shown.
    """
    errored = len(scored.excluded.errored)
    # However many errors the rules allow: of a run that failed on most of its queries nothing can be said.
    if (errored > policy.max_errors and not stored) or 2 * errored > errored + len(scored.queries):
        raise CannotDecide(_error_lines(scored, run, policy, side, golden, quoting),
                           "fix the retriever" + (f"; the queries that worked are kept in {kept}" if kept else ""))
    problems = [] if stored else policies.validity_problems(scored, side)
    if problems:
        raise InvalidInput(problems, "golden set and run must speak of the same queries")


def _error_lines(scored: ScoredRun, run: Run, policy: Policy, side: str, golden: GoldenSet | None,
                 quoting: bool) -> list[str]:
    errored = scored.excluded.errored
    head = f"{side}: the retriever failed on {len(errored)} of {len(run.rankings)} queries; max_errors is {policy.max_errors}"
    blind = {i for i in errored[:5] if golden and i in golden.by_id and golden.by_id[i].blind}
    said = {i: run.rankings[i] if quoting else unquoted(run.rankings[i]) for i in errored[:5]}
    return [head, *(f"query {i!r}: {'it is blind, so what it printed is not shown' if i in blind else ranking.error}"
                    for i, ranking in said.items())]


def with_errors_aside(scored: ScoredRun, golden: GoldenSet, run: Run) -> ScoredRun:
    """A failure counts whichever query it hit: a run on the default branch asks all, and must not store half an answer."""
    errored = tuple(i for i, ranking in run.rankings.items() if ranking.error and i in golden.by_id)
    return scored._replace(excluded=scored.excluded._replace(errored=errored))


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
    shown = [query for query in golden.queries if query.id in runs[0].queries and not query.blind]
    wanted = next((doc for query in shown for doc in query.documents), "a name that is not shown, since all its queries are blind")
    given = next((doc for query in shown if query.id in run.rankings for doc in run.rankings[query.id].docs), "nothing")
    return (f"none of the {len(runs[0].queries)} queries found a relevant document, at any depth{' or side' * (len(runs) > 1)}: the golden "
            f"set names documents like {wanted!r}, the retriever returns {given!r}")
