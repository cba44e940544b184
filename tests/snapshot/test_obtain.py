"""The cache of fetched snapshots: believed only when verified, fixed when damaged, shared by processes; and the command that fills it."""

import fcntl
import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from gate.cli import main
from gate.errors import InvalidInput, SnapshotUnavailable
from gate.snapshot import cache as caches
from gate.snapshot.cache import Cache
from gate.snapshot.reader import open_snapshot
from gate.world import World
from tests.snapshot.sources import Naps, digest_of, files_of, obtained, settings_of, tar_bytes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def settings(snapshot, host):
    """Of a snapshot that a server hands out."""
    data = tar_bytes(files_of(snapshot))
    host.put("/s", data)
    return settings_of(digest_of(snapshot), https={"url": f"{host.url}/s", "sha256": hashlib.sha256(data).hexdigest()})


def add(path: Path) -> None:
    (path / "more").write_text("x")


def change(path: Path) -> None:
    (path / "units.jsonl").write_text("{}\n")


def lose(path: Path) -> None:
    (path / "manifest.json").unlink()


def other(path: Path) -> None:
    """A sound snapshot, but another one."""
    from gate.snapshot.build import build_bm25
    from tests.snapshot.support import corpus_of

    build_bm25(corpus_of(path.parent, ("z", "Z", "zebras")), path, replace=True)


def a_file(path: Path) -> None:
    os.rename(path, path.with_name("away"))
    path.write_text("x")


def a_link(path: Path) -> None:
    os.rename(path, path.with_name("away"))
    path.symlink_to(path.with_name("away"))


@pytest.mark.parametrize("damage", [add, change, lose, other, a_file, a_link])
def test_a_damaged_entry_is_fetched_again_and_a_note_says_so(settings, snapshot, host, tmp_path, damage):
    path = obtained(settings, tmp_path / "c").path
    damage(path)
    found = obtained(settings, tmp_path / "c")
    assert found.how == "fetched" and len(host.asked) == 2 and files_of(found.path) == files_of(snapshot)
    assert len(found.notes) == 1 and "was damaged" in found.notes[0] and str(tmp_path) not in found.notes[0]
    assert obtained(settings, tmp_path / "c").notes == ()


def test_the_note_reaches_whoever_opens_it(settings, tmp_path):
    change(obtained(settings, tmp_path).path)
    assert "has been fetched again" in open_snapshot(settings, World(cache=tmp_path)).notes[0]


def test_nothing_is_left_beside_the_entry(settings, host, tmp_path):
    path = obtained(settings, tmp_path).path
    assert {p.name for p in path.parent.iterdir()} == {path.name, "downloads", f".{path.name}.lock"}
    host.shelves["/s"].data = b"no archive"
    change(path)
    with pytest.raises(InvalidInput):
        obtained(settings, tmp_path)
    assert {p.name for p in path.parent.iterdir()} == {"downloads", f".{path.name}.lock"}


def test_others_may_read_what_was_fetched(settings, tmp_path):
    for path in (found := obtained(settings, tmp_path).path, *found.rglob("*")):
        assert path.stat().st_mode & 0o044 == 0o044


def test_two_at_once_fetch_once(settings, host, tmp_path):
    host.shelves["/s"].piece, host.shelves["/s"].pause = 200, 0.05
    found = []
    threads = [threading.Thread(target=lambda: found.append(obtained(settings, tmp_path, lambda seconds: threading.Event().wait(0.05))))
               for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(each.how for each in found) == ["cache", "cache", "fetched"] and len(host.asked) == 1


def test_a_lock_that_is_never_given_up_cannot_decide(settings, host, tmp_path):
    cache, naps = Cache(tmp_path), Naps()
    with open(cache.folder / f".{cache.entry(settings.digest).name}.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SnapshotUnavailable, match="another process has been fetching"):
            obtained(settings, tmp_path, naps)
    assert sum(naps) >= 3600 and not host.asked


@pytest.mark.parametrize("where", ["", "snapshots", "snapshots/downloads"])
def test_a_cache_that_is_a_link_is_refused(settings, host, tmp_path, where):
    (tmp_path / "victim").mkdir()
    place = tmp_path / "c" / where
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(tmp_path / "victim")
    with pytest.raises(InvalidInput, match="is a symbolic link"):
        obtained(settings, tmp_path / "c")
    assert not host.asked and not list((tmp_path / "victim").iterdir())


@pytest.mark.parametrize("call", ["mkdir", "open", "replace"])
@pytest.mark.parametrize("nth", range(7))
def test_a_full_disk_is_never_the_configurations_fault(settings, tmp_path, monkeypatch, call, nth):
    """Whichever folder, lock, note or name it is that finds no room: the machine cannot decide, exit 3."""
    real, calls = getattr(os, call), []

    def full(path, *more, **how):
        if not str(path).startswith(str(tmp_path)) or (call == "open" and not more[0] & os.O_CREAT):
            return real(path, *more, **how)
        calls.append(path)
        if len(calls) > nth:
            raise OSError(28, "No space left on device", str(path))
        return real(path, *more, **how)

    monkeypatch.setattr(os, call, full)
    try:
        obtained(settings, tmp_path / "c")
    except SnapshotUnavailable as error:
        assert "No space left on device" in error.text() and "RETRIEVAL_GATE_CACHE" in error.cure
    else:
        assert len(calls) <= nth


def test_a_lock_that_is_a_link_or_a_pipe_is_refused_and_not_waited_for(settings, tmp_path):
    cache = Cache(tmp_path)
    lock = cache.folder / f".{cache.entry(settings.digest).name}.lock"
    lock.symlink_to(tmp_path / "victim")
    with pytest.raises(InvalidInput, match="cannot be opened"):
        obtained(settings, tmp_path)
    assert not (tmp_path / "victim").exists()


def test_a_cache_that_cannot_be_made_is_named(settings, tmp_path):
    (tmp_path / "c").write_text("a file")
    with pytest.raises(InvalidInput, match="cannot be made") as caught:
        obtained(settings, tmp_path / "c")
    assert "RETRIEVAL_GATE_CACHE" in caught.value.cure


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_in_a_job_the_cache_belongs_to_whoever_owns_the_workspace(settings, host, tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    os.chown(workspace, 1001, 1002)
    path = obtained(settings, workspace / ".retrieval-gate-cache").path
    def owned():
        return [workspace / ".retrieval-gate-cache", *(workspace / ".retrieval-gate-cache").rglob("*")]

    assert path in owned() and {(p.stat().st_uid, p.stat().st_gid) for p in owned()} == {(1001, 1002)}
    change(path)
    host.shelves["/s"].cuts = [1000] + [0] * 9
    with pytest.raises(SnapshotUnavailable):
        obtained(settings, workspace / ".retrieval-gate-cache")
    assert any(p.suffix == ".part" for p in owned()) and {(p.stat().st_uid, p.stat().st_gid) for p in owned()} == {(1001, 1002)}


class TestCommand:
    def config(self, tmp_path, snapshot_section):
        path = tmp_path / "retrieval-gate.yml"
        path.write_text(yaml.safe_dump({"golden": "g.jsonl", "retriever": {"kind": "bm25"}} | snapshot_section))
        return str(path)

    def section(self, settings, host):
        https = {"url": f"{host.url}/s", "sha256": settings.source.options.sha256}
        return {"snapshot": {"digest": settings.digest, "source": {"https": https}}}

    def test_it_prints_the_folder_alone_on_stdout(self, settings, host, tmp_path, capsys, monkeypatch):
        monkeypatch.setenv("RETRIEVAL_GATE_CACHE", str(tmp_path / "c"))
        config = self.config(tmp_path, self.section(settings, host))
        assert main(["snapshot", "fetch", "--config", config]) == 0
        told = capsys.readouterr()
        assert told.out == f"{tmp_path / 'c' / 'snapshots' / settings.digest[7:]}\n" and "has been fetched" in told.err
        assert main(["snapshot", "fetch", "--config", config]) == 0
        assert "was in the cache" in capsys.readouterr().err and len(host.asked) == 1

    def test_a_folder_that_is_there_is_verified(self, snapshot, tmp_path, capsys):
        config = self.config(tmp_path, {"snapshot": {"path": "snap", "digest": digest_of(snapshot)}})
        assert main(["snapshot", "fetch", "--config", config]) == 0 and capsys.readouterr().out == f"{snapshot}\n"
        change(snapshot)
        assert main(["snapshot", "fetch", "--config", config]) == 2

    def test_without_a_snapshot_there_is_nothing_to_fetch(self, tmp_path, capsys):
        path = tmp_path / "c.yml"
        path.write_text("golden: g.jsonl\nretriever: {kind: run, file: r.jsonl}\n")
        assert main(["snapshot", "fetch", "--config", str(path)]) == 2 and "has no `snapshot:`" in capsys.readouterr().err

    def test_a_server_that_is_gone_is_exit_3(self, settings, host, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(caches.time, "sleep", lambda seconds: None)
        monkeypatch.setenv("RETRIEVAL_GATE_CACHE", str(tmp_path / "c"))
        config = self.config(tmp_path, self.section(settings, host))
        host.shelves.clear()
        assert main(["snapshot", "fetch", "--config", config]) == 3
        assert "answered 404" in capsys.readouterr().err

    def test_a_whole_run_takes_its_snapshot_from_there(self, settings, host, tmp_path, monkeypatch, capsys):
        (tmp_path / "g.jsonl").write_text('{"id": "q1", "query": "ants make hills", "relevant": ["a"]}\n')
        monkeypatch.setenv("RETRIEVAL_GATE_CACHE", str(tmp_path / "c"))
        config = self.config(tmp_path, self.section(settings, host) | {"depth": 10})
        done = subprocess.run([sys.executable, "-m", "gate", "run", "--config", config, "--format", "json"], cwd=ROOT, capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert settings.digest in done.stdout and len(host.asked) == 1
