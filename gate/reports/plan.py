"""What ``golden plan`` prints. Pure."""

from __future__ import annotations

from typing import Any

from gate.figures import fmt_percent, fmt_size, fmt_value, metric_label, plural
from gate.golden.plan import ASSUMED_SHARE, Plan, Row
from gate.reports import cells
from gate.reports.escape import terminal
from gate.statistics.bootstrap import FEW_CHANGES
from gate.statistics.noise import FLOAT_NOISE
from gate.statistics.power import POWER

_MANY = 100_000
_MEANS = 5


def plan_json(plan: Plan, golden: str) -> dict[str, Any]:
    """Plain values, unrounded; the same keys whatever was given, None where nothing is known."""
    documents = plan.documents
    return {"schema": 1, "golden": golden, "metric": plan.metric, "tolerance": plan.tolerance, "confidence": plan.confidence,
            "power": POWER, "runs": plan.runs, "basis": basis(plan), "overall": _row_json(plan.overall),
            "tags": {tag: _row_json(row) for tag, row in plan.tags.items()},
            "counts": {"queries": plan.answerable + plan.unanswerable, "answerable": plan.answerable, "unanswerable": plan.unanswerable,
                       "undefined": plan.undefined, "unvalued": plan.unvalued,
                       "unscored": plan.unscored, "split": dict(plan.splits), "source": dict(plan.sources)},
            "documents": {"pointed_at": documents.pointed_at, "total": documents.total, "share": documents.share} if documents else None,
            "noise": _noise_json(plan)}


def _row_json(row: Row) -> dict[str, Any]:
    return {"n": row.n, "clusters": row.clusters, "changed": row.changed, "basis": row.basis, "mde": row.mde, "needed": row.needed,
            "gateable": row.gateable, "reason": row.reason}


def _noise_json(plan: Plan) -> dict[str, Any] | None:
    if plan.noise is None:
        return None
    noise, unstable = plan.noise
    tolerance, row = plan.suggested or (None, None)
    return {"repeats": noise.repeats, "floor": noise.floor, "spread": noise.spread, "means": list(noise.means), "unstable": list(unstable),
            "suggested_tolerance": tolerance, "mde": row.mde if row else None, "needed": row.needed if row else None}


def basis(plan: Plan) -> str:
    """Where the spread of single queries comes from: measured, or an assumption that is said to be one."""
    if plan.overall.n == 0:
        return "Nothing is assumed, since there is nothing that could move."
    if plan.runs == 2 and plan.overall.basis == "observed":
        return "Measured: how single queries moved between the two runs."
    what = "by a whole point, as many up as down"
    if plan.runs == 1:
        what = "to 0 or to 1, whichever is further from where the run has it, as many up as down"
    unit = "clusters of queries" if plan.overall.clusters < plan.overall.n else "queries"
    lead = f"Fewer than {FEW_CHANGES} {unit} changed between the two runs, which tells nothing. Assumed" if plan.runs == 2 else "Assumed"
    cure = "" if plan.runs == 2 else " Give two runs of a typical change for measured numbers."
    return f"{lead}: a change moves {fmt_percent(ASSUMED_SHARE)} of the {unit}, each {what}.{cure}"


def plan_text(plan: Plan, golden: str) -> str:
    """The same for a terminal."""
    whole, tolerance = plan.overall, f"{plan.tolerance:g}"
    independent = f" in {plural(whole.clusters, 'independent cluster')}" if whole.clusters < whole.n else ""
    lines = [f"{golden}: {plural(whole.n, 'scored query')}{independent}", basis(plan), "", _can(plan), ""]
    lines += [*_noise(plan), *_table(plan)]
    beyond = [tag for tag, row in plan.tags.items() if not row.gateable]
    if beyond:
        lines += ["", f"{plural(len(beyond), 'tag')} of {len(plan.tags)} cannot be gated at {tolerance} by a test (`rule: credible`). "
                      "Add queries, allow them what they show, or protect them by the fall of their mean (`rule: point`), at the price of",
                  "false alarms."]
    lines += ["", f"answerable {plan.answerable:,}, unanswerable {plan.unanswerable:,}", _counted("split", plan.splits),
              _counted("source", plan.sources)]
    if plan.undefined:
        lines.append(f"{plural(plan.undefined, 'query')} without a relevant document, in no mean "
                     "(`\"answerable\": false` says that it is meant)")
    if plan.unvalued:
        lines.append(f"{plural(plan.unvalued, 'query')} for which {metric_label(plan.metric)} is not defined, in no mean of it")
    if plan.unscored:
        lines.append(f"{plural(plan.unscored, 'query')} left out, because a retriever failed on {'it' if plan.unscored == 1 else 'them'}")
    if plan.documents:
        found = plan.documents
        lines.append(f"{found.pointed_at:,} of {plural(found.total, 'document')} ({found.share * 100:.1f} %) are relevant to a query; what "
                     "happens to the others cannot be seen")
    return "\n".join(lines) + "\n"


def _can(plan: Plan) -> str:
    whole, label = plan.overall, metric_label(plan.metric)
    if whole.needed is None:
        why = "none has `spans`" if plan.metric.startswith("span-coverage") else \
            "it takes runs that name their `candidates`" if plan.metric.startswith("candidate-recall") else "it is defined for none of them"
        return f"0 queries have a value of {label} ({why}), so this set can show nothing in it."
    if whole.mde is None:
        return f"With {plural(whole.clusters, 'independent query')} nothing can be told; it takes {_many(whole.needed)} like these to " \
               f"resolve {plan.tolerance:g} in {label} ({fmt_percent(POWER)} power)."
    shows = f"It shows a change of {fmt_size(whole.mde, plan.tolerance)} or more in {label} ({fmt_percent(POWER)} power)"
    if whole.mde <= plan.tolerance:
        return f"{shows}: enough for a tolerance of {plan.tolerance:g}, which takes {_many(whole.needed)}."
    return f"{shows}. A tolerance of {plan.tolerance:g} takes {_many(whole.needed)} like these."


def _noise(plan: Plan) -> list[str]:
    """What repeats of one run say, and the tolerance that follows; empty without repeats."""
    if plan.noise is None:
        return []
    (noise, unstable), label = plan.noise, metric_label(plan.metric)
    if plan.suggested is None:
        moved = f"; {plural(len(unstable), 'query')} ranked differently all the same" if unstable else ""
        return [f"Noise: {noise.repeats} repeats with the same scores{moved}. Any tolerance is above it.", ""]
    tolerance, row = plan.suggested
    means = ", ".join(fmt_value(mean) for mean in noise.means[:_MEANS]) + (", …" if noise.repeats > _MEANS else "")
    verdict = "is not below it" if plan.tolerance >= noise.floor - FLOAT_NOISE else "is below it, so the gate would be invalid"
    shows = f"this set shows a change of {fmt_size(row.mde)} or more" if row.mde is not None else "this set shows nothing"
    takes = f"it takes {_many(row.needed)} like these to resolve {tolerance:g}" if row.needed else "since no query has a value"
    return [f"Noise: {noise.repeats} repeats of one run lie up to {fmt_size(noise.spread)} apart in {label} ({means}); "
            f"{plural(len(unstable), 'query')} ranked differently.",
            f"The noise floor is {fmt_size(noise.floor, plan.tolerance, tolerance)}: the tolerance {plan.tolerance:g} {verdict}.",
            f"Suggested: {tolerance:g} or more; {shows}, {takes}.", ""]


def _many(count: int) -> str:
    return plural(count, "query") if count <= _MANY else f"more than {_MANY:,} queries"


def _table(plan: Plan) -> list[str]:
    clustered = plan.overall.clusters < plan.overall.n
    head = ["", "n", *(["independent"] if clustered else []), *(["changed"] if plan.runs == 2 else []), "shows", f"for {plan.tolerance:g}",
            "spread"]
    rows = [head]
    for name, row in (("all", plan.overall), *plan.tags.items()):
        counts = [row.n, *([row.clusters] if clustered else []), *([row.changed or 0] if plan.runs == 2 else [])]
        rows.append([terminal(name, 60), *(f"{number:,}" for number in counts),
                     "—" if row.mde is None else fmt_size(row.mde, plan.tolerance),
                     _needed(row.needed), row.basis, row.reason])
    rows[0].append("")
    widths = [max(map(cells.width, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 2  # words stand on the left, numbers on the right
    return ["  ".join(cells.left(cell, w) if i == 0 or i >= last else cells.right(cell, w) for i, (cell, w) in
                      enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]


def _needed(count: int | None) -> str:
    return "—" if count is None else f"{count:,}" if count <= _MANY else f">{_MANY:,}"


def _counted(what: str, counts: Any) -> str:
    return f"{what}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items())
