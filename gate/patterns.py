"""What failures have in common, and what that usually comes from. Pure; it decides nothing.

Lost queries are looked at one by one by people; causes are not. A removed document, an id that moved or a tokenizer that lost its digits
each leave a trace over many queries, which this looks for.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gate.comparison import Comparison
from gate.explain.scores import PARTED, STIRRED, UNMATCHED, by_rank, fall
from gate.figures import plural
from gate.golden.model import GoldenSet
from gate.pattern_case import ALPHA, FEWEST, Case, Pattern, Side, relevant_of, side_of
from gate.runs import Run
from gate.statistics.multiplicity import benjamini_hochberg
from gate.statistics.tests01 import mcnemar
from gate.traits import traits

_NEAR_TOP = 3
# Of very long golden sets a part shows the same: the worst of the worse, and every so manieth of the others.
_MOST_WORSE, _MOST_OTHERS = 600, 1200
# From here on a cause says why the queries are worse, and what else they have in common is where it hit.
_SAID = 0.8
_WORDS = re.compile(r"[^\W_]+")
_NAMES = 300  # compared with one another, so not more
_TELLING = 5  # fewer coins that fall alike are no news at ALPHA
_DIGITS = "0123456789"


def find_patterns(golden: GoldenSet, comparison: Comparison, before: Run, after: Run) -> tuple[Pattern, ...]:
    """Patterns among the queries that got worse; none where fewer than three did. What a document or an index does comes before what
    queries have in common, since it says more of the cause; then the one with the most queries."""
    worse = tuple(change.id for change in comparison.changes if change.delta < -1e-12)
    if len(worse) < FEWEST:
        return ()
    bad = set(worse)
    rest = [i for i in comparison.paired if i not in bad]
    whole = len(worse) <= _MOST_WORSE and len(rest) <= _MOST_OTHERS
    lost = tuple(change.id for change in comparison.lost if change.id in bad)
    sample = tuple(rest[::-(-len(rest) // _MOST_OTHERS) or 1])
    k = comparison.flip_k or 10
    old, new = (side_of(side, (*worse[:_MOST_WORSE], *sample), max(k, _NEAR_TOP)) for side in (before, after))
    moved = [(change.id, change.delta < 0) for change in comparison.changes if abs(change.delta) > 1e-12]
    case = Case(golden, old, new, worse[:_MOST_WORSE], lost[:_MOST_WORSE], sample, tuple(moved[::-(-len(moved) // _MOST_OTHERS)]), k)
    falls, ci = _falls(case), comparison.main.ci
    fell = ci is not None and ci.hi < 0
    shifted = _kept(_shifted(case, falls))
    fewer = _fewer(case)
    # Where hardly anything comes back, documents are missing everywhere.
    index = _kept(None if shifted or _explains(fewer, case) else _vanished(case), fewer, _unmatched(case, falls))
    known = len({i for pattern in (*shifted, *index) for i in pattern.queries}) >= _SAID * len(case.worse)
    intruders = None if known else _newcomers(case) or _intruders(case)
    if intruders and (intruders.kind == "newcomers" or _explains(intruders, case)):
        index, intruders, known = [*index, intruders], None, known or _explains(intruders, case)
    common = traits(case, known, calm=not fell and len(case.lost) < FEWEST)
    plain, tagged = ([pattern for pattern in common if pattern.kind.startswith("tag ") is tag] for tag in (False, True))
    others = _kept(intruders)
    stirred = sum(how == "stirred" for how in falls.values())
    apart = bool(plain or others or tagged)
    much = fell or (4 * len(worse) >= len(comparison.paired) and case.fell(bool))
    unsaid = not (shifted or index or plain) and (not apart or 2 * stirred >= len(case.worse))
    everywhere = [_everywhere(case, stirred, apart)] if much and unsaid else []
    groups = [shifted, index, plain, everywhere, others, tagged]
    found = [pattern for group in groups for pattern in sorted(group, key=lambda pattern: -len(pattern.queries))]
    causes = [pattern.cause for pattern in found]
    found = [pattern if pattern.cause not in causes[:at] else pattern._replace(cause="") for at, pattern in enumerate(found)]
    if whole:
        return tuple(found)
    part = f"In a sample of {len(case.worse) + len(case.rest)} queries: "
    return tuple(pattern._replace(seen=part + pattern.seen[0].lower() + pattern.seen[1:]) for pattern in found)


def _explains(pattern: Pattern | None, case: Case) -> bool:
    return pattern is not None and len(pattern.queries) >= _SAID * len(case.worse)


def _kept(*patterns: Pattern | None) -> list[Pattern]:
    return [pattern for pattern in patterns if pattern]


def _named(names: Iterable[str], most: int = 5) -> str:
    """What stands behind a colon; empty where there is none that may be named: documents of blind queries are not."""
    names = list(names)
    return f": {', '.join(names[:most])}{f', … ({len(names)} in all)' if len(names) > most else ''}" if names else ""


# --- documents ---------------------------------------------------------------------------------------------------------------------------


def _near_top(side: Side) -> set[str]:
    return {doc for docs in side.top.values() for doc in docs[:_NEAR_TOP]}


def _vanished(case: Case) -> Pattern | None:
    """Documents that stood near the top and are returned for no query any more. Some always leave, so those that came count against."""
    gone, come = _near_top(case.before), _near_top(case.after)
    gone, come = gone - case.after.returned(gone), come - case.before.returned(come)
    lost = [i for i in case.worse if gone.intersection(case.before.top[i][:case.k]) & relevant_of(case.golden.by_id[i])]
    more = len(gone) > len(come) and mcnemar(len(gone), len(come))[1] / 2 <= ALPHA
    if len(lost) < FEWEST or not (more or (2 * len(lost) >= len(case.worse) and _respelt(gone, come))):
        return None
    names = dict.fromkeys(doc for i in lost if not case.golden.by_id[i].blind for doc in case.before.top[i][:case.k]
                          if doc in gone and doc in relevant_of(case.golden.by_id[i]))
    seen = (f"{len(lost)} of {plural(len(case.worse), 'worse query')} lost documents that this run returns for no query at all"
            f"{_named(names)}")
    if not more:
        public = {doc for i in case.worse if not case.golden.by_id[i].blind for doc in case.after.top[i][:_NEAR_TOP]}
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


def _falls(case: Case) -> dict[str, str]:
    """Worse query → what its scores say of the fall, where the runs have scores."""
    found: dict[str, str] = {}
    if by_rank(case.before.run):
        return found
    for i in case.worse:
        before, after = (side.run.rankings.get(i) for side in (case.before, case.after))
        if before is not None and after is not None and (said := fall(before, after, relevant_of(case.golden.by_id[i]), case.k)):
            found[i] = said.how
    return found


def _shifted(case: Case, falls: Mapping[str, str]) -> Pattern | None:
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


def _intruders(case: Case) -> Pattern | None:
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


def _newcomers(case: Case) -> Pattern | None:
    """Documents in the top that the baseline returns for no query. Some always come, so those that left count against."""
    before, after = ({doc for docs in side.top.values() for doc in docs[:case.k]} for side in (case.before, case.after))
    come, gone = after - before, before - after
    come, gone = come - case.before.returned(come), gone - case.after.returned(gone)
    lost = [i for i in case.worse if come.intersection(case.after.top[i][:case.k])]
    if len(lost) < FEWEST or 2 * len(lost) < len(case.worse) or len(come) <= len(gone) or mcnemar(len(come), len(gone))[1] / 2 > ALPHA:
        return None
    names = Counter(doc for i in lost if not case.golden.by_id[i].blind for doc in case.after.top[i][:case.k] if doc in come)
    return Pattern("newcomers", tuple(lost), f"In {len(lost)} of {plural(len(case.worse), 'worse query')} documents stand in the top "
                   f"{case.k} that the baseline returns for no query"
                   f"{_named(f'{doc} ({n} times)' for doc, n in names.most_common())}.",
                   "Documents that are new in the index: copies or near-duplicates of others, boilerplate, pages that were meant to be "
                   "left out. If they answer the queries, label them, and put copies into one equivalence group.")


def _fewer(case: Case) -> Pattern | None:
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


def _unmatched(case: Case, falls: Mapping[str, str]) -> Pattern | None:
    """The relevant documents lost a part of their score, and hardly any other document changed or rose."""
    lost = tuple(i for i in case.worse if falls.get(i) == "fell")
    if len(lost) < FEWEST or 3 * len(lost) < len(case.worse):
        return None
    return Pattern("unmatched", lost, f"In {len(lost)} of {plural(len(case.worse), 'worse query')} the relevant document lost a part of "
                   "its score while many others score as before and hardly one higher.", UNMATCHED)


def _everywhere(case: Case, stirred: int, apart: bool) -> Pattern:
    """Much got worse, or credibly so. ``stirred``: queries in which nearly every document has another score; ``apart``: something is more
    frequent among them all the same, and does not say why."""
    total = len(case.worse) + len(case.rest)
    moved = Counter(case.before.top[i][:case.k] != case.after.top[i][:case.k] for i in (*case.worse, *case.rest))
    spread = "" if apart else "; the loss is spread over all kinds of queries"
    scores = f" In {stirred} of the worse ones nearly every document has another score." if 2 * stirred >= len(case.worse) else ""
    return Pattern("everywhere", case.worse, f"{len(case.worse)} of {plural(total, 'query')} got worse and {moved[True]:,} rankings "
                   f"changed{spread}.{scores}", STIRRED)
