"""Hostile retrievers in the real container, started as GitHub's runner starts it: nothing gets a token, moves a verdict or outlives it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from tests.conftest import ROOT
from tests.e2e import engine
from tests.e2e.stories import RunnerStory, change, example_files, need_engine
from tests.fake_github import FakeGitHub

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
CONFIG = "retrieval-gate.yml"


class HostileStory(RunnerStory):
    """The runner's folders hold secrets that everybody may read, as those of a careless job do."""

    def secrets(self) -> dict[str, str]:
        return {"_temp/git-credentials-1.config": "[http]\n\textraheader = AUTHORIZATION: basic c3RvbGVu\n",
                "_temp/_github_home/.netrc": "machine api.github.com login x password n3trc-s3cret\n",
                "_temp/_github_home/.docker/config.json": '{"auths": {"ghcr.io": {"auth": "c3RvbGVu"}}}'}

    def checkout(self, sha):
        folder = super().checkout(sha)
        for path in (folder, *folder.rglob("*")):
            path.chmod(path.stat().st_mode | 0o006)  # and the checkout is writable for all
        return folder


@pytest.fixture(scope="module")
def image():
    need_engine()
    return engine.build_action_image(ROOT)


@pytest.fixture
def story(image, tmp_path, capsys, monkeypatch):
    with FakeGitHub(bind="0.0.0.0", start=datetime.now(UTC)) as fake:
        made = HostileStory(fake, tmp_path, capsys, example_files())
        made.image = image
        start = engine.runner_docker_run

        def with_secrets(*words, **options):
            work = tmp_path / f"work-{made.runs}"
            for name, text in made.secrets().items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_text(text)
            made.work = work
            return start(*words, **options, work=work)

        monkeypatch.setattr(engine, "runner_docker_run", with_secrets)
        yield made
        fake.assert_clean()


@pytest.fixture
def started(story):
    assert story.on_push().code == 0
    return story


SPY = '''import json, os, socket, stat, urllib.request
from pathlib import Path


def attempt(action):
    try:
        return str(action())[:40]
    except BaseException as error:
        return type(error).__name__


def connect(path):
    socket.socket(socket.AF_UNIX).connect(path)
    return "connected"


def memory(pid):
    with open(f"/proc/{pid}/mem", "rb") as file:
        return file.read(1)


def readable():
    """Everything that this process can read outside of the system's own folders."""
    found, words = [], []
    for top in ("/github", "/root", "/home", "/run", "/var/run", "/tmp", "/opt/retrieval-gate/entrypoint.py"):
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
            for name in files:
                path = os.path.join(folder, name)
                try:
                    if stat.S_ISREG(os.lstat(path).st_mode):
                        with open(path, "rb") as file:
                            words.append(file.read(10**6))
                        found.append(path)
                except OSError:
                    pass
    return found, b"".join(words)


FILES, WORDS = readable()
PARENT = os.getppid()
FOUND = {
    "uid": os.getuid(),
    "secrets": [name for name in os.environ if name.startswith(("INPUT_", "ACTIONS_", "GITHUB_", "RUNNER_")) or "TOKEN" in name],
    "tokens": [word for word in (TOKENS) if word[::-1].encode() in WORDS],
    "outside": [path for path in FILES if not path.startswith(("/github/workspace/", "/tmp/retriever-"))],
    "blocked": sorted({
        "environ of the parent": attempt(lambda: Path(f"/proc/{PARENT}/environ").read_bytes()),
        "environ of the first": attempt(lambda: Path("/proc/1/environ").read_bytes()),
        "memory of the parent": attempt(lambda: memory(PARENT)),
        "files of the parent": attempt(lambda: os.listdir(f"/proc/{PARENT}/fd")),
        "folder of the parent": attempt(lambda: os.listdir(f"/proc/{PARENT}/cwd/.git")),
        "root of the parent": attempt(lambda: os.listdir(f"/proc/{PARENT}/root/github/workflow")),
        "docker": attempt(lambda: connect("/var/run/docker.sock")),
        "event": attempt(lambda: Path("/github/workflow/event.json").read_text()),
        "commands": attempt(lambda: os.listdir("/github/file_commands")),
        "temp": attempt(lambda: os.listdir("/github/runner_temp")),
        "home": attempt(lambda: os.listdir("/github/home")),
        "gate": attempt(lambda: Path("/opt/retrieval-gate/gate/policy.py").write_text("")),
        "new file of the gate": attempt(lambda: Path("/opt/retrieval-gate/gate/json.py").write_text("")),
        "library": attempt(lambda: Path("/opt/retrieval-gate/lib/sitecustomize.py").write_text("")),
        "signal": attempt(lambda: os.kill(PARENT, 9)),
        "user": attempt(lambda: os.setuid(0)),
        "sudo": attempt(lambda: os.chown("/github/workspace", 0, 0)),
        "mount": attempt(lambda: os.mkdir("/sys/fs/cgroup/x")),
        "priority": attempt(lambda: Path("/proc/self/oom_score_adj").write_text("-1000")),
        "limits": attempt(lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_NPROC, (10**6, 10**6))),
    }.items()),
}
print("::set-output name=verdict::pass")
print("harmless ##[set-output name=verdict;]pass")
print("SPY " + json.dumps(FOUND))
for name, text in {"golden.jsonl": "", "retrieval-gate.yml": "policy: {tolerance: 1.0}", "golden.yml": "owner: eve"}.items():
    attempt(lambda: Path("/github/workspace", name).write_text(text))
for name in ("reports", "retrieval-gate-report"):
    attempt(lambda: Path("/github/workspace", name).symlink_to("/etc"))


def retrieve(query, n):
    return ["moth-pager#intro"]
'''


def test_a_retriever_that_looks_everywhere_finds_no_token_and_changes_nothing(started):
    fake = started.fake
    tokens = [fake.job_token, "c3RvbGVu", "n3trc-s3cret", "eyJhbGci"]
    code = SPY.replace("(TOKENS)", repr([token[::-1] for token in tokens]))  # backwards: it may read itself
    outcome = started.on_pull(started.pull({"search/retriever.py": code.encode()}), "opened")
    said = next(line for line in outcome.log.splitlines() if line.startswith("| SPY "))
    found = json.loads(said.removeprefix("| SPY "))
    assert (found["uid"], found["secrets"], found["tokens"]) == (10001, [], [])
    assert found["outside"] == ["/opt/retrieval-gate/entrypoint.py"] or found["outside"] == [], found["outside"]
    assert {name: told for name, told in found["blocked"] if told not in ("PermissionError", "ValueError", "OSError")} == {}
    assert (outcome.code, outcome.verdict) == (1, "fail")
    assert "##[" not in outcome.log and not [line for line in outcome.log.splitlines() if line.startswith("::set-output")]
    # The folders have their rights back.
    temp = started.work / "_temp"
    assert {path.stat().st_mode & 0o777 for path in (temp, temp / "_github_workflow", temp / "_runner_file_commands")} == {0o755}


FORKS = '''import os, time


def retrieve(query, n):
    for _ in range(20):
        if os.fork() == 0:
            os.setsid()
            while True:
                try:
                    if os.fork() and os.fork():
                        time.sleep(0.01)
                except OSError:
                    time.sleep(0.01)
    time.sleep(600)
'''


@pytest.mark.alone
def test_a_fork_bomb_that_hangs_ends_with_its_time_limit(started):
    config = started.repo.commit(started.repo.tip).files[CONFIG].decode()
    config = config.replace("query_seconds: 10", "query_seconds: 2").replace("run_seconds: 120", "run_seconds: 6")
    pr = started.pull({"search/retriever.py": FORKS.encode(), CONFIG: config.encode()})
    before = time.monotonic()
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict) == (3, "cannot-decide"), outcome.log[-3000:]
    assert time.monotonic() - before < 120
    assert "cannot" in started.comments(pr)[0].lower()


MEMORY = '''import os


def retrieve(query, n):
    held = []
    while True:
        held.append(b"x" * 2**24)
'''


def test_a_retriever_that_fills_memory_meets_its_own_limit(started):
    config = started.repo.commit(started.repo.tip).files[CONFIG].decode()
    config = config.replace("query_seconds: 10", "memory_mb: 256")
    outcome = started.on_pull(started.pull({"search/retriever.py": MEMORY.encode(), CONFIG: config.encode()}), "opened")
    assert (outcome.code, outcome.verdict) == (3, "cannot-decide")
    assert "memory" in outcome.log


TRAP = b"import os\nprint('HIJACKED')\nos._exit(0)\n"


def test_a_checkout_full_of_traps_is_judged_like_any_other(started):
    names = ("gate/__init__.py", "gate/action.py", "json.py", "sitecustomize.py", "yaml.py", "requests.py", "entrypoint.py",
             "encodings/__init__.py")
    traps = dict.fromkeys(names, TRAP) | {".netrc": b"machine api.github.com login x password y\n", "pip.conf": b"[global]\n",
                                          "templates/comment.md.j2": b"## all is well\n"}
    outcome = started.on_pull(started.pull({**change("tempting"), **traps}), "opened")
    assert (outcome.code, outcome.verdict, outcome.outputs["comment-status"]) == (1, "fail", "created")
    # The retriever's own folder comes first for the retriever's own process, and for no other.
    assert "average hides it" in outcome.summary
