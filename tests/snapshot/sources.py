"""What tests of sources share: packed snapshots, settings from YAML, and a web server that can be told to misbehave."""

from __future__ import annotations

import contextlib
import io
import socket
import tarfile
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from gate.settings import parse_settings
from gate.snapshot.manifest import read_manifest
from gate.snapshot.obtain import Obtained, obtain
from gate.snapshot_settings import SnapshotSettings
from gate.world import World


def digest_of(folder: Path) -> str:
    return read_manifest(folder).tree_digest


def tar_bytes(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def files_of(folder: Path, below: str = "") -> dict[str, bytes]:
    """Path → content of everything in a folder."""
    return {below + path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def settings_of(digest: str, **source) -> SnapshotSettings:
    """The settings of a configuration with this source."""
    config = {"golden": "g.jsonl", "retriever": {"kind": "bm25"}, "snapshot": {"digest": digest, "source": source}}
    found = parse_settings(yaml.safe_dump(config).encode(), "c.yml", "c.yml").snapshot
    assert found is not None
    return found


class Naps(list):
    """What would have been slept, in seconds."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def obtained(settings: SnapshotSettings, cache: Path, naps=None, **world) -> Obtained:
    return obtain(settings, World(cache=cache, **({"variables": {}} | world)), naps if naps is not None else Naps())


@dataclass
class Shelf:
    """One file of a server, and how it is handed out. ``cuts``: after how many bytes the next answers break off; ``statuses``: what
    the next requests get instead; ``promise``: added to Content-Length; ``pause``: seconds between pieces of ``piece`` bytes; ``most``:
    bytes of one answer to a request for the rest."""

    data: bytes
    etag: str | None = '"v1"'
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    promise: int = 0
    length: bool = True
    piece: int = 0
    pause: float = 0.0
    most: int = 0
    headers: dict[str, str] = field(default_factory=dict)


class Host:
    """A web server on this machine. ``asked``: (path, headers) of every request."""

    def __init__(self) -> None:
        self.shelves: dict[str, Shelf] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words) -> None:
                pass

            def do_GET(self) -> None:
                host.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                host.answer(self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def put(self, path: str, data: bytes, **how) -> Shelf:
        self.shelves[path] = Shelf(data, **how)
        return self.shelves[path]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        shelf = self.shelves.get(handler.path.partition("?")[0])
        status, headers = (404, {}) if shelf is None else shelf.statuses.pop(0) if shelf.statuses else (200, {})
        if shelf is None or status != 200:
            handler.send_response(status)
            for name, value in {"Content-Length": "0", **headers}.items():
                handler.send_header(name, value)
            handler.end_headers()
            return
        data, start = shelf.data, 0
        wanted = handler.headers.get("Range", "")
        if shelf.ranges and wanted and handler.headers.get("If-Range") == shelf.etag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                handler.send_response(416)
                handler.send_header("Content-Range", f"bytes */{len(data)}")
                handler.send_header("Content-Length", "0")
                handler.end_headers()
                return
        handler.send_response(206 if start else 200)
        whole = len(data)
        if start:
            data = data[:start + shelf.most] if shelf.most else data
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{whole}")
        if shelf.etag:
            handler.send_header("ETag", shelf.etag)
        if shelf.length:
            handler.send_header("Content-Length", str(len(data) - start + shelf.promise))
        else:
            handler.send_header("Connection", "close")
        for name, value in shelf.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        body = data[start:]
        cut = shelf.cuts.pop(0) if shelf.cuts else None
        body = body if cut is None else body[:cut]
        step = shelf.piece or max(1, len(body))
        with contextlib.suppress(OSError):
            for at in range(0, len(body), step):
                handler.wfile.write(body[at:at + step])
                handler.wfile.flush()
                if shelf.pause:
                    time.sleep(shelf.pause)
        if cut is not None or shelf.promise > 0 or not shelf.length:
            handler.close_connection = True
            with contextlib.suppress(OSError):
                handler.connection.shutdown(socket.SHUT_RDWR)
