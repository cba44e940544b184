"""Kind ``container`` with a real engine: from the command line, in the gate's own image as the runner starts it, and with act."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.e2e import engine
from tests.e2e.images import search_image
from tests.e2e.stories import ActStory, RunnerStory, example_files, need_engine
from tests.fake_github import FakeGitHub

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
LABEL = "retrieval-gate"
PYTHON = "  kind: python\n  function: search.retriever:retrieve\n"


def config(mode: str = "", **more: str) -> str:
    """The example's configuration with its search in a container."""
    text = (ROOT / "examples" / "retrieval-gate.yml").read_text()
    assert PYTHON in text
    env = f"  env: {{MODE: {mode}}}\n" if mode else ""
    container = (f"  kind: container\n  image: {search_image()}\n  port: 8080\n{env}"
                 '  http:\n    url: /search\n    body: {query: "{query}", n: "{n}"}\n    retries: 0\n')
    text = text.replace(PYTHON, container)
    for old, new in more.items():
        assert f"    {old}: " in text
        text = text.replace(f"    {old}: ", f"    {new}\n    {old}: ", 1)
    return text


@pytest.fixture(autouse=True)
def nothing_is_left():
    need_engine()
    before = containers()
    yield
    assert containers() - before == set()


def containers() -> set[str]:
    listed = subprocess.run(["docker", "ps", "-aq", "--filter", f"label={LABEL}"], capture_output=True, text=True, check=True)
    return set(listed.stdout.split())


@pytest.fixture
def project(tmp_path):
    """The example, with a configuration of one's own."""
    def make(text: str) -> Path:
        for name, data in example_files().items():
            path = tmp_path / "example" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (tmp_path / "example" / "retrieval-gate.yml").write_text(text)
        return tmp_path / "example"

    return make


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "gate", "run", "--out", "out", *words]


def gate(folder: Path, *words: str, **more: str) -> tuple[int, str, dict]:
    done = subprocess.run(command(*words), cwd=folder, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **more})
    return done.returncode, done.stdout + done.stderr, json.loads((folder / "out" / "report.json").read_text())


def started(folder: Path, answers: int) -> subprocess.Popen:
    """A run that has got some answers and goes on."""
    process = subprocess.Popen(command(), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "PYTHONPATH": str(ROOT)})
    journal, deadline = folder / "out" / "answers.jsonl", time.monotonic() + 60
    while not journal.exists() or len(journal.read_bytes().splitlines()) <= answers:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_it_finds_what_the_same_code_finds_in_the_gates_own_child(project, tmp_path):
    folder = project((ROOT / "examples" / "retrieval-gate.yml").read_text())
    assert gate(folder, "--record", "main.json.gz")[0] == 0
    folder = project(config())
    code, log, report = gate(folder, "--baseline", "main.json.gz")
    assert report["primary"]["changed"] == 0, log
    assert code == 1 and "retriever kind: python → container" in log  # another kind needs an approval
    described = report["metadata"]["retriever"]
    assert described["image"] == search_image() and described["http"]["url"] == "/search"


def stdio(mode: str = "") -> str:
    text = config(mode)
    asked = text[text.index("  port: 8080"):text.index("  limits:")]
    env = f"  env: {{MODE: {mode}}}\n" if mode else ""
    return text.replace(asked, f"  stdio: true\n  network: none\n  command: [python, service.py, --stdio]\n{env}")


def test_by_lines_it_needs_no_network_and_finds_the_same(project):
    folder = project(config())
    assert gate(folder, "--record", "main.json.gz")[0] == 0
    code, log, report = gate(project(stdio("spy")), "--baseline", "main.json.gz")
    assert (code, report["primary"]["changed"]) == (0, 0), log
    assert report["metadata"]["retriever"]["network"] == "none"


def test_one_that_ends_while_it_is_asked_by_lines_is_named_with_its_last_lines(project):
    code, log, report = gate(project(stdio("leave")))
    assert code == 3 and "ended with status 7" in report["problems"][0] and "| the index is gone" in report["problems"][0], log


@pytest.mark.parametrize(("mode", "more", "said"), [
    ("leave", {}, ("ended with status 7", "| ::error::I cannot go on", "| the index is gone")),
    ("memory", {"query_seconds": "memory_mb: 64"}, ("needed more memory than it may have (`retriever.limits.memory_mb` is 64)",)),
    ("broken", {}, ("ended before it was ready with status 1", "| no index at /nowhere, key none")),
    ("deaf", {"query_seconds": "start_seconds: 2"}, ("was not ready within 2 s (`retriever.limits.start_seconds`)", "nothing listens on",
                                                      "| search is starting")),
])
def test_one_that_fails_is_no_judgement_and_the_report_says_why(project, mode, more, said):
    code, log, report = gate(project(config(mode, **more)))
    assert (code, report["verdict"]) == (3, "cannot-decide"), log
    problem = "\n".join(report["problems"])
    assert all(words in problem for words in said), problem
    assert not [line for line in log.splitlines() if line.startswith("::error::I")]


def test_a_secret_that_it_was_given_is_in_no_report_although_it_prints_it(project):
    folder = project(config("broken").replace("{MODE: broken}", '{MODE: broken, KEY: "${SEARCH_KEY}"}'))
    code, log, report = gate(folder, SEARCH_KEY="s3cret-of-the-team")
    assert code == 3 and "| no index at /nowhere, key ***" in report["problems"][0]
    assert "s3cret" not in log and not [path for path in (folder / "out").iterdir() if b"s3cret" in path.read_bytes()]
    code, log, _ = gate(folder)
    assert code == 3 and "`retriever.env.KEY` needs the variable SEARCH_KEY" in log


def test_one_that_is_killed_from_outside_is_exit_3_and_the_rest_is_asked_with_resume(project):
    folder = project(config("slow"))
    process = started(folder, 5)
    mine, = containers()
    subprocess.run(["docker", "kill", mine], check=True, capture_output=True)
    assert process.wait(60) == 3
    problem = json.loads((folder / "out" / "report.json").read_text())["problems"][0]
    assert "ended with status 137" in problem
    code, log, report = gate(folder, "--resume")
    assert code == 0 and report["primary"]["n"] == 142, log
    assert "are those of an earlier run that was interrupted" in log


def test_a_gate_that_is_ended_takes_its_container_with_it(project):
    process = started(project(config("slow")), 3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 143
    assert not containers()


def test_what_a_killed_gate_leaves_is_removed_by_the_next_one_and_nothing_else(project):
    folder = project(config("slow"))
    process = started(folder, 3)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        orphan = containers()
        process.kill()
        process.wait()
        born = Path(f"/proc/{other.pid}/stat").read_text().rpartition(")")[2].split()[19]
        owner = f"process:{os.uname().nodename}:{other.pid}:{born}"
        kept = subprocess.run(["docker", "run", "-d", "--label", f"{LABEL}={owner}", search_image(), "sleep", "60"],
                              capture_output=True, text=True, check=True).stdout.strip()[:12]
        assert len(orphan) == 1 and containers() == orphan | {kept}
        code, log, _ = gate(folder, "--resume")
        assert code == 0 and "1 container that a killed run had left behind was removed" in log
        assert containers() == {kept}
    finally:
        other.kill()
        other.wait()
    assert gate(project(config("leave")))[0] == 3
    assert not containers()


def test_an_image_that_is_not_there_and_an_engine_that_is_not_there_are_exit_3_with_a_cure(project):
    missing = config().replace(search_image(), "sha256:" + "0" * 64)
    code, log, _ = gate(project(missing))
    assert code == 3 and "no image on this machine has this id" in log
    code, log, _ = gate(project(config()), DOCKER_HOST="unix:///nowhere/docker.sock")
    assert code == 3 and "no Docker engine answers" in log


def found_by_the_spy(log: str) -> dict:
    return json.loads(next(line for line in log.splitlines() if "SPY {" in line).partition("SPY ")[2])


def check_spy(found: dict) -> None:
    assert (found["uid"], found["groups"], found["capabilities"], found["new privileges"]) == (65534, [65534], "0" * 16, "1")
    assert set(found["env"]) <= {"MODE", "PATH", "HOME", "HOSTNAME", "LANG", "RETRIEVAL_GATE_SNAPSHOT", "PYTHONDONTWRITEBYTECODE",
                                 "GPG_KEY", "PYTHON_VERSION", "PYTHON_SHA256"}
    assert found["blocked"].pop("a file of the snapshot") in ("OSError", "PermissionError")
    assert found["blocked"] == {"socket": "FileNotFoundError", "root file system": "OSError", "snapshot": "OSError",
                                "workspace": "FileNotFoundError", "user": "PermissionError"}
    assert found["temporary file"] == "1"


class InAContainer(RunnerStory):
    """The gate in its image, as the runner starts it."""


def test_in_the_gates_image_it_is_at_localhost_and_sees_nothing_of_the_job(tmp_path, capsys):
    with FakeGitHub(bind="0.0.0.0", start=datetime.now(UTC)) as fake:
        InAContainer.image = engine.build_action_image(ROOT)
        story = InAContainer(fake, tmp_path, capsys, example_files() | {"retrieval-gate.yml": config().encode()})
        first = story.on_push()
        assert (first.code, first.outputs["baseline-updated"]) == (0, "bootstrap"), first.log
        outcome = story.on_pull(story.pull({"retrieval-gate.yml": config("spy").encode()}), "opened")
        assert (outcome.code, outcome.verdict) == (0, "pass"), outcome.log
        check_spy(found_by_the_spy(outcome.log))
        assert fake.job_token not in outcome.log
        broken = story.on_pull(story.pull({"retrieval-gate.yml": config("leave").encode()}), "opened")
        assert (broken.code, broken.verdict) == (3, "cannot-decide") and "with status 7" in broken.log, broken.log
        fake.assert_clean()


def test_with_act_it_is_found_although_the_gate_has_another_containers_network(tmp_path, capsys):
    with FakeGitHub(bind="0.0.0.0", start=datetime.now(UTC)) as fake:
        story = ActStory(fake, tmp_path, capsys, example_files() | {"retrieval-gate.yml": config("spy").encode()})
        first = story.on_push()
        assert (first.code, first.outputs.get("baseline-updated")) == (0, "bootstrap"), first.log
        check_spy(found_by_the_spy(first.log))
