"""How long whole processes take, ours and the peers', on the same work and in turn. It measures and judges nothing.

    python benchmarks/speed.py [--sizes S,M,M-churn,L] [--peers NAME,…] [--slow] [--write]

Peers are installed into a virtual environment of their own, outside the repository. Prints docs/speed.md, and with --write writes it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import peer_environment
import speed_page
from inputs import SIZES
from measuring import Bench, Disagreement, say
from peer_list import PEERS, PINS, Peer, Tools
from timing import Failed

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
FAMILIES = tuple(dict.fromkeys(peer.family for peer in PEERS))


def listed(known: tuple[str, ...]):
    """A comma-separated option whose every part has to be known."""

    def parse(text: str) -> list[str]:
        given = [part for part in text.split(",") if part]
        if strange := [part for part in given if part not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(strange)}: not one of {', '.join(known)}")
        return given

    return parse


def installed(wanted: list[str], venv: Path, trec_eval: str | None) -> tuple[list[Peer], dict[str, str], list[str]]:
    """(peers that can run, versions, why others cannot)."""
    there, skipped = {"numpy"} & set(wanted), []
    said = subprocess.run([BIN / "python", "--version"], capture_output=True, text=True, check=True)
    versions = {"Python": said.stdout.split()[-1]} | peer_environment.versions(BIN.parent, ["numpy"])
    for family in wanted:
        try:
            if family in PINS:
                peer_environment.ensure(venv, PINS[family], BIN / "python")
                there.add(family)
        except peer_environment.NotInstalled as fault:
            skipped.append(f"{family}: cannot be installed: {fault}")
    names = dict.fromkeys(pin.partition("==")[0] for family in PINS if family in there for pin in PINS[family])
    if peer_environment.python_of(venv).exists():
        versions |= peer_environment.versions(venv, names)
    if "trec_eval" in wanted:
        if trec_eval:
            there.add("trec_eval")
            said = subprocess.run([trec_eval, "--version"], capture_output=True, text=True, check=False)
            versions["trec_eval"] = (said.stdout + said.stderr).split()[-1]
        else:
            skipped.append("trec_eval: there is none on PATH (or name one with --trec-eval)")
    return [peer for peer in PEERS if peer.family in there], versions, skipped


def asked(options: argparse.Namespace) -> str:
    """The command line as it concerns the figures: where things lie on this machine does not."""
    words = [] if options.sizes == list(SIZES) else ["--sizes", ",".join(options.sizes)]
    words += [] if options.peers == list(FAMILIES) else ["--peers", ",".join(options.peers)]
    words += ["--rounds", str(options.rounds)] if options.rounds else []
    words += ["--slow"] if options.slow else []
    words += [] if options.growth else ["--no-growth"]
    return " ".join(["python benchmarks/speed.py", *words, *(["--write"] if options.write else [])])


def main() -> int:
    """Install, make inputs, check that everybody agrees on them, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=listed(tuple(SIZES)), default=list(SIZES), help=f"of {', '.join(SIZES)}; by default all")
    parser.add_argument("--peers", type=listed(FAMILIES), default=list(FAMILIES), help=f"of {', '.join(FAMILIES)}; by default all")
    parser.add_argument("--rounds", "--runs", type=int, help="by default as many as fit into a minute or less for each peer, at least 3")
    parser.add_argument("--slow", action="store_true", help="also what takes minutes: trec_eval at L, growth to a million queries")
    parser.add_argument("--growth", action=argparse.BooleanOptionalAction, default=True, help="our own tool at other sizes")
    parser.add_argument("--venv", type=Path, default=peer_environment.DEFAULT, help="where the peers are installed (%(default)s)")
    parser.add_argument("--trec-eval", default=shutil.which("trec_eval"), help="path of the program; by default what is on PATH")
    parser.add_argument("--write", action="store_true", help="write docs/speed.md")
    options = parser.parse_args()
    if not (BIN / "retrieval-gate").exists():
        sys.exit("there is no .venv/ yet: run `make demo` first")
    # As installed: nobody waits for Python to compile the program at every start.
    subprocess.run([BIN / "python", "-m", "compileall", "-q", ROOT / "gate", ROOT / "benchmarks"], check=True)
    peers, versions, skipped = installed(options.peers, options.venv, options.trec_eval)
    tools = Tools(str(BIN / "retrieval-gate"), str(BIN / "python"), str(peer_environment.python_of(options.venv)), options.trec_eval)
    bench = Bench(tools, peers, options.rounds, options.slow)
    for why in skipped:
        bench.skip(why)
    fault = None
    try:
        bench.start()
        for size in (size for size in SIZES if size in options.sizes):
            # One size after the other, so that only one is ever on the disk.
            with tempfile.TemporaryDirectory(prefix="retrieval-gate-") as folder:
                bench.at(Path(folder), size)
        if options.growth:
            with tempfile.TemporaryDirectory(prefix="retrieval-gate-") as folder:
                bench.growth(Path(folder))
    except Disagreement as differing:
        fault = f"two programs that should compute the same do not; nothing is written:\n{differing}"
    except Failed as failure:
        fault = f"a program that had worked failed; nothing is written: {failure}"
    text = speed_page.written(bench.found, speed_page.facts(versions, asked(options)))
    print(text)
    if fault:
        sys.exit(fault)
    if options.write:
        (ROOT / "docs" / "speed.md").write_text(text, encoding="utf-8")
        say(f"{ROOT / 'docs' / 'speed.md'} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
