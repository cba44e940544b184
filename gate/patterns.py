"""What failures have in common, and what that usually comes from. Pure; it decides nothing.

Lost queries are looked at one by one by people; causes are not. A removed document, an id that moved or a tokenizer that lost its digits
each leave a trace over many queries, which this looks for.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gate.comparison import Comparison
from gate.figures import plural
from gate.golden.model import GoldenSet, Query
from gate.runs import Run
from gate.statistics.enrichment import enrichment_p
from gate.statistics.multiplicity import benjamini_hochberg
from gate.statistics.tests01 import mcnemar

FEWEST = 3
_ALPHA = 0.05
# A trait is worth a line when those who have it fare worse by this factor; a significant 1.1 tells nobody where to look.
_LEAST_LIFT = 1.5
_NEAR_TOP = 3
# Of very long golden sets a part shows the same: the worst of the worse, and every so manieth of the others.
_MOST_WORSE, _MOST_OTHERS = 600, 1200
_MOST_TAGS = 3
_DIGITS = "0123456789"
_EXACT = re.compile(r"\d|[\"“”'‘’`]\S|\b\w+[_./-]\w+|\b[A-Z]{2,}\b")


class Pattern(NamedTuple):
    """``queries``: those that show it, worst first. ``seen``: a sentence; ``cause``: what it usually comes from and where to look;
    empty where the pattern above has said it."""

    kind: str
    queries: tuple[str, ...]
    seen: str
    cause: str


class _Side(NamedTuple):
    """What is kept of one run's rankings, by query: the first ``k`` documents and how many there were. Those of long runs stay in their
    file until somebody asks, and are not to be held here."""

    run: Run
    top: Mapping[str, Sequence[str]]
    counts: Mapping[str, int]

    def returned(self, among: set[str]) -> set[str]:
        """Those documents that came back for any query, at any rank."""
        return {doc for i in self.top for doc in _docs(self.run, i) if doc in among}


def _docs(run: Run, query_id: str) -> Sequence[str]:
    return run.rankings[query_id].docs if query_id in run.rankings else ()


def _side(run: Run, ids: Sequence[str], k: int) -> _Side:
    top: dict[str, Sequence[str]] = {}
    counts: dict[str, int] = {}
    for i in ids:
        docs = _docs(run, i)
        top[i], counts[i] = docs[:k], len(docs)
    return _Side(run, top, counts)


class _Case(NamedTuple):
    """``worse``: ids, worst first; ``lost``: those of them that no longer find anything; ``rest``: the other paired ones."""

    golden: GoldenSet
    before: _Side
    after: _Side
    worse: tuple[str, ...]
    lost: tuple[str, ...]
    rest: tuple[str, ...]
    k: int


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
    others = tuple(rest[::-(-len(rest) // _MOST_OTHERS) or 1])
    k = comparison.flip_k or 10
    old, new = (_side(side, (*worse[:_MOST_WORSE], *others), max(k, _NEAR_TOP)) for side in (before, after))
    case = _Case(golden, old, new, worse[:_MOST_WORSE], lost[:_MOST_WORSE], others, k)
    groups = [[pattern for look in looks if (pattern := look(case))] for looks in ((_shifted,), (_vanished, _fewer), (_intruders,))]
    traits = _traits(case)
    plain, tagged = ([pattern for pattern in traits if pattern.kind.startswith("tag ") is tag] for tag in (False, True))
    groups = [*groups[:2], plain, groups[2], tagged]
    found = [pattern for group in groups for pattern in sorted(group, key=lambda pattern: -len(pattern.queries))]
    causes = [pattern.cause for pattern in found]
    found = [pattern if pattern.cause not in causes[:at] else pattern._replace(cause="") for at, pattern in enumerate(found)]
    if not found and 4 * len(worse) >= len(comparison.paired):
        found.append(_everywhere(case))
    if whole:
        return tuple(found)
    sample = f"In a sample of {len(case.worse) + len(case.rest)} queries: "
    return tuple(pattern._replace(seen=sample + pattern.seen[0].lower() + pattern.seen[1:]) for pattern in found)


def _relevant(query: Query) -> set[str]:
    """Whatever the query is credited for: documents, members of groups, documents with spans."""
    return {doc for doc, grade in query.documents.items() if grade > 0}


def _named(names: Iterable[str], most: int = 5) -> str:
    """What stands behind a colon; empty where there is none that may be named: documents of blind queries are not."""
    names = list(names)
    return f": {', '.join(names[:most])}{f', … ({len(names)} in all)' if len(names) > most else ''}" if names else ""


# --- documents ---------------------------------------------------------------------------------------------------------------------------


def _near_top(side: _Side) -> set[str]:
    return {doc for docs in side.top.values() for doc in docs[:_NEAR_TOP]}


def _vanished(case: _Case) -> Pattern | None:
    """Documents that stood near the top and are returned for no query any more. Some always leave, so those that came count against."""
    gone, come = _near_top(case.before), _near_top(case.after)
    gone, come = gone - case.after.returned(gone), come - case.before.returned(come)
    lost = [i for i in case.worse if gone.intersection(case.before.top[i][:case.k]) & _relevant(case.golden.by_id[i])]
    if len(lost) < FEWEST or len(gone) <= len(come) or mcnemar(len(gone), len(come))[1] / 2 > _ALPHA:
        return None
    names = dict.fromkeys(doc for i in lost if not case.golden.by_id[i].blind for doc in case.before.top[i][:case.k]
                          if doc in gone and doc in _relevant(case.golden.by_id[i]))
    return Pattern("vanished", tuple(lost), f"{len(lost)} of {plural(len(case.worse), 'worse query')} lost documents that this run returns "
                   f"for no query at all{_named(names)}.",
                   "These documents are not in the index any more, or have other ids: compare the number of documents and the ids with "
                   "the baseline's, and look at what was filtered or failed while indexing.")


def _shifted(case: _Case) -> Pattern | None:
    """The place of document N is taken by N+1 (or N−1)."""
    lost = []
    for i in case.worse:
        old, new = case.before.top[i], case.after.top[i]
        # A neighbour that stood near by before has only moved up.
        if any(doc in _relevant(case.golden.by_id[i]) and rank < len(new) and _neighbours(doc, new[rank]) and new[rank] not in old[:case.k]
               for rank, doc in enumerate(old[:case.k])):
            lost.append(i)
    if len(lost) < FEWEST or 3 * len(lost) < len(case.worse):
        return None
    return Pattern("shifted", tuple(lost), f"In {len(lost)} of {plural(len(case.worse), 'worse query')} the place of a relevant document "
                   "is taken by its neighbour in the numbering.",
                   "Ids and contents are out of step by one: look at how rows of vectors are matched with ids (a header line, a skipped or "
                   "empty document).")


def _neighbours(one: str, other: str) -> bool:
    # No regular expression: one for «digits at the end» takes a second over an id of 10,000 digits and a letter.
    stem, beside = one.rstrip(_DIGITS), other.rstrip(_DIGITS)
    a, b = one[len(stem):], other[len(beside):]
    return bool(a and b and stem == beside and abs(int(a[-15:]) - int(b[-15:])) == 1)


def _intruders(case: _Case) -> Pattern | None:
    """A few documents that came into the top of many queries and belong to none of them."""
    came: defaultdict[str, list[str]] = defaultdict(list)
    for i in case.worse:
        fresh = set(case.after.top[i][:case.k]) - set(case.before.top[i][:case.k]) - _relevant(case.golden.by_id[i])
        for doc in fresh:
            came[doc].append(i)
    least = max(FEWEST, len(case.worse) // 5)
    names = sorted((doc for doc, ids in came.items() if len(ids) >= least), key=lambda doc: (-len(came[doc]), doc))
    if not names:
        return None
    hit = {i for doc in names for i in came[doc]}
    public = {doc for doc in names if not all(case.golden.by_id[i].blind for i in came[doc])}
    lost = tuple(i for i in case.worse if i in hit)
    return Pattern("intruders", lost, f"{plural(len(names), 'document')} came into the top {case.k} of {len(lost)} of "
                   f"{plural(len(case.worse), 'worse query')} without being relevant to them"
                   f"{_named(f'{doc} ({len(came[doc])} times)' for doc in names if doc in public)}.",
                   "Documents that match almost everything: boilerplate, a table of contents, near-duplicates, an empty or huge chunk, or "
                   "vectors that were not normalised. Look at their text and length.")


def _fewer(case: _Case) -> Pattern | None:
    """Fewer results than before."""
    lost = tuple(i for i in case.worse if 2 * case.after.counts[i] < case.before.counts[i])
    if len(lost) < FEWEST:
        return None
    empty = sum(not case.after.counts[i] for i in lost)
    return Pattern("fewer-results", lost, f"{len(lost)} of {plural(len(case.worse), 'worse query')} get less than half as many results as "
                   f"before, {empty} of them none.",
                   "A filter, a score threshold or a query parser that requires every word; an approximate index that visits too few "
                   "candidates; or one leg of a hybrid search that returns nothing.")


# --- queries -----------------------------------------------------------------------------------------------------------------------------


def _traits(case: _Case) -> list[Pattern]:
    """Properties of queries that are more frequent among the lost ones, or else the worse ones, than chance explains (Fisher's exact
    test, Benjamini and Hochberg's correction over all of them)."""
    group, what = (case.lost, "lost query") if len(case.lost) >= FEWEST else (case.worse, "worse query")
    within = set(group)
    ids = (*group, *(i for i in (*case.worse, *case.rest) if i not in within))
    queries = [case.golden.by_id[i] for i in ids]
    lengths = sorted(len(query.text.split()) for query in queries)
    long, short = lengths[3 * len(lengths) // 4], lengths[len(lengths) // 4]
    traits: list[tuple[str, str, str, Callable[[Query], bool]]] = [
        ("exact-terms", "name something exactly (a number, a code, a name in quotes or capitals)",
         "The lexical part of the search: a tokenizer that drops or splits digits and punctuation, a missing keyword leg, a smaller weight "
         "for it.", lambda query: bool(_EXACT.search(query.text))),
        ("long-queries", f"are long ({plural(long, 'word')} or more)",
         "A limit on the length of the query: tokens cut off, or a parser that requires every word.",
         lambda query: len(query.text.split()) >= long > short),
        ("short-queries", f"are short ({plural(short, 'word')} or fewer)",
         "Too little context for an embedding; query expansion or the lexical leg is weaker.",
         lambda query: len(query.text.split()) <= short < long),
        ("script", "are written in another script than Latin", "Analyser or embedding model for one language only, or text that was "
         "normalised to ASCII.", lambda query: any(_foreign(char) for char in query.text)),
        ("accents", "have letters with accents", "Folding of accents on one side only, at indexing or at search.",
         lambda query: any(ord(char) > 127 and unicodedata.decomposition(char) for char in query.text)),
        ("several", "have more than one relevant document",
         "Fewer results fetched, or duplicates of one document that crowd the others out.",
         lambda query: len({query.units.get(doc, (doc,))[0] for doc in _relevant(query)}) > 1)]
    traits += [(f"tag {tag}", f"carry the tag {tag}", "What only these have in common: their part of the corpus, its index, its filter.",
                lambda query, tag=tag: tag in query.tags) for tag in sorted({tag for query in queries for tag in query.tags})]
    counted = []
    for kind, words, cause, has in traits:
        hits = tuple(query.id for query in queries[:len(group)] if has(query))
        having = len(hits) + sum(map(has, queries[len(group):]))
        if len(hits) >= FEWEST and having < len(ids):
            counted.append((kind, words, cause, hits, having))
    q_values = benjamini_hochberg([enrichment_p(len(hits), len(group), having, len(ids)) for _, _, _, hits, having in counted])
    found = [(q, Pattern(kind, hits, f"{len(hits)} of {plural(len(group), what)} {words}; of all {len(ids)} queries {having} "
                                     "do.", cause))
             for (kind, words, cause, hits, having), q in zip(counted, q_values, strict=True)
             if q <= _ALPHA and len(hits) * len(ids) >= _LEAST_LIFT * having * len(group)]
    # The same queries under a second description say nothing new; the team's own word for them says more than their length.
    found.sort(key=lambda pair: 0 if pair[1].kind in ("exact-terms", "script") else 1 if pair[1].kind.startswith("tag ") else 2)
    found = [pair for at, pair in enumerate(found) if all(set(pair[1].queries) != set(other.queries) for _, other in found[:at])]
    tags = sorted((pair for pair in found if pair[1].kind.startswith("tag ")), key=lambda pair: (pair[0], pair[1].kind))
    return [pattern for pair in found if (pattern := pair[1]) and (not pattern.kind.startswith("tag ") or pair in tags[:_MOST_TAGS])]


def _foreign(char: str) -> bool:
    return ord(char) > 591 and unicodedata.category(char)[0] == "L" and not unicodedata.name(char, "").startswith("LATIN")


def _everywhere(case: _Case) -> Pattern:
    """Much got worse, and nothing sets it apart."""
    total = len(case.worse) + len(case.rest)
    moved = Counter(case.before.top[i][:case.k] != case.after.top[i][:case.k] for i in (*case.worse, *case.rest))
    return Pattern("everywhere", case.worse, f"{len(case.worse)} of {total} queries got worse and {moved[True]} rankings changed; the loss "
                   "is spread over all kinds of queries.",
                   "Something that touches every query: another or shortened embedding, queries and documents embedded differently "
                   "(prefix, normalisation, analyser), search parameters, fusion weights.")
