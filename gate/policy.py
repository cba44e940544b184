"""Comparison → verdict with reasons. Pure: every check yields {name, outcome, sentence, numbers}, the verdict is their maximum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gate import errors
from gate.comparison import Comparison, Method, Paired
from gate.figures import fmt_interval, fmt_pair, fmt_percent, fmt_size, fmt_value, metric_label, within
from gate.scoring.beside import TOP
from gate.scoring.metrics import Metric, parse_metric
from gate.scoring.score import ScoredRun
from gate.scoring.units import OVERLAP
from gate.statistics.multiplicity import holm
from gate.statistics.power import queries_needed
from gate.unjudged import newcomers, over_judged, ruled_out

# Worst last: the verdict is the maximum over all checks.
OUTCOMES = ("pass", "inconclusive", "fail")
RULES = ("point", "credible")
# Sums of floats miss equality by less than this; a drop of exactly the tolerance is one.
_NOISE = 1e-12
# Five losses and no gain still happen by chance in one of 32 sets, and one in 40 is allowed.
_FEWEST = 6

# What may be limited besides quality: how it is called, by the key of `policy.limits`.
LIMITS = {"p50_ms": "the median latency", "p95_ms": "the 95th percentile of the latency", "p50_ratio": "the median latency",
          "p95_ratio": "the 95th percentile of the latency", "cost": "the mean cost of a query", "cost_ratio": "the mean cost of a query"}

DEFAULT_METRICS = ("ndcg@10", "recall@5", "recall@10", "hit@5", "rr@10", "precision@5")


class Protected(NamedTuple):
    """A tag that may not fall by more than ``tolerance`` in the primary metric. ``point``: its mean; ``credible``: with Holm's test."""

    tag: str
    tolerance: float
    rule: str = "point"


@dataclass(frozen=True)
class Policy:
    """What counts as a real drop. Values are in units of the metrics, 0 to 1; ``overlap``: the share of a span that a chunk must hold.

    ``score_floor``: a score of the retriever below which a system would refuse to answer; it is only reported on, and decides nothing.
    """

    primary: Metric = field(default_factory=lambda: parse_metric("ndcg@10"))
    metrics: tuple[Metric, ...] = field(default_factory=lambda: tuple(map(parse_metric, DEFAULT_METRICS)))
    tolerance: float = 0.02
    unit: str = "doc"
    overlap: float = OVERLAP
    inconclusive: str = "warn"
    floors: Mapping[str, float] = field(default_factory=dict)
    protected: tuple[Protected, ...] = ()
    must_hit: tuple[str, ...] = ()
    must_hit_tags: tuple[str, ...] = ()
    max_drop: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    max_errors: int = 0
    method: Method = field(default_factory=Method)
    score_floor: float | None = None

    @property
    def all_metrics(self) -> tuple[Metric, ...]:
        """Every metric that has to be computed, the primary one first, none twice."""
        return tuple(dict.fromkeys((self.primary, *self.metrics, *map(parse_metric, (*self.floors, *self.max_drop)))))


@dataclass(frozen=True)
class Check:
    """One question and its answer. ``sentence`` is what people read; ``approvable``: whether an approval may overrule a fail."""

    name: str
    outcome: str
    sentence: str
    numbers: Mapping[str, float | int | str | None] = field(default_factory=dict)
    approvable: bool = True


@dataclass(frozen=True)
class Decision:
    """The verdict: pass | inconclusive | fail, or accepted when an approval overruled a fail."""

    verdict: str
    checks: tuple[Check, ...]
    inconclusive: str = "warn"

    @property
    def exit_code(self) -> int:
        """0 pass, accepted, inconclusive under warn · 1 fail · 4 inconclusive under fail."""
        if self.verdict == "inconclusive":
            return errors.EXIT_INCONCLUSIVE if self.inconclusive == "fail" else errors.EXIT_PASS
        return errors.EXIT_REGRESSION if self.verdict == "fail" else errors.EXIT_PASS

    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome == "fail")


def decide(checks: Sequence[Check], policy: Policy) -> Decision:
    """The worst outcome of all checks is the verdict."""
    return Decision(max((c.outcome for c in checks), key=OUTCOMES.index, default="pass"), tuple(checks), policy.inconclusive)


def accept(decision: Decision, approver: str) -> Decision:
    """The decision after a valid approval: what would be red becomes ``accepted`` when all failed checks are approvable."""
    if decision.exit_code == errors.EXIT_PASS or not all(check.approvable for check in decision.failed()):
        return decision
    what = "the failed checks are accepted" if decision.failed() else "what could not be decided is accepted"
    approved = Check("approval", "pass", f"The change of the baseline is approved by {approver}; {what}.")
    return Decision("accepted", (*decision.checks, approved), decision.inconclusive)


def quality_checks(comparison: Comparison, candidate: ScoredRun, policy: Policy, must_hit_ids: Sequence[str],
                   drops: Sequence[Check] = ()) -> list[Check]:
    """All checks on the numbers of a comparison, the drop first; ``drops``: what stands in its place with a second reference."""
    checks = list(drops) or [drop_check(comparison, policy)]
    checks += absolute_checks(candidate, policy, must_hit_ids, comparison.paired)
    checks += _protected(comparison, policy)
    return checks + [_max_drop(name, limit, comparison.metrics[name]) for name, limit in policy.max_drop.items()]


def _max_drop(name: str, limit: float, paired: Paired) -> Check:
    if paired.n == 0:
        return Check(f"max-drop {name}", "fail", f"No query has a {metric_label(name)} on both sides, so nothing guards its fall.",
                     {"drop": None, "limit": limit})
    fall = -paired.delta
    return Check(f"max-drop {name}", "fail" if fall > limit + 1e-12 else "pass",
                 f"{_moved(name, -fall, limit)}; a fall of at most {limit:g} is allowed.", {"drop": fall, "limit": limit})


def absolute_checks(candidate: ScoredRun, policy: Policy, must_hit_ids: Sequence[str], paired: Sequence[str] = ()) -> list[Check]:
    """Checks that need no baseline: floors and must-hit queries.

    ``paired``: queries that the baseline knows too. A floor has to hold over them alone as well: easy queries that are added must not
    lift a mean over it.
    """
    checks = []
    for name, floor in policy.floors.items():
        values = [candidate.mean(name), *([candidate.mean(name, paired)] if paired else [])]
        value = min((v for v in values if v is not None), default=None)
        # Unrounded against the number as written: 0.85 is not below 0.85.
        low = value is None or value < floor - 1e-12
        sentence = f"{metric_label(name)} has a value for no query, so nothing holds it above its floor {floor:g}." if value is None else \
            f"{metric_label(name)} is {fmt_value(value, floor)}, {'below' if low else 'not below'} its floor {floor:g}."
        checks.append(Check(f"floor {name}", "fail" if low else "pass", sentence, {"value": value, "floor": floor}))
    if must_hit_ids:
        checks.append(_must_hit(candidate, policy, must_hit_ids))
    return checks


def aside_checks(tags: Sequence[str], must_hit: Sequence[str]) -> list[Check]:
    """What the rules guard in splits that this tier does not judge: said, so that nobody takes it for guarded here."""
    checks = [Check(f"protected {tag}", "pass", f"Every query with the protected tag {tag} is of a split that this tier does not judge.",
                    {"n": 0}) for tag in tags]
    if must_hit:
        checks.append(Check("must-hit set aside", "pass", f"Must-hit queries of splits that this tier does not judge: "
                                                          f"{', '.join(must_hit[:20])}{' …' if len(must_hit) > 20 else ''}.",
                            {"n": len(must_hit)}))
    return checks


def _must_hit(candidate: ScoredRun, policy: Policy, ids: Sequence[str]) -> Check:
    """A query that is gone is missed as well: removing it must not take its guard away."""
    k = policy.primary.k
    where = f"in the top {k}" if k else "at all"
    missed = [i for i in ids if not _is_hit(candidate, i, k)]
    sentence = f"{f'All {len(ids)} must-hit queries' if len(ids) > 1 else 'The must-hit query'} found a relevant document {where}."
    if missed:
        sentence = f"Must-hit queries without a relevant document {where}: {', '.join(missed[:20])}{' …' if len(missed) > 20 else ''}."
    return Check("must-hit", "fail" if missed else "pass", sentence, {"missed": len(missed), "n": len(ids)})


def _is_hit(candidate: ScoredRun, query_id: str, k: int | None) -> bool:
    score = candidate.queries.get(query_id)
    return score is not None and score.first_rank is not None and (k is None or score.first_rank <= k)


def _moved(metric: str, delta: float, *limits: float) -> str:
    label = metric_label(metric)
    if abs(delta) <= 1e-12:
        return f"{label} did not move"
    return f"{label} {'rose' if delta > 0 else 'fell'} by {fmt_size(delta, *(abs(limit) for limit in limits))}"


def drop_check(comparison: Comparison, policy: Policy, check: str = "drop", whose: str = "the baseline's", lead: str = "") -> Check:
    """Whether the primary metric fell, by the rule in README, «How the decision is taken». ``check``: its name; ``whose`` rankings it fell
    from; ``lead``: begins the sentence where there is more than one reference."""
    name, main, delta = str(policy.primary), comparison.main, policy.tolerance
    numbers: dict[str, float | int | str | None] = {"delta": main.delta, "tolerance": delta, "n": main.n, "changed": main.changed}
    if main.n == 0:
        return Check(check, "fail", "No query of this golden set can be compared with the baseline.", numbers)
    if comparison.identical:
        return Check(check, "pass", f"All rankings are identical to {whose}; there is nothing to test.", numbers)
    if main.ci is None:
        return Check(check, "inconclusive", _led(lead, f"Only {main.n} query can be paired; that decides nothing."), numbers)
    lo, hi = main.ci.lo, main.ci.hi
    numbers |= {"ci_lo": lo, "ci_hi": hi, "p_value": main.p_value}
    span = f"{fmt_percent(policy.method.confidence)} interval {fmt_interval(lo, hi, -delta)}"
    moved = f"{lead}{_moved(name, main.delta, delta)} ({span})"
    few = f" {_too_few(main)}" if 0 < main.moved_units < _FEWEST else ""
    if main.changed == 0:
        return Check(check, "pass", _led(lead, f"No query's {metric_label(name)} changed, though some rankings did ({span})."), numbers)
    if main.delta <= -delta + _NOISE and hi < 0:
        judged = comparison.condensed
        if judged is not None and ruled_out(judged, delta):
            return Check(check, "inconclusive",
                         f"{moved}, but over judged documents alone {over_judged(judged, delta)}, so a drop of {delta:g} is not shown. "
                         f"{newcomers(comparison, policy.primary.k or TOP)} Label {'it' if len(comparison.entered) == 1 else 'them'}, "
                         "and run this again (README, «Unjudged documents»).",
                         numbers | {"condensed_delta": judged.delta, "unjudged_documents": len(comparison.entered)})
        return Check(check, "fail", f"{moved}, a credible drop of at least {delta:g}.", numbers)
    if lo > -delta + _NOISE:
        return Check(check, "pass", f"{moved}; a drop of {delta:g} is ruled out.{few}", numbers)
    need = queries_needed(main.n, main.delta, lo, hi, delta)
    numbers["queries_needed"] = need
    return Check(check, "inconclusive", f"{moved}; a drop of {delta:g} can be neither shown nor ruled out.{few}{_cost(need, main.n)}",
                 numbers)


def _led(lead: str, sentence: str) -> str:
    return lead + within(sentence) if lead else sentence


def _too_few(main: Paired) -> str:
    what = "queries" if main.units == main.n else "independent queries"
    return f"Fewer than {_FEWEST} {what} changed, which can never be a credible drop."


def _cost(need: int | None, n: int) -> str:
    if need is None:
        return ""
    many = f"About {need:,}" if need <= 10_000 else "More than 10,000"
    return f" {many} queries like these would settle it; there are {n:,}."


def _protected(comparison: Comparison, policy: Policy) -> list[Check]:
    name = str(policy.primary)
    credible = [p for p in policy.protected if p.rule == "credible" and p.tag in comparison.tags]
    tested = [p for p in credible if comparison.tags[p.tag][name].p_value is not None]
    adjusted = dict(zip((p.tag for p in tested), holm([comparison.tags[p.tag][name].p_value or 0.0 for p in tested]), strict=True))
    checks = []
    for rule in policy.protected:
        stratum = comparison.tags.get(rule.tag, {}).get(name)
        if stratum is None:
            checks.append(Check(f"protected {rule.tag}", "fail",
                                f"No paired query has the protected tag {rule.tag}, so nothing guards it.", {"n": 0}))
        elif stratum.n == 0:
            checks.append(Check(f"protected {rule.tag}", "fail", f"No paired query with the protected tag {rule.tag} has a "
                                                                 f"{metric_label(name)}, so nothing guards it.", {"n": 0}))
        else:
            checks.append(_protected_tag(rule, stratum, name, adjusted.get(rule.tag), policy))
    return checks


def _protected_tag(rule: Protected, stratum: Paired, name: str, p_holm: float | None, policy: Policy) -> Check:
    beyond = stratum.delta < -rule.tolerance - 1e-12
    numbers: dict[str, float | int | str | None] = {"delta": stratum.delta, "tolerance": rule.tolerance, "n": stratum.n,
                                                    "rule": rule.rule}
    outcome, limit = "fail" if beyond else "pass", f"{rule.tolerance:g} is allowed"
    if beyond:
        limit = f"more than the {rule.tolerance:g} allowed"
    if rule.rule == "credible":
        numbers["p_holm"] = p_holm
        if beyond and (p_holm is None or p_holm >= 1.0 - policy.method.confidence):
            outcome, limit = "inconclusive", f"more than the {rule.tolerance:g} allowed, but not credibly ({_holm(p_holm)})"
    return Check(f"protected {rule.tag}", outcome,
                 f"Protected tag {rule.tag} (n={stratum.n}): {_moved(name, stratum.delta, rule.tolerance)}"
                 f"{_from_to(stratum, policy.method.confidence)}, {limit}.", numbers)


def _from_to(stratum: Paired, confidence: float) -> str:
    """What stands behind the size of a move; nothing where there is none."""
    if abs(stratum.delta) <= 1e-12:
        return ""
    before, after = fmt_pair(stratum.baseline, stratum.candidate)
    interval = f"; {fmt_percent(confidence)} interval {fmt_interval(stratum.ci.lo, stratum.ci.hi)}" if stratum.ci else ""
    return f" ({before} → {after}{interval})"


def _holm(p: float | None) -> str:
    return "too few queries to test" if p is None else f"p = {p:.3f} after Holm's correction"


def validity_problems(scored: ScoredRun, side: str) -> list[str]:
    """Why a golden set and a run do not belong together; empty when they do."""
    answered = sum(not score.missing for score in scored.queries.values())
    if scored.queries and not answered:
        return [f"{side}: 0 of {len(scored.queries)} golden queries overlap with the run; are these the same query ids?"]
    if not scored.queries and not scored.excluded.errored:
        return [f"{side}: no query of the golden set has a relevant document, so there is nothing to measure"]
    return []
