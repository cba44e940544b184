"""What two rankings' scores say of a change: was the query read differently, or one document, or have names and contents parted? Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gate.explain.model import Fact, Place
from gate.figures import plural
from gate.runs import Ranking, Run

_SAME = 0.005  # of the larger score: half precision and another order of summing stay below it
_FEWEST = 3
MOST, FEW = 0.8, 0.2
_RISEN = 0.05
_LOOKED_AT, _SERIES = 20, 3


PARTED = ("The same contents under other ids: ids and rows of the index are out of step by one or more (a header line, a skipped or empty "
          "document, a sorted list beside an unsorted one), or documents were renamed.")
UNMATCHED = ("A part of the query counts no more: words that search and index treat differently (case, stemming, digits, accents, stop "
             "words), a query that is cut short, or a field that is no longer searched.")
STIRRED = ("Something touches the whole query or all documents: another or shortened embedding, texts that are cut before they are "
           "embedded, a prefix, normalisation, another analyser, other weights of fields or legs.")


class Signature(NamedTuple):
    """``kept`` of ``common`` documents, that both rankings have and nobody looks for, score as before, and ``rose`` score higher.
    ``swapped`` of ``ranks`` ranks in the top k have the score that they had, under another document; ``ranks`` are those that have the
    same score at all."""

    kept: int
    rose: int
    common: int
    swapped: int
    ranks: int

    @property
    def still(self) -> bool:
        """Query and index are read as before."""
        return self.common >= _FEWEST and self.kept >= MOST * self.common

    @property
    def partly(self) -> bool:
        """A part of the query counts no more: scores fell or stayed, as they do where a word of a sum is left out."""
        return self.common >= _FEWEST and self.kept > FEW * self.common and self.rose <= _RISEN * self.common

    @property
    def stirred(self) -> bool:
        """Something touches all documents at once."""
        return self.common >= _FEWEST and self.kept <= FEW * self.common

    @property
    def parted(self) -> bool:
        """The same contents came back under other names."""
        return self.swapped >= _FEWEST and 2 * self.swapped >= self.ranks


def same(one: float, other: float) -> bool:
    """Whether two scores are one and the same number, computed twice."""
    return abs(one - other) <= _SAME * max(abs(one), abs(other))


def by_rank(run: Run) -> bool:
    """Whether its scores only say the rank over again (1, 1/2, 1/3 …, or a fusion of ranks): two queries have the same ones."""
    series = []
    for query_id in islice(run.rankings, _LOOKED_AT):
        scores = (run.rankings[query_id].scores or [])[:_SERIES]
        if len(scores) == _SERIES and scores in series:
            return True
        series.append(scores)
    return False


def signature(before: Ranking, after: Ranking, wanted: Collection[str], k: int) -> Signature | None:
    """None where one of them has no scores."""
    if not before.scores or not after.scores:
        return None
    old = dict(zip(reversed(before.docs), reversed(before.scores), strict=True))
    new = dict(zip(reversed(after.docs), reversed(after.scores), strict=True))
    common = [doc for doc in old.keys() & new.keys() if doc not in wanted]
    ranks = [row for row in range(min(k, len(before.docs), len(after.docs))) if same(before.scores[row], after.scores[row])]
    # Where neighbours tie, another document at the rank is no other name of it: scores of ranks are a series only where they differ.
    apart = [row for row in ranks if not any(same(before.scores[row], before.scores[beside]) for beside in (row - 1, row + 1)
                                             if 0 <= beside < len(before.docs))]
    swapped = [row for row in apart if before.docs[row] != after.docs[row]]
    kept = [doc for doc in common if same(old[doc], new[doc])]
    rose = sum(new[doc] > old[doc] for doc in common) - sum(new[doc] > old[doc] for doc in kept)
    return Signature(len(kept), rose, len(common), len(swapped), len(apart))


class Fall(NamedTuple):
    """What a query's scores say of its relevant documents: ``how`` is parted, gone, fell or stirred."""

    how: str
    signature: Signature
    doc: str = ""


def fall(before: Ranking, after: Ranking, wanted: Collection[str], k: int) -> Fall | None:
    """None without scores, and where they say nothing."""
    found = signature(before, after, wanted, k)
    if found is None or not before.scores or not after.scores:
        return None
    if found.parted:
        return Fall("parted", found)
    old, new = _scores(before), _scores(after)
    fell = fallen(before, after, wanted)
    if not fell:
        return None
    doc = max(fell, key=lambda doc: old[doc])
    if doc not in new:
        # Below the last result its score is not known, only that it is not above it.
        return Fall("gone", found, doc) if found.still and old[doc] > after.scores[-1] else None
    return Fall("fell", found, doc) if found.partly else Fall("stirred", found, doc) if found.stirred else None


def _scores(side: Ranking) -> dict[str, float]:
    return dict(zip(reversed(side.docs), reversed(side.scores or ()), strict=True))


def fallen(before: Ranking, after: Ranking, wanted: Collection[str]) -> list[str]:
    """Those that score lower than before, or did not come back."""
    old, new = _scores(before), _scores(after)
    return [doc for doc in wanted if doc in old and (doc not in new or (new[doc] < old[doc] and not same(new[doc], old[doc])))]


def _gone(before: Ranking, after: Ranking) -> list[str]:
    """Documents that did not come back though their old score would have been enough."""
    new, last = set(after.docs), min(after.scores or [0.0])
    return [doc for doc, score in _scores(before).items() if doc not in new and score > last and not same(score, last)]


def facts(before: Ranking, after: Ranking, relevant: Sequence[Place], k: int, absent: Collection[str] = ()) -> Iterator[Fact]:
    """At most one: what it says of the query holds for all of its documents. That one of ``absent`` is gone need not be said again."""
    found = fall(before, after, [place.doc for place in relevant], k)
    if found is None or (found.how == "gone" and found.doc in absent):
        return
    how, (kept, rose, common, swapped, _), doc = found
    was, now = ((side.scores or [])[side.docs.index(doc)] if doc in side.docs else 0.0 for side in (before, after))
    others = f"{kept} of the {common} other documents that both rankings hold score as before"
    if how == "parted":
        yield Fact(how, f"{swapped} of the first {k} results have exactly the score that stood at their rank before, and are other "
                        "documents.", PARTED)
    elif how == "gone":
        more = len(_gone(before, after)) - 1
        who = f"{doc} and {plural(more, 'more result')} are gone, though their scores ({was:.4g} of {doc})" if more else \
            f"{doc} alone is gone, though its score {was:.4g}"
        yield Fact(how, f"{who} would be enough; {others}.",
                   "Query and model are as they were. The document is not in the index, its text or vector is another one, a filter hides "
                   "it, or an approximate search passed it by.")
    elif how == "fell":
        fell = common - kept - rose
        rest = [f"{fell} fell as well"] * (fell > 0) + [f"{rose} rose"] * (rose > 0)
        more = len(fallen(before, after, [place.doc for place in relevant])) - 1
        beside = f", and {plural(more, 'more relevant document')} with it" if more else ""
        moved = f"{doc} fell from {was:.4g} to {now:.4g}{beside}"
        if not rest:
            moved = moved if more else f"{doc} alone fell, from {was:.4g} to {now:.4g}"
            others = f"all {common} other documents that both rankings hold score as before"
        yield Fact(how, f"{moved}; {others}{', ' if rest else ''}{' and '.join(rest)}.", UNMATCHED)
    else:
        few = f"only {others}" if kept else f"none of the {common} other documents that both rankings hold scores as before"
        yield Fact(how, f"{doc} went from {was:.4g} to {now:.4g}, and {few}.", STIRRED)
