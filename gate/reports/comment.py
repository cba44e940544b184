"""The pull request comment: Markdown that fits GitHub's limit by leaving out whole rows, and says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from gate import figures
from gate.reports import advice, beside, problems, provenance, remarks, rows, since, words
from gate.reports.flips import flip_rows
from gate.reports.headline import headline
from gate.reports.report import Report
from gate.reports.tags import tag_rows, tag_scale
from gate.reports.words import Name, Sentence

# GitHub takes 65,536 characters.
BUDGET = 60_000
_SENTENCE_CHARS = 900
_SHORTEST_ROW = 60
_ALWAYS_ROWS = 3
_OPEN_ROWS = 5
_AGAIN = 10


def marker_prefix(gate: str) -> str:
    """What every comment of this gate ends with, up to what differs from run to run. ``gate`` is a checked id."""
    return f"<!-- retrieval-gate:v1 gate={_plain(gate)} "


def marker(report: Report) -> str:
    """The hidden last line by which a later run finds the comment and sees which run wrote it."""
    meta = report.metadata
    return (f"{marker_prefix(report.gate)}head={_plain(meta.get('head_sha'))} run={_plain(meta.get('run_id'))} "
            f"attempt={_plain(meta.get('run_attempt') or 1)} -->")


def _plain(value: object) -> str:
    # Nothing may end the comment early or forge another field.
    return re.sub(r"[^A-Za-z0-9_.]|-(?=-)", "-", str(value or "")).strip("-") or "none"


def render_comment(report: Report, budget: int = BUDGET) -> str:
    """Markdown of at most ``budget`` UTF-16 units, as GitHub counts; ends with the marker."""
    return fit(report, "comment.md.j2", budget, lambda text: len(text.encode("utf-16-le")) // 2)


@dataclass(frozen=True)
class Room:
    """How much is shown: at most ``n`` rows of the tables, optional ``sections``, ``chars`` of a sentence."""

    n: int
    sections: frozenset[str]
    chars: int


_SECTIONS = (frozenset({"flips", "tags", "checks", "inputs", "approval", "blocks", "rest"}),
             frozenset({"flips", "inputs", "approval", "blocks"}), frozenset({"approval"}), frozenset[str]())


def fit(report: Report, template: str, budget: int, measure: Callable[[str], int]) -> str:
    """Render with as many rows as fit; when no row fits, with fewer sections. Below about 1,500 nothing is promised."""
    most = max(_longest_table(report), 1)
    text = ""
    for sections in _SECTIONS:
        # An escaped character takes up to six.
        chars = _SENTENCE_CHARS if len(sections) > 1 else min(_SENTENCE_CHARS, budget // 14)
        n = min(most, budget // _SHORTEST_ROW)
        while True:
            text = _render(report, template, Room(n, sections, chars))
            size = measure(text)
            if size <= budget:
                return text
            if n == 0:
                break
            n = min(n - 1, int(n * budget / size * 0.98))
    return text


def _longest_table(report: Report) -> int:
    c = report.comparison
    more = beside.shown(report, beside.MOST_DOCUMENTS)
    lists = (report.checks, report.problems, report.input_changes, report.notes, rows.metric_rows(report), more["entered"], more["stale"])
    sizes = list(map(len, lists))
    return max([*sizes, len(c.lost), 2 * len(c.gained), len(c.tags)] if c else sizes)


def shorten(sentence: Sentence, limit: int) -> Sentence:
    """The sentence, cut within a piece when it is longer than ``limit``."""
    out: list[str] = []
    for piece in sentence:
        if len(piece) > limit:
            cut = piece[:max(limit - 1, 0)].rstrip() + "…"
            return (*out, Name(cut) if isinstance(piece, Name) else cut)
        out.append(piece)
        limit -= len(piece)
    return tuple(out)


def _render(report: Report, template: str, room: Room) -> str:
    from gate.reports.templates import markdown

    text = markdown().get_template(template).render(**_context(report, room))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _context(report: Report, room: Room) -> dict[str, Any]:
    c, n = report.comparison, room.n
    # Lost queries are what people act on: gained ones give way first.
    gained = max(n // 2, min(n, _ALWAYS_ROWS))
    passed = [check for check in report.checks if check.outcome == "pass"]
    failed = [check for check in report.checks if check.outcome == "fail"]
    unsettled = [check for check in report.checks if check.outcome not in ("pass", "fail")]
    found_problems = problems.problems(report)
    lost = list(islice(flip_rows(report, c.lost), n)) if c else []
    unanswerable = rows.unanswerable_rows(report)
    tops = [(row.baseline, row.candidate) for row in unanswerable if row.baseline is not None and row.candidate is not None]
    always = max(n, _ALWAYS_ROWS) if room.sections else 1
    metrics = rows.metric_rows(report)
    return {
        "r": report, "n": n, "always": always, "show": room.sections, "chars": room.chars,
        "icon": words.icon(report), "title": words.title(report),
        "headline": shorten(headline(report), room.chars), "advice": shorten(advice.advice(report), room.chars),
        "side": words.this_side(report), "confidence": words.confidence(report),
        "metrics": metrics[:1 + n] if room.sections else metrics[:1], "metric_count": len(metrics),
        "since": since.since_rows(report) if room.sections else [], "again": since.again_line(report),
        "again_ids": since.again_ids(report, _AGAIN), "again_count": len(report.latest.again) if report.latest else 0,
        "main": c.main if c else None, "compared": remarks.compared(report), "empty": remarks.empty_answers(report),
        "place": remarks.html_place(report),
        "folded": _folded(len(c.lost) - _OPEN_ROWS if lost[_OPEN_ROWS:] else 0, len(c.gained)) if c else "",
        "worst": lost[:_OPEN_ROWS], "lost": lost[_OPEN_ROWS:], "lost_count": len(c.lost) if c else 0,
        "gained": list(islice(flip_rows(report, c.gained), gained)) if c else [], "gained_count": len(c.gained) if c else 0,
        "moved": remarks.moved_otherwise(report), "why_one": remarks.why_one_moved(report),
        "tags": tag_rows(report)[:n] if "tags" in room.sections else [],
        "tag_count": len(c.tags) if c and not c.identical else 0,
        "scale": figures.fmt_size(tag_scale(c)) if c else "",
        "reasons": failed or unsettled, "unsettled": unsettled if failed else [], "passed_checks": passed,
        "problems": found_problems,
        "check_icons": {"fail": "☑️" if report.verdict == "accepted" else "❌", "inconclusive": "⚠️"},
        "approval": report.approval if advice.shows_approval(report) and "approval" in room.sections else None,
        "unanswerable_count": len(unanswerable), "unanswerable": remarks.unanswerable(len(unanswerable)),
        "top_before": figures.fmt_value(sum(b for b, _ in tops) / len(tops)) if tops else "",
        "top_after": figures.fmt_value(sum(a for _, a in tops) / len(tops)) if tops else "",
        "excluded": [(len(ids), ids, rows.EXCLUDED[name]) for name, ids in rows.excluded(report).items() if ids],
        **beside.shown(report, n),
        "usage": words.usage_lines(report), "facts": provenance.facts(report), "run_url": str(report.metadata.get("run_url") or ""),
        "marker": marker(report),
    }


def _folded(lost: int, gained: int) -> str:
    """What is behind the fold: ``lost`` queries besides those in front of it, and ``gained`` ones."""
    parts = []
    if lost:
        parts.append(f"{figures.plural(lost, 'more query', 'more queries')} that lost {'its' if lost == 1 else 'their'} answer")
    if gained:
        parts.append(f"{figures.plural(gained, 'query')} that found one")
    return ", ".join(parts)
