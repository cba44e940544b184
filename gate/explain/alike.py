"""Near-duplicates of a relevant document that stand in its way. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from gate.explain.model import Fact
from gate.figures import fmt_part

_WORD = re.compile(r"\w+")
_SHINGLE = 4
_ALIKE = 0.6


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Runs of four words in lower case; of a shorter text, the whole."""
    words = _WORD.findall(text.lower())
    return frozenset(tuple(words[at:at + _SHINGLE]) for at in range(max(len(words) - _SHINGLE + 1, 1 if words else 0)))


def resemblance(one: str, other: str) -> float:
    """Broder's (1997) resemblance: Jaccard's coefficient of the two texts' shingles; 0 for an empty text."""
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b) if a and b else 0.0


def facts(relevant: Iterable[str], others: Iterable[str], texts: Mapping[str, str]) -> Iterator[Fact]:
    """``texts``: of the documents that the frozen index has with their text."""
    others = [doc for doc in others if doc in texts]
    for doc in relevant:
        for other in others if doc in texts else ():
            if (much := resemblance(texts[doc], texts[other])) >= _ALIKE:
                yield Fact("twin", f"{other}, which is not credited, is {fmt_part(much, 1.0)} the same text as the relevant {doc}.",
                           "If both answer the query, put them into one equivalence group; if one is outdated, say so in `versions`.")
