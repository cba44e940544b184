"""What a lexical index makes of a query's words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gate.explain.model import Fact
from gate.figures import listed, plural

_STEM = 4


def facts(words: Sequence[str], relevant: Iterable[str], rival: str, terms: Mapping[str, Counter[str]],
          frequency: Mapping[str, int]) -> Iterator[Fact]:
    """``words``: the query's terms as the index analyses them; ``rival``: the first result that is none of ``relevant``; ``terms``:
    document → its terms; ``frequency``: term → units that hold it."""
    asked = list(dict.fromkeys(words))
    if not asked:
        yield Fact("no-terms", "Nothing is left of the query after analysis: it holds only stop words or signs.",
                   "A lexical search cannot answer it; look at the list of stop words and at the tokenizer.")
        return
    unknown = [word for word in asked if not frequency.get(word)]
    if unknown:
        yield Fact("unknown", f"The index does not know {listed(unknown)}.",
                   _forms(unknown, frequency) or "Misspelt, another language, or lost by the tokenizer when documents were indexed.")
    for doc in relevant:
        if doc not in terms:
            continue
        shared = [word for word in asked if terms[doc][word]]
        beside = [word for word in asked if not terms[doc][word]]
        told = ", ".join(f"{word} ({terms[doc][word]}×, in {plural(frequency.get(word, 0), 'unit')})" for word in shared[:6]) or "none"
        yield Fact("shared", f"{doc} has {len(shared)} of {len(asked)} terms of the query: {told}.",
                   "" if len(shared) * 2 > len(asked) else _forms(beside, terms[doc]) or
                   "Document and query use other words: synonyms, or a dense leg beside the lexical one.")
        if rival and rival in terms and rival != doc:
            ahead = [word for word in asked if terms[rival][word] > terms[doc][word]]
            if ahead:
                yield Fact("rival", f"{rival}, the first result that is not credited, holds more of {listed(ahead)}.")


def _forms(words: Iterable[str], known: Iterable[str]) -> str:
    """Other forms of the words that are there: a hint at stemming."""
    known = list(known)
    pairs = [(word, other) for word in words if len(word) > _STEM
             for other in known if other != word and len(other) > _STEM and other[:_STEM + 1] == word[:_STEM + 1]]
    shown = ", ".join(f"{word} / {other}" for word, other in dict(reversed(pairs)).items() if other)
    return f"Another form of the word is there ({shown[:120]}): stemming on one side only, or none." if pairs else ""
