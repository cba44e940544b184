"""Whole runs through the command line: a server that dies in the middle, and an index that finds less than it did."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from gate.cli import main
from tests.engines import squad
from tests.engines.standins import Standin, needs
from tests.engines.test_qdrant import HNSW

RETRIEVERS = {
    "qdrant": {"collection": "docs", "document": "doc_id", "load": True, "search": "exact"},
    "elasticsearch": {"index": "docs", "vector_field": "vector", "load": True, "search": "exact"},
    "opensearch": {"index": "docs", "vector_field": "vector", "load": True, "search": "exact"}}


def standin(kind, *arguments):
    if kind == "qdrant":
        needs("qdrant_client", "qdrant_edge")
        return Standin("qdrant_standin.py", *arguments)
    return Standin("elastic_standin.py", *(["--opensearch"] if kind == "opensearch" else []), *arguments, python=sys.executable)


@pytest.fixture(scope="module")
def smaller(data, tmp_path_factory):
    return squad.frozen(data, tmp_path_factory.mktemp("docs") / "snapshot", "anthropic-docs")


@pytest.fixture
def golden(data, tmp_path):
    with open(data / "collections" / "squad2-dev" / "golden.jsonl") as lines:
        (tmp_path / "golden.jsonl").write_text("".join(next(lines) for _ in range(100)))
    return tmp_path / "golden.jsonl"


def configured(tmp_path, snapshot, kind, server, **more):
    own = {"kind": kind, "url": server.url, "retries": 0, "limits": {"start_seconds": 10, "query_seconds": 5}, **RETRIEVERS[kind], **more}
    (tmp_path / "gate.yml").write_text(squad.config(snapshot, own))
    return tmp_path / "gate.yml"


def answered(folder):
    with gzip.open(folder / "run.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    return [{key: value for key, value in record.items() if key != "ms"} for record in records]


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_a_server_that_is_killed_in_the_middle_ends_the_run_and_resuming_finishes_it(kind, smaller, data, tmp_path, capsys):
    shutil.copy(data / "collections" / "anthropic-docs" / "golden.jsonl", tmp_path / "golden.jsonl")
    with standin(kind, "--delay", 0.02) as server:
        config, out = configured(tmp_path, smaller, kind, server), tmp_path / "out"
        command = [sys.executable, "-m", "gate", "run", "--config", config, "--out", out]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "CI": ""})
        journal, patience = out / "answers.jsonl", time.monotonic() + 120
        while not journal.exists() or len(journal.read_bytes().splitlines()) < 20:
            assert running.poll() is None and time.monotonic() < patience, running.communicate()[0]
            time.sleep(0.02)
        server.kill()
        said = running.communicate(timeout=120)[0]
        assert running.returncode == 3 and "the gate gave up" in said
        kept = sum("error" not in json.loads(line) for line in journal.read_text().splitlines()[1:])
        assert 19 <= kept < 100
        server.start()
        assert main(["run", "--config", str(config), "--out", str(out), "--resume"]) == 0
        assert f"the answers to {kept} of 100 queries are those of an earlier run" in capsys.readouterr().out
        assert main(["run", "--config", str(config), "--out", str(tmp_path / "whole")]) == 0
    assert answered(out) == answered(tmp_path / "whole")


def test_an_index_that_leaves_documents_out_is_caught(smaller, data, tmp_path):
    shutil.copy(data / "collections" / "anthropic-docs" / "golden.jsonl", tmp_path / "golden.jsonl")
    rule = ("elasticsearch", {"search": "ann", "ann_loss": True})
    with standin(rule[0]) as server:
        assert main(["run", "--config", str(configured(tmp_path, smaller, rule[0], server, **rule[1])), "--out", str(tmp_path / "a")]) == 0
    with standin(rule[0], "--lossy") as server:
        config = configured(tmp_path, smaller, rule[0], server, **rule[1])
        assert main(["run", "--config", str(config), "--out", str(tmp_path / "b"),
                     "--baseline", str(tmp_path / "a" / "run.jsonl.gz")]) == 1
    report = json.loads((tmp_path / "b" / "report.json").read_text())
    assert report["verdict"] == "fail" and report["primary"]["ci"][1] < 0
    assert "the index's doing, not the model's" in (tmp_path / "b" / "comment.md").read_text()


def test_what_a_small_ef_of_a_real_graph_loses_is_said_beside_the_verdict(snapshot, golden, tmp_path):
    """Every build of the graph is another one, so what it loses is sometimes harmless and sometimes not."""
    codes = {}
    with standin("qdrant") as server:
        graph = {"search": "ann", "ann_loss": True}
        for name, more in {"exact": {}, "high": {**graph, "ef": 1216}, "low": {**graph, "ef": 10}}.items():
            config = configured(tmp_path, snapshot, "qdrant", server, create=HNSW, **more)
            base = ["--baseline", str(tmp_path / "exact" / "run.jsonl.gz")] if name != "exact" else []
            codes[name] = main(["run", "--config", str(config), "--out", str(tmp_path / name), *base])
    reports = {name: json.loads((tmp_path / name / "report.json").read_text()) for name in ("high", "low")}
    assert codes["high"] == 0 and reports["high"]["verdict"] == "pass" and abs(reports["high"]["primary"]["delta"]) < 1e-3
    assert codes["low"] == reports["low"]["exit_code"] in (0, 1)
    comments = {name: (tmp_path / name / "comment.md").read_text() for name in reports}
    assert "lack something: that much is the index's doing" in comments["low"]
    assert "approximate search returned everything that exact search does" in comments["high"]
