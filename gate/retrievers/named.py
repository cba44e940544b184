"""Rows of a snapshot's index → a ranking, in the words of golden sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gate.golden.model import Query
from gate.runs import Chunk, Ranking

if TYPE_CHECKING:
    from gate.snapshot.reader import Snapshot


def ranking_of(snapshot: Snapshot, query: Query, rows: Iterable[int], scores: Iterable[float]) -> Ranking:
    """A result is called what a golden set calls it; where that is not the unit's own id, its chunk is named as well.

    Places in the document stand beside it then, and for every query that asks for spans. Not always: rankings of a snapshot whose units are
    what the golden set names would differ from the baselines that were made of them.
    """
    rows = list(rows)
    ids, docs, places = ([column[row] for row in rows] for column in (snapshot.ids, snapshot.docs, snapshot.places))
    chunks = None
    if query.spans or docs != ids:
        chunks = [Chunk("" if doc == unit else unit, *place) for unit, doc, place in zip(ids, docs, places, strict=True)]
    return Ranking(docs, [float(score) for score in scores], chunks)
