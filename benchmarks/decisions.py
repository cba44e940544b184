"""How good the decisions are: on real runs whose truth is known, on systems that are equal, and on true losses of known size.

    .venv/bin/python benchmarks/decisions.py [--quick]

Needs the folder of public collections (RETRIEVAL_GATE_DATA). Prints docs/decisions.md and writes it; with --quick, a tenth of the
trials, it only prints. Draws are seeded: the same code and data give the same figures.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

# Trials are many and small: threads of numpy's own would only get into each other's way. Before numpy is imported.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import decisions_page as page  # noqa: E402
import trials  # noqa: E402

from gate.comparison import pair  # noqa: E402
from gate.golden.read import read_golden  # noqa: E402
from gate.pipeline import assess  # noqa: E402
from gate.references import load_reference  # noqa: E402
from gate.runs import read_run  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("RETRIEVAL_GATE_DATA", ROOT.parent / "shared" / "data"))
PROCESSES = 2
NULL_TRIALS, LOSS_TRIALS = 60_000, 4_000

_scores: list[trials.Scores] = []  # of a worker process; read once, not sent along with every batch


class Cell(NamedTuple):
    """One row of a table of trials: (name, loss) and the number of queries."""

    what: tuple[str, float]
    n: int


def judged(collection: str, names: list[tuple[str, str, str]]) -> list[page.Judged]:
    """Whole comparisons, as ``retrieval-gate compare`` makes them without a configuration. ``names``: run, its base, its class.

    Of some runs only the scores are stored, not the rankings: those get the drop rule on them, the only check of the default policy.
    """
    golden = read_golden(DATA / "collections" / collection / "golden.jsonl")
    folder = DATA / "runs" / collection
    stored = json.loads(gzip.decompress((DATA / "expected_per_query" / f"{collection}.json.gz").read_bytes()))
    at = stored["measures"].index(trials.PRIMARY)
    bases = {base: load_reference(folder / f"{base}.jsonl.gz") for base in {base for _, base, _ in names}}
    found = []
    for run, base, truth in names:
        path = folder / f"{run}.jsonl.gz"
        if path.is_file():
            report = assess(golden, read_run(path), bases[base], trials.POLICY)
            assert report.comparison is not None
            main, verdict = report.comparison.main, report.verdict
        else:
            main = pair(*([values[at] for values in stored["runs"][name]] for name in (base, run)), trials.POLICY.method)
            verdict, _ = trials.decided(main)
        lo, hi = (main.ci.lo, main.ci.hi) if main.ci else (None, None)
        found.append(page.Judged(collection, run, truth, verdict, path.is_file(), main.n, main.changed, main.delta, lo, hi))
    return found


def _start_worker() -> None:
    _scores.append(trials.load_scores(DATA))


def _batch(cell: Cell, number: int) -> Counter[str]:
    return trials.batch(_scores[0], cell.what, cell.n, number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials, and nothing is written")
    quick = parser.parse_args().quick
    if not (DATA / "expected.json").is_file():
        sys.exit("the public collections are not on this machine (set RETRIEVAL_GATE_DATA to their folder)")
    start = time.perf_counter()

    def say(text: str) -> None:
        print(f"{time.perf_counter() - start:5.0f} s  {text}", file=sys.stderr, flush=True)

    cells = {Cell((name, 0.0), n): NULL_TRIALS for name in trials.NULLS for n in trials.SIZES}
    cells |= {Cell((kind, loss), n): LOSS_TRIALS for kind in trials.KINDS for loss in trials.LOSSES for n in trials.SIZES}
    with ProcessPoolExecutor(PROCESSES, initializer=_start_worker) as pool:
        expected = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))["collections"]
        runs = [pool.submit(judged, collection, [(name, run["base"], run["gate"]) for name, run in about["runs"].items() if run["base"]])
                for collection, about in expected.items()]
        counted = {cell: [pool.submit(_batch, cell, number) for number in range(max(1, wanted // trials.BATCH // (10 if quick else 1)))]
                   for cell, wanted in cells.items()}
        table = [row for future in runs for row in future.result()]
        say(f"{len(table)} real runs judged")
        results: dict[tuple[tuple[str, float], int], Counter[str]] = {}
        for cell, futures in counted.items():
            results[tuple(cell)] = sum((future.result() for future in futures), Counter())
            say(f"{cell.what[0]} {cell.what[1] or ''} n={cell.n}: {results[tuple(cell)]['trials']:,} trials")
    total = sum(results.values(), Counter())
    say(f"{total['trials']:,} trials; {total['audited']:,} that looked plain were put to the product, {total['disagreed']} differed")
    dense = trials.load_scores(DATA).runs["squad2-dev", "dense"].mean()
    text = page.written(table, results, float(dense))
    print(text)
    if total["disagreed"]:
        sys.exit("the approximation that chooses what to ask the product was wrong; nothing is written")
    if not quick:
        (ROOT / "docs" / "decisions.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
