"""The job summary: the comment with more room and without its marker."""

from __future__ import annotations

from gate.reports.comment import fit
from gate.reports.report import Report

# The runner takes 1 MiB of a step, counted in bytes.
LIMIT = 1_040_000
BUDGET = 900_000


def render_summary(report: Report, budget: int = BUDGET) -> str:
    """Markdown of at most ``budget`` bytes."""
    return fit(report, "summary.md.j2", budget, lambda text: len(text.encode()))
