"""One-line remarks that every renderer makes. Pure."""

from __future__ import annotations

from gate.explain.ask import asked
from gate.figures import fmt_size, plural
from gate.reports.escape import clean
from gate.reports.report import REPORT_ARTIFACT, Report
from gate.reports.rows import is_blind
from gate.reports.words import Name, Sentence
from gate.statistics.bootstrap import FEW_CHANGES

_SEVERAL = 2
_LONGEST_ID = 200  # longer ones nobody copies


def is_local(report: Report) -> bool:
    """Whether somebody asked on a command line: no run and no pull request is known."""
    return not (report.metadata.get("run_url") or report.metadata.get("pull_request"))


def html_place(report: Report) -> Sentence:
    """Where the HTML report is; in CI the run, whose address is ``metadata.run_url``, has the artifact."""
    if is_local(report):
        return ("the HTML report, ", Name("report.html"), " in the folder of ", Name("--out"))
    return ("the HTML report, in the artifact ", Name(REPORT_ARTIFACT + report.gate))


def sensitivity(report: Report) -> str:
    """How small a change this set can show; empty where nothing is tested, or where all is well and too little changed to tell."""
    main = report.comparison.main if report.comparison else None
    if main is None or main.mde is None:
        return ""
    if main.moved_units < FEW_CHANGES:
        return "" if report.verdict == "pass" else "Too few queries changed to tell how small a change this set can show."
    return f"Over all queries, this set reliably shows a change of {fmt_size(main.mde)} or more (80 % power)."


def compared(report: Report) -> str:
    """``60 queries compared, 13 changed.`` and what that can show; empty when nothing was compared."""
    main = report.comparison.main if report.comparison else None
    if main is None:
        return ""
    independent = f" in {plural(main.units, 'independent cluster')}" if main.units < main.n else ""
    return f"{plural(main.n, 'query')}{independent} compared, {main.changed:,} changed. {sensitivity(report)}".rstrip()


def empty_answers(report: Report) -> str:
    """That several answerable queries got no result at all, which is more often a broken retriever than a bad ranking."""
    after, before = report.candidate_run, report.baseline_run
    if after is None or report.candidate is None:
        return ""
    empty = [i for i, score in report.candidate.queries.items() if score.empty]
    if len(empty) < _SEVERAL:
        return ""
    if before is None:
        return f"{plural(len(empty), 'query')} returned nothing at all."
    old = sum(i in before.rankings and not before.rankings[i].docs for i in empty)
    did = "all" if old == len(empty) else f"{old:,}" if old else "none"
    return f"{plural(len(empty), 'query')} returned nothing at all; in the baseline {did} of them did."


def moved_count(report: Report) -> int:
    """How many queries changed without being lost or gained."""
    c = report.comparison
    return len(c.changes) - len(c.lost) - len(c.gained) if c else 0


def moved_otherwise(report: Report) -> str:
    """That such queries are there, without a full stop; empty where there are none."""
    c, moved = report.comparison, moved_count(report)
    if c is None or not moved:
        return ""
    more = "more " if c.lost or c.gained else ""
    return (f"{plural(moved, f'{more}query', f'{more}queries')} changed without losing or finding an answer in the top "
            f"{c.flip_k or 'results'}")


def unanswerable(count: int) -> str:
    """How many queries nothing answers, and what becomes of them."""
    them = ("it", "it is") if count == 1 else ("them", "they are")
    return f"{plural(count, 'unanswerable query')}: nothing in the corpus answers {them[0]}, so {them[1]} in no mean."


def why_one_moved(report: Report) -> tuple[str, ...]:
    """Commands that explain the worst of the lost queries that may be looked at; empty where there is none, or none can be given: a command
    is copied as it is shown, and what cannot be shown as it is (a control character, two spaces in a row) would be another command."""
    if report.comparison is None or not report.explain:
        return ()
    for change in report.comparison.lost:
        if not is_blind(report, change.id) and len(change.id) <= _LONGEST_ID and clean(change.id) == change.id:
            lines = asked(report.explain, change.id)
            return lines if all(clean(line) == line for line in lines) else ()
    return ()
