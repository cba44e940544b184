"""The commands that a comment gives, run by a shell as they are printed, with a `gh` that has the fake GitHub's artifacts."""

import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.story import CONFIG, golden, lines, run

GH = """#!{python}
import pathlib, shutil, sys
given = sys.argv[1:]
assert given[:2] == ["run", "download"] and given[3] == "-n" and given[5] == "-D", given
shutil.unpack_archive(str(pathlib.Path({folder!r}) / given[2] / (given[4] + ".zip")), given[6])
"""


def commands_of(comment):
    return re.search(r"a command to copy</summary>\n\n(`{3,})\n(.*?)\n\1\n", comment, re.S)[2]


def copied(story, commands, tmp_path):
    """What a shell prints that runs them in a checkout of the pull request."""
    for artifact in story.fake.artifacts.values():
        folder = tmp_path / "artifacts" / str(artifact.run.id)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{artifact.name}.zip").write_bytes(artifact.data)
        assert zipfile.is_zipfile(io.BytesIO(artifact.data))
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("gh", GH.format(python=sys.executable, folder=str(tmp_path / "artifacts"))),
                       ("retrieval-gate", f'#!/bin/sh\nexec "{sys.executable}" -m gate "$@"\n')):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    return subprocess.run(["sh", "-e", "-c", commands], cwd=story.workspace, capture_output=True, text=True, timeout=120, check=False,
                          env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parents[1])})


@pytest.mark.parametrize("name", ["q0", "-x", "it's", "$(touch pwned)", "a `b` | c", "עברית"])
def test_after_a_pull_request_the_commands_explain_its_worst_query(story, tmp_path, name):
    files = {"golden.jsonl": golden() + lines([{"id": name, "query": "the odd one", "relevant": ["odd"]}] * (name != "q0")),
             "run.jsonl": run() + lines([{"id": name, "ranked": ["odd", "y"]}] * (name != "q0"))}
    pr = story.pull(files)
    story.merge(pr)
    assert story.on_push().code == 0
    story.on_pull(pr := story.pull({"run.jsonl": run(lost=30 if name == "q0" else 0)
                                    + lines([{"id": name, "ranked": ["y", "z"]}] * (name != "q0"))}), "opened")
    done = copied(story, commands_of(story.comments(pr)[0]), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(name) and "1.000 -> 0.000" in done.stdout and not (story.workspace / "pwned").exists()


def test_a_committed_baseline_needs_no_download_but_the_report(story, tmp_path):
    story.merge(story.pull({"retrieval-gate.yml": CONFIG + "baseline: {store: file, path: base line.json.gz}\n"}))
    assert story.on_push().code == 3
    pr = story.pull({"base line.json.gz": (story.workspace / "retrieval-gate-report" / "baseline.json.gz").read_bytes()})
    story.approve(pr)
    story.on_pull(pr)
    assert story.merged(pr).code == 0
    story.on_pull(pr := story.pull({"run.jsonl": run(lost=30)}), "opened")
    commands = commands_of(story.comments(pr)[0])
    done = copied(story, commands, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(commands.splitlines()) == 2 and "1.000 -> 0.000" in done.stdout


def test_a_baseline_on_a_branch_is_taken_from_the_commit_that_was_compared_with(story, tmp_path):
    story.merge(story.pull({"retrieval-gate.yml": CONFIG + "baseline: {store: branch}\n"}))
    story.fake.token(story.fake.job_token, permissions={"contents": "write", "actions": "read", "pull_requests": "write"})
    assert story.on_push().code == 0
    story.on_pull(pr := story.pull({"run.jsonl": run(lost=30)}), "opened")
    fetch = re.search(r"git fetch origin ([0-9a-f]+) && git show ([0-9a-f]+):(\S+) > (\S+)", commands := commands_of(story.comments(pr)[0]))
    assert fetch[1] == fetch[2]
    (story.workspace / fetch[4]).write_bytes(story.repo.commit(fetch[1]).files[fetch[3]])  # as git would
    done = copied(story, commands.replace(fetch[0], "true"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1.000 -> 0.000" in done.stdout
