"""From an evaluated run to its record, and to the line of a report that says what it was made from."""

from __future__ import annotations

import platform
import time
from importlib import metadata
from typing import Any

from gate import __version__
from gate.baseline.record import Provenance, Record
from gate.pipeline import Evaluated
from gate.reports.report import Report
from gate.settings import Settings, policy_digest, policy_facts


def make_record(settings: Settings, evaluated: Evaluated, report: Report, provenance: Provenance, *, parent: str = "",
                **where: Any) -> Record:
    """The record of a run. ``where``: repository, repository_id, commit, run_id, created."""
    golden = evaluated.golden
    means = {str(m): report.candidate.mean(str(m)) for m in settings.policy.all_metrics} if report.candidate else {}
    return Record(gate=settings.gate, rankings=evaluated.run.rankings, golden_digest=golden.digest, golden_version=golden.version,
                  labels=golden.labels, snapshot_digest=evaluated.snapshot_digest, corpus_digest=evaluated.corpus_digest,
                  policy_digest=policy_digest(settings), policy=policy_facts(settings), retriever=evaluated.retriever,
                  versions=versions(), metrics={k: v for k, v in means.items() if v is not None}, depth=settings.depth,
                  seed=settings.policy.method.seed, parent=parent, provenance=provenance,
                  **({"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())} | where))


def versions() -> dict[str, str]:
    """What produced the numbers."""
    found = {"gate": __version__, "python": platform.python_version()}
    for package in ("numpy", "bm25s"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def input_metadata(settings: Settings, evaluated: Evaluated) -> dict[str, Any]:
    """The provenance line of a report, as far as it is known without GitHub."""
    return {"tier": settings.tier, "snapshot_digest": evaluated.snapshot_digest, "corpus_digest": evaluated.corpus_digest,
            "policy_digest": policy_digest(settings), "retriever": dict(evaluated.retriever),
            "versions": versions(), "depth": settings.depth, "seed": settings.policy.method.seed}
