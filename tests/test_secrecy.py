"""`show_queries: false`, and blind queries: a marker in their text, titles and documents is in nothing that leaves the run."""

import gzip
import json

import pytest

from gate.cli import main
from gate.golden.model import Query
from gate.runs import Ranking
from gate.unquoted import unquoted, unquoted_problems

SEARCH = '''
import os, re

def retrieve(query, n):
    at = int(re.search(r"word(\\d+)", query)[1])
    if os.path.exists({flag!r} + "-raises") and at in (4, 5):
        raise KeyError(query)
    at += os.path.exists({flag!r}) and at % 3 == 0
    return [{{"doc": f"d{{(at + i) % 30}}", "score": 1.0 / (i + 1)}} for i in range(20)]
'''
MARKS = ("Qmark", "Tmark", "Xmark", "Nmark")


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    """A search, its main run, and what a reader sees of the run of a change: a function of `show_queries` and what goes wrong."""
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / "docs").mkdir()
    for n in range(30):
        (tmp_path / "docs" / f"d{n}.md").write_text(f"# Tmark {n}\n\nXmark body word{n} number {n}\n")
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(
        {"id": f"q{n}", "query": f"Qmark{'B' if n in (3, 5) else ''} word{n} ERR-{n}", "relevant": [f"d{n}"], "note": "Nmark",
         "split": "blind" if n in (3, 5) else "dev"}) + "\n" for n in range(30)))
    (tmp_path / "searching.py").write_text(SEARCH.format(flag=str(tmp_path / "bad")))
    assert main(["snapshot", "build", "--kind", "bm25", "--corpus", "docs", "--chunker", "none", "--out", "snap"]) == 0
    digest = json.loads((tmp_path / "snap" / "manifest.json").read_text())["tree_digest"]

    def run(show_queries, *flags):
        (tmp_path / "gate.yml").write_text(json.dumps({
            "golden": "golden.jsonl", "snapshot": {"path": "snap", "digest": digest}, "show_queries": show_queries,
            "retriever": {"kind": "python", "function": "searching:retrieve"}, "policy": {"must_hit": ["q0", "q3"]},
            "tiers": {"pr": {"splits": ["dev", "blind"]}}}))
        if not (tmp_path / "main.json.gz").exists():
            assert main(["run", "--config", "gate.yml", "--record", "main.json.gz"]) == 0
        for flag in flags:
            (tmp_path / f"bad{flag}").touch()
        capsys.readouterr()
        code = main(["run", "--config", "gate.yml", "--baseline", "main.json.gz", "--out", "out"])
        shown = capsys.readouterr()
        files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
        files["run.jsonl.gz"] = gzip.decompress(files["run.jsonl.gz"])
        return code, {name: data.decode() for name, data in files.items()} | {"stdout": shown.out, "stderr": shown.err}
    return run


def having(mark, files):
    return sorted(name for name, text in files.items() if mark in text)


def test_hidden_text_is_in_no_output_of_a_failed_gate(project):
    code, files = project(False, "")
    assert code == 1 and "q9" in files["comment.md"]
    assert {mark: found for mark in MARKS if (found := having(mark, files))} == {}


def test_blind_text_is_in_no_output_though_other_queries_are_shown(project):
    code, files = project(True, "")
    assert code == 1 and "comment.md" in having("Qmark word9", files)
    assert having("QmarkB", files) == []


@pytest.mark.parametrize("show_queries", [True, False])
def test_what_a_retriever_says_when_it_fails_quotes_nothing_hidden(project, show_queries):
    """The error's message is the query."""
    code, files = project(show_queries, "-raises")
    assert code == 3 and "KeyError" in files["stdout"] and "searching.py:" in files["stdout"]
    # What a run leaves behind to be resumed lies on the same disk as the golden set.
    assert having("QmarkB", files | {"answers.jsonl": ""} if show_queries else files) == []
    assert bool(having("Qmark", files)) is show_queries


def test_comparing_by_a_configuration_hides_what_it_hides(project, capsys):
    project(False, "")
    for show, marked in (("true", True), ("false", False)):
        with open("gate.yml") as stream:
            settings = json.load(stream) | {"show_queries": show == "true", "tiers": {"pr": {"splits": ["dev"]}}, "policy": {}}
        with open("gate.yml", "w") as stream:
            json.dump(settings, stream)
        for printed in ("text", "markdown", "json"):
            assert main(["compare", "--golden", "golden.jsonl", "--config", "gate.yml", "--baseline", "main.json.gz", "--candidate", "out",
                         "--format", printed]) == 1
            assert ("Qmark" in capsys.readouterr().out) is marked


def test_errors_in_a_run_file_quote_nothing_hidden_either(project, capsys, tmp_path):
    project(False, "")
    rows = [{"id": f"q{n}", "ranked": [], "error": f"service said: Qmark word{n}"} for n in range(30)]
    (tmp_path / "failed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sides = ["--baseline", "main.json.gz", "--candidate", "failed.jsonl"]
    assert main(["compare", "--golden", "golden.jsonl", "--config", "gate.yml", *sides]) == 3
    shown = capsys.readouterr()
    assert "the retriever failed on 30" in shown.err and "Qmark" not in shown.err + shown.out


def test_an_error_keeps_its_kind_and_place():
    told = unquoted(Ranking([], error="the function raised KeyError: 'secret' (a/b.py:4).\n| a/b.py:4 in f: x\n| KeyError: 'secret'")).error
    assert told.startswith("the function raised KeyError (a/b.py:4); its message is not shown") and "secret" not in told
    named = unquoted(Ranking([], error="the function raised KeyError: 'who owns (db:5432)' (a/b.py:4); see (`x`).")).error
    assert named.startswith("the function raised KeyError (a/b.py:4); ") and "db" not in named
    assert "db" not in unquoted(Ranking([], error="the function raised KeyError: 'who owns (db:5432)'.")).error
    assert "db" not in unquoted(Ranking([], error="service answered 500: who owns (db.py:5432)")).error
    assert unquoted(Ranking([], error="service answered 500: secret")).error.startswith("it failed; its message is not shown")


def test_a_failure_keeps_its_sentence_without_queries_and_output():
    queries = [Query("q", "where is it", {}), Query("p", "is", {})]
    found = unquoted_problems(["the program ended at «where is it» (exit 1)\n| secret output"], queries)
    assert found == ["the program ended at «…» (exit 1)"]
