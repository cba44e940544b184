"""Commits through the git of the machine: real repositories, over the file system and over http with a password."""

import base64
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gate.errors import InvalidInput, SnapshotUnavailable
from tests.snapshot.sources import digest_of, files_of, obtained, settings_of

ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"], "GIT_AUTHOR_NAME": "a",
         "GIT_AUTHOR_EMAIL": "a@example.invalid", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.invalid"}


class Work:
    """A repository of a team."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.folder, env=ALONE, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, files: dict[str, bytes]) -> str:
        for name, data in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(data)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")
        return self.git("rev-parse", "HEAD")

    @property
    def url(self) -> str:
        return f"file://{self.folder}"


@pytest.fixture
def work(tmp_path):
    return Work(tmp_path / "team")


@pytest.fixture
def get(tmp_path):
    return lambda settings, **world: obtained(settings, tmp_path / "c", **world)


def git(snapshot, work, commit, url="", **more):
    return settings_of(digest_of(snapshot), git={"url": url or work.url, "commit": commit} | more)


def told(kind, get, settings, **world):
    with pytest.raises(kind) as caught:
        get(settings, **world)
    return caught.value.text()


def test_exactly_that_commit_is_fetched_whatever_the_branch_is_at(snapshot, work, get):
    commit = work.commit(files_of(snapshot, "data/snap/"))
    work.commit({"data/snap/units.jsonl": b"changed since"})
    assert files_of(get(git(snapshot, work, commit, path="data/snap")).path) == files_of(snapshot)


def test_the_root_of_a_repository(snapshot, work, get):
    assert files_of(get(git(snapshot, work, work.commit(files_of(snapshot)))).path) == files_of(snapshot)


def test_a_cache_that_is_named_relative_to_the_working_directory(snapshot, work, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = obtained(git(snapshot, work, work.commit(files_of(snapshot))), Path("c"))
    assert files_of(found.path) == files_of(snapshot) and found.path.is_relative_to(tmp_path / "c")


def test_a_path_means_itself_and_no_pattern(snapshot, work, get):
    assert "no such path" in told(SnapshotUnavailable, get, git(snapshot, work, work.commit(files_of(snapshot, "s/")), path=":(glob)*"))


def test_a_commit_that_is_not_there_cannot_decide(snapshot, work, get, tmp_path):
    work.commit({"a": b""})
    text = told(SnapshotUnavailable, get, git(snapshot, work, "0" * 40))
    assert "git cannot fetch this commit" in text and str(tmp_path / "c") not in text


def test_a_path_that_is_not_there_cannot_decide(snapshot, work, get):
    assert "no such path" in told(SnapshotUnavailable, get, git(snapshot, work, work.commit({"a": b""}), path="data"))


def test_a_machine_without_git_says_what_to_do(snapshot, work, get, monkeypatch):
    commit = work.commit(files_of(snapshot))
    monkeypatch.setenv("PATH", "")
    text = told(SnapshotUnavailable, get, git(snapshot, work, commit))
    assert "takes a git command" in text and "https" in text


def test_hooks_filters_and_settings_of_repository_and_user_are_not_run(snapshot, work, get, tmp_path, monkeypatch):
    trap = tmp_path / "sprung"
    modules = b'[submodule "x"]\npath = x\nurl = ext::sh\n'
    commit = work.commit(files_of(snapshot) | {".gitattributes": b"* filter=evil diff=evil\n", ".gitmodules": modules})
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[filter "evil"]\nsmudge = touch {trap}\nrequired = true\n[core]\nhooksPath = {home}\n'
                                     f'[url "file:///nowhere"]\ninsteadOf = {work.url}\n')
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (home / hook).write_text(f"#!/bin/sh\ntouch {trap}\n")
        (home / hook).chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    # The two additional files are no part of the snapshot, so it is refused in the end; everything was fetched before.
    assert ".gitattributes: is not listed in the manifest" in told(InvalidInput, get, git(snapshot, work, commit))
    assert not trap.exists()


def test_links_in_the_snapshots_folder_are_refused_and_elsewhere_they_do_not_matter(snapshot, work, get):
    work.folder.joinpath("elsewhere").symlink_to("/etc/passwd")
    good = work.commit(files_of(snapshot, "s/"))
    assert get(git(snapshot, work, good, path="s")).how == "fetched"


def test_a_link_in_the_folder_is_refused(snapshot, work, get):
    work.commit(files_of(snapshot, "s/"))
    (work.folder / "s" / "link").symlink_to("/etc/passwd")
    assert "is a symbolic link" in told(InvalidInput, get, git(snapshot, work, work.commit({}), path="s"))


def test_a_repository_larger_than_allowed_is_refused(snapshot, work, get):
    commit = work.commit(files_of(snapshot, "s/") | {"large": os.urandom(3 * 1024**2)})
    assert "is larger than `max_mb` allows (1 MB)" in told(InvalidInput, get, git(snapshot, work, commit, path="s", max_mb=1))


class Forge:
    """Git's own http service behind a password, as a self-hosted forge has it."""

    def __init__(self, folder: Path, password: str) -> None:
        self.asked: list[str] = []
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *words) -> None:
                pass

            def do_GET(self) -> None:
                given = self.headers.get("Authorization", "")
                forge.asked.append(given)
                expected = "Basic " + base64.b64encode(f"x-access-token:{password}".encode()).decode()
                if forge.redirect or given != expected:
                    self.send_response(302 if forge.redirect else 401)
                    self.send_header("WWW-Authenticate", "Basic")
                    self.send_header("Location", f"{forge.redirect}{self.path}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                environment = ALONE | {
                    "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                    "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "REMOTE_USER": "x",
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "SAFE": "*"}
                done = subprocess.run(["git", "-c", "safe.directory=*", "http-backend"], input=body, env=environment, capture_output=True)
                head, _, content = done.stdout.partition(b"\r\n\r\n")
                lines = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
                self.send_response(int(lines.pop("Status", "200").split()[0]))
                for name, value in lines.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

        self.redirect = ""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def forge(work):
    made = Forge(work.folder.parent, "s3cr3t")
    yield made
    made.server.shutdown()
    made.server.server_close()


class TestForge:
    def test_a_private_repository_is_fetched_with_its_token(self, snapshot, work, forge, get):
        commit = work.commit(files_of(snapshot, "s/"))
        settings = git(snapshot, work, commit, f"{forge.url}/team/.git", path="s", token="${FORGE_TOKEN}")
        assert files_of(get(settings, variables={"FORGE_TOKEN": "s3cr3t"}).path) == files_of(snapshot)

    def test_the_jobs_token_is_not_shown_to_it(self, snapshot, work, forge, get):
        commit = work.commit(files_of(snapshot, "s/"))
        told(SnapshotUnavailable, get, git(snapshot, work, commit, f"{forge.url}/team/.git", path="s"), token="ghs_job")
        assert set(forge.asked) == {""}

    def test_a_wrong_token_cannot_decide_and_is_in_no_message(self, snapshot, work, forge, get):
        settings = git(snapshot, work, work.commit({"a": b""}), f"{forge.url}/team/.git", token="${FORGE_TOKEN}")
        assert "wr0ng" not in told(SnapshotUnavailable, get, settings, variables={"FORGE_TOKEN": "wr0ng"})

    def test_a_redirect_is_not_followed_with_the_token(self, snapshot, work, forge, get, host):
        forge.redirect = host.url
        settings = git(snapshot, work, work.commit({"a": b""}), f"{forge.url}/team/.git", token="${FORGE_TOKEN}")
        told(SnapshotUnavailable, get, settings, variables={"FORGE_TOKEN": "s3cr3t"})
        assert not host.asked
