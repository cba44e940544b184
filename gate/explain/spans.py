"""Which chunk boundaries cut an answer. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gate.explain.model import Fact
from gate.golden.model import Query
from gate.runs import Ranking
from gate.scoring.units import OVERLAP

Piece = tuple[str, int, int]
"""(name, start, end): a chunk of a document."""


def facts(query: Query, after: Ranking, pieces: Mapping[str, Sequence[Piece]], k: int) -> Iterator[Fact]:
    """``pieces``: all chunks of each document that a span is in, as the frozen index has them; empty without one."""
    for span in query.spans:
        where = f"The answer in {span.doc} ({span.start}–{span.end})"
        frozen = [(share(span.start, span.end, piece), piece) for piece in pieces.get(span.doc, ())]
        if frozen:
            best, piece = max(frozen, key=lambda pair: pair[0])
            if best < OVERLAP:
                cuts = sorted({edge for _, (_, start, end) in frozen for edge in (start, end) if span.start < edge < span.end})
                cut = f", cut at {', '.join(map(str, cuts))}" if cuts else ""
                yield Fact("cut", f"{where} is in no chunk of the index by more than {best:.0%}{cut}; a chunk has to hold {OVERLAP:.0%}.",
                           "The chunker cuts the answer: larger chunks, more overlap, or boundaries at headings.")
                continue
            yield Fact("chunk", f"{where} is held by the chunk {piece[0]} to {best:.0%}.")
        chunks = zip(after.docs, after.chunks or (), strict=False)
        found = [(share(span.start, span.end, ("", chunk.start, chunk.end)), row) for row, (doc, chunk) in enumerate(chunks, 1)
                 if doc == span.doc and chunk.start is not None and chunk.end is not None]
        if found:
            best = max(part for part, _ in found)
            # Overlapping chunks may hold it both; the first that holds enough is the one that counts.
            rank = next((row for part, row in found if part >= OVERLAP), 0)
            if not rank:
                yield Fact("wrong-chunk", f"{where}: the document came back, but no returned chunk holds more than {best:.0%} of it.",
                           "Another chunk of the right document was preferred: the answer lost its heading, or the chunk is too long.")
            elif rank > k:
                yield Fact("chunk-rank", f"{where}: the chunk that holds it is result {rank}.")


def share(start: int, end: int, piece: Piece) -> float:
    """Of the characters from ``start`` to ``end``."""
    return max(0, min(end, piece[2]) - max(start, piece[1])) / max(end - start, 1)
