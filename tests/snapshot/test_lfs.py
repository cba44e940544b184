"""Git LFS pointers in the place of files: told as what they are, before any digest is compared."""

import pytest

from gate.cli import main
from gate.errors import InvalidInput
from gate.snapshot.verify import verify

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4" * 64 + b"\nsize 12345\n"


@pytest.mark.parametrize("names", [["manifest.json"], ["units.jsonl"], ["index/data.csc.index.npy", "units.jsonl"]])
@pytest.mark.parametrize("digest", [None, "sha256:" + "0" * 64])
def test_a_pointer_is_told_as_content_that_was_not_pulled(snapshot, names, digest):
    for name in names:
        (snapshot / name).write_bytes(POINTER)
    with pytest.raises(InvalidInput, match="Git LFS pointers in place of the files") as caught:
        verify(snapshot, digest)
    problem, = caught.value.problems
    assert all(name in problem for name in names) and "differs" not in problem
    assert "`lfs: true`" in caught.value.cure and "git lfs pull" in caught.value.cure


def test_many_are_counted_and_not_all_named(snapshot):
    for path in snapshot.rglob("*"):
        if path.is_file():
            path.write_bytes(POINTER)
    files = sum(path.is_file() for path in snapshot.rglob("*"))
    with pytest.raises(InvalidInput, match=rf"… \({files} files\)"):
        verify(snapshot)


def test_show_says_it_too(snapshot, capsys):
    (snapshot / "manifest.json").write_bytes(POINTER)
    assert main(["snapshot", "show", str(snapshot)]) == 2 and "the content was not pulled" in capsys.readouterr().err


@pytest.mark.parametrize("content", [POINTER + b"x" * 2000, b"\n" + POINTER, b"version https://example.org"])
def test_what_only_resembles_one_is_an_ordinary_difference(snapshot, content):
    (snapshot / "units.jsonl").write_bytes(content)
    with pytest.raises(InvalidInput, match="differs from the manifest"):
        verify(snapshot)
