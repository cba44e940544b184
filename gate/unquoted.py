"""What a retriever says when it fails, without what it may quote: `show_queries: false` holds for error messages as well. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from gate.golden.model import Query
from gate.runs import Ranking

_RAISED = re.compile(r"the function raised ([A-Za-z_][\w.]{0,80})")
_PLACE = re.compile(r"\(([\w./+-]{1,120}\.py:\d+)\)")
_WHY = "its message is not shown, since it may quote the query (`show_queries: false`)"
_SHORTEST = 4  # a query of fewer characters is no secret, and its letters are in every sentence


def unquoted(ranking: Ranking) -> Ranking:
    """The same ranking; its error as kind and place."""
    first = ranking.error.partition("\n")[0]
    raised = _RAISED.match(first)
    # The place stands behind the message, which may hold the like of one itself.
    place = _PLACE.findall(first)[-1:] if raised else []
    what, where = f"the function raised {raised[1]}" if raised else "it failed", f" ({place[0]})" if place else ""
    return replace(ranking, error=f"{what}{where}; {_WHY}")


def unquoted_problems(problems: Iterable[str], queries: Iterable[Query]) -> list[str]:
    """Each problem's own sentence, without the output that came with it and without the text of any query."""
    texts = sorted({form for query in queries for form in _forms(query.text) if len(form) >= _SHORTEST}, key=len, reverse=True)
    found = []
    for problem in problems:
        line = problem.partition("\n")[0]
        for text in texts:
            if text in line:
                line = line.replace(text, "…")
        found.append(line)
    return found


def _forms(text: str) -> set[str]:
    """As messages have it: as it is, on one line, in an address, in JSON or as Python writes it."""
    import json
    from urllib.parse import quote, quote_plus

    if text.isalnum() and text.isascii():
        return {text}
    return {text, " ".join(text.split()), quote(text, errors="replace"), quote(text, safe="", errors="replace"),
            quote_plus(text, errors="replace"), json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]}
