"""Scores of one run, for ``evaluate``."""

from __future__ import annotations

from typing import Any

from gate.figures import plural
from gate.findings import findings
from gate.golden.model import GoldenSet
from gate.reports import cells
from gate.reports.beside import beside_lines
from gate.reports.beside_json import scores_beside
from gate.reports.escape import clean
from gate.scoring.score import ScoredRun
from gate.statistics.levels import level_interval


def scores_json(golden: GoldenSet, scored: ScoredRun) -> dict[str, Any]:
    """Plain values: means, n, what was excluded, means per tag, values per query. Unrounded."""
    names = [str(m) for m in scored.metrics]
    tags = _by_tag(golden, scored)
    return {"schema": 1, "metrics": {name: scored.mean(name) for name in names}, "intervals": _intervals(golden, scored),
            "n": len(scored.queries),
            "excluded": {"undefined": list(scored.excluded.undefined), "missing": list(scored.excluded.missing),
                         "errored": list(scored.excluded.errored), "extra": list(scored.excluded.extra),
                         "unanswerable": list(scored.unanswerable)},
            "tags": {tag: {"n": len(ids), "metrics": {name: scored.mean(name, ids) for name in names}} for tag, ids in tags.items()},
            "queries": {i: {name: score.values[name] for name in names if name in score.values} for i, score in scored.queries.items()},
            **scores_beside(findings(scored))}


def scores_text(golden: GoldenSet, scored: ScoredRun) -> str:
    """The same for a terminal, without the queries."""
    names = [str(m) for m in scored.metrics]
    rows = [("", "n", *names), ("all", len(scored.queries), *(scored.mean(n) for n in names)),
            ("  95 % interval", "", *(f"{found[0]:.3f}–{found[1]:.3f}" if found else "–" for found in _intervals(golden, scored).values()))]
    rows += [(cells.cut(clean(tag, 40), 40), len(ids), *(scored.mean(n, ids) for n in names))
             for tag, ids in _by_tag(golden, scored).items()]
    table = [[f"{cell:.4f}" if isinstance(cell, float) else "–" if cell is None else str(cell) for cell in row]
             for row in rows]
    widths = [max(map(cells.width, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(cells.left(cell, w) if i == 0 else cells.right(cell, w) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
             for row in table]
    out = scored.excluded
    lines += [f"{len(ids)} {what}: {', '.join(ids[:10])}{' …' if len(ids) > 10 else ''}"
              for what, ids in (("without a relevant document, left out", out.undefined), ("missing from the run, scored 0", out.missing),
                                ("failed in the retriever, left out", out.errored), ("in the run but not in the golden set", out.extra))
              if ids]
    if scored.unanswerable:
        lines.append(f"{plural(len(scored.unanswerable), 'unanswerable query')}, kept apart")
    lines += beside_lines(findings(scored))
    return "\n".join(lines) + "\n"


def _intervals(golden: GoldenSet, scored: ScoredRun) -> dict[str, list[float] | None]:
    """How sure each mean is: what another set of queries like these would show."""
    found: dict[str, list[float] | None] = {}
    for metric in scored.metrics:
        name = str(metric)
        ids = [i for i, score in scored.queries.items() if name in score.values]
        interval = level_interval([scored.queries[i].values[name] for i in ids], clusters=[golden.by_id[i].cluster for i in ids],
                                  binary=metric.binary)
        found[name] = [interval.lo, interval.hi] if interval else None
    return found


def _by_tag(golden: GoldenSet, scored: ScoredRun) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for i in scored.queries:
        for tag in golden.by_id[i].tags:
            found.setdefault(tag, []).append(i)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))
