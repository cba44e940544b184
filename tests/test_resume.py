"""`run --resume` as a person meets it: the first try ends in the middle, the second one asks only the rest."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gate.asking import answer_key
from gate.journal import NAME
from gate.settings import parse_settings
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
    # Who starts the tests in the background has the interruption ignored, and what they start inherits that.
    process = subprocess.Popen(command("--out", "out"), env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
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


@pytest.mark.skipif(reachable_interpreter() is None, reason="no Python here that another user can start")
def test_what_a_run_has_answered_outlives_a_query_that_failed(project):
    """Code that answers when what it depends on is there, and not when it is away for a moment."""
    (project / "search.py").write_text(TEAM.replace("    return", "    if os.path.exists('away') and query.endswith(' 7'):\n"
                                                                  "        raise OSError('away')\n    return"))
    (project / "away").touch()
    first = run("--out", "out")
    assert first.returncode == 3 and "keeps what was answered" in first.stderr
    (project / "away").unlink()
    (project / "asked").write_text("")
    second = run("--out", "out", "--resume")
    assert second.returncode == 0 and (project / "asked").read_text() == "question 7\n"
    assert json.loads(second.stdout)["metrics"]["ndcg@10"]["candidate"] == 1.0 and not (project / "out" / NAME).exists()


@pytest.mark.skipif(reachable_interpreter() is None, reason="no Python here that another user can start")
def test_where_nothing_was_answered_nothing_is_said_to_be_kept(project):
    (project / "search.py").write_text("import nothing_of_that_name")
    first = run("--out", "out")
    assert first.returncode == 3 and "keeps what was answered" not in first.stderr


@pytest.mark.skipif(reachable_interpreter() is None, reason="no Python here that another user can start")
@pytest.mark.parametrize("where", [(), ("--out", "out")])
def test_queries_that_worked_are_said_to_be_kept_only_where_they_are(project, where):
    (project / "search.py").write_text(TEAM.replace("    return", "    if query.endswith(' 7'): raise OSError('away')\n    return"))
    failed = run(*where)
    said = json.loads(failed.stdout)["cure"]
    assert failed.returncode == 3 and (project / "out" / "run.jsonl.gz").exists() == bool(where)
    assert said == "fix the retriever" + ("; the queries that worked are kept in run.jsonl.gz" if where else "")


KINDS = {
    "python": "{kind: python, function: 'search:retrieve'}", "command": "{kind: command, command: [python3, -m, search]}",
    "leg": "{kind: hybrid, legs: [{kind: run, file: a}, {kind: python, function: 'search:retrieve'}]}",
    "embedding": "{kind: dense, embedding: {kind: function, function: 'search:embed', revision: '1'}}"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("file", "counts"), [("lib/rank.py", True), (".venv/x.py", False), ("node_modules/x.py", False), ("a.md", False)])
def test_answers_belong_to_all_of_the_teams_code_and_to_nothing_else(tmp_path, kind, file, counts):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    snapshot = f"snapshot: {{path: s, digest: 'sha256:{'0' * 64}'}}"

    def key():
        return answer_key(parse_settings(f"golden: g\n{snapshot}\nretriever: {KINDS[kind]}\n".encode(), tmp_path / "c.yml", "c.yml"))

    path.write_text("a")
    before = key()
    path.write_text("b")
    assert (key() != before) == counts
    (tmp_path / "gone.py").symlink_to("nowhere")
    assert (key() != before) == counts


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
