"""What documents and rankings have done, over many queries at once: the traces of an index that was built or asked in another way. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gate.explain.scores import PARTED, UNMATCHED
from gate.figures import listed, plural
from gate.patterns.case import ALPHA, FEWEST, NEAR_TOP, Case, Pattern, Side, relevant_of
from gate.statistics.multiplicity import benjamini_hochberg
from gate.statistics.tests01 import mcnemar

_WORDS = re.compile(r"[^\W_]+")
_NAMES = 300  # compared with one another, so not more
_TELLING = 5  # fewer coins that fall alike are no news at ALPHA
_APART = 0.8
_DIGITS = "0123456789"


def _named(names: Iterable[str], most: int = 5) -> str:
    """What stands behind a colon; empty where there is none that may be named: documents of blind queries are not."""
    names = list(names)
    return f": {listed(names, most)}" if names else ""


def _near_top(side: Side) -> set[str]:
    return {doc for docs in side.top.values() for doc in docs[:NEAR_TOP]}


def vanished(case: Case) -> Pattern | None:
    """Documents that stood near the top and are returned for no query any more. Some always leave, so those that came count against."""
    gone, come = _near_top(case.before) & case.before.alone, _near_top(case.after) & case.after.alone
    lost = [i for i in case.worse if gone.intersection(case.before.top[i][:case.k]) & relevant_of(case.golden.by_id[i])]
    more = len(gone) > len(come) and mcnemar(len(gone), len(come))[1] / 2 <= ALPHA
    if len(lost) < FEWEST or not (more or (2 * len(lost) >= len(case.worse) and _respelt(gone, come))):
        return None
    names = dict.fromkeys(doc for i in lost if not case.golden.by_id[i].blind for doc in case.before.top[i][:case.k]
                          if doc in gone and doc in relevant_of(case.golden.by_id[i]))
    seen = (f"{len(lost)} of {plural(len(case.worse), 'worse query')} lost documents that this run returns for {case.none} at all"
            f"{_named(names)}")
    if not more:
        public = {doc for i in case.worse if not case.golden.by_id[i].blind for doc in case.after.top[i][:NEAR_TOP]}
        return Pattern("renamed", tuple(lost), f"{seen}; in their place stand documents that the baseline returns for none"
                       f"{_named(sorted(come & public), 3)}.",
                       "Documents have other ids now (a path, a prefix, an ending, a new numbering), or the index holds another corpus: "
                       "lay the ids of both runs side by side.")
    return Pattern("vanished", tuple(lost), f"{seen}.",
                   "These documents are not in the index any more, or have other ids: compare the number of documents and the ids with "
                   "the baseline's, and look at what was filtered or failed while indexing.")


def _respelt(gone: set[str], come: set[str]) -> bool:
    """Whether most names that are gone are among those that came, with something around them or taken away. That documents go and others
    come proves nothing: below the last result is not out of the index."""
    came = [words for words in (frozenset(_WORDS.findall(doc.casefold())) for doc in sorted(come)[:_NAMES]) if words]
    left = [frozenset(_WORDS.findall(doc.casefold())) for doc in sorted(gone)[:_NAMES]]
    return 2 * sum(any(words <= other or other <= words for other in came) for words in left if words) > len(left)


def shifted(case: Case, falls: Mapping[str, str]) -> Pattern | None:
    """The same results under other names; without scores, the place of document N is taken by N+1 (or N−1)."""
    lost = [i for i in case.worse if falls.get(i) == "parted"]
    if len(lost) >= FEWEST and 3 * len(lost) >= len(case.worse):
        return Pattern("shifted", tuple(lost), f"In {len(lost)} of {plural(len(case.worse), 'worse query')} the same scores stand at the "
                       "same ranks as before, under other documents.", PARTED)
    lost = []
    for i in case.worse:
        old, new = case.before.top[i], case.after.top[i]
        # A neighbour that stood near by before has only moved up.
        if any(doc in relevant_of(case.golden.by_id[i]) and _neighbours(doc, other) and other not in old[:case.k]
               for doc, other in zip(old[:case.k], new, strict=False)):
            lost.append(i)
    if len(lost) < FEWEST or 3 * len(lost) < len(case.worse):
        return None
    return Pattern("shifted", tuple(lost), f"In {len(lost)} of {plural(len(case.worse), 'worse query')} the place of a relevant document "
                   "is taken by its neighbour in the numbering.", PARTED)


def _neighbours(one: str, other: str) -> bool:
    # No regular expression: one for «digits at the end» takes a second over an id of 10,000 digits and a letter.
    stem, beside = one.rstrip(_DIGITS), other.rstrip(_DIGITS)
    a, b = one[len(stem):], other[len(beside):]
    return bool(a and b and stem == beside and abs(int(a[-15:]) - int(b[-15:])) == 1)


def intruders(case: Case) -> Pattern | None:
    """A few documents that came into the top of many queries and belong to none of them."""
    came: defaultdict[str, list[str]] = defaultdict(list)
    for i in case.worse:
        fresh = set(case.after.top[i][:case.k]) - set(case.before.top[i][:case.k]) - relevant_of(case.golden.by_id[i])
        for doc in fresh:
            came[doc].append(i)
    least, credible = max(FEWEST, len(case.worse) // 5), _arrived(case)
    names = sorted((doc for doc, ids in came.items() if len(ids) >= least), key=lambda doc: (-len(came[doc]), doc))
    if credible.isdisjoint(names):
        return None
    hit = {i for doc in names for i in came[doc]}
    public = {doc for doc in names if not all(case.golden.by_id[i].blind for i in came[doc])}
    lost = tuple(i for i in case.worse if i in hit)
    return Pattern("intruders", lost, f"{plural(len(names), 'document')} came into the top {case.k} of {len(lost)} of "
                   f"{plural(len(case.worse), 'worse query')} without being relevant to them"
                   f"{_named(f'{doc} ({len(came[doc])} times)' for doc in names if doc in public)}.",
                   "Documents that match almost everything: boilerplate, a table of contents, near-duplicates, an empty or huge chunk, or "
                   "vectors that were not normalised. Look at their text and length.")


def _arrived(case: Case) -> set[str]:
    """Documents that came into the top of more queries, over all of them, than they left, beyond chance (sign test, Benjamini and
    Hochberg's correction over those that moved often enough to tell): in any corpus some documents are everywhere and come and go."""
    moved: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for i in (*case.worse, *case.rest):
        old, new, wanted = set(case.before.top[i][:case.k]), set(case.after.top[i][:case.k]), relevant_of(case.golden.by_id[i])
        for at, docs in enumerate((new - old - wanted, old - new - wanted)):
            for doc in docs:
                moved[doc][at] += 1
    told = sorted(doc for doc, both in moved.items() if sum(both) >= _TELLING)
    p_values = [mcnemar(came, left)[1] / 2 if came > left else 1.0 for came, left in map(moved.__getitem__, told)]
    return {doc for doc, q in zip(told, benjamini_hochberg(p_values), strict=True) if q <= ALPHA}


def newcomers(case: Case) -> Pattern | None:
    """Documents in the top that the baseline returns for no query. Some always come, so those that left count against."""
    gone, come = ({doc for docs in side.top.values() for doc in docs[:case.k] if doc in side.alone} for side in (case.before, case.after))
    lost = [i for i in case.worse if come.intersection(case.after.top[i][:case.k])]
    if len(lost) < FEWEST or 2 * len(lost) < len(case.worse) or len(come) <= len(gone) or mcnemar(len(come), len(gone))[1] / 2 > ALPHA:
        return None
    names = Counter(doc for i in lost if not case.golden.by_id[i].blind for doc in case.after.top[i][:case.k] if doc in come)
    return Pattern("newcomers", tuple(lost), f"In {len(lost)} of {plural(len(case.worse), 'worse query')} documents stand in the top "
                   f"{case.k} that the baseline returns for {case.none}"
                   f"{_named(doc if n == 1 else f'{doc} ({n} times)' for doc, n in names.most_common())}.",
                   "Documents that are new in the index: copies or near-duplicates of others, boilerplate, pages that were meant to be "
                   "left out. If they answer the queries, label them, and put copies into one equivalence group.")


def fewer(case: Case) -> Pattern | None:
    """Fewer results than before."""
    lost = tuple(i for i in case.worse if 2 * case.after.counts[i] < case.before.counts[i])
    if len(lost) < FEWEST or 10 * len(lost) < len(case.worse):
        return None
    empty = sum(not case.after.counts[i] for i in lost)
    return Pattern("fewer-results", lost, f"{len(lost)} of {plural(len(case.worse), 'worse query')} get less than half as many results as "
                   f"before{f', {empty} of them none' if empty else ''}.",
                   "Lexical: words that the index no longer knows in this form (case, stemming, stop words, digits), or a parser that "
                   "requires every word. Otherwise: a filter, a score threshold, an approximate index that visits too few candidates, or "
                   "one leg of a hybrid search that returns nothing.")


def unmatched(case: Case, falls: Mapping[str, str]) -> Pattern | None:
    """The relevant documents lost a part of their score, and hardly any other document changed or rose."""
    lost = tuple(i for i in case.worse if falls.get(i) == "fell")
    if len(lost) < FEWEST or 3 * len(lost) < len(case.worse):
        return None
    return Pattern("unmatched", lost, f"In {len(lost)} of {plural(len(case.worse), 'worse query')} the relevant document lost a part of "
                   "its score while many others score as before and hardly one higher.", UNMATCHED)


def one_ranking(case: Case) -> Pattern | None:
    """Different queries whose rankings differed get one and the same ranking."""
    group, what = case.told
    same: defaultdict[Sequence[str], list[str]] = defaultdict(list)
    for i in group:
        if len(case.after.top[i]) >= FEWEST:  # a result or two may well be the same
            same[tuple(case.after.top[i][:case.k])].append(i)

    def merged(ids: Sequence[str]) -> bool:
        before = {tuple(case.before.top[i][:case.k]) for i in ids}
        return len(ids) >= FEWEST and len(before) >= _APART * len(ids)

    groups = [ids for ids in same.values() if merged(ids)]
    hit = {i for ids in groups for i in ids}
    if not hit or 5 * len(hit) < len(group):
        return None
    different = len({tuple(case.before.top[i][:case.k]) for i in hit})
    had = "each had its own" if different == len(hit) else f"they had {different} different ones"
    return Pattern("one-ranking", tuple(i for i in group if i in hit), f"{len(hit)} of {plural(len(group), what)} get one and the same "
                   f"top {case.k} now{f' ({len(groups)} groups of them)' if len(groups) > 1 else ''}; before, {had}.",
                   "The search no longer sees what tells these queries apart: digits, punctuation or rare words that are dropped, a query "
                   "that is cut short, a parameter that is ignored, or a cache whose key is too short.")
