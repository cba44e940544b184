"""Which chunk boundaries cut an answer. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gate.explain.model import Fact
from gate.figures import fmt_part
from gate.golden.model import Query, Span
from gate.runs import Ranking
from gate.scoring.units import OVERLAP, ranks_of

_NOISE = 1e-9  # as scoring has it
_CUT = "The chunker cuts the answer: larger chunks, more overlap, or boundaries at headings."

Piece = tuple[str, int, int]
"""(name, start, end): a chunk of a document."""


def facts(query: Query, after: Ranking, pieces: Mapping[str, Sequence[Piece]], k: int, unit: str = "doc",
          overlap: float = OVERLAP) -> Iterator[Fact]:
    """``pieces``: all chunks of each document that a span is in, as the frozen index has them; empty without one. ``unit`` and
    ``overlap``: as the policy has them."""
    ranks, least = ranks_of(after.docs, unit), overlap - _NOISE
    for span in query.spans:
        where = f"The answer in {span.doc} ({span.start}–{span.end})"
        frozen = [(share(span.start, span.end, piece), piece) for piece in pieces.get(span.doc, ())]
        if frozen:
            best, piece = max(frozen, key=lambda pair: pair[0])
            if best < least:
                cuts = _cuts(span, (edge for _, (_, start, end) in frozen for edge in (start, end)))
                cut = f", cut at {cuts}" if cuts else ""
                yield Fact("cut", f"{where} is in no chunk of the index by more than {fmt_part(best, overlap)}{cut}; a chunk has to hold "
                                  f"{fmt_part(overlap)}.", _CUT)
                continue
            yield Fact("chunk", f"{where} is held by the chunk {piece[0]} to {fmt_part(best, 1.0)}.")
        chunks = zip(ranks, after.docs, after.chunks or (), strict=False)
        there = [(row, chunk.start, chunk.end) for row, doc, chunk in chunks
                 if doc == span.doc and chunk.start is not None and chunk.end is not None]
        found = [(share(span.start, span.end, ("", start, end)), row) for row, start, end in there]
        if found:
            best = max(part for part, _ in found)
            # Overlapping chunks may hold it both; the first that holds enough is the one that counts.
            rank = next((row for part, row in found if part >= least), 0)
            if not rank:
                cuts = _cuts(span, (edge for _, start, end in there for edge in (start, end)))
                cut = f"; returned chunks cut it at {cuts}" if cuts else ""
                yield Fact("wrong-chunk", f"{where}: the document came back, but no returned chunk holds more than "
                                          f"{fmt_part(best, overlap)} of it{cut}.",
                           _CUT if cuts else
                           "Another chunk of the right document was preferred: the answer lost its heading, or the chunk is too long.")
            elif rank > k:
                yield Fact("chunk-rank", f"{where}: the chunk that holds it is at rank {rank}.")


def _cuts(span: Span, edges: Iterable[int]) -> str:
    """Those of the edges that lie within it."""
    return ", ".join(map(str, sorted({edge for edge in edges if span.start < edge < span.end})))


def share(start: int, end: int, piece: Piece) -> float:
    """Of the characters from ``start`` to ``end``."""
    return max(0, min(end, piece[2]) - max(start, piece[1])) / max(end - start, 1)
