"""Where snapshots come from: settings of sources, and archives that are almost whole."""

from __future__ import annotations

import gzip
import io
import shutil
import stat
import tarfile
import zipfile
from functools import partial

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gate.settings import parse_settings
from gate.snapshot.entries import Caps
from gate.snapshot.unpack import unpack
from tests.fuzz.mutate import damaged, fuzz, mutated, typed

HEX = "0" * 64
SOURCES = {
    "git": {"url": "https://github.com/acme/search", "commit": "a" * 40, "path": "snapshots/wiki", "token": "${DATA_TOKEN}", "max_mb": 5},
    "https": {"url": "https://example.com/s.tar.gz", "sha256": HEX, "headers": {"Authorization": "Bearer ${KEY}", "X-A": "b"}, "max_mb": 9},
    "release": {"repository": "acme/search", "tag": "v1", "asset": "s.zip", "sha256": HEX, "token": "${DATA_TOKEN}"},
    "artifact": {"name": "snapshot", "workflow": "build.yml", "branch": "main", "repository": "acme/search"},
    "image": {"image": f"ghcr.io/acme/search@sha256:{HEX}", "path": "/snapshot", "max_mb": 7}}
FILES = {"s/manifest.json": b"{}" * 30, "s/index/vectors.npy": bytes(range(256)) * 8, "s/größe": b"", "s/" + "n" * 120: b"long"}
CAPS = Caps(entries=100, files=50, total=4 * 1024**2, ratio=50, free=1024**2)


def config(source) -> bytes:
    value = {"golden": "g.jsonl", "retriever": {"kind": "bm25"}, "snapshot": {"digest": f"sha256:{HEX}", "source": source}}
    return yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "replace")


@pytest.mark.parametrize("kind", SOURCES)
def test_what_the_fuzz_starts_from_is_valid(kind):
    assert parse_settings(config({kind: SOURCES[kind]}), "c.yml", "c.yml").snapshot.source.kind == kind


@pytest.mark.parametrize("kind", SOURCES)
@fuzz
@given(data=st.data())
def test_settings_of_a_source(kind, data):
    found = typed(parse_settings, config(data.draw(mutated({kind: SOURCES[kind]}))), "c.yml", "c.yml")
    if found is not None and found.snapshot is not None and found.snapshot.source is not None:
        assert "\n" not in found.snapshot.source.options.shown



def tar(form: int, plain: bool = False) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w" if plain else "w:gz", format=form) as archive:
        for name, data in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in FILES.items():
            archive.writestr(name, data)
    return out.getvalue()


ARCHIVES = {"tar.gz": tar(tarfile.PAX_FORMAT), "gnu": tar(tarfile.GNU_FORMAT, plain=True), "pax": tar(tarfile.PAX_FORMAT, plain=True),
            "zip": zipped()}


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    return tmp_path_factory.mktemp("archives")


def unpacked(room, data: bytes) -> dict[str, bytes]:
    """What was written, after a look at everything that is there now."""
    into = room / "into"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    (room / "archive").write_bytes(data)
    try:
        typed(partial(unpack, caps=CAPS), room / "archive", into, "archive")
    finally:
        assert {path.name for path in room.iterdir()} == {"into", "archive"}
        found = {path: path.lstat() for path in into.rglob("*")}
        assert all(stat.S_IFMT(facts.st_mode) in (stat.S_IFREG, stat.S_IFDIR) for facts in found.values())
        assert sum(facts.st_size for facts in found.values() if stat.S_ISREG(facts.st_mode)) <= CAPS.total
    return {path.relative_to(into).as_posix(): path.read_bytes() for path in found if path.is_file()}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_the_archives_that_are_damaged_are_whole_before(room, kind):
    assert unpacked(room, ARCHIVES[kind]) == FILES


@pytest.mark.parametrize("kind", ARCHIVES)
@fuzz
@given(data=st.data())
def test_a_damaged_archive(room, kind, data):
    unpacked(room, data.draw(damaged(ARCHIVES[kind])))


@fuzz
@given(data=st.data())
def test_a_damaged_tar_in_sound_gzip(room, data):
    unpacked(room, gzip.compress(data.draw(damaged(ARCHIVES[data.draw(st.sampled_from(("gnu", "pax")))])), 1))


LIES = (b"77777777777\0", b"\x80" + b"\xff" * 11, b"-1", b"../../x", b"/x", b"x", b"g", b"L", b"K", b"S", b"1", b"2", b"5", b"\xff" * 20)
FIELDS = {"name": (0, 100), "mode": (100, 8), "size": (124, 12), "type": (156, 1), "link": (157, 100), "magic": (257, 8),
          "prefix": (345, 155)}


@fuzz
@given(data=st.data())
def test_a_tar_whose_headers_lie_with_the_right_checksum(room, data):
    """A checksum that does not fit ends the reading early; those that fit get further."""
    content = bytearray(ARCHIVES[data.draw(st.sampled_from(("gnu", "pax")))])
    headers = [at for at in range(0, len(content), 512) if content[at + 257:at + 262] == b"ustar"]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.sampled_from(headers))
        start, size = FIELDS[data.draw(st.sampled_from(sorted(FIELDS)))]
        value = data.draw(st.binary(max_size=size) | st.sampled_from(LIES))[:size]
        content[at + start:at + start + size] = value.ljust(size, b"\0")
        content[at + 148:at + 156] = b" " * 8
        content[at + 148:at + 156] = b"%06o\0 " % sum(content[at:at + 512])
    unpacked(room, bytes(content))
