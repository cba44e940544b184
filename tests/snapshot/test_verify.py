"""A snapshot that differs from what is pinned never yields a number, and every file that differs is named."""

import json
import os

import pytest

from gate.errors import InvalidInput
from gate.settings import SnapshotSettings
from gate.snapshot.manifest import parse, unsafe_path
from gate.snapshot.reader import open_snapshot
from gate.snapshot.verify import verify
from tests.snapshot.support import opened

VECTOR = "index/data.csc.index.npy"


def problems(directory, expected=None):
    with pytest.raises(InvalidInput) as caught:
        verify(directory, expected)
    assert caught.value.cure
    return [problem.replace(f"{directory}/", "") for problem in caught.value.problems]


def test_an_untouched_snapshot_passes(snapshot):
    assert verify(snapshot, verify(snapshot).tree_digest).kind == "bm25"


def test_changed_missing_and_additional_files_are_all_named(snapshot):
    path = snapshot / VECTOR
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    (snapshot / "index" / "vocab.index.json").unlink()
    (snapshot / "units.jsonl").open("a").write("{}\n")
    (snapshot / "more.txt").write_text("x")
    found = problems(snapshot)
    assert len(found) == 4
    assert found[0].startswith(f"{VECTOR}: differs from the manifest (sha256 ")
    assert found[1] == "index/vocab.index.json: is missing"
    assert found[2].startswith("units.jsonl: differs from the manifest (larger than ")
    assert found[3] == "more.txt: is not listed in the manifest"


def test_a_cut_file_is_named_with_its_size(snapshot):
    path = snapshot / VECTOR
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-4])
    assert problems(snapshot) == [f"{VECTOR}: differs from the manifest ({size - 4} of {size} bytes)"]


def test_another_snapshot_than_the_pinned_one_shows_both_digests_and_the_cure(snapshot):
    real, pinned = verify(snapshot).tree_digest, "sha256:" + "0" * 64
    with pytest.raises(InvalidInput) as caught:
        open_snapshot(SnapshotSettings(snapshot, pinned))
    assert real in caught.value.problems[0] and pinned in caught.value.problems[0]
    assert f"set `snapshot.digest` to {real}" in caught.value.cure


def test_a_digest_given_as_an_option_is_spoken_of_as_one(snapshot):
    with pytest.raises(InvalidInput) as caught:
        verify(snapshot, "sha256:" + "0" * 64, option=True)
    assert "that --digest names" in str(caught.value) and "configuration" not in str(caught.value)


@pytest.mark.parametrize("digest", ["", "abc", "0" * 64, "sha256:" + "0" * 63, "sha256:" + "G" * 64, "sha256:" + "0" * 64 + "\n"])
def test_an_option_that_is_no_digest_is_told_its_form(snapshot, digest):
    with pytest.raises(InvalidInput, match="--digest must be sha256: and 64 hex digits"):
        verify(snapshot, digest, option=True)


def test_the_pin_is_looked_at_before_any_file_is(snapshot):
    (snapshot / "units.jsonl").unlink()
    assert "pins sha256:" in problems(snapshot, "sha256:" + "0" * 64)[0]


@pytest.mark.parametrize("place", ["units.jsonl", VECTOR, "extra", "index"])
def test_symbolic_links_are_refused_even_to_the_right_bytes(snapshot, tmp_path, place):
    path = snapshot / place
    if path.exists():
        path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert any(f"{place}: is a symbolic link" in problem for problem in problems(snapshot))


def test_the_manifest_may_not_be_a_link_either(snapshot, tmp_path):
    (snapshot / "manifest.json").rename(tmp_path / "manifest.json")
    (snapshot / "manifest.json").symlink_to(tmp_path / "manifest.json")
    with pytest.raises(InvalidInput, match="is a symbolic link"):
        verify(snapshot)


@pytest.mark.parametrize("place", ["pipe", "units.jsonl", "manifest.json"])
def test_named_pipes_are_refused_without_waiting_for_a_writer(snapshot, place):
    (snapshot / place).unlink(missing_ok=True)
    os.mkfifo(snapshot / place)
    with pytest.raises(InvalidInput, match="neither a file nor a directory|is not a regular file"):
        verify(snapshot)


def edited(snapshot, **changes):
    path = snapshot / "manifest.json"
    value = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: item for key, item in value.items() if item is not ...}))
    return value


def test_a_manifest_that_was_edited_is_refused(snapshot):
    edited(snapshot, index={"k1": 9.0})
    assert "changed after it was written" in problems(snapshot)[0]


@pytest.mark.parametrize(("changes", "words"), [
    ({"kind": "magic"}, "kind 'magic' must be one of bm25, dense"),
    ({"units": True}, "`units` has the wrong type"),
    ({"units": -1}, "`units` must not be negative"),
    ({"corpus_digest": ...}, "`corpus_digest` is missing"),
    ({"tree_digest": "md5:1"}, "`tree_digest` must be sha256:"),
    ({"surprise": 1}, "unknown key 'surprise'"),
    ({"schema": 2}, "written by a newer gate"),
    ({"files": {}}, "`files` lacks units.jsonl"),
    ({"files": {"units.jsonl": {"sha256": "x", "bytes": 1}}}, "needs `sha256` (64 hex digits) and `bytes`"),
])
def test_every_fault_of_a_manifest_is_named(snapshot, changes, words):
    edited(snapshot, **changes)
    assert any(words in problem for problem in problems(snapshot))


@pytest.mark.parametrize("path", ["", ".", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a\\b", "a\nb", "a\0",
                                  "manifest.json", "x" * 501])
def test_paths_that_lead_out_or_pretend_are_refused(snapshot, path):
    assert unsafe_path(path)
    edited(snapshot, files={path: {"sha256": "0" * 64, "bytes": 0}})
    assert any(problem.startswith("manifest.json: path ") for problem in problems(snapshot))


@pytest.mark.parametrize("path", ["units.jsonl", "index/a.npy", "ä/ö.bin", "..hidden", "a..b"])
def test_plain_paths_are_accepted(path):
    assert not unsafe_path(path)


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"{", b"[" * 100_000, b'{"schema": NaN}', b"9" * 5000])
def test_bytes_that_are_no_manifest_are_invalid_input(data):
    with pytest.raises(InvalidInput):
        parse(data, "manifest.json")


def test_a_number_that_json_allows_and_no_float_holds_is_invalid_input(snapshot):
    edited(snapshot, index={"k1": 1e308})
    text = (snapshot / "manifest.json").read_text().replace("1e+308", "1e999")
    with pytest.raises(InvalidInput, match="not finite"):
        parse(text.encode(), "manifest.json")


def test_a_directory_that_is_not_there_says_where_to_look(tmp_path):
    with pytest.raises(InvalidInput, match="no such snapshot directory"):
        verify(tmp_path / "none")


def test_units_that_do_not_fit_the_manifest_are_refused(snapshot):
    found = opened(snapshot)
    (snapshot / "units.jsonl").write_text('{"id":"a","doc":"a","title":"","text":""}\n')
    with pytest.raises(InvalidInput, match=r"holds 1 units .* the manifest says 3"):
        _ = found.ids
