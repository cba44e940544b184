"""What makes the answers of an interrupted run those of something else."""

import pytest

from gate.asking import answer_key
from gate.settings import parse_settings

ENDPOINT = "embedding: {kind: function, function: 'vectors:embed', requirements: needs.txt}"
SNAPSHOT = 'snapshot: {path: s, digest: "sha256:' + "0" * 64 + '"}\n'


def keys(tmp_path, retriever, name):
    """Before and after a file has changed."""
    for file, text in (("vectors.py", "one"), ("needs.txt", "-r more.txt\nbm25s==0.2.0"), ("more.txt", "numpy==2.0.0"), ("search", "one"),
                       ("notes.md", "one")):
        (tmp_path / file).write_text(text)
    (tmp_path / "config.yml").write_text(f"golden: g.jsonl\n{SNAPSHOT}retriever: {retriever}\n")
    before = answer_key(settings_of(tmp_path))
    (tmp_path / name).write_text((tmp_path / name).read_text().replace("one", "another").replace("2.0.0", "2.0.1"))
    return before, answer_key(settings_of(tmp_path))


def settings_of(tmp_path):
    return parse_settings((tmp_path / "config.yml").read_bytes(), str(tmp_path / "config.yml"), "config.yml")


@pytest.mark.parametrize(("retriever", "name"), [
    (f"{{kind: dense, {ENDPOINT}}}", "vectors.py"),
    (f"{{kind: dense, {ENDPOINT}}}", "more.txt"),
    (f"{{kind: pgvector, dsn: 'postgresql://u@h/d', table: t, {ENDPOINT}}}", "vectors.py"),
    (f"{{kind: elasticsearch, url: 'http://h', index: i, vector_field: v, {ENDPOINT}}}", "vectors.py"),
    (f"{{kind: hybrid, legs: [{{kind: bm25}}, {{kind: hybrid, legs: [{{kind: bm25}}, {{kind: dense, {ENDPOINT}}}]}}]}}", "vectors.py"),
    ("{kind: python, function: 'search:retrieve', requirements: needs.txt}", "more.txt"),
    ("{kind: command, command: [./search, " + "x" * 5000 + "]}", "search")])
def test_a_file_that_decides_answers_has_changed(tmp_path, monkeypatch, retriever, name):
    monkeypatch.chdir(tmp_path)
    before, after = keys(tmp_path, retriever, name)
    assert before != after


def test_a_file_that_decides_nothing_has_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before, after = keys(tmp_path, f"{{kind: dense, {ENDPOINT}}}", "notes.md")
    assert before == after
