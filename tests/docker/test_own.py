"""Which container the gate runs in. What the engine says is made up here; the real one is asked in tests/e2e."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from docker.errors import NotFound

from gate.docker import own
from gate.docker.own import Own
from gate.errors import RetrieverFailed


class Container:
    """``files``: where the container's files lie on this machine; None: it has none of them."""

    def __init__(self, name: str, root: Path | None, mounts=()) -> None:
        self.id, self.root, self.attrs = name, root, {"Id": name, "Mounts": list(mounts)}

    def get_archive(self, path: str):
        if self.root is None:
            raise NotFound(f"no {path}")
        data = (self.root / path.lstrip("/")).read_bytes()
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            item = tarfile.TarInfo(path.rpartition("/")[2])
            item.size = len(data)
            archive.addfile(item, io.BytesIO(data))
        return iter([stream.getvalue()]), {}


class Engine:
    def __init__(self, *containers: Container) -> None:
        self.known = {container.id: container for container in containers}
        self.containers = self

    def list(self, **_):
        return list(self.known.values())

    def get(self, name: str) -> Container:
        if name not in self.known:
            raise NotFound(name)
        return self.known[name]


@pytest.fixture
def socket_handed_in(monkeypatch):
    monkeypatch.setattr(own, "handed_in", lambda path: True)


def test_beside_the_engine_nobody_is_asked(monkeypatch):
    monkeypatch.setattr(own, "handed_in", lambda path: False)
    assert own.find_own(None) is None


def test_a_socket_that_was_made_here_was_not_handed_in(tmp_path):
    assert not own.handed_in(str(tmp_path / "docker.sock")) and not own.handed_in("")


def test_it_is_the_one_with_the_file_and_not_the_one_with_the_right_name(socket_handed_in, monkeypatch):
    monkeypatch.setattr(own.socket, "gethostname", lambda: "a" * 12)
    mine = Container("b" * 64, Path("/"), [{"Destination": "/github/workspace", "Source": "/srv/runner/x"}])
    assert own.find_own(Engine(Container("a" * 12, None), mine)) == Own("b" * 64, {"/github/workspace": "/srv/runner/x"})


def test_where_none_has_it_the_gate_does_not_guess(socket_handed_in, tmp_path):
    other = Container("c" * 64, tmp_path)
    other.get_archive = lambda path: (_ for _ in ()).throw(NotFound(path))
    with pytest.raises(RetrieverFailed, match="in none that its Docker engine knows") as caught:
        own.find_own(Engine(other))
    assert "kind `http`" in caught.value.cure


def test_a_path_is_handed_on_as_the_engine_calls_it_the_nearest_mount_first(tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "cache" / "snapshot").mkdir(parents=True)
    mounts = {str(workspace): "/srv/runner/x/x", str(workspace / "cache"): "/var/lib/docker/volumes/v/_data"}
    found = Own("id", mounts)
    assert found.outside(workspace / "snapshot") == "/srv/runner/x/x/snapshot"
    assert found.outside(workspace / "cache" / "snapshot") == "/var/lib/docker/volumes/v/_data/snapshot"
    (workspace / "link").symlink_to(workspace / "cache" / "snapshot")
    assert found.outside(workspace / "link") == "/var/lib/docker/volumes/v/_data/snapshot"
    with pytest.raises(RetrieverFailed, match="no other container can see it"):
        found.outside(tmp_path / "workspace-of-others")
