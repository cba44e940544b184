"""Which words of a query a lexical run has stopped to look for: the frozen index is asked without them. Pure but for the index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gate.explain.model import Fact, Place

Search = Callable[[str], Sequence[str]]
"""Text of a query → documents as the frozen index ranks them, best first."""

_OURS = 0.5  # from here on the baseline is a search over this index, whatever stemmer or field weights it adds
_BETTER, _GOOD = 0.15, 0.5
_MOST_WORDS = 40


class _Guess(NamedTuple):
    """``kept``: what is left of the query; ``gone``: the words that are not; ``why``: what loses such words."""

    kept: str
    gone: tuple[str, ...]
    why: str


def facts(search: Search, text: str, before: Sequence[str], after: Sequence[str], relevant: Sequence[Place], k: int) -> Iterator[Fact]:
    """``before`` and ``after``: documents of the two runs."""
    full = search(text)
    for place in relevant:
        if place.doc in full[:k] and (place.after.rank is None or place.after.rank > k):
            now = f"is result {place.after.rank}" if place.after.rank else "is not among the results"
            yield Fact("search", f"BM25 over the snapshot puts {place.doc} at {full.index(place.doc) + 1}; in this run it {now}.",
                       "The index could find it: look at how the query is analysed and searched.")
    if not before or not after or alike(full, before, k) < _OURS:
        return
    plain = alike(full, after, k)
    told = [(alike(search(guess.kept), after, k), -len(guess.gone), guess) for guess in _guesses(text)]
    best, _, guess = max(told, key=lambda pair: pair[:2], default=(0.0, 0, None))
    if guess is not None and best >= _GOOD and best >= plain + _BETTER:
        yield Fact("words", f"This run ranks as if the query had no {', '.join(map(repr, guess.gone))}: without that, BM25 over the "
                            f"snapshot gives {_shared(search(guess.kept), after, k)} of its first {k} results, with it "
                            f"{_shared(full, after, k)}.", guess.why)


def _shared(one: Sequence[str], other: Sequence[str], k: int) -> int:
    return len({*one[:k]} & {*other[:k]})


def alike(one: Sequence[str], other: Sequence[str], k: int) -> float:
    """Average overlap of the first 1, 2, … k results (Fagin, Kumar and Sivakumar 2003): 1 for equal rankings, 0 for disjoint ones."""
    depth = min(k, max(len(one), len(other)))
    return sum(_shared(one, other, at) / at for at in range(1, depth + 1)) / depth if depth else 1.0


def _guesses(text: str) -> Iterator[_Guess]:
    words = text.split()[:_MOST_WORDS]
    for has, why in ((lambda word: any(char.isupper() for char in word),
                      "The words with capitals: the query is not lower-cased as the index is."),
                     (lambda word: any(char.isdigit() for char in word),
                      "The words with digits: the tokenizer of the query drops or splits them."),
                     (lambda word: not word.isascii(),
                      "The words with other letters than ASCII: the query is folded or stripped and the index is not.")):
        gone = tuple(word for word in words if has(word))
        if gone and len(gone) < len(words):
            yield _Guess(" ".join(word for word in words if not has(word)), gone, why)
    for at in range(1, len(words) - 1):
        yield _Guess(" ".join(words[:at]), tuple(words[at:]), f"The query ends after {at} words: a limit on its length.")
    for at, word in enumerate(words):
        if len(words) > 1:
            yield _Guess(" ".join(words[:at] + words[at + 1:]), (word,),
                         "The query is analysed otherwise than the index: stemming, stop words, a tokenizer that splits or drops this "
                         "word, or a limit on the query's length where it is the last.")
