"""A baseline record in words, for ``baseline show``."""

from __future__ import annotations

from gate.baseline.record import Record
from gate.figures import setting


def record_text(record: Record) -> str:
    """What it holds, under which inputs it was made, and why it is the baseline, or that it is none."""
    rows = [("gate", record.gate), ("digest", record.digest), ("provenance", record.provenance.sentence()),
            ("commit", record.commit or "none"), ("created", record.created or "unknown"), ("run", record.run_id or "local"),
            *([("parent", record.parent or "none, it is the first")] if record.provenance.kind != "latest" else []),
            ("queries", str(len(record.rankings))), ("depth", str(record.depth)),
            ("golden set", f"{record.golden_version or 'no version'} {record.golden_digest}"),
            ("snapshot", record.snapshot_digest or "none"), ("corpus", record.corpus_digest or "none"),
            ("retriever", setting(record.retriever)), ("versions", setting(record.versions)), ("policy", record.policy_digest)]
    rows += [(name, f"{value:.6f}") for name, value in record.metrics.items()]
    return "".join(f"{name:<12} {value}\n" for name, value in rows)
