"""What is pinned to lines of the golden file in a pull request. Pure data; how GitHub wants it written is not known here."""

from __future__ import annotations

from dataclasses import dataclass

from gate.reports import rows
from gate.reports.escape import clean
from gate.reports.headline import headline
from gate.reports.problems import one_line, problems
from gate.reports.report import Report
from gate.reports.words import fmt_rank, plain, title

# GitHub keeps ten of each level for a step, and cuts a message at 4096 characters.
PER_LEVEL = 10
_CHARS = 1000


@dataclass(frozen=True)
class Annotation:
    """``level``: error | warning | notice. ``file`` and ``line`` are empty and 0 when it belongs to no line."""

    level: str
    message: str
    title: str = ""
    file: str = ""
    line: int = 0


def annotations(report: Report, golden_path: str) -> list[Annotation]:
    """The verdict first, then must-hit queries without a document, then problems; at most ten of each level."""
    level = "error" if report.exit_code else "warning" if report.verdict == "inconclusive" else "notice"
    found = [Annotation(level, clean(plain(headline(report)), _CHARS), f"Retrieval gate {report.gate}: {title(report)}")]
    must_hit, missed = "error" if report.exit_code else "warning", _missed(report)
    # With the verdict's own there is room for nine of that level; what is left out is counted in the last one.
    room = PER_LEVEL - 1 if must_hit == level else PER_LEVEL
    shown = missed if len(missed) <= room else missed[:room - 1]
    found += [Annotation(must_hit, clean(text, _CHARS), "Must-hit query missed", golden_path if line else "", line)
              for text, line in shown]
    if len(missed) > len(shown):
        found.append(Annotation(must_hit, f"{len(missed) - len(shown):,} more must-hit queries found no relevant document; the report "
                                          "lists them.", "Must-hit queries missed"))
    found += [Annotation("error", clean(problem, _CHARS), f"Retrieval gate {report.gate}")
              for problem in map(one_line, problems(report)[1:])]
    found += [Annotation("warning", clean(note, _CHARS), f"Retrieval gate {report.gate}") for note in (*report.warnings, *report.notes)]
    kept: list[Annotation] = []
    counts: dict[str, int] = {}
    for annotation in found:
        counts[annotation.level] = counts.get(annotation.level, 0) + 1
        if counts[annotation.level] <= PER_LEVEL:
            kept.append(annotation)
    return kept


def _missed(report: Report) -> list[tuple[str, int]]:
    """Must-hit queries whose relevant documents are all beyond the cutoff, in the order of the golden file."""
    if report.golden is None or report.candidate is None:
        return []
    wanted, tags, k = set(report.policy.must_hit), set(report.policy.must_hit_tags), report.policy.primary.k
    found = []
    for query in report.golden.queries:
        score = report.candidate.queries.get(query.id)
        if score is None or not (query.id in wanted or tags.intersection(query.tags)):
            continue
        if score.first_rank is None or (k is not None and score.first_rank > k):
            before = report.baseline.queries.get(query.id) if report.baseline else None
            text = rows.query_text(report, query.id)
            line = 0 if query.blind else query.line  # pinned to its line, a blind query would be quoted by the page
            found.append((f"{query.id}{f' «{clean(text, 200)}»' if text else ''}: rank "
                          f"{f'{fmt_rank(before.first_rank)} → ' if before else ''}{fmt_rank(score.first_rank)}", line))
    return found
