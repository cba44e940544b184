"""Small files that want to become large ones, each read by a process with a bound on its memory and its time."""

from __future__ import annotations

import gzip
import io
import json
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest

from gate.baseline.record import Record, pack, unpack
from gate.errors import InvalidInput
from gate.github.archives import Caps, read_zip
from gate.runs import Ranking
from tests.conftest import ROOT

MIB = 1024**2
# Interpreter and libraries take up to 300 MiB of address space.
READ = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]) * 2**20,) * 2)
from gate.errors import GateError
from gate.baseline.record import read_record
from gate.golden.read import read_golden
from gate.runs import read_run
from gate.snapshot.manifest import read_manifest
from gate.yamlio import load_yaml
from gate import jsonio
from pathlib import Path
jsonio.MAX_LINES //= int(sys.argv[4])
readers = {"golden": read_golden, "run": read_run, "record": read_record, "yaml": load_yaml, "manifest": read_manifest}
try:
    readers[sys.argv[1]](Path(sys.argv[2]))
except GateError as error:
    print("refused:", error.problems[0][:300])
else:
    print("read")
"""


def read(kind, path, megabytes=768, seconds=60, sooner=1):
    """What a process says that reads ``path`` with so much address space. ``sooner``: the bound on lines is so much lower."""
    words = [sys.executable, "-c", READ, kind, str(path), str(megabytes), str(sooner)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=seconds)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def inflating(path, block, times):
    """A gzip of a block many times over, without ever holding it."""
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(times):
            stream.write(block)
    return path


@pytest.mark.parametrize("kind", ["golden", "run"])
def test_a_line_of_gigabytes(tmp_path, kind):
    assert "larger than the gate reads" in read(kind, inflating(tmp_path / "x.jsonl", b" " * MIB, 300))


@pytest.mark.parametrize("kind", ["golden", "run"])
def test_millions_of_empty_lines(tmp_path, kind):
    assert "larger than the gate reads" in read(kind, inflating(tmp_path / "x.jsonl", b"\n" * MIB, 2), sooner=50)


def test_a_record_of_gigabytes(tmp_path):
    assert "inflates to more than" in read("record", inflating(tmp_path / "r.json.gz", b" " * MIB, 1100), megabytes=3000)


def test_a_sparse_configuration_or_manifest_of_a_terabyte(tmp_path):
    for name in ("c.yml", "manifest.json"):
        with open(tmp_path / name, "wb") as stream:
            stream.truncate(2**40)
    assert "larger than" in read("yaml", tmp_path / "c.yml")
    assert "larger than" in read("manifest", tmp_path)


@pytest.mark.parametrize("text", ["a: " + "[" * 300_000, "a: " + "{a: " * 100_000, "a: &a [x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}, *{before}, *{before}, *{before}, *{before}, *{before}, *{before}, *{before}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)), "a: 1" + ":59" * 300_000, "a: 0x" + "f" * 900_000,
    "".join(f"{'  ' * n}a:\n" for n in range(900))], ids=["lists", "mappings", "a billion laughs", "base 60", "base 16", "indentation"])
def test_a_configuration_that_unfolds(tmp_path, text):
    (tmp_path / "c.yml").write_text(text)
    assert read("yaml", tmp_path / "c.yml", seconds=20).startswith("refused:")


@pytest.mark.parametrize("text", ["[" * 5_000_000, '{"a":' * 2_000_000, "9" * 5_000_000, '{"id": "q", "relevant": ' + "[" * 900_000],
                         ids=["lists", "objects", "a number", "in a field"])
@pytest.mark.parametrize("kind", ["golden", "run", "record"])
def test_json_that_is_deep_or_a_number_without_end(tmp_path, kind, text):
    (tmp_path / "x.jsonl").write_text(text + "\n")
    assert read(kind, tmp_path / "x.jsonl", seconds=30).startswith("refused:")


RECORD = Record("default", {"q1": Ranking(["a"])}, "sha256:g", repository_id=1)


def test_a_record_with_a_million_labels_and_ids_of_many_megabytes_is_read_in_bounds(tmp_path):
    labels = {f"q{n}": "0" * 12 for n in range(1_000_000)}
    long = {"q" * 50 * MIB: Ranking(["d" * 50 * MIB])}
    for name, record in (("labels", replace(RECORD, labels=labels)), ("ids", replace(RECORD, rankings=long))):
        (tmp_path / name).write_bytes(pack(record))
        assert read("record", tmp_path / name, megabytes=2048) == "read"


def test_a_golden_set_with_a_million_tags_is_refused_before_it_becomes_a_million_tables(tmp_path):
    with open(tmp_path / "g.jsonl", "w", encoding="utf-8") as stream:
        for n in range(20):
            stream.write(json.dumps({"id": f"q{n}", "query": "x", "relevant": ["a"], "tags": [f"{n}-{m}" for m in range(50_000)]}) + "\n")
    assert "1000000 different tags, at most 10000" in read("golden", tmp_path / "g.jsonl")


def test_an_id_of_a_hundred_megabytes_is_refused(tmp_path):
    (tmp_path / "g.jsonl").write_text(json.dumps({"id": "q" * 100_000_000, "query": "x", "relevant": []}) + "\n")
    assert "larger than the gate reads" in read("golden", tmp_path / "g.jsonl")


# -- archives ----------------------------------------------------------------------------------------------------------


def zipped(data=b"{}", **changes) -> bytes:
    """One entry; ``changes`` are lies of its headers."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = zipfile.ZipInfo("record.json.gz")
        archive.writestr(entry, data)
        for name, value in changes.items():
            setattr(entry, name, value)
    return out.getvalue()


TEN_GB = 10 * 1024**3


@pytest.mark.parametrize("changes", [
    {"file_size": 0xFFFFFFFE}, {"compress_size": 0xFFFFFFFE}, {"file_size": 0xFFFFFFFE, "compress_size": 0xFFFFFFFE},
    {"header_offset": 0x7FFFFFFF},
    {"extra": struct.pack("<HHQQ", 1, 16, TEN_GB, TEN_GB), "file_size": TEN_GB, "compress_size": TEN_GB}], ids=str)
def test_a_zip_whose_headers_announce_gigabytes(changes):
    try:
        found = read_zip(zipped(**changes), ("record.json.gz",), Caps(), "artifact")
    except InvalidInput:
        return
    assert found == {"record.json.gz": b"{}"}


def test_what_is_packed_twice_is_unpacked_once():
    twice = gzip.compress(gzip.compress(b"\0" * 50 * MIB))
    assert read_zip(zipped(twice), ("record.json.gz",), Caps(), "artifact") == {"record.json.gz": twice}
    with pytest.raises(InvalidInput, match="not a record"):
        unpack(twice, "record")


@pytest.mark.parametrize("entries", [1000, 60_000])
def test_a_zip_with_very_many_entries(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(entries):
            archive.writestr(zipfile.ZipInfo(f"{number}"), b"")
    with pytest.raises(InvalidInput, match="directory|entries"):
        read_zip(out.getvalue(), ("record.json.gz",), Caps(), "artifact")
