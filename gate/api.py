"""The gate as a library, for notebooks and tests: ``from gate import evaluate, compare``.

Glue, like the command line: what is given is turned into the pipeline's own objects, and every number is the pipeline's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gate import pipeline, references
from gate.errors import CannotDecide, InvalidInput, RetrieverFailed
from gate.figures import plural
from gate.golden.model import GoldenSet
from gate.golden.read import golden_of, read_golden
from gate.policy import Policy
from gate.results import Evaluation, Outcome, chosen_metrics
from gate.retrievers.team.callee import askable
from gate.retrievers.team.inline import ask, run_of
from gate.runs import Run
from gate.scoring.beside import extras, with_shown
from gate.scoring.metrics import Metric
from gate.scoring.score import score_run
from gate.scoring.units import UNITS
from gate.validity import check_cut, found_nothing

Golden = str | os.PathLike[str] | GoldenSet | Iterable[Mapping[str, Any]]
Retrieve = Any  # a function (query, n), async or not, or an object with `invoke` or `retrieve`
Stored = Run | str | os.PathLike[str] | Mapping[Any, Any]


def evaluate(golden: Golden, retrieve: Retrieve | Stored, *, k: int = 5, fetch: int = 20,
             metrics: str | Iterable[str | Metric] | None = None, unit: str = "doc", id_key: str = "") -> Evaluation:
    """Score a retriever, or what it once returned.

    ``golden``: path of a golden.jsonl, a GoldenSet, or an iterable of dicts, each a line of one. ``retrieve``: a function, async or not,
    that takes (query, n) and returns at most n results, best first: ids, (id, score) pairs, or dicts with ``doc`` or ``id`` and optionally
    ``score``, ``chunk``, ``start``, ``end``; or a dict with such a list as ``ranked``, and optionally ``candidates``, ``cost``, ``ms``; an
    object with ``invoke`` or ``retrieve``, as LangChain and LlamaIndex have them (docs/retrievers.md); or a Run, the path of a run file or
    record, or a dict of query id → such a list. What can be asked is asked for ``fetch`` results of every query, here and now, in this
    process; a stored run is taken as deep as it is.

    ``metrics``: names as on the command line; by default hit@k, recall@k, rr (uncut) and ndcg@k. ``unit``: what a cutoff counts, ``doc``
    (distinct documents) or ``chunk``. ``id_key``: where a result holds its document id, a dotted path as in a configuration.

    A query on which the function raises, or returns what cannot be used, is listed in ``errors`` and has no score. Raises
    :class:`RetrieverFailed` when most queries ended so: of such a run the gate says nothing. Raises :class:`InvalidInput` with every fault
    of the golden set, the run or the arguments.
    """
    problems = [f"`{name}` must be a whole number from 1, not {value!r}" for name, value in (("k", k), ("fetch", fetch))
                if isinstance(value, bool) or not isinstance(value, int) or value < 1]
    if unit not in UNITS:
        problems.append(f"`unit` is {unit!r}; it must be one of {', '.join(UNITS)}")
    if problems:
        raise InvalidInput(problems)
    chosen = chosen_metrics((f"hit@{k}", f"recall@{k}", "rr", f"ndcg@{k}") if metrics is None else metrics)
    labels = _golden_set(golden)
    notes: tuple[str, ...] = ()
    if not isinstance(retrieve, (str, os.PathLike, Mapping, Run)) and askable(retrieve):
        _deep_enough(chosen, fetch, "`fetch`")
        run, notes = ask(labels, retrieve, fetch, id_key)
        reference, depth = references.Reference(run), fetch
    else:
        reference = _stored(retrieve, "run")
        run, depth = reference.run, reference.record.depth if reference.record else None
        if reference.record:
            pipeline.check_depth(chosen, reference.record)
    more = extras(chosen[0], labels, compared=False)
    scored = with_shown(score_run(labels, run, chosen, unit, beside=more), more)
    try:
        pipeline.check_validity(scored, run, Policy(max_errors=len(labels.queries)), run.name or "run")
    except CannotDecide as error:
        # The rule is the gate's; its first line speaks of a setting that nobody made here.
        head = f"{run.name or 'run'}: the retriever failed on {len(scored.excluded.errored)} of {plural(len(labels.queries), 'query')}"
        raise RetrieverFailed([head, *error.problems[1:]], "fix the retriever, and try it on one of these queries") from None
    check_cut([(scored, run.name or "run", reference.plain)], chosen)
    if scored.queries and (nothing := found_nothing(labels, run, scored)):
        notes = (*notes, nothing)
    return Evaluation(labels, run, scored, k, unit, depth, reference, notes)


def compare(baseline: Evaluation | Stored, candidate: Evaluation | Stored, *, golden: Golden | None = None,
            policy: Policy | str | os.PathLike[str] | None = None) -> Outcome:
    """Judge a candidate against a baseline, as the gate would: both are scored under the same labels and the policy's metrics.

    Each side is an Evaluation, or what :func:`evaluate` takes as a stored run. ``golden``: by default the candidate's, else the baseline's.
    ``policy``: a Policy, or the path of a configuration, whose tier pr says by which policy and which splits is judged; by default the
    gate's defaults with the evaluations' ``unit``, over all splits.

    Raises :class:`InvalidInput` for inputs that do not belong together, :class:`CannotDecide` when a side failed on more queries than the
    policy allows (none, by default).
    """
    given = [side for side in (candidate, baseline) if isinstance(side, Evaluation)]
    if golden is None and not given:
        raise InvalidInput("there is no golden set to compare two runs with", "pass `golden`, or what evaluate() returns")
    labels = given[0].golden if golden is None else _golden_set(golden)
    rules, gate, splits = _rules(policy, given)
    old, new = _reference(baseline, "baseline", labels, rules), _reference(candidate, "candidate", labels, rules)
    around = pipeline.Circumstances(gate, notes=_notes(baseline, candidate))
    return Outcome(pipeline.assess(labels, new.run, old, rules, around, splits=splits, plain=new.plain))


def _golden_set(golden: Golden) -> GoldenSet:
    if isinstance(golden, GoldenSet):
        return golden
    if isinstance(golden, (str, os.PathLike)):
        return read_golden(Path(golden))
    if isinstance(golden, Mapping) or not isinstance(golden, Iterable):
        raise InvalidInput(f"`golden` must be a path, a GoldenSet or an iterable of dicts, not {type(golden).__name__}",
                           "the format of each is described in README, «Golden set»")
    return golden_of(golden)


def _deep_enough(metrics: Iterable[Metric], depth: int, what: str) -> None:
    """What was never fetched must not count as not found."""
    if deep := [str(metric) for metric in metrics if metric.depth > depth]:
        raise InvalidInput(f"{what} is {plural(depth, 'result')} a query, too few for {', '.join(deep)}",
                           "evaluate with a larger `fetch`, or use smaller cutoffs")


def _stored(run: Any, name: str) -> references.Reference:
    if isinstance(run, Run):
        return references.Reference(run, plain=True)
    if isinstance(run, (str, os.PathLike)):
        return references.load_reference(Path(run))
    if isinstance(run, Mapping):
        return references.Reference(run_of(run, name), plain=True)
    raise InvalidInput(f"{name}: {type(run).__name__} is no run", "give a Run, the path of a run file or record, or a dict of query id → "
                       "ids; a function (query, n) goes through evaluate()")


def _rules(policy: Policy | str | os.PathLike[str] | None, given: Iterable[Evaluation]) -> tuple[Policy, str, tuple[str, ...]]:
    """The policy, the id of the gate it belongs to, and the splits that it judges, none for all."""
    if isinstance(policy, Policy):
        return policy, "default", ()
    if isinstance(policy, (str, os.PathLike)):
        from gate.settings import load_settings

        settings = load_settings(Path(policy))
        return settings.policy, settings.gate, settings.splits
    if policy is not None:
        raise InvalidInput(f"`policy` must be a Policy or the path of a configuration, not {type(policy).__name__}")
    units = sorted({evaluation.unit for evaluation in given})
    if len(units) > 1:
        raise InvalidInput(f"one side was evaluated with the unit {units[0]}, the other with {units[1]}", "use one `unit` for both")
    return (Policy(unit=units[0]) if units else Policy()), "default", ()


def _reference(side: Evaluation | Stored, name: str, golden: GoldenSet, policy: Policy) -> references.Reference:
    reference = side.reference if isinstance(side, Evaluation) else _stored(side, name)
    if reference.record:
        pipeline.check_depth(policy.all_metrics, reference.record)
    elif isinstance(side, Evaluation):
        if side.depth:
            _deep_enough(policy.all_metrics, side.depth, f"the depth of the {name}")
        if side.golden is not golden:
            # Removed and changed labels are then shown and judged as in a pull request, and not paired in silence.
            return references.Reference(reference.run, side.golden.labels, plain=reference.plain)
    return reference


def _notes(baseline: Evaluation | Stored, candidate: Evaluation | Stored) -> tuple[str, ...]:
    old, new = (side.depth if isinstance(side, Evaluation) else None for side in (baseline, candidate))
    notes = candidate.notes if isinstance(candidate, Evaluation) else ()
    if old and new and old != new:
        notes = (*notes, f"the baseline was fetched to {plural(old, 'result')} a query, the candidate to {new}: no like for like")
    return notes
