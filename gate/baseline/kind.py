"""Record or run: told apart without reading the whole file, and without what only records need."""

from __future__ import annotations

from pathlib import Path

from gate import jsonio
from gate.runs import is_trec


def is_record(path: Path) -> bool:
    """Whether a file looks like a record rather than a run: its first line is an object with ``schema`` and ``rankings``."""
    if path.name.removesuffix(".gz").endswith(".jsonl") or is_trec(path):
        return False
    for _, line in jsonio.read_lines(path):
        return line.startswith("{") and '"rankings"' in line and '"schema"' in line
    return False
