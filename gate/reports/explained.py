"""An explanation for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate.explain.model import Explanation, Place, Side
from gate.reports.escape import clean, guard
from gate.reports.text import table
from gate.reports.words import fmt_rank


def explained_text(found: Explanation) -> str:
    """Lines of text; ends with a newline."""
    return "".join(guard(line.rstrip()) + "\n" for line in _lines(found))


def explained_json(found: Explanation) -> dict[str, Any]:
    """Plain values."""

    def place(one: Place) -> dict[str, Any]:
        return {"doc": one.doc, "title": one.title, "grade": one.grade, "baseline": one.before._asdict(), "candidate": one.after._asdict()}

    return {"id": found.query.id, "query": found.query.text, "tags": list(found.query.tags), "k": found.k,
            "relevant": [place(one) for one in found.relevant], "instead": [place(one) for one in found.instead],
            "facts": [fact._asdict() for fact in found.facts]}


def _lines(found: Explanation) -> Iterator[str]:
    yield f"{clean(found.query.id, 60)}  {clean(found.query.text, 300)}"
    if found.query.tags:
        yield f"  tags: {clean(', '.join(found.query.tags), 300)}"
    yield ""
    yield "Relevant"
    yield from _places(found.relevant) if found.relevant else [
        "  nothing: " + ("no document has a grade above 0" if found.query.answerable else "the query is unanswerable")]
    if found.instead:
        yield ""
        yield f"New in the top {found.k}"
        yield from _places(found.instead)
    yield ""
    yield "What there is to see"
    if not found.facts:
        yield "  nothing beyond the ranks above"
    for fact in found.facts:
        yield f"  - {clean(fact.seen, 600)}"
        if fact.likely:
            yield f"    {clean(fact.likely, 600)}"


def _places(places: tuple[Place, ...]) -> Iterator[str]:
    rows = ((clean(place.doc, 60), f"{fmt_rank(place.before.rank)} -> {fmt_rank(place.after.rank)}", _scores(place.before, place.after),
             "" if place.grade is None else f"{place.grade:g}", clean(place.title, 80)) for place in places)
    return table(("document", "rank", "score", "grade", "title"), rows)


def _scores(before: Side, after: Side) -> str:
    return " -> ".join("—" if side.score is None else f"{side.score:.4g}" for side in (before, after)) \
        if before.score is not None or after.score is not None else ""
