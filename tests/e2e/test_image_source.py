"""Snapshots out of container images, with a real engine and a registry of three addresses."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gate.errors import InvalidInput, SnapshotUnavailable
from tests.e2e.stories import need_engine
from tests.snapshot.sources import digest_of, files_of, obtained, settings_of
from tests.snapshot.support import snapshot

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
__all__ = ["snapshot"]


class Registry:
    """Hands out images that were made by hand: one layer, and a program that would leave a trace if anybody started it."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.kinds: dict[str, str] = {}
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words) -> None:
                pass

            def do_GET(self) -> None:
                found = re.search(r"/(sha256:[0-9a-f]{64})\Z", self.path)
                data = registry.blobs.get(found[1]) if found else b"{}" if self.path == "/v2/" else None
                self.send_response(200 if data is not None else 404)
                self.send_header("Content-Length", str(len(data or b"")))
                self.send_header("Content-Type", registry.kinds.get(found[1] if found else "", "application/json"))
                if found:
                    self.send_header("Docker-Content-Digest", found[1])
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(data or b"")

            do_HEAD = do_GET

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.host = f"127.0.0.1:{self.server.server_address[1]}"

    def keep(self, data: bytes, kind: str) -> dict[str, object]:
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.blobs[digest], self.kinds[digest] = data, kind
        return {"mediaType": kind, "size": len(data), "digest": digest}

    def image(self, entries: dict[str, bytes | str]) -> str:
        """name@digest of an image with these files; a text is a link's target."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as layer:
            for name, content in entries.items():
                entry = tarfile.TarInfo(name)
                if isinstance(content, str):
                    entry.type, entry.linkname = tarfile.SYMTYPE, content
                    layer.addfile(entry)
                else:
                    entry.size = len(content)
                    layer.addfile(entry, io.BytesIO(content))
        docker = "application/vnd.docker"
        diff = "sha256:" + hashlib.sha256(out.getvalue()).hexdigest()
        config = {"architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/start"]},
                  "rootfs": {"type": "layers", "diff_ids": [diff]}}
        manifest = {"schemaVersion": 2, "mediaType": f"{docker}.distribution.manifest.v2+json",
                    "config": self.keep(json.dumps(config).encode(), f"{docker}.container.image.v1+json"),
                    "layers": [self.keep(out.getvalue(), f"{docker}.image.rootfs.diff.tar")]}
        return f"{self.host}/acme/index@{self.keep(json.dumps(manifest).encode(), manifest['mediaType'])['digest']}"

    def stop(self) -> None:
        """And the engine forgets what it has from here."""
        for image in docker("images", "--digests", "--format", "{{.ID}} {{.Repository}}").splitlines():
            if self.host in image:
                docker("rmi", "-f", image.split()[0])
        self.server.shutdown()
        self.server.server_close()


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=60).stdout.strip()


@pytest.fixture
def registry():
    need_engine()
    made = Registry()
    yield made
    made.stop()


def left_over() -> str:
    return docker("ps", "-aq", "--filter", "label=retrieval-gate=snapshot")


def of(snapshot, image, **more):
    return settings_of(digest_of(snapshot), image={"image": image} | more)


def test_a_folder_of_an_image_is_copied_out_and_nothing_stays_behind(registry, snapshot, tmp_path):
    image = registry.image(files_of(snapshot, "snapshot/") | {"start": b"not a program", "etc/other": b"x"})
    found = obtained(of(snapshot, image), tmp_path / "c")
    assert files_of(found.path) == files_of(snapshot) and not left_over()


def test_an_image_that_the_engine_has_needs_no_registry(registry, snapshot, tmp_path):
    image = registry.image(files_of(snapshot, "data/index/"))
    obtained(of(snapshot, image, path="/data/index"), tmp_path / "c")
    registry.blobs.clear()
    assert obtained(of(snapshot, image, path="/data/index"), tmp_path / "d").how == "fetched"


def test_another_snapshot_and_a_path_that_is_not_there_are_exit_2(registry, snapshot, tmp_path):
    image = registry.image(files_of(snapshot, "snapshot/") | {"snapshot/units.jsonl": b"{}\n"})
    with pytest.raises(InvalidInput, match="units.jsonl: differs from the manifest"):
        obtained(of(snapshot, image), tmp_path / "c")
    with pytest.raises(InvalidInput, match="the image has no such path"):
        obtained(of(snapshot, image, path="/nowhere"), tmp_path / "c")
    assert not left_over()


@pytest.mark.parametrize("entries", [{"snapshot": "/etc"}, {"snapshot/manifest.json": "/etc/passwd"}])
def test_links_in_an_image_are_not_followed(registry, snapshot, tmp_path, entries):
    with pytest.raises(InvalidInput, match="is a symbolic link"):
        obtained(of(snapshot, registry.image(entries)), tmp_path / "c")
    assert not left_over()


def test_more_than_is_allowed_is_refused(registry, snapshot, tmp_path):
    image = registry.image(files_of(snapshot, "snapshot/") | {"snapshot/large": b"\0" * (2 * 1024**2)})
    with pytest.raises(InvalidInput, match=r"larger than `max_mb` allows \(1 MB\)"):
        obtained(of(snapshot, image, max_mb=1), tmp_path / "c")
    assert not left_over()


def test_an_image_that_is_not_there_and_an_engine_that_is_not_cannot_decide(registry, snapshot, tmp_path, monkeypatch):
    missing = f"{registry.host}/acme/index@sha256:{'0' * 64}"
    with pytest.raises(SnapshotUnavailable, match="the engine did not hand it over"):
        obtained(of(snapshot, missing), tmp_path / "c")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(SnapshotUnavailable, match="the engine did not hand it over"):
        obtained(of(snapshot, missing), tmp_path / "c")
