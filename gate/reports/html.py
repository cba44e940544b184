"""The HTML report: one file that needs nothing else, from no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import figures
from gate.comparison import Comparison, QueryChange
from gate.reports import advice, beside, curve, histogram, provenance, remarks, rows, shifts, since, words
from gate.reports.comment import shorten
from gate.reports.explorer import ROWS, Explorer, explorer, script_safe
from gate.reports.flips import FlipRow, flip_rows
from gate.reports.forest import HEIGHT, WIDTH, Axis
from gate.reports.headline import headline
from gate.reports.problems import problems
from gate.reports.report import Report
from gate.reports.tags import tag_rows, tag_scale
from gate.reports.tiles import tiles

if TYPE_CHECKING:
    from gate.reports.history_page import Told

FLIPS = 50  # of either kind in the lists; the table has all
_IDS = 200
_SENTENCE_CHARS = 1500
_STAGES = {"candidates": "Lost by the candidate stage: nothing relevant is among its first 100 candidates.",
           "final": "Lost by the final stage: something relevant is among its candidates."}
_GAPS = {"": "", "no results": "The retriever returns nothing for it any more.",
         "blind": "A blind query: its text and documents are shown nowhere, so that nobody tunes on them."}
_SCRIPTS = ("dom", "table", "page", "plots")


class Sealed(NamedTuple):
    """A style or script of our own, and its digest, by which the page's policy lets it through and nothing else."""

    text: str
    seal: str


class Flip(NamedTuple):
    """A query of the lists at the top. ``address``: what leads to its page, empty where it has none; ``why``: a sentence, or empty."""

    row: FlipRow
    address: str
    why: str


def render_html(report: Report) -> str:
    """A whole document. Its policy allows no network, and no style and no script but its own."""
    from gate.reports.templates import directory, html

    def own(*names: str) -> list[str]:
        return [(directory() / "report" / name).read_text(encoding="utf-8") for name in names]

    scripts = "\n".join(("(() => {", "'use strict';", *own(*(f"{name}.js" for name in _SCRIPTS)), "})();"))
    found = explorer(report)
    return html().get_template("report.html.j2").render(
        style=_sealed(_style(directory(), report)), theme=_sealed(own("theme.js")[0]), script=_sealed(scripts),
        data=script_safe(found.data) if found else "", **_context(report, found))


def _style(folder: Path, report: Report) -> str:
    names = ("report.css", "history.css") if report.history else ("report.css",)
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def _sealed(text: str) -> Sealed:
    return Sealed(text, base64.b64encode(hashlib.sha256(text.encode()).digest()).decode())


def _context(report: Report, queries: Explorer | None) -> dict[str, Any]:
    c = report.comparison
    moved = c if c and not c.identical else None
    tags = tag_rows(report) if moved else []
    unanswerable = rows.unanswerable_rows(report)
    axis = Axis(max(tag_scale(c), abs(c.main.ci.lo), abs(c.main.ci.hi)) if c and c.main.ci else 1.0)
    metrics = rows.metric_rows(report)
    metric_axis, metric_bars = _metric_bars(moved)
    addresses = queries.addresses if queries else {}
    found = {
        "r": report, "icon": words.icon(report), "title": words.title(report), "mood": _mood(report),
        "headline": shorten(headline(report), _SENTENCE_CHARS), "tiles": tiles(report),
        "advice": advice.advice(report), "side": words.this_side(report),
        "confidence": words.confidence(report), "primary": figures.metric_label(report.policy.primary),
        "since": since.since_rows(report), "again": since.again_line(report), "again_ids": since.again_ids(report, _IDS),
        "again_count": len(report.latest.again) if report.latest else 0,
        "metrics": metrics, "metric_axis": metric_axis, "metric_bars": metric_bars, "main": c.main if c else None,
        "compared": remarks.compared(report), "empty": remarks.empty_answers(report), "problems": problems(report),
        "tags": [(row, axis.bar(row.paired), f'tag:"{row.tag}"') for row in tags], "all_queries": axis.bar(c.main) if c else None,
        "axis": axis, "width": WIDTH, "height": HEIGHT,
        "lost": _flips(report, c.lost if c else (), addresses), "lost_count": len(c.lost) if c else 0,
        "gained": _flips(report, c.gained if c else (), addresses), "gained_count": len(c.gained) if c else 0,
        "curve": curve.curve(list(moved.deltas.values())) if moved else None, "curve_size": (curve.WIDTH, curve.HEIGHT, curve.LEFT),
        "shifts": shifts.shifts(_ranks(report, moved), moved.flip_k) if moved else None,
        "cut": _cut(queries.data) if queries else "", "approval": report.approval if advice.shows_approval(report) else None,
        "unanswerable": unanswerable[:_IDS], "unanswerable_count": len(unanswerable),
        "unanswerable_line": remarks.unanswerable(len(unanswerable)),
        "scored": any(row.baseline is not None or row.candidate is not None for row in unanswerable),
        "excluded": [(name, rows.EXCLUDED[name], ids[:_IDS], len(ids)) for name, ids in rows.excluded(report).items() if ids],
        "latency": words.latency_line(report), "times": _times(report), "times_size": (histogram.WIDTH, histogram.HEIGHT, histogram.FLOOR),
        "cost": words.cost_line(report), "facts": provenance.facts(report), "metadata": provenance.details(report),
        **beside.shown(report, _IDS), "told": _told(report),
        "checks": sorted(report.checks, key=lambda check: ("fail", "inconclusive").index(check.outcome)
                         if check.outcome in ("fail", "inconclusive") else 2),
        "outcomes": {"pass": "passed", "fail": "accepted" if report.verdict == "accepted" else "failed", "inconclusive": "open"},
        "fmt_value": figures.fmt_value}
    return found | {"parts": _parts(found, report, queries is not None)}


def _parts(found: dict[str, Any], report: Report, table: bool) -> list[tuple[str, str]]:
    """The parts that a reader may want to go to at once, as far as this report has them."""
    parts = (("patterns", "In common", report.patterns), ("lost", "Lost", found["lost"]), ("gained", "Gained", found["gained"]),
             ("checks", "Checks", report.checks), ("metrics", "Metrics", found["metrics"]), ("tags", "Tags", found["tags"]),
             ("plots", "Query by query", found["curve"] or found["shifts"]), ("queries", "All queries", table),
             ("stages", "Stages", found["stages"]), ("latency", "Latency", found["latency"]),
             ("inputs", "Changed inputs", report.input_changes), ("approval", "Approval", found["approval"]),
             ("history", "History", found["told"]), ("origin", "Origin", found["metadata"]))
    return [(name, label) for name, label, there in parts if there]


def _told(report: Report) -> Told | None:
    if report.history is None:
        return None
    from gate.reports.history_page import history_part

    return history_part(report.history)


def _metric_bars(comparison: Comparison | None) -> tuple[Axis, list[Any]]:
    """Intervals of all metrics on one scale, in the order of the rows; none where nothing was compared."""
    if comparison is None:
        return Axis(1.0), []
    primary = str(comparison.primary)
    table = [comparison.metrics[name] for name in sorted(comparison.metrics, key=lambda name: name != primary)]
    ends = [abs(end) for paired in table for end in (paired.delta, *((paired.ci.lo, paired.ci.hi) if paired.ci else ()))]
    axis = Axis(max(ends, default=0.0) or 1.0)
    return axis, [axis.bar(paired) if paired.n else None for paired in table]


def _flips(report: Report, changes: Sequence[QueryChange], addresses: dict[str, str]) -> list[Flip]:
    shown = tuple(changes[:FLIPS])
    return [_flip(row, addresses.get(row.id, "")) for row in flip_rows(report, shown)]


def _flip(row: FlipRow, address: str) -> Flip:
    gap = _GAPS.get(row.gap, f"{row.gap[:1].upper()}{row.gap[1:]} came back.")
    return Flip(row, address, _STAGES.get(row.stage, gap))


def _ranks(report: Report, comparison: Comparison) -> list[tuple[int | None, int | None]]:
    if report.baseline is None or report.candidate is None:
        return []
    before, after = report.baseline.queries, report.candidate.queries
    return [(before[i].first_rank, after[i].first_rank) for i in comparison.paired]


def _times(report: Report) -> histogram.Histogram | None:
    latency = report.latency
    return histogram.histogram(report.baseline_run.times if report.baseline_run else (),
                               report.candidate_run.times if report.candidate_run else (),
                               ((latency.baseline_p50, latency.baseline_p95), (latency.candidate_p50, latency.candidate_p95)))


def _cut(data: dict[str, Any]) -> str:
    """That the table is not the whole, where it is not."""
    pages, shown = sum(page != 0 for page in data["pages"]), len(data["rows"]["id"])
    parts = [f"The table holds {shown:,} of {data['total']:,} queries, what changed first."] if data["total"] > ROWS else []
    parts += [f"Rankings of {pages:,} of them are in this file; run.jsonl.gz has all."] if pages < shown else []
    return " ".join(parts)


def _mood(report: Report) -> str:
    return "bad" if report.exit_code else "open" if report.verdict in ("inconclusive", "no-baseline") else "good"
