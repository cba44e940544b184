"""docs/engines.md from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine_list import EXACT, GOOD, LOW, WORDS, Engine


class Row(NamedTuple):
    """One engine in one mode. ``share``: mean overlap of the top 10 with the reference's; ``same``: queries with the very same top 10."""

    engine: Engine
    mode: str
    share: float | None = None
    same: int = 0
    n: int = 0
    verdict: str = ""
    delta: float | None = None
    ci: tuple[float, ...] = ()
    lost: int = 0
    ms: float | None = None
    fault: str = ""


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def _cells(row: Row) -> list[str]:
    if row.fault:
        return [row.engine.name, row.engine.modes[row.mode], f"not run: {row.fault.replace('|', ' ')}", "", "", "", "", ""]
    interval = f"{_signed(row.ci[0])} to {_signed(row.ci[1])}" if row.ci else "—"
    return [row.engine.name, row.engine.modes[row.mode], f"{row.share:.4f}", f"{row.same} of {row.n}",
            "—" if row.delta is None else _signed(row.delta), interval, str(row.lost),
            f"**{row.verdict}**" if row.verdict == "fail" else row.verdict]


def _table(rows: Sequence[Row]) -> str:
    head = ["engine", "asked", "overlap of the top 10", "same top 10", "nDCG@10 Δ", "95 % interval", "lost", "verdict"]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *map(_cells, rows)))


def page(rows: Sequence[Row]) -> str:
    """Markdown."""
    by = {mode: [row for row in rows if row.mode == mode] for mode in (EXACT, GOOD, LOW, WORDS)}
    return f"""# The same collection behind other engines

Written by `python benchmarks/engine_agreement.py --write`; every figure was measured by it, through `retrieval-gate run`: with the
kinds of the gate's own that are named, else with kind `python` and a `requirements` file for each engine
([`benchmarks/engines/`](../benchmarks/engines)). `squad2-dev`: 1,216 documents, 600 queries of which 200 have no answer, 384
dimensions. The baseline is exact search by numpy over the same frozen vectors (kind `dense`), tolerance 0.02. `pgvector`, `chroma`,
`qdrant`, `elasticsearch` and `opensearch` are held to the same reference by tests as well ([`tests/engines/`](../tests/engines)).

## Exact search

Finds the same documents wherever it runs; equal scores, and scores that differ by the last bit of a float, may change places.

{_table(by[EXACT])}

## Approximate search with enough effort

{_table(by[GOOD])}

## Approximate search with too little effort

Nothing fails when an index looks at too few candidates: it answers, faster, and a few documents are missing. What that costs the
golden set is what the gate says. A verdict of pass or inconclusive is right where the queries do not feel it.

{_table(by[LOW])}

## Words

Lexical engines have their own analysers and formulas, so they are compared with the gate's BM25 as one retriever with another.

{_table(by[WORDS])}
"""
