"""Queries that lost or found what they look for, as rows of plain text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gate.comparison import QueryChange
from gate.figures import fmt_delta, plural
from gate.reports.report import Report
from gate.reports.rows import is_blind, query_text, tags_of, title_of
from gate.reports.words import fmt_rank
from gate.runs import Run
from gate.scoring.units import ranked_units


class FlipRow(NamedTuple):
    """One query that lost or found what it looks for. ``text`` is empty when queries are not shown; ranks as texts. ``answer``: the
    relevant document that was lost or found, empty when the rankings are not at hand or not to be shown."""

    id: str
    text: str
    tags: tuple[str, ...]
    before: str
    after: str
    delta: str
    answer: str = ""
    answer_title: str = ""
    instead: str = ""
    instead_title: str = ""
    gap: str = ""  # why nothing stands at the old rank
    unstable: bool = False  # ranked differently between repeats of the candidate
    stage: str = ""  # which one lost it, where that is known


class Places(NamedTuple):
    """The documents behind a flip. ``before`` and ``after``: how many results there were, 0 where they are not at hand; ``answer``: the
    relevant document that was lost or found; ``instead``: what stands at its old rank, and else ``gap`` why nothing does; all may be
    empty."""

    before: int
    after: int
    answer: str
    instead: str
    gap: str


def flip_rows(report: Report, changes: tuple[QueryChange, ...]) -> Iterator[FlipRow]:
    """Rows in the order given; made one by one, since a report may show a few of very many."""
    unstable = set(report.noise.unstable) if report.noise else ()
    stages = report.findings.stages if report.findings else None
    for change in changes:
        found = places_of(report, change)
        yield FlipRow(change.id, query_text(report, change.id), tags_of(report, change.id), fmt_rank(change.baseline_rank, found.before),
                      fmt_rank(change.candidate_rank, found.after), fmt_delta(change.delta), found.answer, title_of(report, found.answer),
                      found.instead, title_of(report, found.instead), found.gap, change.id in unstable,
                      (stages.lost.get(change.id) if stages else None) or "")


def places_of(report: Report, change: QueryChange) -> Places:
    """What was lost or found, and what stands in its place."""
    before, after = (ranked(report, run, change.id) for run in (report.baseline_run, report.candidate_run))
    answer, instead = _answer(change, before, after), _taker(change, after)
    if answer and instead == answer:  # the document is there, and not the part of it that answers
        return Places(len(before), len(after), answer, "", "another part of it")
    return Places(len(before), len(after), answer, instead, "" if instead else _gap(report, change, after))


def _answer(change: QueryChange, before: Sequence[str], after: Sequence[str]) -> str:
    """The first relevant document of the side that ranks one higher; empty when its ranking is not at hand."""
    old, new = change.baseline_rank, change.candidate_rank
    at, side = (old, before) if new is None or (old is not None and old <= new) else (new, after)
    return side[at - 1] if at and at <= len(side) else ""


def ranked(report: Report, run: Run | None, query_id: str) -> list[str]:
    """What the ranks of this report count, best first; empty when the run is not at hand, or the query is blind."""
    ranking = run.rankings.get(query_id) if run and not is_blind(report, query_id) else None
    return ranked_units(ranking, report.policy.unit) if ranking else []


def _taker(change: QueryChange, after: Sequence[str]) -> str:
    """The document that stands in the candidate (``after``: its ranking) where the lost one stood in the baseline; empty when there is
    none."""
    at = change.baseline_rank
    return after[at - 1] if at and at <= len(after) and (change.candidate_rank or at + 1) > at else ""


def _gap(report: Report, change: QueryChange, after: Sequence[str]) -> str:
    """``no results``, or how few came back, when the candidate's ranking ends before the baseline's rank; ``blind``; else empty."""
    if is_blind(report, change.id):
        return "blind"
    if report.candidate_run is None or change.baseline_rank is None:
        return ""
    return "no results" if not after else f"only {plural(len(after), 'result')}" if len(after) < change.baseline_rank else ""
