"""An engine that dies or stands still in the middle of a run: exit 3, nothing lost, and ``--resume`` goes on where it stopped."""

import gzip
import json
import os
import signal
import time

import pytest
import yaml

from gate.errors import RetrieverFailed
from tests.engines.processes import Chroma, Postgres

# A statement that takes its time, so that there is a middle.
SLOW = """SELECT id, 1 - (embedding <=> %(vector)s) AS score FROM docs, (SELECT pg_sleep(0.004)) AS pause
ORDER BY embedding <=> %(vector)s, id LIMIT %(n)s"""


def retriever_of(engine) -> dict:
    if isinstance(engine, Postgres):
        return {"kind": "pgvector", "dsn": engine.dsn, "table": "docs", "sql": SLOW, "load": True}
    return {"kind": "chroma", "url": engine.url, "collection": "docs", "load": True}


def answered(folder) -> list:
    path = folder / "answers.jsonl"
    return path.read_text().splitlines()[1:] if path.exists() else []


def rankings(folder) -> dict:
    lines = gzip.decompress((folder / "run.jsonl.gz").read_bytes()).splitlines()
    return {(record := json.loads(line))["id"]: (record["ranked"], record["scores"]) for line in lines}


@pytest.mark.parametrize("kind", [Postgres, Chroma])
def test_a_killed_engine_is_exit_3_and_the_run_goes_on_when_it_is_back(kind, squad, data, tmp_path, gate):
    snapshot, golden = squad
    engine = kind()
    try:
        engine.start()
        config = {"golden": str(data / "collections" / "squad2-dev" / "golden.jsonl"), "depth": 10, "retriever": retriever_of(engine),
                  "snapshot": {"path": str(snapshot.path), "digest": snapshot.manifest.tree_digest}}
        (tmp_path / "c.yml").write_text(yaml.safe_dump(config))
        whole, broken = tmp_path / "whole", tmp_path / "broken"
        process = gate("run", "--config", tmp_path / "c.yml", "--out", whole)
        told, _ = process.communicate(timeout=200)
        assert process.returncode == 0, told

        process = gate("run", "--config", tmp_path / "c.yml", "--out", broken)
        while len(answered(broken)) < 40:
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.01)
        engine.kill()
        told, _ = process.communicate(timeout=200)
        assert process.returncode == 3 and "was the 4th query in a row without an answer" in told
        assert json.loads((broken / "report.json").read_text())["verdict"] == "cannot-decide"
        kept = [json.loads(line) for line in answered(broken)]
        good = [record["id"] for record in kept if not record.get("error")]
        assert 40 <= len(good) < len(golden.queries) and len(kept) - len(good) <= 3

        engine.start()
        process = gate("run", "--config", tmp_path / "c.yml", "--out", broken, "--resume")
        told, _ = process.communicate(timeout=200)
        assert process.returncode == 0, told
        assert f"the answers to {len(good)} of 600 queries are those of an earlier run" in (broken / "comment.md").read_text()
        assert rankings(broken) == rankings(whole) and not (broken / "answers.jsonl").exists()
    finally:
        engine.remove()


def test_an_engine_that_stands_still_is_left_after_a_while(small, made):
    snapshot, queries = small
    engine = Postgres()
    try:
        engine.start()
        text = f"  kind: pgvector\n  dsn: {engine.dsn}\n  table: docs\n  load: true\n  limits: {{query_seconds: 0.2}}\n"
        with made(text, snapshot) as retriever:
            answers = retriever.retrieve(queries, 10)
            assert not next(answers)[1].error and not next(answers)[1].error
            for process in (engine._process.pid, *children(engine._process.pid)):
                os.kill(process, signal.SIGSTOP)
            started = time.monotonic()
            with pytest.raises(RetrieverFailed, match="4th query in a row without an answer"):
                list(answers)
            assert time.monotonic() - started < 60
    finally:
        engine.remove()


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as stream:
        return [int(child) for child in stream.read().split()]
