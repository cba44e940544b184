"""A repository whose snapshot is held to its corpus: what a pull request can change, and what it is told."""

import json

import pytest

from gate.snapshot.build import build_files
from gate.snapshot.chunking import Chunking
from gate.snapshot.corpus import read_corpus
from gate.snapshot.files import measure
from gate.snapshot.manifest import NAME, Manifest, read_manifest
from tests.fake_github import GATE_PATH
from tests.story import CONFIG, N, Story, golden, lines, run


def pages(**changed):
    texts = {f"d{n}": f"page number {n} of this wiki" for n in range(N)} | changed
    return lines({"_id": name, "text": text} for name, text in texts.items())


class Bench:
    """Builds snapshots of an engine whose file is plain text."""

    def __init__(self, tmp_path):
        self.tmp, self.built = tmp_path, 0

    def snapshot(self, corpus, size=0, claims=None, keep=True):
        """The files of a pull request: a snapshot of ``corpus``, its pin, and whether the configuration names the corpus. ``claims``: the
        corpus whose digest the manifest says instead."""
        self.built += 1
        folder = self.tmp / f"built-{self.built}"
        folder.mkdir()
        (folder / "corpus.jsonl").write_text(corpus)
        (folder / "dump.sql").write_text("COPY docs")
        how = Chunking("fixed", size=size) if size else Chunking()
        build_files(read_corpus(folder / "corpus.jsonl", how), [(folder / "dump.sql", "dump.sql")], folder / "s", engine="pgvector 0.8.5",
                    parameters={"m": 16})
        if claims is not None:
            (folder / "corpus.jsonl").write_text(claims)
            self.forge(folder / "s", read_corpus(folder / "corpus.jsonl").digest)
        files = {f"snapshot/{path.relative_to(folder / 's')}": path.read_text() for path in (folder / "s").rglob("*") if path.is_file()}
        pin = f"snapshot:\n  path: snapshot\n  digest: {read_manifest(folder / 's').tree_digest}\n"
        return files | {"retrieval-gate.yml": CONFIG + pin + ("  corpus: corpus.jsonl\n" if keep else "")}

    def forge(self, folder, digest):
        old = read_manifest(folder)
        facts = {key: getattr(old, key) for key in ("kind", "units", "documents", "index", "chunker", "embedding", "text")}
        manifest = Manifest(**facts, corpus_digest=digest, files={name: measure(folder / name) for name in old.files})
        (folder / NAME).write_text(json.dumps(manifest.to_json()))


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.fixture
def held(fake, tmp_path, capsys, bench):
    base = {"golden.jsonl": golden(), "run.jsonl": run(), GATE_PATH: "name: gate\n", "corpus.jsonl": pages()}
    story = Story(fake, tmp_path, capsys, base | bench.snapshot(pages()))
    assert story.on_push().code == 0
    return story


def test_a_page_that_is_edited_without_a_new_snapshot_is_told_by_name(held):
    pr = held.pull({"corpus.jsonl": pages(d7="rewritten")})
    assert held.on_pull(pr, "opened").code == 2
    (comment,) = held.comments(pr)
    assert "was not built from" in comment and "other: d7" in comment


def test_with_a_new_snapshot_an_edited_page_is_a_change_of_the_corpus_that_needs_an_approval(held, bench):
    corpus = pages(d7="rewritten")
    pr = held.pull({"corpus.jsonl": corpus} | bench.snapshot(corpus))
    outcome = held.on_pull(pr, "opened")
    failed = [check["name"] for check in outcome.report["checks"] if check["outcome"] == "fail"]
    assert (outcome.code, failed) == (1, ["change corpus digest"])
    held.approve(pr)
    assert held.on_pull(pr).code == 0


def test_other_chunks_of_the_same_corpus_are_what_is_under_test(held, bench):
    outcome = held.on_pull(held.pull(bench.snapshot(pages(), size=3)), "opened")
    assert (outcome.code, outcome.verdict) == (0, "pass")
    assert [change["name"] for change in outcome.report["input_changes"]] == ["index over the same corpus"]


def test_a_snapshot_that_claims_the_corpus_and_holds_another_is_invalid(held, bench):
    outcome = held.on_pull(held.pull(bench.snapshot(pages(d7="the answer to every golden query"), claims=pages())), "opened")
    assert outcome.code == 2 and "is not what its chunker makes of it (other: d7)" in json.dumps(outcome.report, ensure_ascii=False)


def test_taking_the_corpus_out_of_the_configuration_to_hide_it_needs_an_approval(held, bench):
    pr = held.pull(bench.snapshot(pages(d7="the answer to every golden query"), claims=pages(), keep=False))
    outcome = held.on_pull(pr, "opened")
    assert outcome.code == 1 and "change policy snapshot corpus" in [check["name"] for check in outcome.report["checks"]]
