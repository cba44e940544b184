"""The report for a terminal: complete without colour, safe in a workflow log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from gate import figures
from gate.comparison import QueryChange
from gate.reports import advice, beside, cells, provenance, remarks, rows, words
from gate.reports.escape import clean, guard
from gate.reports.flips import FlipRow, flip_rows
from gate.reports.headline import headline
from gate.reports.paint import paint, painted
from gate.reports.problems import problems
from gate.reports.report import Report
from gate.reports.tags import tag_rows

T = TypeVar("T")

_MOST_ROWS = 30
_MOST_DOCUMENTS = 10
_MOST_PATTERNS = 5
_COLORS = {"pass": "32", "accepted": "32", "fail": "31", "inconclusive": "33"}
_OUTCOMES = {"pass": "ok", "fail": "FAIL", "inconclusive": "open"}


def render_text(report: Report, color: bool = False, columns: int = 0) -> str:
    """Lines of text; ends with a newline. ``color``: the same characters, painted; ``columns``: of the terminal, 0: lines may be long."""
    lines = [guard(line.rstrip()) for line in cells.wrapped(_squeezed(_lines(report)), columns, _commands(report))]
    if color:
        code = "31" if report.exit_code else _COLORS.get(report.verdict, "33")
        verdict, gap, rest = lines[0].partition("  ")
        lines = [paint(verdict, f"1;{code}") + gap + rest, *map(painted, lines[1:])]
    return "".join(f"{line}\n" for line in lines)


def _squeezed(lines: Iterable[str]) -> Iterator[str]:
    """Never two empty lines in a row, none at the end."""
    waiting = False
    for line in lines:
        if not line:
            waiting = True
            continue
        if waiting:
            yield ""
        waiting = False
        yield line


def _lines(report: Report) -> Iterator[str]:
    yield f"{words.title(report).upper()}  retrieval gate {clean(report.gate, 60)} (exit code {report.exit_code})"
    yield clean(words.plain(headline(report)), 900)
    yield ""
    if empty := remarks.empty_answers(report):
        yield empty
        yield ""
    for warning in _few(report.warnings):
        yield f"warning: {clean(warning, 600)}"
        yield ""
    yield from _problems(report)
    yield ""
    yield from _metrics(report)
    yield ""
    yield from _since(report)
    yield ""
    yield from _beside(report)
    yield ""
    yield from _checks(report)
    yield ""
    yield from _patterns(report)
    yield ""
    if report.comparison is not None:
        yield from _flips(report, "Lost, by damage", report.comparison.lost)
        yield ""
        yield from _explain(report)
        yield ""
        yield from _flips(report, "Gained", report.comparison.gained)
        yield ""
        if moved := remarks.moved_otherwise(report):
            yield f"{moved}: see {words.plain(remarks.html_place(report))}"
        yield ""
        yield from _tags(report)
        yield ""
    yield from _both(report, f"Top {report.findings.k if report.findings else 0}: results that", beside.top_rows(report.findings))
    yield ""
    yield from _both(report, "Refusing below the score floor", beside.refusal_rows(report.findings))
    yield ""
    if report.input_changes:
        yield "Changed inputs"
        yield from (f"  {clean(c.name, 80)}: {clean(c.old, 80) or 'none'} -> {clean(c.new, 80) or 'none'}"
                    f"{' (needs approval)' if c.needs_approval else ''}" for c in _few(report.input_changes))
        yield ""
    if report.approval is not None and advice.shows_approval(report):
        yield "Approval"
        yield from (f"  [{'x' if c.met else ' '}] {clean(c.sentence, 300)}"
                    f"{' -> ' + clean(c.cure, 300) if not c.met and c.cure else ''}" for c in report.approval.conditions)
        yield ""
    yield from _apart(report)
    yield ""
    yield "What to do now"
    yield f"  {clean(words.plain(advice.advice(report)), 1200)}"
    yield ""
    yield from (f"  note: {clean(note, 400)}" for note in _few(report.notes))
    yield ""
    yield " · ".join(f"{fact.name} {clean(fact.value, 80)}{f' ({fact.note})' if fact.note else ''}"
                     for fact in provenance.facts(report))


def _problems(report: Report) -> Iterator[str]:
    """A single problem is in the headline already; its output is not."""
    found = problems(report)
    for problem in _few(found):
        if len(found) > 1:
            yield f"  - {clean(problem.line, 600)}"
        yield from (f"    | {line}" for line in problem.block)


def _patterns(report: Report) -> Iterator[str]:
    """What the worse queries have in common, and what it usually comes from."""
    if report.patterns:
        yield "What the worse queries have in common"
    for pattern in report.patterns[:_MOST_PATTERNS]:
        yield f"  - {clean(pattern.seen, 400)}"
        if pattern.cause:
            yield f"    {words.likely(clean(pattern.cause, 400))}"


def _few(items: Sequence[T]) -> Sequence[T]:
    return items[:_MOST_ROWS]


def table(head: Sequence[str], body: Iterable[Sequence[str]], left: int = 1, right: Sequence[int] | None = None) -> Iterator[str]:
    """Columns of equal width; the first ``left`` to the left, the others to the right, unless ``right`` names those."""
    right = range(left, len(head)) if right is None else right
    lines = [list(head), *map(list, body)]
    widths = [max(cells.width(line[at]) for line in lines) for at in range(len(head))]
    for line in lines:
        yield "  " + "  ".join(cells.right(text, width) if at in right else cells.left(text, width)
                               for at, (text, width) in enumerate(zip(line, widths, strict=True)))


def column(text: str, columns: int) -> str:
    """Text that others wrote, for a column that is at most so wide."""
    return cells.cut(clean(text, columns), columns)


def _metrics(report: Report) -> Iterator[str]:
    found = rows.metric_rows(report)
    if not found:
        return
    side = words.this_side(report)
    if report.comparison is None:
        yield from table(("metric", side), ((row.label, row.candidate) for row in found))
        return
    yield from table(("metric", "baseline", side, "delta", words.confidence(report), "better", "worse"),
                     ((row.label, row.baseline, row.candidate, row.delta, row.interval or figures.NONE, str(row.better),
                       str(row.worse)) for row in found))
    yield f"  {remarks.compared(report)}"
    if report.latency.candidate_p50 is not None:
        yield (f"  latency p50 {words.fmt_ms(report.latency.baseline_p50)} -> {words.fmt_ms(report.latency.candidate_p50)}, "
               f"p95 {words.fmt_ms(report.latency.baseline_p95)} -> {words.fmt_ms(report.latency.candidate_p95)}")
    if cost := words.cost_line(report):
        yield f"  cost of a query {cost.replace('→', '->').replace('×', 'x')}"


def _beside(report: Report) -> Iterator[str]:
    found, unjudged = report.findings, beside.with_unjudged(report)
    entered = unjudged.entered if unjudged else ()
    yield from _both(report, "Stages, mean recall", beside.stage_rows(found))
    for sentence in (beside.stage_sentence(found), beside.versions_sentence(found)):
        if sentence:
            yield f"  {sentence}"
    yield from (f"    {clean(row.id, 40)}: {clean(row.doc, 80)} at rank {row.rank}{', new' if row.new else ''}"
                for row in beside.stale_rows(report, _MOST_ROWS))
    if condensed := beside.condensed_sentence(report):
        yield f"  {condensed}"
        yield from (f"    {clean(doc, 80)}: {figures.plural(n, 'query')}" for doc, n in entered[:_MOST_DOCUMENTS])
        if len(entered) > _MOST_DOCUMENTS:
            yield f"    … and {figures.plural(len(entered) - _MOST_DOCUMENTS, 'more document')}"


def _both(report: Report, title: str, lines: Sequence[beside.Line]) -> Iterator[str]:
    if lines:
        compared, delta = report.comparison is not None, report.comparison is not None and bool(lines[0].delta)
        head = (title, *(["baseline"] if compared else []), words.this_side(report), *(["delta"] if delta else []))
        yield from table(head, ((line.what, *([line.baseline] if compared else []), line.candidate, *([line.delta] if delta else []))
                                for line in lines))


def _since(report: Report) -> Iterator[str]:
    if report.latest is None:
        return
    from gate.reports import since

    yield from table((f"{rows.metric_rows(report)[0].label} against", "before", words.this_side(report), "delta",
                      words.confidence(report), "better", "worse", "lost", "gained"),
                     ((f"{row.against} {clean(row.commit, 40)}".rstrip(), row.before, row.after, row.delta,
                       row.interval or figures.NONE, str(row.better), str(row.worse), str(row.lost), str(row.gained))
                      for row in since.since_rows(report)))
    if line := since.again_line(report):
        ids = since.again_ids(report, _MOST_ROWS)
        yield f"  {line}: {clean(', '.join(ids), 400)}"


def _checks(report: Report) -> Iterator[str]:
    if report.checks:
        yield "Checks"
    for check in report.checks:
        yield f"  {_OUTCOMES.get(check.outcome, check.outcome):<4}  {clean(check.name, 60)}: {clean(check.sentence, 600)}"


def _flips(report: Report, title: str, changes: tuple[QueryChange, ...]) -> Iterator[str]:
    if not changes:
        return
    more = f" (showing {_MOST_ROWS} of {len(changes):,})" if len(changes) > _MOST_ROWS else ""
    yield f"{title}: {figures.plural(len(changes), 'query')}{more}"
    body = [(column(row.id, 40), f"{row.before} -> {row.after}{' (unstable)' if row.unstable else ''}", column(row.text, 60),
             column(" ".join(row.tags), 40), *_documents(row),
             f"lost by the {row.stage.removesuffix('s')} stage" if row.stage else "")
            for row in flip_rows(report, changes[:_MOST_ROWS])]
    now = "now at that rank" if any(line[5] for line in body) else ""
    yield from table(("query", "rank", "", "tags", "its answer", now, ""), body, left=7)


def _documents(row: FlipRow) -> tuple[str, str]:
    return column(row.answer_title or row.answer, 48), column(row.instead_title or row.instead, 48) if row.instead else row.gap


def _explain(report: Report) -> Iterator[str]:
    if lines := _commands(report):
        yield "Why one of them moved"
        yield from lines


def _commands(report: Report) -> list[str]:
    return [f"  {line}" for line in remarks.why_one_moved(report)]


def _tags(report: Report) -> Iterator[str]:
    found = tag_rows(report)
    if not found or (report.comparison is not None and report.comparison.identical):
        return
    yield f"Per tag{f' (showing {_MOST_ROWS} of {len(found):,})' if len(found) > _MOST_ROWS else ''}"
    yield from table(("tag", "n", "baseline", words.this_side(report), "delta", "interval", "q"),
                     ((column(row.tag, 40) + (" (protected)" if row.protected else ""), str(row.n), row.baseline, row.candidate,
                       row.delta, row.interval or figures.NONE, row.q) for row in _few(found)))


def _apart(report: Report) -> Iterator[str]:
    unanswerable = len(rows.unanswerable_rows(report))
    if unanswerable:
        yield f"  {figures.plural(unanswerable, 'unanswerable query')}, in no mean"
    for name, ids in rows.excluded(report).items():
        if ids:
            yield f"  {len(ids):,} {rows.EXCLUDED[name]}: {clean(', '.join(ids[:10]), 200)}{' …' if len(ids) > 10 else ''}"
