"""An explanation for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate.explain.model import Explanation, Place, Side
from gate.figures import fmt_pair, metric_label
from gate.reports import cells
from gate.reports.escape import clean, guard
from gate.reports.paint import paint, painted
from gate.reports.text import column, table
from gate.reports.words import fmt_rank

# Facts that quote words of the query or of documents.
_QUOTING = ("words", "unknown", "shared", "rival", "error")


def explained_text(found: Explanation, color: bool = False, columns: int = 0) -> str:
    """Lines of text; ends with a newline. ``color``: the same characters, painted; ``columns``: of the terminal, 0: lines may be long."""
    lines = [guard(line.rstrip()) for line in cells.wrapped(_lines(found), columns)]
    if color:
        lines = [_painted(line, at) for at, line in enumerate(lines)]
    return "".join(f"{line}\n" for line in lines)


def _painted(line: str, at: int) -> str:
    if not at:
        name, gap, rest = line.partition("  ")
        return paint(name, "1;36") + gap + rest
    return painted(line)


def hidden(found: Explanation) -> Explanation:
    """Without any text of the query and of documents, as `show_queries: false` asks for."""
    def bare(places: tuple[Place, ...]) -> tuple[Place, ...]:
        return tuple(place._replace(title="") for place in places)

    facts = tuple(fact for fact in found.facts if fact.kind not in _QUOTING)
    return found._replace(query=found.query._replace(text=""), relevant=bare(found.relevant), instead=bare(found.instead), facts=facts)


def explained_json(found: Explanation) -> dict[str, Any]:
    """Plain values."""

    def place(one: Place) -> dict[str, Any]:
        return {"doc": one.doc, "title": one.title, "grade": one.grade, "baseline": one.before._asdict(), "candidate": one.after._asdict()}

    return {"id": found.query.id, "query": found.query.text, "tags": list(found.query.tags), "k": found.k, "unit": found.unit,
            "score": found.score._asdict(),
            "relevant": [place(one) for one in found.relevant], "instead": [place(one) for one in found.instead],
            "facts": [fact._asdict() for fact in found.facts]}


def _lines(found: Explanation) -> Iterator[str]:
    yield f"{clean(found.query.id, 60)}  {clean(found.query.text, 300)}"
    if found.query.tags:
        yield f"  tags: {clean(', '.join(found.query.tags), 300)}"
    yield from _measured(found)
    yield ""
    yield "Relevant"
    yield from _places(found.relevant) if found.relevant else [
        "  nothing: " + ("no document has a grade above 0" if found.query.answerable else "the query is unanswerable")]
    if found.instead:
        yield ""
        yield f"New in the top {found.k}{' chunks' if found.unit == 'chunk' else ''}"
        yield from _places(found.instead)
    yield ""
    yield "What there is to see"
    if not found.facts:
        yield "  nothing beyond the ranks above"
    for fact in found.facts:
        yield f"  - {clean(fact.seen, 600)}"
        if fact.likely:
            yield f"    Likely: {clean(fact.likely, 600)}"


def _measured(found: Explanation) -> Iterator[str]:
    _, before, after = found.score
    if before is None or after is None:
        return
    old, new = fmt_pair(before, after)
    yield f"  {metric_label(found.score.metric)}: {old} -> {new}"


def _places(places: tuple[Place, ...]) -> Iterator[str]:
    rows = ((column(place.doc, 60), f"{fmt_rank(place.before.rank)} -> {fmt_rank(place.after.rank)}", _scores(place.before, place.after),
             "" if place.grade is None else f"{place.grade:g}", column(place.title, 80)) for place in places)
    return table(("document", "rank", "score", "grade", "title"), rows, right=(1, 2, 3))


def _scores(before: Side, after: Side) -> str:
    return " -> ".join("—" if side.score is None else f"{side.score:.4g}" for side in (before, after)) \
        if before.score is not None or after.score is not None else ""
