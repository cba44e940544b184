"""`run --resume` as a person meets it: the first try ends in the middle, the second one asks only the rest."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gate.journal import NAME
from tests.conftest import ROOT
from tests.retrievers.support import reachable_interpreter

TEAM = """
import os, time
def retrieve(query, n):
    with open("asked", "a") as log:
        log.write(query + "\\n")
    if os.path.exists("slow") and query.endswith(" 7"):
        time.sleep(60)
    return [f"doc-{query.split()[-1]}", "other"][:n]
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "search.py").write_text(TEAM)
    (tmp_path / "golden.jsonl").write_text("".join(
        json.dumps({"id": f"q{n}", "query": f"question {n}", "relevant": [f"doc-{n}"]}) + "\n" for n in range(20)))
    (tmp_path / "retrieval-gate.yml").write_text("golden: golden.jsonl\nretriever: {kind: python, function: 'search:retrieve'}\n")
    (tmp_path / "asked").touch()
    for place in (tmp_path, *tmp_path.parents[:3]):
        place.chmod(0o777)
    (tmp_path / "asked").chmod(0o666)
    return tmp_path


def command(*more):
    return [sys.executable, "-m", "gate", "run", "--config", "retrieval-gate.yml", "--format", "json", *more]


def run(*more):
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command(*more), capture_output=True, text=True, env=environ, timeout=120)


def interrupted(project, ending):
    """Start a run, end it by the signal while query 7 is being answered."""
    (project / "slow").touch()
    process = subprocess.Popen(command("--out", "out"), env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    journal = project / "out" / NAME
    for _ in range(600):
        if journal.exists() and journal.read_text().count("\n") >= 8 and "question 7" in (project / "asked").read_text():
            break
        time.sleep(0.05)
    process.send_signal(ending)
    process.wait(60)
    (project / "slow").unlink()
    (project / "asked").write_text("")
    return journal


@pytest.mark.skipif(reachable_interpreter() is None, reason="no Python here that another user can start")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_ended_in_the_middle_goes_on_where_it_stopped(project, ending):
    journal = interrupted(project, ending)
    assert journal.exists()
    second = run("--out", "out", "--resume")
    assert second.returncode == 0, second.stderr
    assert (project / "asked").read_text().split("\n")[:-1] == [f"question {n}" for n in range(7, 20)]
    report = json.loads(second.stdout)
    assert report["metrics"]["ndcg@10"]["candidate"] == 1.0
    assert any("7 of 20 queries are those of an earlier run" in note for note in report["notes"])
    assert not journal.exists()


@pytest.mark.skipif(reachable_interpreter() is None, reason="no Python here that another user can start")
def test_answers_of_other_code_are_not_taken(project):
    journal = interrupted(project, signal.SIGKILL)
    (project / "search.py").write_text(TEAM.replace('"other"', '"another"'))
    refused = run("--out", "out", "--resume")
    assert refused.returncode == 2 and "under another configuration" in refused.stderr and journal.exists()
    assert run("--out", "out").returncode == 0  # anew
    assert journal.with_name(f"{NAME}.before").exists()


def test_resume_needs_the_folder_of_the_reports(project):
    refused = run("--resume")
    assert refused.returncode == 2 and "--out" in refused.stderr


def test_answers_outlive_reports_that_cannot_be_written(project):
    (project / "golden.jsonl").write_text('{"id": "q1", "query": "question", "relevant": ["a"]}\n')
    (project / "found.jsonl").write_text('{"id": "q1", "ranked": ["a"]}\n')
    (project / "retrieval-gate.yml").write_text("golden: golden.jsonl\nretriever: {kind: run, file: found.jsonl}\n")
    (project / "out" / "report.html").mkdir(parents=True)
    failed = run("--out", "out")
    assert failed.returncode not in (0, 1) and (project / "out" / NAME).exists(), failed.stderr
    (project / "out" / "report.html").rmdir()
    assert run("--out", "out", "--resume").returncode == 0 and not (project / "out" / NAME).exists()
