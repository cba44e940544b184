"""Properties of queries that are more frequent among the failures than chance explains. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gate.figures import plural
from gate.golden.model import Query
from gate.patterns.case import ALPHA, FEWEST, TAG, Case, Pattern, relevant_of
from gate.statistics.enrichment import enrichment_p
from gate.statistics.multiplicity import benjamini_hochberg

# A trait is worth a line when those who have it fare worse by this factor; a significant 1.1 tells nobody where to look.
_LEAST_LIFT = 1.5
_MOST_TAGS = 3
_ALIKE, _WITHIN = 0.7, 0.9
_TELLING = ("exact-terms", "numbers", "script")
_CALM = ALPHA / 5
_EXACT = re.compile(r"\d|(?<!\w)[\"“'‘`]\S|\b\w+[_./-]\w+|\b[A-Z]{2,}\b")


class _Trait(NamedTuple):
    """``words``: what the queries that have it are said to be or do; ``cause``: as in a :class:`Pattern`."""

    kind: str
    words: str
    cause: str
    has: Callable[[Query], bool]


def traits(case: Case, known: bool, calm: bool) -> list[Pattern]:
    """Properties of queries that are more frequent among the lost ones, or else the worse ones, than chance explains (Fisher's exact
    test, Benjamini and Hochberg's correction over all of them). ``known``: the cause has been said, and only what most have in common adds
    to it; ``calm``: nothing was lost and no drop shown, so that the worse queries are those which any change makes."""
    group, what = case.told
    within = set(group)
    ids = (*group, *(i for i in (*case.worse, *case.rest) if i not in within))
    queries = [case.golden.by_id[i] for i in ids]
    counted = []
    for trait in (*_of_text(queries), *_of_tags(queries)):
        hits = tuple(query.id for query in queries[:len(group)] if trait.has(query))
        having = len(hits) + sum(map(trait.has, queries[len(group):]))
        # By what all queries have, which the failures do not decide: otherwise the corrections would be for too few.
        if FEWEST <= having < len(ids):
            counted.append((trait, hits, having))
    q_values = benjamini_hochberg([enrichment_p(len(hits), len(group), having, len(ids)) for _, hits, having in counted])
    found, q_of, least = [], {}, _CALM if calm else ALPHA
    for (trait, hits, having), q in zip(counted, q_values, strict=True):
        lifted = len(hits) * len(ids) >= _LEAST_LIFT * having * len(group)
        if len(hits) >= FEWEST and q <= least and lifted and case.fell(trait.has):
            seen = f"{len(hits)} of {plural(len(group), what)} {trait.words}; of all {len(ids)} queries {having} do."
            found.append(Pattern(trait.kind, hits, seen, "" if known else trait.cause))
            q_of[trait.kind] = q
    found = [pattern for pattern in _distinct(found) if not known or 2 * len(pattern.queries) >= len(group)]
    tags = sorted((pattern for pattern in found if pattern.of_tag), key=lambda pattern: (q_of[pattern.kind], pattern.kind))[:_MOST_TAGS]
    return [pattern for pattern in found if not pattern.of_tag or pattern in tags]


def _of_text(queries: Sequence[Query]) -> Iterator[_Trait]:
    """What every team's queries may have. ``queries``: all of them, which say what is long."""
    lengths = sorted(len(query.text.split()) for query in queries)
    long, short = lengths[3 * len(lengths) // 4], lengths[len(lengths) // 4]
    yield _Trait("exact-terms", "name something exactly (a number, a code, a name in quotes or capitals)",
                 "The lexical part of the search, for instance a tokenizer that drops or splits digits and punctuation, a missing keyword "
                 "leg, or a smaller weight for it.", lambda query: bool(_EXACT.search(query.text)))
    yield _Trait("numbers", "hold a number",
                 "Digits that are dropped, split off or written otherwise on one side: the tokenizer at indexing or at search, a "
                 "normalisation.", lambda query: any(char.isdigit() for char in query.text))
    yield _Trait("long-queries", f"are long ({plural(long, 'word')} or more)",
                 "A limit on the length of the query: tokens cut off, or a parser that requires every word.",
                 lambda query: len(query.text.split()) >= long > short)
    yield _Trait("short-queries", f"are short ({plural(short, 'word')} or fewer)",
                 "Too little context for an embedding; query expansion or the lexical leg is weaker.",
                 lambda query: len(query.text.split()) <= short < long)
    yield _Trait("script", "have letters of another script than Latin",
                 "Analyser or embedding model for one language only, or text that was normalised to ASCII.",
                 lambda query: any(_foreign(char) for char in query.text))
    yield _Trait("accents", "have letters with accents", "Folding of accents on one side only, at indexing or at search.",
                 lambda query: any(_accented(char) for char in query.text))
    yield _Trait("several", "have more than one relevant document",
                 "Fewer results fetched, or duplicates of one document that crowd the others out.",
                 lambda query: len({query.units.get(doc, (doc,))[0] for doc in relevant_of(query)}) > 1)


def _of_tags(queries: Sequence[Query]) -> Iterator[_Trait]:
    for tag in sorted({tag for query in queries for tag in query.tags}):
        yield _Trait(f"{TAG}{tag}", f"carry the tag {tag}",
                     "Something that only these have: their part of the corpus, its index, or a filter on it.",
                     lambda query, tag=tag: tag in query.tags)


def _distinct(found: Sequence[Pattern]) -> list[Pattern]:
    """Without those that are the same queries under a second description: they say nothing new. The team's own word for them says more
    than their length, and less than what they hold."""
    told: list[Pattern] = []
    for pattern in sorted(found, key=lambda pattern: 0 if pattern.kind in _TELLING else 1 if pattern.of_tag else 2):
        if not any(_told(pattern.queries, other.queries) for other in told):
            told.append(pattern)
    plain = [pattern for pattern in told if not pattern.of_tag]
    return [pattern for pattern in told if not pattern.of_tag or not any(_told(pattern.queries, other.queries) for other in plain)]


def _told(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the first group is the second in other words, or a part of it."""
    shared = len({*one} & {*other})
    return shared >= _ALIKE * len({*one, *other}) or shared >= _WITHIN * len({*one})


def _accented(char: str) -> bool:
    """Not what only looks composed: spaces that do not break, dots in a row, wide digits, kana with a voice mark, the Cyrillic short i."""
    return ord(char) > 127 and unicodedata.category(char)[0] == "L" and unicodedata.decomposition(char)[:1] not in ("", "<") \
        and unicodedata.name(char, "").startswith(("LATIN", "GREEK"))


def _foreign(char: str) -> bool:
    return ord(char) > 591 and unicodedata.category(char)[0] == "L" and not unicodedata.name(char, "").startswith("LATIN")
