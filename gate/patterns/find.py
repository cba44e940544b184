"""All patterns of one comparison, the most telling first. Pure."""

from __future__ import annotations

from gate.comparison import Comparison
from gate.explain.scores import STIRRED, by_rank, fall
from gate.figures import plural, within
from gate.golden.model import GoldenSet
from gate.patterns import documents
from gate.patterns.case import FEWEST, NEAR_TOP, Case, Pattern, relevant_of, sides_of
from gate.patterns.traits import traits
from gate.runs import Run

# Of very long golden sets a part shows the same: the worst of the worse, and every so manieth of the others.
_MOST_WORSE, _MOST_OTHERS = 400, 800
# From here on a cause says why the queries are worse, and what else they have in common is where it hit.
_SAID = 0.8
_TOUCHED = 0.5
_EVERYWHERE = "everywhere"
_NOISE = 1e-12


def find_patterns(golden: GoldenSet, comparison: Comparison, before: Run, after: Run) -> tuple[Pattern, ...]:
    """Patterns among the queries that got worse; none where fewer than three did. What a document or an index does comes before what
    queries have in common, since it says more of the cause; then the one with the most queries. A cause that is given twice stands once."""
    worse = tuple(change.id for change in comparison.changes if change.delta < -_NOISE)
    if len(worse) < FEWEST:
        return ()
    bad = set(worse)
    rest = [i for i in comparison.paired if i not in bad]
    case = _case(golden, comparison, before, after, worse, rest)
    found = _ordered(case, comparison)
    causes = [pattern.cause for pattern in found]
    found = [pattern if pattern.cause not in causes[:at] else pattern._replace(cause="") for at, pattern in enumerate(found)]
    if case.whole:
        return tuple(found)
    those = "worst" if len(worse) > _MOST_WORSE else "worse"
    part = f"Among the {len(case.worse)} {those} queries and {len(case.rest):,} others: "
    return tuple(pattern if pattern.kind == _EVERYWHERE else pattern._replace(seen=part + within(pattern.seen))
                 for pattern in found)


def _case(golden: GoldenSet, comparison: Comparison, before: Run, after: Run, worse: tuple[str, ...], rest: list[str]) -> Case:
    whole = len(worse) <= _MOST_WORSE and len(rest) <= _MOST_OTHERS
    worse = worse[:_MOST_WORSE]
    kept = set(worse)
    lost = tuple(change.id for change in comparison.lost if change.id in kept)
    sample = tuple(rest[::-(-len(rest) // _MOST_OTHERS) or 1])
    k = comparison.flip_k or 10
    old, new = sides_of(before, after, (*worse, *sample), max(k, NEAR_TOP))
    moved = [(change.id, change.delta < 0) for change in comparison.changes if abs(change.delta) > _NOISE]
    return Case(golden, old, new, worse, lost, sample, tuple(moved[::-(-len(moved) // _MOST_OTHERS)]), k, whole)


def _ordered(case: Case, comparison: Comparison) -> list[Pattern]:
    falls = _falls(case)
    credible = comparison.main.ci is not None and comparison.main.ci.hi < 0

    # What the index does.
    shifted, fewer, merged = documents.shifted(case, falls), documents.fewer(case), documents.one_ranking(case)
    # Where ids are out of step or hardly anything comes back, documents are missing everywhere.
    vanished = None if shifted or _explains(fewer, case) else documents.vanished(case)
    index = _sorted(merged, vanished, fewer, documents.unmatched(case, falls))
    known = _share(case, shifted, *index) >= _SAID
    intruders = None if known or merged else documents.newcomers(case) or documents.intruders(case)
    if intruders and (intruders.kind == "newcomers" or _explains(intruders, case)):
        index, known, intruders = _sorted(*index, intruders), known or _explains(intruders, case), None

    # What the queries have in common.
    common = traits(case, known, calm=not credible and len(case.lost) < FEWEST)
    tagged, plain = [pattern for pattern in common if pattern.of_tag], [pattern for pattern in common if not pattern.of_tag]

    # What touches all of them: said where much fell and nothing above says why.
    stirred, apart = sum(how == "stirred" for how in falls.values()), bool(common or intruders)
    worse, total = sum(change.delta < -_NOISE for change in comparison.changes), len(comparison.paired)
    much = credible or (4 * worse >= total and case.fell(lambda _: True))
    silent = not (shifted or index or plain) and (not apart or 2 * stirred >= len(case.worse))
    everywhere = _everywhere(case, stirred, apart, worse, total) if much and silent else None
    return [*_sorted(shifted), *index, *_sorted(*plain), *_sorted(everywhere), *_sorted(intruders), *_sorted(*tagged)]


def _sorted(*patterns: Pattern | None) -> list[Pattern]:
    return sorted((pattern for pattern in patterns if pattern), key=lambda pattern: -len(pattern.queries))


def _share(case: Case, *patterns: Pattern | None) -> float:
    """Of the worse queries, those that one of the patterns holds."""
    return len({i for pattern in patterns if pattern for i in pattern.queries}) / len(case.worse)


def _explains(pattern: Pattern | None, case: Case) -> bool:
    return _share(case, pattern) >= _SAID


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


def _everywhere(case: Case, stirred: int, apart: bool, worse: int, total: int) -> Pattern | None:
    """Much got worse, or credibly so. ``stirred``: queries in which nearly every document has another score; ``apart``: something is more
    frequent among them all the same, and does not say why; ``worse`` of ``total`` queries got worse, in a long set more than are looked at.
    None where most rankings are what they were: what touches every query does not leave them alone."""
    others = sum(case.before.top[i][:case.k] != case.after.top[i][:case.k] for i in case.rest)
    share = (worse + (others / len(case.rest) * (total - worse) if case.rest else 0)) / total
    if share < _TOUCHED and 2 * stirred < len(case.worse):
        return None
    moved = f"{worse + others:,} rankings changed" if case.whole else f"about {share * 100:.0f} % of all rankings changed"
    spread = "" if apart else "; the loss is spread over all kinds of queries"
    scores = f" In {stirred} of the {len(case.worse)} {'worse ones' if case.whole else 'worst'} nearly every document has another score." \
        if 2 * stirred >= len(case.worse) else ""
    return Pattern(_EVERYWHERE, case.worse, f"{worse:,} of {plural(total, 'query')} got worse and {moved}{spread}.{scores}", STIRRED)
