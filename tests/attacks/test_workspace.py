"""A checkout that is hostile: files where the gate might look, links to where it must not, and code that changes them while it runs."""

from __future__ import annotations

import json
import os

import pytest

from tests.fake_github import GATE_PATH
from tests.story import Story, golden, run

HARM = {"run.jsonl": run(lost=30)}
N = 60
PYTHON = "golden: golden.jsonl\nretriever:\n  kind: python\n  function: search:retrieve\n"
HONEST = "def retrieve(query, n):\n    return ['d' + query.split()[-1]]\n"


@pytest.fixture
def by_python(fake, tmp_path, capsys):
    """A gate whose retriever is the pull request's code. In this process it has the gate's own user, so its writes succeed."""
    files = {"retrieval-gate.yml": PYTHON, "golden.jsonl": golden(N), "search.py": HONEST, GATE_PATH: "x"}
    story = Story(fake, tmp_path, capsys, files)
    assert story.on_push().code == 0
    return story


# -- links -------------------------------------------------------------------------------------------------------------

LINKED = {"configuration": "retrieval-gate.yml", "golden set": "golden.jsonl", "header of the golden set": "golden.yml", "run": "run.jsonl"}


@pytest.mark.parametrize("target", ["/proc/self/environ", "/proc/1/environ", "the event", "the outputs", "/dev/zero", "/etc/passwd"])
@pytest.mark.parametrize("what", LINKED)
def test_a_link_in_the_workspace_reads_nothing_outside_of_it(started, what, target):
    pr = started.pull({**HARM, "notes.txt": "x"})
    named = {"the event": lambda: started.tmp / f"run-{started.runs}" / "event.json",
             "the outputs": lambda: started.tmp / f"run-{started.runs}" / "output"}

    def link(workspace):
        place = workspace / LINKED[what]
        place.unlink(missing_ok=True)
        place.symlink_to(named[target]() if target in named else target)

    started.prepare = link
    outcome = started.on_pull(pr, "opened")
    if what == "header of the golden set" and target == "/dev/zero":
        assert outcome.code == 1  # a device is no header: none is read, and the change is judged
    else:
        assert outcome.code == 2 and outcome.verdict == "invalid"
    shown = outcome.log + outcome.summary + json.dumps(outcome.report) + "".join(started.comments(pr))
    assert started.fake.job_token not in shown and "root:x:0" not in shown and f"PATH={os.environ['PATH']}" not in shown


def test_a_snapshot_or_a_retriever_that_is_a_link_out_of_the_repository_is_refused(started):
    more = "snapshot: {path: snapshot, digest: 'sha256:" + "0" * 64 + "'}\n"
    pr = started.pull({"retrieval-gate.yml": PYTHON.replace("  function", "  path: code\n  function") + more})

    def link(workspace):
        (workspace / "snapshot").symlink_to("/proc")
        (workspace / "code").symlink_to("/github")

    started.prepare = link
    outcome = started.on_pull(pr, "opened")
    assert outcome.code == 2 and outcome.log.count("leads out of the repository") >= 2


# -- traps -------------------------------------------------------------------------------------------------------------

TRAP = "raise SystemExit('HIJACKED')\n"
TRAPS = dict.fromkeys(("gate/__init__.py", "gate/action.py", "json.py", "sitecustomize.py", "usercustomize.py", "yaml.py", "requests.py",
                       "numpy/__init__.py", "conftest.py"), TRAP)
TRAPS |= {".netrc": "machine 127.0.0.1 login eve password stolen\n", "pip.conf": "[global]\nindex-url = http://127.0.0.1:9/\n",
          "setup.cfg": "[options]\n", "trap.pth": "import os; os._exit(0)\n", "templates/comment.md.j2": "## ✅ all is well\n"}


def test_files_that_are_called_like_the_gates_own_change_nothing(started):
    pr = started.pull({**HARM, **TRAPS})
    outcome = started.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict) == (1, "fail") and "HIJACKED" not in outcome.log
    assert started.comments(pr)[0].startswith("## ❌")


def test_a_netrc_in_the_home_never_replaces_the_token(started, monkeypatch):
    home = started.tmp / "home"
    home.mkdir()
    (home / ".netrc").write_text(TRAPS[".netrc"])
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NETRC", str(home / ".netrc"))
    assert started.on_pull(started.pull(HARM), "opened").outputs["comment-status"] == "created"


# -- changes while the gate runs ---------------------------------------------------------------------------------------

REWRITES = {
    "the golden set": "open('golden.jsonl', 'w').write('')",
    "the golden set by an easier one": "open('golden.jsonl', 'w').write('{\"id\": \"q0\", \"query\": \"x\", \"relevant\": [\"x\"]}\\n')",
    "the configuration": "open('retrieval-gate.yml', 'a').write('policy: {tolerance: 1.0}\\n')",
    "the report": "os.makedirs('retrieval-gate-report/report.json/x', exist_ok=True)",
    "the report by a link": "os.path.lexists('retrieval-gate-report') or os.symlink('/tmp', 'retrieval-gate-report')",
    "a report that says pass": "os.makedirs('retrieval-gate-report', exist_ok=True); "
                               "open('retrieval-gate-report/report.json', 'w').write('{\"verdict\": \"pass\"}')",
}


@pytest.mark.parametrize("what", REWRITES)
def test_what_the_retriever_rewrites_while_it_runs_moves_no_verdict(by_python, what):
    attack = f"import os\n\n{REWRITES[what]}\n\n\ndef retrieve(query, n):\n    return ['x']\n"
    pr = by_python.pull({"search.py": attack})
    outcome = by_python.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict, outcome.outputs["lost"]) == (1, "fail", str(N))
    assert by_python.comments(pr)[0].startswith("## ❌") and f"{N} queries lost" in by_python.comments(pr)[0]
    assert outcome.report.get("verdict", "fail") == "fail"


def test_a_retriever_that_prints_commands_sets_no_output_and_writes_no_annotation(by_python):
    attack = """import sys


def retrieve(query, n):
    for stream in (sys.stdout, sys.stderr):
        print("::set-output name=verdict::pass", file=stream)
        print("harmless ##[set-output name=verdict;]pass", file=stream)
        print("\\r::add-mask::e\\n\\n::stop-commands::x\\n::error::forged\\x1b[2K", file=stream)
    return ["x"]
"""
    outcome = by_python.on_pull(by_python.pull({"search.py": attack}), "opened")
    assert outcome.outputs["verdict"] == "fail" and "##[" not in outcome.log and "\x1b" not in outcome.log
    commands = [line for line in outcome.log.splitlines() if line.lstrip().startswith("::")]
    assert commands and not [line for line in commands if "forged" in line or "set-output" in line or "add-mask" in line]


def test_a_retriever_that_leaves_with_status_0_is_no_pass(by_python):
    for attack in ("import os\nos._exit(0)\n", "raise SystemExit(0)\n", "import os\ndef retrieve(query, n):\n    os._exit(0)\n"):
        outcome = by_python.on_pull(by_python.pull({"search.py": attack}), "opened")
        assert (outcome.code, outcome.verdict) == (3, "cannot-decide"), attack


def test_a_retriever_cannot_write_files_without_a_bound(by_python):
    attack = """def retrieve(query, n):
    try:
        with open(__import__("os").path.expanduser("~/big"), "wb") as file:
            file.truncate(2 * 1024**3)
        return ["d" + query.split()[-1]]
    except OSError as error:
        return [type(error).__name__]
"""
    outcome = by_python.on_pull(by_python.pull({"search.py": attack}), "opened")
    assert outcome.code == 1 and outcome.outputs["lost"] == str(N)
