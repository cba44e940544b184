"""Services of a team's own behind `run`: two stages over HTTP, a death in the middle, and a model that changes behind its name."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from gate.cli import main
from gate.runs import read_run
from gate.snapshot.build import build_dense
from gate.snapshot.manifest import read_manifest
from tests.conftest import ROOT
from tests.fake_github import GATE_PATH
from tests.snapshot.support import corpus_of
from tests.story import Story, golden
from tests.web.embeddings import Embeddings, vector
from tests.web.support import Answering

SERVICE = Path(__file__).parent / "web" / "two_stage.py"


@contextmanager
def two_stage(port=0, *more):
    """The service in a process of its own; gives the process and its port."""
    command = [sys.executable, str(SERVICE), str(ROOT / "examples/snapshot/units.jsonl"), str(port), *map(str, more)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def config_of(folder, port, **more):
    retriever = {"kind": "http", "url": f"http://localhost:{port}/search", "headers": {"Authorization": "Bearer ${SEARCH_KEY}"},
                 "body": {"text": "{query}", "size": "{n}"}, "results": "stages.second", "id": "unit.id", "chunk": "unit.chunk",
                 "score": "relevance", "candidates": "stages.first", "candidate_id": "ref", "cost": "cost", "ms": "took", "retries": 0,
                 "health": "/ready", **more}
    path = folder / "retrieval-gate.yml"
    path.write_text(json.dumps({"golden": str(ROOT / "examples/golden.jsonl"), "retriever": retriever}))
    return path


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("SEARCH_KEY", "let-me-in")


def run(config, out, *more):
    return main(["run", "--config", str(config), "--out", str(out), *map(str, more)])


def test_two_stages_over_http_are_measured_as_two_stages(tmp_path, key, capsys):
    with two_stage() as (_, port):
        assert run(config_of(tmp_path, port, concurrency=4), tmp_path / "out") == 0
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert report["metrics"]["recall@10"]["candidate"] > 0.6 and report["metrics"]["candidate-recall@100"]["candidate"] > 0.8
    assert report["cost"]["candidate"] > 0 and report["latency"]["candidate_p50"] > 1
    assert report["metadata"]["retriever"]["url"] == f"http://localhost:{port}/search"
    assert not any("let-me-in" in path.read_text(errors="replace") for path in (tmp_path / "out").iterdir())
    assert "let-me-in" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_service_that_dies_costs_only_what_it_had_not_answered(tmp_path, key, capsys, concurrency):
    with two_stage() as (_, port):
        config = config_of(tmp_path, port, concurrency=concurrency)
        assert run(config, tmp_path / "whole") == 0
    with two_stage(port, 60):
        assert run(config, tmp_path / "out") == 3
    said = "".join(capsys.readouterr())
    assert "this was the 4th query in a row without an answer" in said and "`--resume` asks only the rest" in said
    kept = read_run(tmp_path / "out/run.jsonl.gz").rankings
    answered = sum(not ranking.error for ranking in kept.values())
    assert 59 - concurrency < answered <= 59  # what was on its way died with it
    with two_stage(port, 155 - answered + 1):  # it lives as long as nobody asks again what was answered
        assert run(config, tmp_path / "out", "--resume") == 0
    assert (tmp_path / "out/run.jsonl.gz").read_bytes() == (tmp_path / "whole/run.jsonl.gz").read_bytes()
    assert not (tmp_path / "out/answers.jsonl").exists()


def test_a_wrong_secret_is_exit_3_at_once_and_is_not_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SEARCH_KEY", "a-wrong-secret")
    with two_stage() as (_, port):
        assert run(config_of(tmp_path, port), tmp_path / "out") == 3
    said = "".join(capsys.readouterr())
    assert "answered 401" in said and "SEARCH_KEY" in said and "*** is nobody" in said
    assert not any("a-wrong-secret" in text for text in (said, *(p.read_text(errors="replace") for p in (tmp_path / "out").iterdir())))


def test_without_its_secret_a_run_cannot_decide(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("SEARCH_KEY", raising=False)
    assert run(config_of(tmp_path, 1), tmp_path / "out") == 3
    assert "needs the variable SEARCH_KEY, which is not set or empty" in "".join(capsys.readouterr())


@pytest.fixture
def dense(tmp_path, monkeypatch):
    """A dense snapshot of forty documents, a golden set in which each is asked for in its own words, and a cache."""
    names = [f"document number {number}" for number in range(40)]
    corpus = corpus_of(tmp_path, *((f"d{number}", "", text) for number, text in enumerate(names)))
    np.save(tmp_path / "vectors.npy", np.array([vector(text) for text in names], "float32"))
    build_dense(corpus, tmp_path / "vectors.npy", tmp_path / "snap", model="small")
    digest = read_manifest(tmp_path / "snap").tree_digest
    monkeypatch.setenv("RETRIEVAL_GATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EMBED_KEY", "sk-embed")

    def config(server, queries):
        lines = [{"id": f"q{number}", "query": names[number], "relevant": [f"d{number}"]} for number in range(queries)]
        (tmp_path / "golden.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        embedding = {"kind": "endpoint", "url": f"{server.url}/v1", "model": "small", "key": "${EMBED_KEY}"}
        (tmp_path / "c.yml").write_text(json.dumps({
            "golden": "golden.jsonl", "snapshot": {"path": "snap", "digest": digest},
            "retriever": {"kind": "dense", "embedding": embedding}}))
        return tmp_path / "c.yml"

    return config


def test_a_model_that_changes_behind_its_name_is_the_first_thing_that_every_report_says(dense, tmp_path, capsys):
    with Embeddings() as server:
        assert run(dense(server, 30), tmp_path / "one", "--record", tmp_path / "main.json.gz") == 0
        assert server.texts == [f"document number {number}" for number in range(30)]
        calls = len(server.asked)
        assert run(dense(server, 30), tmp_path / "two", "--baseline", tmp_path / "main.json.gz") == 0
        assert len(server.asked) == calls
        report = json.loads((tmp_path / "two/report.json").read_text())
        assert report["warnings"] == [] and report["metrics"]["hit@5"]["candidate"] == 1.0
        capsys.readouterr()
        server.model, server.salt = "small-2026-07", "other weights"
        assert run(dense(server, 31), tmp_path / "three", "--baseline", tmp_path / "main.json.gz") == 0
    report = json.loads((tmp_path / "three/report.json").read_text())
    assert len(report["warnings"]) == 2 and "small-2026-07, version 2020-10-01 now, and it was small-2026-01" in report["warnings"][1]
    assert "retriever embedding.reported" in {change["name"] for change in report["input_changes"]}
    said, comment, page = capsys.readouterr().out, *((tmp_path / "three" / name).read_text() for name in ("comment.md", "report.html"))
    for text in (said, comment, page):
        flat = re.sub(r"\s+", " ", text)
        assert 0 <= flat.find("calls itself small-2026-07") < flat.lower().find("ndcg@10", flat.find("calls itself")) and "cosine" in flat
    assert not any(b"sk-embed" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


SECRET = "s3cr3t-of-the-team"


class WithSecret(Story):
    """A story whose workflow gives the gate's step a secret, except in runs from forks."""

    def _run(self, gh, event, sha, token=None, more=None):
        fork = (event.get("pull_request") or {}).get("head", {}).get("repo", {}).get("fork")
        return super()._run(gh, event, sha, token, (more or {}) | ({} if fork else {"SEARCH_KEY": SECRET}))


def service_config(server):
    return ("golden: golden.jsonl\ndepth: 10\nretriever:\n  kind: http\n  url: " + server.url + "/?q={query}&key=${SEARCH_KEY}\n"
            "  id: $\n  retries: 0\n  concurrency: 4\n  headers: {Authorization: 'Bearer ${SEARCH_KEY}'}\n")


def find(asked, handler):
    if asked.headers.get("authorization") != f"Bearer {SECRET}":
        return 401, {"error": "who are you"}
    return 200, {"results": [f"d{re.search(r'number%20([0-9]+)', asked.path)[1]}", "x"]}


def test_the_action_asks_with_a_secret_that_nothing_it_leaves_behind_holds(fake, tmp_path, capsys):
    with Answering(find) as server, Answering(find) as other:
        story = WithSecret(fake, tmp_path, capsys, {"retrieval-gate.yml": service_config(server), "golden.jsonl": golden(40),
                                                    GATE_PATH: "name: gate\n"})
        first = story.on_push()
        assert (first.code, first.outputs["baseline-updated"]) == (0, "bootstrap") and len(server.asked) == 40
        same = story.on_pull(story.pull({"README.md": "x"}))
        assert (same.code, same.verdict) == (0, "pass")
        moved = story.pull({"retrieval-gate.yml": service_config(other)})
        elsewhere = story.on_pull(moved)  # it was asked, and with the secret: docs/security.md says so
        assert elsewhere.code == 1 and "retriever url" in story.comments(moved)[0] and other.asked
        server.answer = lambda asked, handler: (500, f"cannot serve {asked.path} for {asked.headers['authorization']}")
        down = story.on_pull(story.pull({"README.md": "y"}))
        assert (down.code, down.verdict) == (3, "cannot-decide") and "***" in down.report["problems"][0]
        foreign = story.on_pull(story.pull({"README.md": "z"}, author="eve", fork=True), "opened")
        assert foreign.code == 3 and "needs the variable SEARCH_KEY" in foreign.summary
        said = [text for run in (first, same, elsewhere, down, foreign) for text in (run.log, run.summary, json.dumps(run.report))]
        said += story.comments(moved)
        said += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
        assert not any(SECRET in text for text in said)
