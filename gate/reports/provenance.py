"""Where the numbers come from: one line of facts, each with its name. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gate.figures import plural, short_digest
from gate.reports.report import Report
from gate.reports.words import fmt_days

_EXPIRY_WARNING_DAYS = 14


@dataclass(frozen=True)
class Fact:
    """``name value note``; ``name`` of a commit, digest or version, ``value`` set as code, ``url`` perhaps behind it."""

    name: str
    value: str
    url: str = ""
    note: str = ""


def facts(report: Report) -> list[Fact]:
    """Facts that are known, in reading order."""
    meta, base = report.metadata, report.baseline_info
    found = []
    if meta.get("head_sha"):
        found.append(Fact("head", short_digest(str(meta["head_sha"]))))
    if base is not None and (base.commit or base.digest):
        found.append(Fact("baseline", short_digest(base.commit or base.digest), base.url, _age(report)))
    if meta.get("golden_version"):
        found.append(Fact("golden set", str(meta["golden_version"])[:40]))
    elif meta.get("golden_digest"):
        found.append(Fact("golden set", short_digest(str(meta["golden_digest"]))))
    for key, name in (("snapshot_digest", "snapshot"), ("policy_digest", "policy")):
        if meta.get(key):
            found.append(Fact(name, short_digest(str(meta[key]))))
    method = interval_method(report)
    if method:
        found.append(Fact("intervals", method))
    return found


def _age(report: Report) -> str:
    base = report.baseline_info
    parts = []
    if base is not None and base.age_days is not None:
        parts.append("of today" if base.age_days < 1 else f"{fmt_days(base.age_days)} old")
    if base is not None and base.expires_in_days is not None and base.expires_in_days <= _EXPIRY_WARNING_DAYS:
        parts.append(f"expires in {plural(max(int(base.expires_in_days), 0), 'day')}")
    return ", ".join(parts)


def interval_method(report: Report) -> str:
    """How the primary interval was found, with its seed where one was used; empty without an interval."""
    ci = report.comparison.main.ci if report.comparison else None
    method = report.policy.method
    if ci is None:
        return ""
    if ci.method == "resample":
        return f"bootstrap, {method.resamples:,} resamples, seed {method.seed}"
    return {"exact": "exact bootstrap", "few-changes": "bound for few changes"}.get(ci.method, ci.method)
