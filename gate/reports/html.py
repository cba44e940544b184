"""The HTML report: one file that needs nothing else, from no network."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from gate import figures
from gate.reports import advice, beside, provenance, remarks, rows, since, words
from gate.reports.comment import shorten
from gate.reports.forest import HEIGHT, WIDTH, Axis
from gate.reports.headline import headline
from gate.reports.problems import problems
from gate.reports.rankings import side_by_side
from gate.reports.report import Report

# Two rankings a query; five hundred of them are a megabyte and more than anybody reads.
QUERIES = 500
_IDS = 200
_SENTENCE_CHARS = 1500


def render_html(report: Report) -> str:
    """A whole document. Its policy allows no script, no network and no style but its own."""
    from gate.reports.templates import directory, html

    style = (directory() / "report.css").read_text(encoding="utf-8")
    seal = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return html().get_template("report.html.j2").render(style=style, seal=seal, **_context(report))


def _context(report: Report) -> dict[str, Any]:
    c = report.comparison
    changed = len({*(x.id for x in c.lost), *(x.id for x in c.gained), *(x.id for x in c.changes)}) if c else 0
    tags = rows.tag_rows(report) if c and not c.identical else []
    unanswerable = rows.unanswerable_rows(report)
    axis = Axis(max(rows.tag_scale(c), abs(c.main.ci.lo), abs(c.main.ci.hi)) if c and c.main.ci else 1.0)
    return {
        "r": report, "icon": words.icon(report), "title": words.title(report),
        "headline": shorten(headline(report), _SENTENCE_CHARS),
        "advice": advice.advice(report), "side": words.this_side(report),
        "confidence": words.confidence(report), "primary": figures.metric_label(report.policy.primary),
        "since": since.since_rows(report), "again": since.again_line(report), "again_ids": since.again_ids(report, _IDS),
        "again_count": len(report.latest.again) if report.latest else 0,
        "metrics": rows.metric_rows(report), "main": c.main if c else None,
        "compared": remarks.compared(report), "empty": remarks.empty_answers(report), "problems": problems(report),
        "tags": [(row, axis.bar(row.paired)) for row in tags], "all_queries": axis.bar(c.main) if c else None, "axis": axis,
        "width": WIDTH, "height": HEIGHT, "queries": list(side_by_side(report, QUERIES)), "changed": changed,
        "lost_count": len(c.lost) if c else 0, "gained_count": len(c.gained) if c else 0,
        "approval": report.approval if advice.shows_approval(report) else None,
        "unanswerable": unanswerable[:_IDS], "unanswerable_count": len(unanswerable),
        "unanswerable_line": remarks.unanswerable(len(unanswerable)),
        "scored": any(row.baseline is not None or row.candidate is not None for row in unanswerable),
        "excluded": [(name, rows.EXCLUDED[name], ids[:_IDS], len(ids)) for name, ids in rows.excluded(report).items() if ids],
        "latency": words.latency_line(report), "cost": words.cost_line(report),
        "facts": provenance.facts(report), "metadata": provenance.details(report),
        **beside.shown(report, _IDS),
        "checks": sorted(report.checks, key=lambda check: ("fail", "inconclusive").index(check.outcome)
                         if check.outcome in ("fail", "inconclusive") else 2),
        "outcomes": {"pass": "passed", "fail": "accepted" if report.verdict == "accepted" else "failed", "inconclusive": "open"},
        "fmt_value": figures.fmt_value, "mood": _mood(report),
    }


def _mood(report: Report) -> str:
    return "bad" if report.exit_code else "open" if report.verdict in ("inconclusive", "no-baseline") else "good"
