"""How somebody who reads a report asks why one query moved: commands to copy. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from gate.tiers import USUAL_TIER

ID = "QUERY_ID"
_RUN = re.compile(r"/actions/runs/(\d{1,18})/")
_KEPT = re.compile(r"/tree/([0-9a-f]{40,64})/([a-z0-9-]{1,40})\Z")


def _command(options: Iterable[tuple[str, str | Path | None]]) -> str:
    # Behind a sign of equality, what begins with a dash is a value all the same.
    given = " ".join(f"{name}{'=' if str(value).startswith('-') else ' '}{shlex.quote(str(value))}" for name, value in options if value)
    return f"retrieval-gate explain {ID} {given}"


def of_files(baseline: Path, candidate: Path, golden: Path | None = None, config: Path | None = None,
             tier: str | None = None) -> tuple[str, ...]:
    """Where the runs lie on this machine."""
    return (_command((("--config", config), ("--tier", tier), ("--golden", golden), ("--baseline", baseline), ("--candidate", candidate))),)


def of_workflow(run_id: str, report: str, baseline: str, names: tuple[str, str], config: str, tier: str = "") -> tuple[str, ...]:
    """From a checkout, after a run of a workflow. ``report``: the report's artifact; ``baseline``: its address; ``names``: the baseline's
    artifact, and the file where it is committed (empty where it is not). Empty where nobody can tell how to come by the baseline."""
    artifact, committed = names
    if run := _RUN.search(baseline):
        fetch, place = [f"gh run download {run[1]} -n {shlex.quote(artifact)} -D gate-baseline"], "gate-baseline"
    elif kept := _KEPT.search(baseline):
        place = "gate-baseline.json.gz"
        fetch = [f"git fetch origin {kept[1]} && git show {kept[1]}:{kept[2]}/baseline.json.gz > {place}"]
    elif committed:
        fetch, place = [], committed
    else:
        return ()
    if not run_id.isdigit():
        return ()
    return (f"gh run download {run_id} -n {shlex.quote(report)} -D gate-report", *fetch,
            _command((("--config", config), ("--tier", "" if tier == USUAL_TIER else tier), ("--baseline", place),
                      ("--candidate", "gate-report"))))


def asked(lines: Iterable[str], query_id: str) -> tuple[str, ...]:
    """The same commands for one query; an id that looks like an option stands behind the end of those."""
    name, place = shlex.quote(query_id), f" explain {ID} "
    if query_id.startswith("-"):
        return tuple(f"{line.replace(place, ' explain ', 1)} -- {name}" if place in line else line for line in lines)
    return tuple(line.replace(place, f" explain {name} ", 1) for line in lines)
