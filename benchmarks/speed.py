"""How long whole processes take, from start to exit, in alternating pairs. It measures and judges nothing.

    python benchmarks/speed.py [--size S|M] [--runs N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from inputs import SIZES, make

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
# Neither side gets a setting that the other has not, and output goes nowhere.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG", "TMPDIR")}
ENDINGS = (0, 1, 4)  # verdicts; anything else is an error


class Run(NamedTuple):
    """One process: seconds by the clock, processor seconds, peak memory in MiB."""

    wall: float
    cpu: float
    peak: float


def run(command: list[str]) -> Run:
    """Start, wait, and read the system's own account of the finished process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in ENDINGS:
        sys.exit(f"ended with {process.returncode}: {' '.join(command)}")
    unit = 1024**2 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / unit)


def spread(values: list[float], digits: int = 2) -> str:
    """``0.84 [0.80-0.91]``: median, least and most."""
    return f"{median(values):.{digits}f} [{min(values):.{digits}f}-{max(values):.{digits}f}]"


def compared(name: str, command: list[str], other_name: str, other: list[str], runs: int) -> None:
    """A B A B …: a machine that slows down slows both of a pair, so ratios hold where times do not."""
    run(command), run(other)
    pairs = [(run(command), run(other)) for _ in range(runs)]
    ours, theirs = zip(*pairs, strict=True)
    print(f"\n{name}  /  {other_name}   (n = {runs})")
    print(f"  ratio wall  {spread([a.wall / b.wall for a, b in pairs])}    ratio cpu  {spread([a.cpu / b.cpu for a, b in pairs])}")
    for label, side in ((name, ours), (other_name, theirs)):
        print(f"  {label:32} wall {spread([r.wall * 1000 for r in side], 0)} ms   cpu {median(r.cpu for r in side) * 1000:.0f} ms   "
              f"peak {median(r.peak for r in side):.0f} MiB")
    print(f"  difference wall {spread([(a.wall - b.wall) * 1000 for a, b in pairs], 0)} ms")


def agree(compare: list[str], script: list[str]) -> None:
    """Both must have done the same work: six means of both runs alike to nine decimals."""
    report, theirs = (json.loads(subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=False).stdout)
                      for command in (compare, script))
    names = ("ndcg@10", "recall@5", "recall@10", "hit@5", "rr@10", "precision@5")
    for side in ("baseline", "candidate"):
        for name, value in zip(names, theirs[side], strict=True):
            if abs(report["metrics"][name][side] - value) > 1e-9:
                sys.exit(f"{name} of the {side}: {report['metrics'][name][side]} here, {value} there")
    changed, n = report["primary"]["changed"], report["primary"]["n"]
    print(f"{n} queries, {changed} of them with another nDCG@10; all means agree.\nInterval of the drop: "
          f"{report['primary']['ci']} here, {theirs['intervals'][0]} by resampling.")


def main() -> None:
    """Make the input, check that both sides agree on it, measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="S")
    parser.add_argument("--runs", type=int, help="pairs of runs (default: 21 for S, 3 for M)")
    options = parser.parse_args()
    runs = options.runs or (21 if options.size == "S" else 3)
    if not (BIN / "retrieval-gate").exists():
        sys.exit("there is no .venv/ yet: run `make demo` first")
    # As installed: nobody waits for Python to compile the program at every start.
    subprocess.run([BIN / "python", "-m", "compileall", "-q", ROOT / "gate", Path(__file__).parent], check=True)
    python, gate = str(BIN / "python"), str(BIN / "retrieval-gate")
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), SIZES[options.size])
        compare = [gate, "compare", "--golden", f"{folder}/golden.jsonl", "--baseline", f"{folder}/baseline.jsonl",
                   "--candidate", f"{folder}/candidate.jsonl", "--format", "json"]
        script = [python, str(Path(__file__).parent / "numpy_script.py"), folder]
        agree(compare, [*script, "1"])
        compared("--help", [gate, "--help"], "python -c pass", [python, "-c", "pass"], runs)
        compared("compare --format json", compare, "numpy script, 1 interval", [*script, "1"], runs)
        compared("compare --format json", compare, "numpy script, 6 intervals", [*script, "6"], runs)


if __name__ == "__main__":
    main()
