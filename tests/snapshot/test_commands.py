"""``retrieval-gate snapshot …`` as people type it."""

import json

import numpy as np
import pytest

from gate.cli import main
from tests.snapshot.support import write


def build(corpus, out, *more):
    return main(["snapshot", "build", "--kind", "bm25", "--corpus", str(corpus), "--out", str(out), *map(str, more)])


@pytest.fixture
def docs(tmp_path):
    return write(tmp_path / "docs", {"a/index.md": "# A\n\n## One\n\nbees", "b/index.md": "# B\n\nants"})


def test_a_tree_of_index_files_is_built_by_path_and_again_to_the_same_digest(docs, tmp_path, capsys):
    assert build(docs, tmp_path / "s") == 2
    assert "--ids path" in capsys.readouterr().err
    assert build(docs, tmp_path / "s", "--ids", "path") == 0
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    assert manifest["chunker"] == {"kind": "heading", "level": 2, "ids": "path"}
    assert [json.loads(line)["id"] for line in (tmp_path / "s" / "units.jsonl").open()] == ["a/index#one", "b/index#intro"]
    assert build(docs, tmp_path / "again", "--ids", manifest["chunker"]["ids"]) == 0
    assert json.loads((tmp_path / "again" / "manifest.json").read_text()) == manifest


def test_ids_of_paths_can_be_named_by_a_golden_set_and_are_found(docs, tmp_path, capsys):
    build(docs, tmp_path / "s", "--ids", "path")
    digest = capsys.readouterr().out.split("digest: ")[1].strip()
    (tmp_path / "g.jsonl").write_text('{"id": "q", "query": "bees", "relevant": ["a/index#one"]}\n')
    (tmp_path / "c.yml").write_text(f"golden: g.jsonl\nsnapshot: {{path: s, digest: '{digest}'}}\nretriever: {{kind: bm25}}\n"
                                    "policy: {floors: {hit@5: 1.0}}\n")
    assert main(["run", "--config", str(tmp_path / "c.yml")]) == 0


def test_warnings_of_the_corpus_reach_standard_error(tmp_path, capsys):
    corpus = write(tmp_path, {"corpus.jsonl": '{"_id":7,"text":"bees"}\n'}) / "corpus.jsonl"
    assert build(corpus, tmp_path / "s") == 0
    found = capsys.readouterr()
    assert found.err == f"warning: {corpus}: 1 id is written as a number and was read as text\n" and "warning: " not in found.out
    assert found.out.startswith(f"{tmp_path / 's'}: 1 unit of 1 document\n")
    assert build(write(tmp_path / "docs", {"a.md": "bees", "b.md": ""}), tmp_path / "t") == 0
    assert "warning: " in (err := capsys.readouterr().err) and "nothing to index in b.md" in err


def test_a_snapshot_that_is_there_already_is_told_with_the_option_that_replaces_it(docs, tmp_path, capsys):
    assert build(docs / "a", tmp_path / "s") == 0
    assert build(docs / "a", tmp_path / "s") == 2
    assert "--replace" in capsys.readouterr().err
    assert build(docs / "a", tmp_path / "s", "--replace") == 0


def test_options_of_dense_snapshots_are_refused_by_name_for_bm25(docs, tmp_path, capsys):
    assert build(docs / "a", tmp_path / "s", "--vectors", "v.npy", "--query-vectors", "q.npy", "--queries", "q.jsonl", "--model", "m",
                 "--revision", "1") == 2
    assert "no use for --vectors, --query-vectors, --queries, --model, --revision" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
    np.save(tmp_path / "v.npy", np.ones((1, 2), "float32"))
    assert main(["snapshot", "build", "--kind", "dense", "--corpus", str(docs / "a"), "--out", str(tmp_path / "s"), "--vectors",
                 str(tmp_path / "v.npy"), "--model", "m"]) == 0


def test_verify_speaks_of_its_option(docs, tmp_path, capsys):
    build(docs / "a", tmp_path / "s")
    for digest, words in (("sha256:" + "0" * 64, "that --digest names"), ("abc", "--digest must be sha256: and 64 hex digits, not 'abc'")):
        assert main(["snapshot", "verify", str(tmp_path / "s"), "--digest", digest]) == 2
        err = capsys.readouterr().err
        assert words in err and "the configuration pins" not in err


def test_show_prints_plain_words_no_empty_line_and_that_it_did_not_verify(docs, tmp_path, capsys):
    build(docs / "a", tmp_path / "s")
    (tmp_path / "s" / "units.jsonl").write_text("")
    capsys.readouterr()
    assert main(["snapshot", "show", str(tmp_path / "s")]) == 0
    out = capsys.readouterr().out
    assert "lower case yes" in out and "_" not in out.splitlines()[3] and "\n\n" not in out
    assert out.endswith(f"`retrieval-gate snapshot verify {tmp_path / 's'}` checks the files.\n")
