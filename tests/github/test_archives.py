from __future__ import annotations

import contextlib
import io
import stat
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.github.archives import BadArchive, Caps, make_zip, read_zip

FILES = {"manifest.json": b"{}", "record.json.gz": b"\x1f\x8b" + bytes(range(256))}
NAMES = tuple(FILES)


def zipped(*entries, **options) -> bytes:
    """Entries: (name or ZipInfo, bytes)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return out.getvalue()


def entry(name, mode=0, method=zipfile.ZIP_STORED):
    made = zipfile.ZipInfo(name)
    made.external_attr, made.compress_type = mode << 16, method
    return made


def test_what_is_packed_comes_back():
    assert read_zip(make_zip(FILES), NAMES) == FILES


def test_equal_content_gives_equal_bytes():
    assert make_zip(FILES) == make_zip(dict(reversed(FILES.items())))


def test_entries_that_nobody_asked_for_are_left_alone():
    assert read_zip(make_zip({**FILES, "later.txt": b"x"}), ("manifest.json",)) == {"manifest.json": b"{}"}


def test_a_missing_file_is_named():
    with pytest.raises(BadArchive, match=r"artifact 7: holds no record\.json\.gz"):
        read_zip(make_zip({"manifest.json": b"{}"}), NAMES, name="artifact 7")


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x", "a/../x", "a//b", "dir/", "a\\..\\x", "C:/x", "C:x", "./a", "a\0b", ".."]
)
def test_names_that_could_lead_out_of_a_directory_are_refused(name):
    data = zipped((entry("manifest.json"), b"{}"), (entry("Z" * len(name)), b"x"))
    data = data.replace(b"Z" * len(name), name.encode())
    with pytest.raises(BadArchive, match="could lead out"):
        read_zip(data, ("manifest.json",))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_is_refused():
    with pytest.raises(BadArchive, match="there twice"):
        read_zip(zipped(("manifest.json", b"1"), ("manifest.json", b"2")), ("manifest.json",))


@pytest.mark.parametrize("mode", [stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755, stat.S_IFCHR | 0o644, stat.S_IFIFO | 0o644])
def test_links_directories_and_devices_are_refused(mode):
    with pytest.raises(BadArchive, match="not a file"):
        read_zip(zipped((entry("manifest.json", mode), b"/etc/passwd")), ("manifest.json",))


def test_an_encrypted_entry_is_refused():
    data = bytearray(zipped((entry("manifest.json"), b"{}")))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(BadArchive, match="encrypted"):
        read_zip(bytes(data), ("manifest.json",))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_cannot_be_inflated_bit_by_bit_are_refused(method):
    with pytest.raises(BadArchive, match="method"):
        read_zip(zipped((entry("manifest.json", method=method), b"{}" * 99)), ("manifest.json",))


def test_too_many_entries_are_refused_before_they_are_looked_at():
    data = zipped(*((f"f{number}", b"") for number in range(40)))
    with pytest.raises(BadArchive, match="40 entries"):
        read_zip(data, ("f0",))
    many = zipped(*((f"f{number}", b"") for number in range(3000)))
    with pytest.raises(BadArchive, match="its directory has"):
        read_zip(many, ("f0",))


def bomb(size: int) -> bytes:
    return zipped((entry("manifest.json", method=zipfile.ZIP_DEFLATED), b"\0" * size))


def test_a_bomb_is_stopped_by_its_ratio_however_small_it_is():
    with pytest.raises(BadArchive, match="inflates to more than"):
        read_zip(bomb(40 * 1024**2), ("manifest.json",))


def test_a_bomb_that_lies_about_its_size_is_stopped_while_inflating():
    data = bytearray(bomb(40 * 1024**2))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<L", data, data.index(signature) + offset, 10)
    with pytest.raises(BadArchive):
        read_zip(bytes(data), ("manifest.json",))


def test_each_file_and_all_together_have_a_cap():
    data = make_zip({"a": bytes(range(256)) * 40, "b": bytes(range(256)) * 40})
    with pytest.raises(BadArchive, match="more than 10000 bytes"):
        read_zip(data, ("a",), Caps(file=10_000))
    with pytest.raises(BadArchive, match="inflates to more than"):
        read_zip(data, ("a", "b"), Caps(total=15_000))
    assert read_zip(data, ("a", "b"), Caps(total=30_000))


def test_a_directory_hidden_behind_a_comment_or_in_zip64_is_refused():
    """zipfile would look for the central directory there, past our look at its size."""
    whole = zipped(*((f"f{number}", b"") for number in range(3000)))
    comment = whole[:-2] + struct.pack("<H", 22) + b"PK\x05\x06" + b"\0" * 18
    with pytest.raises(BadArchive):
        read_zip(comment, ("f0",))
    with pytest.raises(BadArchive, match="behind its end"):
        read_zip(whole[:-2] + struct.pack("<H", 1) + b"x", ("f0",))
    small = make_zip(FILES)
    with pytest.raises(BadArchive, match="zip64"):
        read_zip(small[:-22] + b"PK\x06\x07" + b"\0" * 16 + small[-22:], NAMES)


@pytest.mark.parametrize(
    "damage", [lambda d: b"", lambda d: d[:-5], lambda d: d[:40], lambda d: d + b"x", lambda d: b"PK" + b"x" * 60]
)
def test_a_cut_or_foreign_file_is_no_zip(damage):
    with pytest.raises(BadArchive):
        read_zip(damage(make_zip(FILES)), NAMES)


def test_a_flipped_bit_is_noticed():
    data = bytearray(make_zip(FILES))
    data[data.index(FILES["record.json.gz"]) + 100] ^= 1
    with pytest.raises(BadArchive):
        read_zip(bytes(data), NAMES)


@given(st.binary(max_size=300), st.integers(0, 200))
def test_no_bytes_raise_anything_but_bad_archive(noise, place):
    whole = make_zip(FILES)
    for data in (noise, whole[:place] + noise + whole[place + len(noise) :]):
        with contextlib.suppress(BadArchive):
            read_zip(data, NAMES)
