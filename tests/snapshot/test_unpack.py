"""Archives of strangers: what is written is what they say in plain words, and nothing else, nowhere else."""

import errno
import gzip
import io
import os
import stat
import struct
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.errors import SnapshotUnavailable
from gate.snapshot.entries import BadArchive, Caps
from gate.snapshot.unpack import unpack

FILES = {"manifest.json": b"{}", "index/a.npy": b"x" * 3000, "index/deep/b": b"", "n" * 120 + "/" + "m" * 120: b"long", "größe.txt": b"y"}


def tar(entries, mode="w:gz", **how) -> bytes:
    """``entries``: (name, bytes) or (TarInfo, bytes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, **how) as archive:
        for name, data in entries:
            entry = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            entry.size = entry.size or len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


def zipped(entries, method=zipfile.ZIP_DEFLATED) -> bytes:
    """``entries``: (name or ZipInfo, bytes)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return out.getvalue()


class Place:
    """A folder to unpack to, with a neighbour that must stay as it is."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.into, self.archive = folder, folder / "into", folder / "archive"
        self.into.mkdir()
        (folder / "neighbour").write_text("mine")

    def unpack(self, data: bytes, **how) -> dict[str, bytes]:
        self.archive.write_bytes(data)
        unpack(self.archive, self.into, "the archive", **how)
        return self.found()

    def found(self) -> dict[str, bytes]:
        return {path.relative_to(self.into).as_posix(): path.read_bytes() for path in sorted(self.into.rglob("*")) if path.is_file()}

    def refused(self, data: bytes, **how) -> str:
        with pytest.raises(BadArchive) as caught:
            self.unpack(data, **how)
        assert caught.value.exit_code == 2 and caught.value.cure and caught.value.problems[0].startswith("the archive: ")
        self.check()
        return caught.value.problems[0]

    def check(self) -> None:
        assert {path.name for path in self.folder.iterdir()} == {"into", "archive", "neighbour"}
        assert (self.folder / "neighbour").read_text() == "mine"
        for path in self.into.rglob("*"):
            assert stat.S_IFMT(path.lstat().st_mode) in (stat.S_IFREG, stat.S_IFDIR)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "place").mkdir()
    return Place(tmp_path / "place")


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_tars_are_unpacked(place, form, mode):
    entries = [(special("index/", tarfile.DIRTYPE), b""), (special("./", tarfile.DIRTYPE), b""), *FILES.items()]
    assert place.unpack(tar(entries, mode, format=form, pax_headers={"comment": "x"} if form == tarfile.PAX_FORMAT else None)) == FILES


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zips_are_unpacked(place, method):
    assert place.unpack(zipped([("index/", b""), *FILES.items()], method)) == FILES


def test_a_zip_with_a_comment_and_one_in_64_bits_are_unpacked(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.comment = b"made by hand"
        with archive.open("a", "w", force_zip64=True) as stream:
            stream.write(b"x")
    (tmp_path / "p").mkdir()
    assert Place(tmp_path / "p").unpack(out.getvalue()) == {"a": b"x"}


def test_what_is_not_below_the_wanted_folder_is_not_looked_at(place):
    entries = [("repo-abc/README", b"r"), (special("repo-abc/link", tarfile.SYMTYPE, "/etc"), b""), ("repo-abc/a/snap2/x", b"no"),
               ("repo-abc/a/snap/x", b"yes"), ("repo-abc/a/snap/d/y", b"too")]
    assert place.unpack(tar(entries), drop=1, within="a/snap") == {"x": b"yes", "d/y": b"too"}


BAD_NAMES = ["../x", "/x", "a/../../x", "a//b", "a/./b", "a\\b", "..", "a\nb", "a\x7fb", "\u202ex", "x" * 600, "a/" + "y" * 300]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_lead_elsewhere_or_cannot_be_shown_are_refused_in_a_tar(place, name):
    place.refused(tar([("good", b"1"), (name, b"2")]))


@pytest.mark.parametrize("name", [*BAD_NAMES, "a\0b", ""])
def test_names_that_lead_elsewhere_or_cannot_be_shown_are_refused_in_a_zip(place, name):
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = entry.orig_filename = name
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(entry, b"2")
    place.refused(out.getvalue())


@pytest.mark.parametrize(("kind", "words"), [
    (tarfile.SYMTYPE, "a symbolic link"), (tarfile.LNKTYPE, "a hard link"), (tarfile.CHRTYPE, "a device"), (tarfile.BLKTYPE, "a device"),
    (tarfile.FIFOTYPE, "a named pipe"), (tarfile.GNUTYPE_SPARSE, ""), (b"Q", "of an unknown type"),
    (tarfile.CONTTYPE, "of an unknown type")])
def test_what_is_neither_file_nor_folder_is_refused_in_a_tar(place, kind, words):
    assert words in place.refused(tar([("a", b"1"), (special("b", kind, "../neighbour"), b"")]))


@pytest.mark.parametrize(("mode", "words"), [(stat.S_IFLNK, "a symbolic link"), (stat.S_IFCHR, "a device"), (stat.S_IFIFO, "a named pipe"),
                                             (stat.S_IFDIR, "a folder with the name of a file")])
def test_what_is_neither_file_nor_folder_is_refused_in_a_zip(place, mode, words):
    entry = zipfile.ZipInfo("b")
    entry.create_system, entry.external_attr = 3, (mode | 0o777) << 16
    assert words in place.refused(zipped([(entry, b"../neighbour")]))


def test_a_file_behind_a_link_of_the_same_archive_is_never_written(place):
    place.refused(tar([(special("out", tarfile.SYMTYPE, ".."), b""), ("out/neighbour", b"theirs")]))


@pytest.mark.parametrize("names", [("a", "a"), ("a", "./a"), ("a", "a/b"), ("a/b", "a"), ("a/b/c", "a/b")])
@pytest.mark.parametrize("pack", [tar, zipped])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_are_there_twice_are_refused(place, names, pack):
    assert "is there twice" in place.refused(pack([(name, b"1") for name in names]))


def test_names_that_are_not_utf_8_are_refused(place):
    assert "not UTF-8" in place.refused(tar([("gr\udcf6sse", b"")], format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"))


def test_names_that_are_not_utf_8_are_refused_in_a_zip(place):
    data = zipped([("größe", b"x")])
    data = data.replace("größe".encode(), b"gr\xf6\xf6sse")
    assert "not UTF-8" in place.refused(data)
    for path in place.into.iterdir():
        path.unlink()
    flagless = bytearray(data)
    for at in (data.index(b"PK\3\4") + 6, data.index(b"PK\1\2") + 8):
        flagless[at:at + 2] = struct.pack("<H", struct.unpack("<H", flagless[at:at + 2])[0] & ~0x800)
    assert "not UTF-8" in place.refused(bytes(flagless))


@pytest.mark.parametrize("pack", [tar, zipped])
def test_too_many_files_and_entries_are_refused(place, pack):
    entries = [(f"f{n}", b"") for n in range(12)]
    assert "more than 10 files" in place.refused(pack(entries), caps=Caps(files=10))
    assert "more than 10 entries" in place.refused(pack(entries), within="elsewhere", caps=Caps(entries=10))


SMALL = Caps(total=10 * 1024**2, ratio=100, free=1024**2)


@pytest.mark.parametrize("pack", [tar, zipped])
@pytest.mark.parametrize("within", ["", "elsewhere"])
def test_bombs_are_stopped_while_they_inflate(place, pack, within):
    bomb = pack([("zeros", b"\0" * (64 * 1024**2))])
    if pack is zipped and within:  # what is not wanted of a zip is not inflated at all
        assert place.unpack(bomb, within=within, caps=SMALL) == {}
        return
    assert "inflates to more than" in place.refused(bomb, within=within, caps=SMALL)
    assert sum(path.stat().st_size for path in place.into.rglob("*")) <= SMALL.total


def test_a_bomb_of_many_overlapping_entries_is_stopped(place):
    """One kernel of data, and a directory that names it again and again."""
    one = zipped([("aaaa", b"\0" * 4 * 1024**2)])
    start = one.index(b"PK\1\2")
    end = one.index(b"PK\5\6")
    entry = one[start:end]
    many = b"".join(entry.replace(b"aaaa", b"%04d" % n) for n in range(50))
    tail = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 50, 50, len(many), start, 0)
    place.refused(one[:start] + many + tail, caps=SMALL)
    assert sum(path.stat().st_size for path in place.into.rglob("*")) <= SMALL.total


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_of_gigabytes_takes_no_memory(place, kind):
    header = special("x", kind)
    header.size = 4 * 1024**3
    assert "what precedes an entry" in place.refused(gzip.compress(header.tobuf() + b"\0" * 1024**2))


def test_headers_without_end_are_stopped(place):
    """Each is small, and says that another header follows."""
    body = b"12 path=abc\n".ljust(512, b"\0")
    header = special("x", tarfile.XHDTYPE)
    header.size = 12
    place.refused(gzip.compress((header.tobuf() + body) * 5000))


def test_a_directory_that_is_larger_than_any_is_refused_before_it_is_read(place):
    data = bytearray(zipped([("a", b"x")]))
    data[-10:-6] = struct.pack("<L", 20 * 1024**2)
    assert "its directory has 20971520 bytes" in place.refused(bytes(data))


def test_encrypted_and_oddly_packed_entries_are_refused(place):
    data = bytearray(zipped([("a", b"x")]))
    at = data.index(b"PK\1\2") + 8
    data[at] |= 1
    assert "encrypted" in place.refused(bytes(data))
    assert "by a method" in place.refused(zipped([("a", b"x")], zipfile.ZIP_BZIP2))


@pytest.mark.parametrize(("data", "words"), [
    (b"", "neither a tar"), (b"hello", "neither a tar"), (b"\n <!DOCTYPE html>", "a web page"), (b"\x28\xb5\x2f\xfd1234", "zstd"),
    (b"\x1f\x8b", ""), (b"PK\3\4", "not a zip, or cut"), (b"\x1f\x8b\x08\0\0\0\0\0\0\xff", "")])
def test_what_is_no_archive_is_called_what_it_is(place, data, words):
    assert words in place.refused(data)


@pytest.mark.parametrize("pack", [tar, zipped])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_cut_archive_is_refused(place, pack, share):
    data = pack([("a", os.urandom(20_000)), ("b", os.urandom(20_000))])
    place.refused(data[:int(len(data) * share)])


@pytest.mark.parametrize("call", ["open", "mkdir"])
def test_a_disk_without_room_for_a_name_is_not_the_archives_fault(place, monkeypatch, call):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(SnapshotUnavailable, match=r"cannot be written \(No space left on device\)"):
        place.unpack(tar([("index/a", b"x")]))


@pytest.mark.parametrize("pack", [tar, zipped])
def test_files_are_plain_whatever_the_archive_says_of_their_mode_and_owner(place, pack):
    if pack is tar:
        entry = tarfile.TarInfo("a")
        entry.mode, entry.uid = 0o6777, 4711
    else:
        entry = zipfile.ZipInfo("a")
        entry.external_attr = (stat.S_IFREG | 0o6777) << 16
    place.unpack(pack([(entry, b"x")]))
    found = (place.into / "a").stat()
    assert not found.st_mode & 0o7111 and found.st_uid == os.geteuid()


names = st.text(st.sampled_from("ab./\\-é\n"), min_size=1, max_size=8)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@example(entries=[("é/", tarfile.REGTYPE, b"")], plain=False)
@given(entries=st.lists(st.tuples(names, st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE]),
                                  st.binary(max_size=20)), max_size=5), plain=st.booleans())
def test_whatever_the_names_are_nothing_is_written_outside(entries, plain):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "p").mkdir()
        place = Place(Path(folder) / "p")
        packed = tar([(special(name, kind, "../neighbour"), data if kind == tarfile.REGTYPE else b"") for name, kind, data in entries])
        if plain:
            packed = zipped([(name, data) for name, _, data in entries])
        try:
            found = place.unpack(packed)
        except BadArchive:
            found = {}
        place.check()
        # A slash at the end of a file's name is taken off by tarfile where the name stands in a header of its own.
        asked = {raw.rstrip("/") for raw, _, _ in entries}
        assert all(name in asked | {raw.lstrip("./") for raw in asked} for name in found)
