"""A snapshot is held to the corpus that it says it was built from, by hand and in every run."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.changes import policy_changes
from gate.cli import main
from gate.errors import InvalidInput
from gate.settings import load_settings, policy_digest, policy_facts
from gate.snapshot.chunking import faults, from_facts
from gate.snapshot.files import measure
from gate.snapshot.manifest import NAME, UNITS, Manifest, read_manifest
from gate.snapshot.reader import open_snapshot
from gate.snapshot_settings import SnapshotSettings
from tests.snapshot.support import ROOT, write

PAGES = {"a.md": "# A\n## One\nbees\n## Two\nants", "b.md": "# B\nmoles", "c.txt": "voles"}


def build(corpus, out, *more, kind="bm25"):
    return main(["snapshot", "build", "--kind", kind, "--corpus", str(corpus), "--out", str(out), *map(str, more)])


def check(place, corpus):
    return main(["snapshot", "verify", str(place), "--corpus", str(corpus)])


@pytest.fixture
def wiki(tmp_path, capsys):
    write(tmp_path / "wiki", PAGES)
    assert build(tmp_path / "wiki", tmp_path / "s") == 0
    capsys.readouterr()
    return SimpleNamespace(path=tmp_path, wiki=tmp_path / "wiki", snapshot=tmp_path / "s")


def forge(folder, **lies):
    """Write the manifest that fits the files, as somebody would who wants another index to pass for the one of this corpus."""
    old = read_manifest(folder)
    facts = {key: getattr(old, key) for key in ("kind", "corpus_digest", "units", "documents", "index", "chunker", "embedding", "text")}
    files = {name: measure(folder / name) for name in old.files}
    manifest = Manifest(**facts | lies, files=files)
    (folder / NAME).write_text(json.dumps(manifest.to_json()))
    return manifest.tree_digest


def test_a_bm25_snapshot_is_built_again_from_its_corpus(wiki, capsys):
    assert check(wiki.snapshot, wiki.wiki) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].endswith("every file is as the manifest says") and out[-1].startswith("digest: sha256:")
    assert "is the corpus it was built from" in out[1] and "gives the same bytes" in out[1]


@pytest.mark.parametrize("more", [["--chunker", "fixed", "--size", "2", "--overlap", "1"], ["--chunker", "none"], ["--ids", "path"],
                                  ["--level", "1"], ["--max-size", "1", "--by", "chars", "--doc", "document"], ["--k1", "1", "--b", "0"]])
def test_however_it_was_built_the_manifest_says_enough_to_do_it_again(wiki, more):
    assert build(wiki.wiki, wiki.path / "t", *more) == 0 and check(wiki.path / "t", wiki.wiki) == 0
    (wiki.wiki / "b.md").write_text("# B\nmoles!")
    assert check(wiki.path / "t", wiki.wiki) == 2


def test_another_corpus_is_told_with_the_documents_that_differ(wiki, capsys):
    write(wiki.wiki, {"a.md": PAGES["a.md"] + "\nwasps", "new.md": "newts"})
    (wiki.wiki / "c.txt").unlink()
    assert check(wiki.snapshot, wiki.wiki) == 2
    err = capsys.readouterr().err
    assert f"{wiki.snapshot}: was not built from {wiki.wiki}" in err and "(other: a; new: new; gone: c)" in err
    assert "of 3 documents" in err and "build the snapshot again" in err


def test_a_declared_corpus_digest_is_not_believed(wiki, capsys):
    honest = read_manifest(wiki.snapshot).corpus_digest
    write(wiki.path / "other", {"a.md": "# A\n## One\nanswers for the golden set\n## Two\nants", "b.md": "# B\nmoles", "c.txt": "voles"})
    assert build(wiki.path / "other", wiki.path / "t") == 0
    forge(wiki.path / "t", corpus_digest=honest)
    capsys.readouterr()
    assert main(["snapshot", "verify", str(wiki.path / "t")]) == 0
    assert check(wiki.path / "t", wiki.wiki) == 2
    assert f"{UNITS} is not what its chunker makes of it (other: a)" in capsys.readouterr().err


def test_an_index_of_other_words_is_found_by_building_it_again(wiki, capsys):
    write(wiki.path / "other", PAGES | {"b.md": "# B\nanswers"})
    assert build(wiki.path / "other", wiki.path / "t") == 0
    (wiki.path / "t" / UNITS).write_bytes((wiki.snapshot / UNITS).read_bytes())
    forge(wiki.path / "t", corpus_digest=read_manifest(wiki.snapshot).corpus_digest)
    assert check(wiki.path / "t", wiki.wiki) == 2
    err = capsys.readouterr().err
    assert "building its index again from the corpus does not give the same (" in err and "index/vocab.index.json" in err


def test_a_corpus_that_cannot_be_read_or_cut_again_is_invalid(wiki, capsys):
    assert check(wiki.snapshot, wiki.path / "nowhere") == 2
    forge(wiki.snapshot, chunker={"kind": "semantic"})
    assert check(wiki.snapshot, wiki.wiki) == 2
    assert "which this gate cannot do again" in capsys.readouterr().err


@pytest.mark.parametrize("lie", [{"k1": "x"}, {"k1": 99}, {"method": None}, {}])
def test_a_manifest_that_does_not_say_how_its_index_was_made_is_invalid(wiki, lie, capsys):
    index = dict(read_manifest(wiki.snapshot).index)
    forge(wiki.snapshot, index=index | lie if lie else {})
    assert check(wiki.snapshot, wiki.wiki) == 2


def test_what_was_made_elsewhere_is_said_not_to_be_proven(wiki, capsys):
    np.save(wiki.path / "v.npy", np.eye(4, dtype="float32"))
    assert build(wiki.wiki, wiki.path / "t", "--vectors", wiki.path / "v.npy", "--model", "m", kind="dense") == 0
    assert check(wiki.path / "t", wiki.wiki) == 0
    assert "(vectors) is as it was frozen, and was not made again" in capsys.readouterr().out


def config(path, corpus="", digest=""):
    digest = digest or read_manifest(path / "s").tree_digest
    (path / "g.jsonl").write_text('{"id": "q", "query": "bees", "relevant": ["a#one"]}\n')
    (path / "c.yml").write_text(f"golden: g.jsonl\nsnapshot:\n  path: s\n  digest: {digest}\n" + (f"  corpus: {corpus}\n" if corpus else "")
                                + "retriever: {kind: bm25}\n")
    return path / "c.yml"


def test_a_run_computes_the_corpus_digest_itself_when_the_corpus_is_named(wiki, capsys):
    assert main(["run", "--config", str(config(wiki.path, "wiki"))]) == 0
    (wiki.wiki / "b.md").write_text("# B\nmoles and newts")
    assert main(["run", "--config", str(config(wiki.path, "wiki"))]) == 2
    assert "was not built from" in "".join(capsys.readouterr())
    assert main(["run", "--config", str(config(wiki.path))]) == 0


def test_a_snapshot_with_a_forged_corpus_digest_stops_a_run_that_knows_the_corpus(wiki):
    write(wiki.path / "other", PAGES | {"b.md": "# B\nanswers"})
    honest = read_manifest(wiki.snapshot).corpus_digest
    assert build(wiki.path / "other", wiki.path / "t") == 0
    pin = SnapshotSettings(wiki.path / "t", forge(wiki.path / "t", corpus_digest=honest), corpus=wiki.wiki)
    with pytest.raises(InvalidInput, match="is not what its chunker makes of it"):
        open_snapshot(pin)
    assert open_snapshot(SnapshotSettings(pin.path, pin.digest)).manifest.corpus_digest == honest


def test_taking_the_corpus_out_of_the_configuration_needs_an_approval(wiki):
    with_corpus = load_settings(config(wiki.path, "./wiki"))
    without = load_settings(config(wiki.path))
    change, = policy_changes(policy_facts(with_corpus), policy_facts(without))
    assert change.needs_approval and (change.name, change.old) == ("policy snapshot corpus", "wiki")
    # Records from before the setting existed have no row for it, and keep their digest.
    assert "snapshot corpus" not in policy_facts(without) and policy_digest(without) != policy_digest(with_corpus)


def test_a_corpus_outside_of_the_repository_is_refused(wiki):
    with pytest.raises(InvalidInput, match="leads out of the repository"):
        load_settings(config(wiki.path, "../wiki"), root=wiki.path)


def test_the_example_can_be_built_again_from_its_wiki(capsys):
    """It was built before there were other chunkers: what they brought has changed no byte of an older snapshot."""
    assert check(ROOT / "examples" / "snapshot", ROOT / "examples" / "wiki") == 0
    assert "gives the same bytes" in capsys.readouterr().out


WORDS = st.sampled_from(["fixed", "heading", "none", "words", "chars", "stem", "document"])
JSON = st.recursive(st.none() | st.booleans() | st.integers(-2, 9) | WORDS, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
KEYS = st.sampled_from(["kind", "ids", "size", "max_size", "overlap", "by", "level", "doc", "other"])


SENSIBLE = st.fixed_dictionaries({"kind": WORDS}, optional={
    "ids": WORDS, "doc": WORDS, "by": WORDS, "level": st.integers(1, 6), "size": st.integers(0, 9), "max_size": st.integers(0, 9),
    "overlap": st.integers(0, 3)})


@given(st.dictionaries(KEYS, JSON, max_size=6) | SENSIBLE)
def test_whatever_a_manifest_says_of_its_chunker_it_is_cut_so_or_refused(facts):
    try:
        how, ids = from_facts(facts)
    except InvalidInput:
        return
    assert not faults(how) and ids == facts.get("ids", "stem") and from_facts(how.facts() | {"ids": ids}) == (how, ids)
