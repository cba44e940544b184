"""A baseline record in words, for ``baseline show``."""

from __future__ import annotations

from collections.abc import Sequence

from gate.baseline.chain import chain
from gate.baseline.record import Record
from gate.changes import flat
from gate.errors import InvalidInput
from gate.figures import plural, setting, short_digest
from gate.reports.escape import terminal


def record_text(record: Record) -> str:
    """What it holds, under which inputs it was made, and why it is the baseline, or that it is none."""
    rows = [("gate", record.gate), ("digest", record.digest), ("provenance", record.provenance.sentence()),
            ("commit", record.commit or "none"), ("created", record.created or "unknown"), ("run", record.run_id or "local"),
            *([("parent", record.parent or "none, it is the first")] if record.provenance.kind != "latest" else []),
            ("queries", str(len(record.rankings))), ("depth", str(record.depth)),
            ("golden set", f"{record.golden_version or 'no version'} {record.golden_digest}"),
            ("snapshot", record.snapshot_digest or "none"), ("corpus", record.corpus_digest or "none"),
            ("retriever", setting(flat(record.retriever))), ("versions", setting(record.versions)), ("policy", record.policy_digest)]
    rows += [(name, f"{value:.6f}") for name, value in record.metrics.items()]
    return "".join(f"{name:<12} {value}\n" for name, value in rows)


def chain_text(found: Sequence[tuple[str, Record]]) -> str:
    """How the baseline came to be what it is: every record once, the oldest first. ``found``: (place, record)."""
    gates = sorted({record.gate for _, record in found})
    if len(gates) > 1:
        raise InvalidInput(f"these records are of several gates: {', '.join(gates)}", "show those of one gate at a time")
    links = chain(found)
    if not links:
        raise InvalidInput("none of these records is a baseline: they are what the default branch retrieved at the time")
    lines = [f"gate {terminal(gates[0])}, {plural(len(links), 'baseline')}, the oldest first"]
    for number, link in enumerate(links, 1):
        record = link.record
        if link.gap:
            lines.append(f"   … missing: {terminal(link.gap)}, and whatever came before it")
        fork = "; another record replaced the same one" if link.fork else ""
        lines.append(f"{number:>2} {terminal(record.created or 'time unknown')}  {terminal(record.commit[:12] or 'no commit')}  "
                     f"{terminal(short_digest(record.digest))}  {plural(len(record.rankings), 'query')}{fork}")
        lines.append(f"   {terminal(record.provenance.sentence())}")
        lines += [f"   in {terminal(where)}" for where in link.where]
    return "\n".join(lines) + "\n"
