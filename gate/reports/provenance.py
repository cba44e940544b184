"""Where the numbers come from: one line of facts, each with its name. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gate.figures import plural, setting, short_digest
from gate.reports.report import Report
from gate.reports.words import fmt_days
from gate.statistics.bootstrap import FEW_CHANGES

_EXPIRY_WARNING_DAYS = 14


@dataclass(frozen=True)
class Fact:
    """``name value note``; ``value`` is a commit, digest or version set as code, perhaps with a ``url`` behind it, or just words."""

    name: str
    value: str
    url: str = ""
    note: str = ""
    words: bool = False


def facts(report: Report) -> list[Fact]:
    """Facts that are known, in reading order."""
    meta, base = report.metadata, report.baseline_info
    found = []
    if meta.get("tier"):
        found.append(Fact("tier", str(meta["tier"])[:40], note=_splits(report)))
    if meta.get("head_sha"):
        found.append(Fact("head", short_digest(str(meta["head_sha"]))))
    if base is not None and (base.commit or base.digest):
        found.append(Fact("baseline", short_digest(base.commit or base.digest), base.url, _age(report)))
    latest = report.latest.info if report.latest else None
    if latest is not None and latest.commit:
        found.append(Fact("latest run on main", short_digest(latest.commit)))
    if meta.get("golden_version"):
        found.append(Fact("golden set", str(meta["golden_version"])[:40]))
    elif meta.get("golden_digest"):
        found.append(Fact("golden set", short_digest(str(meta["golden_digest"]))))
    for key, name in (("snapshot_digest", "snapshot"), ("policy_digest", "policy digest")):
        if meta.get(key):
            found.append(Fact(name, short_digest(str(meta[key]))))
    method = interval_method(report)
    if method:
        found.append(Fact("interval:", method, words=True))
    return found


def _splits(report: Report) -> str:
    """``dev 60, blind 20; set aside: …``; empty where there is only dev."""
    judged, aside = ({str(k): v for k, v in found.items()} if isinstance(found := report.metadata.get(key), Mapping) else {}
                     for key in ("judged", "set_aside"))
    parts = [", ".join(f"{split} {n:,}" for split, n in counts.items()) for counts in (judged, aside)]
    return parts[0] + (f"; set aside: {parts[1]}" if parts[1] else "")


def _age(report: Report) -> str:
    base = report.baseline_info
    parts = []
    if base is not None and base.age_days is not None:
        parts.append("made today" if base.age_days < 1 else f"{fmt_days(base.age_days)} old")
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
    if ci.method == "few-changes" and report.comparison:
        few = report.comparison.main.moved_units < FEW_CHANGES
        return f"small-sample bound ({f'fewer than {FEW_CHANGES} queries changed' if few else 'every query changed alike'})"
    return {"exact": "exact bootstrap"}.get(ci.method, ci.method)


_LABELS = {
    "tier": "tier", "judged": "queries judged, by split", "set_aside": "queries set aside, by split",
    "branch": "run on the default branch",
    "head_sha": "commit under test", "base_sha": "base commit", "pull_request": "pull request", "repository_url": "repository",
    "run_url": "run", "run_id": "run id", "run_attempt": "attempt", "golden_version": "golden set version",
    "golden_digest": "golden set digest", "snapshot_digest": "snapshot digest", "corpus_digest": "corpus digest",
    "policy_digest": "policy digest", "retriever": "retriever", "depth": "results fetched for each query", "seed": "seed",
    "label": "label that approves", "versions": "versions", "gate_version": "version of the gate"}
_BASELINE = {"commit": "baseline commit", "digest": "baseline digest", "created": "baseline made", "provenance": "baseline came from",
             "url": "baseline on the web"}


def details(report: Report) -> list[tuple[str, str]]:
    """Everything that is known of where the numbers come from, as (label, text)."""
    meta, base = report.metadata, report.baseline_info
    told = {"gate_version"} if meta.get("versions") else set()  # it is among them
    names = [*(name for name in _LABELS if name in meta and name not in told), *sorted(name for name in meta if name not in _LABELS)]
    found = [(_LABELS.get(name, name.replace("_", " ")), setting(meta[name])) for name in names if meta[name] not in (None, "", {}, [])]
    if base is not None:
        found += [(label, getattr(base, name)) for name, label in _BASELINE.items() if getattr(base, name)]
        if base.age_days is not None:
            found.append(("baseline's age", "less than a day" if base.age_days < 1 else fmt_days(base.age_days)))
        if base.expires_in_days is not None:
            found.append(("baseline expires in", plural(max(int(base.expires_in_days), 0), "day")))
    latest = report.latest.info if report.latest else None
    if latest is not None:
        found += [(label, text) for label, text in (("commit of the latest run on main", latest.commit), ("its digest", latest.digest),
                                                    ("it was made", latest.created)) if text]
    method = interval_method(report)
    return [*found, ("interval", method)] if method else found
