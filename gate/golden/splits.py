"""Which queries of a golden set a tier judges. The others are known, and set aside: their labels still count. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from gate.errors import CannotDecide, InvalidInput
from gate.figures import plural
from gate.golden.model import SPLITS, GoldenSet
from gate.policy import Policy
from gate.runs import Ranking, Run


def of_splits(golden: GoldenSet, splits: Collection[str]) -> GoldenSet:
    """The queries of ``splits``; the set itself when that is all of them, or when ``splits`` names none. Raises InvalidInput for an
    empty rest."""
    if not splits or all(query.split in splits for query in golden.queries):
        return golden
    found = tuple(query for query in golden.queries if query.split in splits)
    if not found:
        there = " and ".join(sorted({query.split for query in golden.queries}))
        raise InvalidInput(f"{golden.path}: no query is of the split {' or '.join(splits)} that this tier judges; all are {there}",
                           "set `splits` (README, «Tiers and splits»), or give some queries another `split`")
    return replace(golden, queries=found)


def silent_splits(judged: GoldenSet, rankings: Collection[str], known: Collection[str] | None = None) -> dict[str, list[str]]:
    """Split → ids of its queries, for splits of which not a single query has a ranking: they were never asked. ``rankings``: ids that
    have one; ``known``: only queries in it are expected, None: all."""
    silent = {query.split for query in judged.queries}
    for query in judged.queries:  # as a rule the first few answer for all splits
        if query.split in silent and query.id in rankings and (known is None or query.id in known):
            silent.discard(query.split)
        if not silent:
            return {}
    found = {split: [q.id for q in judged.queries if q.split == split and (known is None or q.id in known)] for split in sorted(silent)}
    return {split: ids for split, ids in found.items() if ids}


def check_answered(judged: GoldenSet, run: Run, side: str, known: Collection[str] | None = None, record: bool = False) -> None:
    """Raise when a run was made without asking a whole split that is judged: over the rest nothing can be concluded. One query of many
    that is missing is another thing, and scores 0. ``record``: the run is a baseline's, whose golden set had the queries ``known``."""
    lines = [f"{side}: holds no ranking of any of the {plural(len(ids), 'query')} of the split {split}: {', '.join(ids[:20])}"
             f"{' …' if len(ids) > 20 else ''}" for split, ids in silent_splits(judged, run.rankings, known).items()]
    if lines and record:
        raise CannotDecide(lines, "runs on the default branch and `retrieval-gate run --record` ask every split: make the baseline anew, "
                                  "by an approved change or on the command line; a run file must then answer all queries")
    if lines:
        raise InvalidInput(lines, "make the run again with all queries that this tier judges (README, «Tiers and splits»)")


def without_blind(golden: GoldenSet, rankings: Mapping[str, Ranking]) -> Mapping[str, Ranking]:
    """What may be shown of a run: what blind queries find is for records only, since whoever sees it tunes on it."""
    blind = {query.id for query in golden.queries if query.blind}
    return {i: ranking for i, ranking in rankings.items() if i not in blind} if blind else rankings


class Aside(NamedTuple):
    """What the rules guard and this tier does not judge: protected tags and must-hit queries that are in other splits only."""

    tags: tuple[str, ...]
    must_hit: tuple[str, ...]


def set_aside(golden: GoldenSet, judged: GoldenSet, policy: Policy) -> Aside:
    """Of the tags and queries that the policy names, those that only the rest of the golden set has."""
    if judged is golden:
        return Aside((), ())
    here = {tag for query in judged.queries for tag in query.tags}
    there = {tag for query in golden.queries for tag in query.tags} - here
    tagged = [query.id for query in golden.queries if query.id not in judged.by_id and set(query.tags) & set(policy.must_hit_tags)]
    named = [i for i in policy.must_hit if i in golden.by_id and i not in judged.by_id]
    return Aside(tuple(rule.tag for rule in policy.protected if rule.tag in there), tuple(dict.fromkeys((*named, *tagged))))


def split_facts(golden: GoldenSet, judged: GoldenSet) -> dict[str, Any]:
    """How many queries of which split were judged and set aside, for the report; nothing where there is only dev."""
    if judged is golden and all(query.split == SPLITS[0] for query in golden.queries):
        return {}
    counts = [dict(sorted(Counter(q.split for q in golden.queries if (q.id in judged.by_id) == inside).items(), reverse=True))
              for inside in (True, False)]
    return {"judged": counts[0]} | ({"set_aside": counts[1]} if counts[1] else {})
