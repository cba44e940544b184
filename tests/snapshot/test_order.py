"""``snapshot build``: which options belong together, and what each kind of snapshot holds."""

import json
import os

import numpy as np
import pytest

from gate.cli import main
from gate.errors import InvalidInput
from gate.retrievers.bm25 import Bm25Retriever
from gate.snapshot.build import build_bm25
from gate.snapshot.manifest import read_manifest
from gate.snapshot.verify import verify
from tests.snapshot.support import opened, write

SECRET = "Quetzalcoatl xylophone"


def build(corpus, out, *more):
    return main(["snapshot", "build", "--corpus", str(corpus), "--out", str(out), *map(str, more)])


@pytest.fixture
def lines(tmp_path):
    texts = {"b": ("Bees", "bees make honey in the summer"), "a": ("Ants", f"ants make hills {SECRET} and more"), "c": ("", "short")}
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"_id": i, "title": t, "text": x}) + "\n" for i, (t, x) in texts.items()))
    return path


@pytest.fixture
def vectors(tmp_path):
    np.save(tmp_path / "v.npy", np.eye(3, dtype="float32"))
    (tmp_path / "q.jsonl").write_text('{"id": "q1", "query": "bees"}\n')
    np.save(tmp_path / "q.npy", np.eye(1, 3, dtype="float32"))
    return ["--vectors", tmp_path / "v.npy", "--model", "m", "--query-vectors", tmp_path / "q.npy", "--queries", tmp_path / "q.jsonl"]


def units(folder):
    return [json.loads(line) for line in (folder / "units.jsonl").read_text().splitlines()]


def test_windows_are_built_for_lines_and_folders_and_a_run_names_their_documents(lines, tmp_path, capsys):
    assert build(lines, tmp_path / "s", "--kind", "bm25", "--chunker", "fixed", "--size", 3, "--overlap", 1) == 0
    assert [unit["id"] for unit in units(tmp_path / "s")] == ["a#1", "a#2", "a#3", "b#1", "b#2", "b#3", "c#1"]
    digest = capsys.readouterr().out.split("digest: ")[1].strip()
    (tmp_path / "g.jsonl").write_text('{"id": "q", "query": "summer", "relevant": ["b"]}\n'
                                      '{"id": "r", "query": "quetzalcoatl", "spans": [{"doc": "a", "start": 16, "end": 38}]}\n')
    (tmp_path / "c.yml").write_text(
        f"golden: g.jsonl\nsnapshot: {{path: s, digest: '{digest}'}}\nretriever: {{kind: bm25}}\n"
        "policy: {unit: chunk, metrics: [span-coverage@5], floors: {hit@1: 1.0, rr: 1.0}}\n")
    assert main(["run", "--config", str(tmp_path / "c.yml"), "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["metrics"]["span-coverage@5"]["candidate"] == 1.0


@pytest.mark.parametrize(("more", "words"), [
    (["--chunker", "none", "--size", "3"], "the chunker none has no use for --size"),
    (["--size", "3", "--level", "2"], "the chunker none has no use for --level, --size"),
    (["--chunker", "fixed"], "needs --size"), (["--chunker", "fixed", "--size", "0"], "--size must be at least 1"),
    (["--chunker", "fixed", "--size", "3", "--overlap", "3"], "overlap must"),
    (["--chunker", "fixed", "--size", "3", "--overlap", "-1"], "overlap must"),
    (["--chunker", "heading", "--overlap", "3"], "give --max-size as well"),
    (["--chunker", "heading", "--size", "3"], "the chunker heading has no use for --size"),
    (["--engine", "x"], "a bm25 snapshot has no use for --engine\nWhat to do: leave them out, or build with --kind files"),
    (["--similarity", "dot", "--add", "x"], "has no use for --similarity, --add\nWhat to do: leave them out\n"),
    (["--k1", "-1", "--b", "7"], "b must be a number from 0 to 1"),
    (["--without-text"], "made of the words of the text"),
    (["--embed-cache", "x"], "no use for --embed-cache"),
])
def test_options_that_do_not_belong_together_are_refused_by_name(lines, tmp_path, capsys, more, words):
    assert build(lines, tmp_path / "s", "--kind", "bm25", *more) == 2
    assert words in capsys.readouterr().err and not (tmp_path / "s").exists()


def test_parameters_of_bm25_are_recorded_also_when_they_are_zero(lines, tmp_path):
    assert build(lines, tmp_path / "s", "--kind", "bm25", "--k1", 1.2, "--b", 0, "--method", "atire") == 0
    index = read_manifest(tmp_path / "s").index
    assert (index["k1"], index["b"], index["method"]) == (1.2, 0.0, "atire")


def test_the_manifest_names_the_corpus_and_not_where_it_lies(lines, tmp_path, capsys, monkeypatch):
    folder = write(tmp_path / "deep" / "wiki", {"p.md": "x"})
    assert build(folder, tmp_path / "s", "--kind", "bm25") == 0 and build(lines, tmp_path / "t", "--kind", "bm25") == 0
    assert read_manifest(tmp_path / "s").source == {"form": "folder", "name": "wiki"}
    assert read_manifest(tmp_path / "t").source == {"form": "lines", "name": "corpus.jsonl"}
    assert str(tmp_path) not in (tmp_path / "s" / "manifest.json").read_text()
    monkeypatch.chdir(folder)
    assert build(".", tmp_path / "u", "--kind", "bm25") == 0
    assert read_manifest(tmp_path / "u").source["name"] == "wiki"
    # A name decides nothing.
    lines.rename(lines.with_name("other.jsonl"))
    assert build(lines.with_name("other.jsonl"), tmp_path / "v", "--kind", "bm25") == 0
    assert read_manifest(tmp_path / "v").tree_digest == read_manifest(tmp_path / "t").tree_digest
    capsys.readouterr()
    assert main(["snapshot", "show", str(tmp_path / "s")]) == 0
    assert "(form folder, name wiki)" in capsys.readouterr().out


def test_facts_of_the_embedding_are_recorded_as_given_and_lengths_are_checked(lines, vectors, tmp_path, capsys):
    more = ["--revision", "r1", "--passage-prefix", "passage: ", "--query-prefix", "query: ", "--similarity", "dot", "--normalised"]
    assert build(lines, tmp_path / "s", "--kind", "dense", *vectors, *more) == 0
    manifest = verify(tmp_path / "s")
    assert manifest.embedding == {"model": "m", "revision": "r1", "dimensions": 3, "dtype": "float32", "passage_prefix": "passage: ",
                                  "query_prefix": "query: ", "normalised": True}
    assert manifest.index["similarity"] == "dot"
    main(["snapshot", "show", str(tmp_path / "s")])
    assert "passage prefix 'passage: '" in capsys.readouterr().out
    np.save(tmp_path / "v.npy", np.eye(3, dtype="float32") * 2)
    assert build(lines, tmp_path / "t", "--kind", "dense", *vectors, "--normalised") == 2
    assert "row 0 has the length 2" in capsys.readouterr().err


def test_without_text_no_file_of_a_snapshot_holds_a_word_of_the_corpus(lines, vectors, tmp_path, capsys):
    np.save(tmp_path / "v.npy", np.eye(5, 3, dtype="float32"))
    assert build(lines, tmp_path / "s", "--kind", "dense", *vectors, "--without-text", "--chunker", "fixed", "--size", 4) == 0
    words = {word.encode() for word in f"Bees Ants bees make honey summer ants hills {SECRET} more short".split()}
    files = [path for path in (tmp_path / "s").rglob("*") if path.is_file()]
    assert len(files) == 5 and not [(path, word) for path in files for word in words if word.lower() in path.read_bytes().lower()]
    assert units(tmp_path / "s")[1] == {"id": "a#2", "doc": "a", "parent": "a", "start": 29, "end": 47}
    manifest = verify(tmp_path / "s")
    assert not manifest.text and json.loads((tmp_path / "s" / "manifest.json").read_text())["text"] is False
    main(["snapshot", "show", str(tmp_path / "s")])
    assert "text       kept out" in capsys.readouterr().out


def test_a_snapshot_without_text_is_run_judged_and_shown(lines, vectors, tmp_path, capsys):
    assert build(lines, tmp_path / "s", "--kind", "dense", *vectors, "--without-text") == 0
    assert units(tmp_path / "s")[0] == {"id": "a", "doc": "a", "start": 0, "end": 47}
    found = opened(tmp_path / "s")
    assert found.titles() == {} and found.names() == {"a", "b", "c"} and found.places[0] == (0, 47)
    with pytest.raises(InvalidInput, match="was built without text"):
        found.texts()
    (tmp_path / "g.jsonl").write_text('{"id": "q1", "query": "bees", "relevant": ["b", "z"]}\n')
    pin = f"{{path: s, digest: '{found.manifest.tree_digest}', corpus: corpus.jsonl}}"
    (tmp_path / "c.yml").write_text(f"golden: g.jsonl\nsnapshot: {pin}\n"
                                    "retriever: {kind: dense}\npolicy: {floors: {hit@5: 1.0}}\n")
    assert main(["run", "--config", str(tmp_path / "c.yml"), "--out", str(tmp_path / "out")]) == 0
    assert "document 'z' is not in the snapshot" in capsys.readouterr().out
    assert main(["golden", "plan", str(tmp_path / "g.jsonl"), "--snapshot", str(tmp_path / "s")]) == 0


def test_a_label_that_names_a_window_is_noted_where_results_are_called_by_their_document(lines, vectors, tmp_path, capsys):
    np.save(tmp_path / "v.npy", np.eye(5, 3, dtype="float32"))
    assert build(lines, tmp_path / "s", "--kind", "dense", *vectors, "--chunker", "fixed", "--size", 4) == 0
    (tmp_path / "g.jsonl").write_text('{"id": "q1", "query": "bees", "relevant": ["b", "a#2"]}\n')
    (tmp_path / "c.yml").write_text(f"golden: g.jsonl\nsnapshot: {{path: s, digest: '{opened(tmp_path / 's').manifest.tree_digest}'}}\n"
                                    "retriever: {kind: dense}\n")
    assert main(["run", "--config", str(tmp_path / "c.yml")]) == 0
    assert "g.jsonl:1: document 'a#2' is never found by this name: results are called like 'a'" in capsys.readouterr().out


def test_with_text_and_without_are_two_snapshots_of_one_corpus(lines, vectors, tmp_path):
    assert build(lines, tmp_path / "s", "--kind", "dense", *vectors) == build(lines, tmp_path / "t", "--kind", "dense", *vectors,
                                                                              "--without-text") == 0
    one, other = verify(tmp_path / "s"), verify(tmp_path / "t")
    assert one.corpus_digest == other.corpus_digest and one.tree_digest != other.tree_digest and "text" not in one.facts()


def test_headings_are_text_so_sections_cannot_do_without(tmp_path, capsys):
    folder = write(tmp_path / "wiki", {"p.md": "## Layoffs\nx"})
    np.save(tmp_path / "v.npy", np.eye(1, dtype="float32"))
    assert build(folder, tmp_path / "s", "--kind", "dense", "--vectors", tmp_path / "v.npy", "--model", "m", "--without-text") == 2
    assert "made of its heading" in capsys.readouterr().err
    assert build(folder, tmp_path / "s", "--kind", "dense", "--vectors", tmp_path / "v.npy", "--model", "m", "--without-text",
                 "--chunker", "none") == 0


# files of an engine

@pytest.fixture
def engine(tmp_path):
    write(tmp_path / "chroma", {"chroma.sqlite3": "db", "seg/data.bin": b"\0\1", ".hidden": "h"})
    write(tmp_path, {"dump.sql": "COPY"})
    return tmp_path


def files_of(lines, engine, out, *more):
    return build(lines, out, "--kind", "files", "--engine", "pgvector 0.8.5", *more)


def test_an_engines_files_are_frozen_with_its_parameters_and_the_units(lines, engine, tmp_path, capsys):
    assert files_of(lines, engine, tmp_path / "s", "--add", engine / "chroma", "--add", f"{engine / 'dump.sql'}=pg/all.sql",
                    "--index", "m=16", "--index", "distance=cosine", "--index", "half=true", "--model", "m", "--revision", "r") == 0
    manifest = verify(tmp_path / "s")
    assert manifest.kind == "files" and manifest.index == {"engine": "pgvector 0.8.5",
                                                           "parameters": {"m": 16, "distance": "cosine", "half": True}}
    assert manifest.embedding == {"model": "m", "revision": "r"}
    assert {name: (tmp_path / "s" / name).read_bytes() for name in manifest.files if name != "units.jsonl"} == {
        "engine/chroma/chroma.sqlite3": b"db", "engine/chroma/seg/data.bin": b"\0\1", "engine/chroma/.hidden": b"h",
        "engine/pg/all.sql": b"COPY"}
    digest = capsys.readouterr().out.split("digest: ")[1].strip()
    assert main(["snapshot", "show", str(tmp_path / "s")]) == 0
    assert "index      engine pgvector 0.8.5, parameters (" in capsys.readouterr().out
    (tmp_path / "s" / "engine" / "pg" / "all.sql").write_bytes(b"COPy")
    assert main(["snapshot", "verify", str(tmp_path / "s"), "--digest", digest]) == 2
    assert "all.sql: differs" in capsys.readouterr().err


def test_query_vectors_can_be_frozen_beside_an_engines_files(lines, engine, vectors, tmp_path):
    assert files_of(lines, engine, tmp_path / "s", "--add", engine / "dump.sql", *vectors[2:]) == 0
    manifest = verify(tmp_path / "s")
    assert manifest.embedding == {"model": "m", "revision": "", "dimensions": 3, "dtype": "float32"}
    assert "query_vectors.npy" in manifest.files and "query_ids.json" in manifest.files


@pytest.mark.parametrize("kind", ["bm25", "dense"])
def test_retrievers_of_the_gate_refuse_an_engines_files_and_say_what_can_use_them(lines, engine, tmp_path, kind, capsys):
    files_of(lines, engine, tmp_path / "s", "--add", engine / "dump.sql")
    digest = read_manifest(tmp_path / "s").tree_digest
    (tmp_path / "g.jsonl").write_text('{"id": "q1", "query": "bees", "relevant": ["b"]}\n')
    (tmp_path / "c.yml").write_text(f"golden: g.jsonl\nsnapshot: {{path: s, digest: '{digest}'}}\nretriever: {{kind: {kind}}}\n")
    capsys.readouterr()
    assert main(["run", "--config", str(tmp_path / "c.yml")]) == 2
    out = "".join(capsys.readouterr())
    assert f"is a files snapshot, a {kind} retriever needs a {kind} one" in out and "set `retriever.kind`" in out


def test_what_a_snapshot_cannot_hold_is_refused_all_at_once(lines, engine, tmp_path, capsys):
    (engine / "chroma" / "link").symlink_to("/etc/hostname")
    os.mkfifo(engine / "chroma" / "pipe")
    assert files_of(lines, engine, tmp_path / "s", "--add", engine / "chroma", "--add", engine / "none", "--add",
                    f"{engine / 'dump.sql'}=../up", "--add", f"{engine / 'dump.sql'}=x", "--add", f"{lines}=x") == 2
    err = capsys.readouterr().err
    for words in ("link: is a symbolic link", "pipe: is neither a file nor a directory", "none: no such file", "leads out of the snapshot",
                  "has the same name in the snapshot, 'x'"):
        assert words in err
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(("more", "words"), [
    ([], "there is no file of an engine in it"), (["--add", "."], "written into what it is made of"),
    (["--add", "chroma", "--add", "dump.sql=chroma"], "has the name of a folder"),
    (["--add", "dump.sql", "--index", "m"], "is not KEY=VALUE"),
    (["--add", "dump.sql", "--index", "m=1", "--index", "m=2"], "its key was given before"),
    (["--add", "empty"], "no file in what --add names"),
    (["--add", "dump.sql", "--revision", "2"], "the embedding model has no name"),
    (["--add", "dump.sql", "--without-text"], "cannot be promised"),
    (["--add", "dump.sql", "--engine", " "], "which engine"),
])
def test_faults_of_an_order_for_files(lines, engine, tmp_path, monkeypatch, capsys, more, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert files_of(lines, engine, "s", *more) == 2
    assert words in capsys.readouterr().err


def test_an_empty_folder_is_told_because_it_cannot_be_kept(lines, engine, tmp_path, capsys):
    (engine / "chroma" / "wal").mkdir()
    assert files_of(lines, engine, tmp_path / "s", "--add", engine / "chroma") == 0
    assert f"warning: {engine / 'chroma' / 'wal'}: is empty" in capsys.readouterr().err


# names of results

def test_results_are_called_by_their_documents_when_that_is_asked(tmp_path):
    folder = write(tmp_path / "wiki", {"p.md": "# Page\n## Bees\nhoney\n## Ants\nhills"})
    assert build(folder, tmp_path / "s", "--kind", "bm25", "--doc", "document") == 0
    assert build(folder, tmp_path / "t", "--kind", "bm25") == 0
    from gate.golden.model import Query, Span

    plain, spanned = Query("q", "honey", {"p": 1.0}), Query("r", "honey", {}, spans=(Span("p", 0, 4, 1.0),))
    with Bm25Retriever(opened(tmp_path / "s")) as retriever:
        found = dict(retriever.retrieve([plain], 5))["q"]
    assert found.docs == ["p"] and found.chunks == [("p#bees", 15, 20)]
    assert opened(tmp_path / "s").titles()["p"] == "Page"
    with Bm25Retriever(opened(tmp_path / "t")) as retriever:
        answers = dict(retriever.retrieve([plain, spanned], 5))
    # Sections are what the golden set names: their rankings stay what the baselines hold, and get places where spans ask for them.
    assert answers["q"].docs == ["p#bees"] and answers["q"].chunks is None
    assert answers["r"].chunks == [("", 15, 20)]


def test_a_document_that_was_not_cut_is_all_of_its_characters(lines, tmp_path):
    from gate.golden.model import Query, Span
    from gate.snapshot.corpus import read_corpus

    build_bm25(read_corpus(lines), tmp_path / "s")
    with Bm25Retriever(opened(tmp_path / "s")) as retriever:
        found = dict(retriever.retrieve([Query("r", "honey", {}, spans=(Span("b", 0, 4, 1.0),))], 5))["r"]
    assert found.docs == ["b"] and found.chunks == [("", 0, 29)]


@pytest.mark.parametrize("change", [{"start": 3}, {"start": 5, "end": 2}, {"start": "0", "end": 3}, {"start": 0, "end": True}])
def test_places_that_are_none_are_refused(lines, tmp_path, change):
    from gate.snapshot.corpus import read_corpus
    from gate.snapshot.reader import Snapshot

    manifest = build_bm25(read_corpus(lines), tmp_path / "s")
    rows = units(tmp_path / "s")
    (tmp_path / "s" / "units.jsonl").write_text("".join(json.dumps(row | change) + "\n" for row in rows))
    with pytest.raises(InvalidInput, match="units.jsonl:1: `start` and `end` must be"):
        list(Snapshot(tmp_path / "s", manifest).units())


def test_the_units_that_are_cut_are_the_rows_that_a_build_wants(tmp_path):
    folder = write(tmp_path / "wiki", {"b.md": "# B\none two three four", "a.md": "# A\nfive"})
    more = ["--chunker", "fixed", "--size", 3]
    assert main(["snapshot", "cut", "--corpus", str(folder), "--out", str(tmp_path / "u.jsonl"), *map(str, more)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "u.jsonl").read_text().splitlines()]
    np.save(tmp_path / "v.npy", np.array([[len(row["text"]), 1] for row in rows], "float32"))
    assert build(folder, tmp_path / "s", "--kind", "dense", *more, "--vectors", tmp_path / "v.npy", "--model", "m") == 0
    assert {row["id"]: row for row in rows} == {unit["id"]: unit for unit in units(tmp_path / "s")}
    assert np.load(tmp_path / "s" / "vectors.npy")[:, 0].tolist() == [len(unit["text"]) for unit in units(tmp_path / "s")]


def test_lines_whose_ids_are_not_in_order_keep_their_vectors(lines, tmp_path):
    np.save(tmp_path / "v.npy", np.array([[2], [1], [3]], "float32"))  # b, a, c
    assert main(["snapshot", "cut", "--corpus", str(lines), "--out", str(tmp_path / "u.jsonl")]) == 0
    assert [json.loads(line)["id"] for line in (tmp_path / "u.jsonl").read_text().splitlines()] == ["b", "a", "c"]
    assert build(lines, tmp_path / "s", "--kind", "dense", "--vectors", tmp_path / "v.npy", "--model", "m") == 0
    assert np.load(tmp_path / "s" / "vectors.npy").ravel().tolist() == [1, 2, 3]


def test_labels_that_no_result_can_be_called_by_are_told(tmp_path, capsys):
    """The snapshot knows the page, but what is searched and returned are its sections: the query scores 0 for ever, on either side."""
    (tmp_path / "wiki").mkdir()
    write(tmp_path, {"wiki/vpn.md": "# VPN\n\nport\n\n## Setup\nclient\n", "wiki/mail.md": "# Mail\n\nserver\n"})
    assert main(["snapshot", "build", "--kind", "bm25", "--corpus", str(tmp_path / "wiki"), "--out", str(tmp_path / "snap")]) == 0
    labels = [{"id": "q1", "query": "port", "relevant": ["vpn"]}, {"id": "q2", "query": "server", "relevant": ["mail", "mail#intro"]},
              {"id": "q3", "query": "client", "relevant": ["vpn"], "split": "blind"}]
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    digest = read_manifest(tmp_path / "snap").tree_digest
    (tmp_path / "gate.yml").write_text(f"golden: golden.jsonl\nsnapshot: {{path: snap, digest: {digest}}}\nretriever: {{kind: bm25}}\n")
    capsys.readouterr()
    assert main(["run", "--config", str(tmp_path / "gate.yml"), "--tier", "release"]) == 0
    said = capsys.readouterr().out
    assert "golden.jsonl:1: document 'vpn' is never found by this name: results are called like 'vpn#" in said
    assert "a document of the blind query 'q3' is never found by this name" in said and "'q2'" not in said
