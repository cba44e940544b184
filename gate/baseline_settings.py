"""The ``baseline:`` section of a configuration: where the baseline is kept, how it is named, and who may move it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.fields import Section

STORES = ("artifact", "branch", "file")
_BRANCH = "retrieval-gate-baselines"
_REF = re.compile(r"(?!.*(?:\.\.|//|@\{|\.lock(?:/|\Z)|/\.))[A-Za-z0-9_][A-Za-z0-9_./@+-]{0,199}(?<![./])\Z")


@dataclass(frozen=True)
class BaselineSettings:
    """Part of what is taken from the base branch. ``path``: of the file store, as it is written; ``file``: where that is."""

    label: str = "baseline-update"
    artifact: str = "retrieval-gate-baseline"
    workflow: str = ""
    store: str = STORES[0]
    branch: str = _BRANCH
    path: str = ""
    file: Path | None = None


def read_baseline(section: Section, take: Callable[[Section, str, str], Path]) -> BaselineSettings:
    """The section's values. ``take``: resolves a path and keeps it inside the repository. Faults are remembered in the section."""
    store = section.choice("store", STORES, STORES[0])
    branch, path = section.text("branch", _BRANCH), section.text("path", "")
    for key, owner in (("branch", "branch"), ("path", "file")):
        if section.raw(key) is not None and store != owner:
            section.problem(key, f"`{key}` belongs to `store: {owner}`, and the store is {store}")
    if store == "branch" and not _REF.match(branch):
        section.problem("branch", f"{branch[:60]!r} is no name for a branch")
    if store == "file" and not path:
        section.problem("path", "`path` must name the file that the baseline is committed as, for instance baseline.json.gz")
    elif store == "file" and path.removesuffix(".gz").endswith((".jsonl", ".run", ".trec", ".txt")):
        section.problem("path", f"{path[:60]!r} would be read as a run file; name it .json or .json.gz")
    found = BaselineSettings(section.text("label", "baseline-update"), section.text("artifact", "retrieval-gate-baseline"),
                             section.text("workflow", ""), store, branch, path, take(section, "path", path) if path else None)
    section.done()
    return found


def store_rows(baseline: BaselineSettings) -> dict[str, Any]:
    """Which store it is, as rows of the rules. The usual one has none, so that records from before there were others keep their digest."""
    return {"artifact": {}, "branch": {"store": "branch", "branch": baseline.branch},
            "file": {"store": "file", "path": baseline.path}}[baseline.store]
