"""report.json: everything a program may want, unrounded, plain JSON types, no NaN. Imports nothing heavy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gate.comparison import Paired, QueryChange
from gate.reports import beside, beside_json, rows
from gate.reports.flips import places_of
from gate.reports.report import Report
from gate.reports.words import label_of

SCHEMA = 1


def report_json(report: Report) -> dict[str, Any]:
    """The report as a dict; docs/reports.md says what each key holds."""
    comparison = report.comparison
    value: dict[str, Any] = {
        "schema": SCHEMA, "gate": report.gate, "verdict": report.verdict, "exit_code": report.exit_code,
        "checks": [{"name": c.name, "outcome": c.outcome, "sentence": c.sentence, "approvable": c.approvable,
                    "numbers": dict(c.numbers)} for c in report.checks],
        "primary": _primary(report), "metrics": _metrics(report),
        "tags": {tag: {"n": next(iter(table.values())).n, "metrics": {name: _paired(p) for name, p in table.items()}}
                 for tag, table in comparison.tags.items()} if comparison else {},
        "flips": {"lost": [_flip(report, change) for change in comparison.lost] if comparison else [],
                  "gained": [_flip(report, change) for change in comparison.gained] if comparison else []},
        "latest": _latest(report), "stages": beside_json.stages_json(report.findings), "versions": _versions(report),
        "top_k": beside_json.top_json(report.findings), "condensed": beside_json.condensed_json(beside.with_unjudged(report)),
        "unanswerable": _unanswerable(report) | beside_json.refusals_json(report.findings),
        "excluded": {name: list(ids) for name, ids in rows.excluded(report).items()},
        "noise": _noise(report), "patterns": [pattern._asdict() for pattern in report.patterns],
        "latency": report.latency._asdict() | {"ratio": report.latency.ratio, "p95_ratio": report.latency.p95_ratio},
        "cost": report.cost._asdict() | {"ratio": report.cost.ratio},
        "metadata": dict(report.metadata), "problems": list(report.problems), "cure": report.cure, "notes": list(report.notes),
        "warnings": list(report.warnings),
        "approval": _approval(report), "input_changes": [change._asdict() for change in report.input_changes],
        "baseline": vars(report.baseline_info) if report.baseline_info else None,
    }
    return _json(value)


def _json(value: Any) -> Any:
    """JSON types only: what is not finite becomes null, what JSON does not know becomes its text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    return str(value)


def _paired(paired: Paired) -> dict[str, Any]:
    found: dict[str, Any] = {
        # Of no query there is no mean; 0 would be one.
        **{key: getattr(paired, key) if paired.n else None for key in ("baseline", "candidate", "delta")},
        "ci": [paired.ci.lo, paired.ci.hi] if paired.ci else None, "p_value": paired.p_value, "q_value": paired.q_value,
        "better": paired.better, "worse": paired.worse, "n": paired.n}
    if paired.mcnemar is not None:
        found["mcnemar"] = {"exact": paired.mcnemar[0], "mid_p": paired.mcnemar[1]}
    return found


def _latest(report: Report) -> dict[str, Any] | None:
    """What this change alone did, against the latest run on main."""
    latest = report.latest
    if latest is None:
        return None
    comparison, found = latest.comparison, _paired(latest.comparison.main)
    return {"commit": latest.info.commit if latest.info else "", "created": latest.info.created if latest.info else ""} | {
        key: found[key] for key in ("delta", "ci", "p_value", "n", "better", "worse")} | {
        "lost": [change.id for change in comparison.lost], "gained": [change.id for change in comparison.gained],
        "lost_again": [change.id for change in latest.again], "on_main": latest.on_main, "by_change": latest.by_change,
        "metrics": {name: _paired(paired) for name, paired in comparison.metrics.items()}}


def _alone(report: Report, name: str) -> dict[str, Any]:
    """The same keys when nothing was compared."""
    scored = report.candidate
    return {"baseline": None, "candidate": scored.mean(name) if scored else None, "delta": None, "ci": None, "p_value": None,
            "q_value": None, "better": 0, "worse": 0, "n": len(scored.queries) if scored else 0}


def _metrics(report: Report) -> dict[str, Any]:
    if report.comparison is not None:
        return {name: _paired(paired) for name, paired in report.comparison.metrics.items()}
    return {str(metric): _alone(report, str(metric)) for metric in report.candidate.metrics} if report.candidate else {}


def _primary(report: Report) -> dict[str, Any]:
    name = str(report.policy.primary)
    main = report.comparison.main if report.comparison else None
    found = _paired(main) if main else _alone(report, name)
    return {"metric": name} | {key: found[key] for key in ("baseline", "candidate", "delta", "ci", "p_value", "n")} | {
        "ci_method": main.ci.method if main and main.ci else None, "changed": main.changed if main else 0,
        "mde": main.mde if main else None}


def _flip(report: Report, change: QueryChange) -> dict[str, Any]:
    found: dict[str, Any] = {"id": change.id, "tags": list(rows.tags_of(report, change.id)),
                             "baseline_rank": change.baseline_rank, "candidate_rank": change.candidate_rank,
                             "delta": change.delta}
    if report.noise is not None:
        found["unstable"] = change.id in report.noise.unstable
    if text := rows.query_text(report, change.id):
        found["query"] = text
    places = places_of(report, change)
    stages = report.findings.stages if report.findings else None
    return found | ({"document": places.answer} if places.answer else {}) | (
        {"replaced_by": places.instead} if places.instead else {}) | (
        {"stage": stages.lost[change.id]} if stages and change.id in stages.lost else {})


def _versions(report: Report) -> dict[str, Any] | None:
    found = beside_json.versions_json(report.findings)
    return found and found | {"stale": [{"id": row.id, "document": row.doc, "rank": row.rank, "new": row.new}
                                        | ({"query": row.text} if report.show_queries else {}) for row in beside.stale_rows(report)]}


def _unanswerable(report: Report) -> dict[str, Any]:
    found = rows.unanswerable_rows(report)
    return {"n": len(found),
            "queries": [{"id": row.id, "baseline_score": row.baseline, "candidate_score": row.candidate}
                        | ({"query": row.text} if row.text else {}) for row in found]}


def _noise(report: Report) -> dict[str, Any] | None:
    if report.noise is None:
        return None
    noise, unstable = report.noise
    return {"repeats": noise.repeats, "floor": noise.floor, "spread": noise.spread, "means": list(noise.means), "unstable": list(unstable)}


def _approval(report: Report) -> dict[str, Any] | None:
    approval = report.approval
    if approval is None:
        return None
    return {"eligible": approval.eligible, "conditions": [vars(condition) for condition in approval.conditions],
            "pull_request": approval.pull_request, "head_sha": approval.head_sha, "label": label_of(report),
            "label_present": approval.label_present, "approver": approval.approver, "reason": approval.reason,
            "review_id": approval.review_id, "label_event_id": approval.label_event_id}
