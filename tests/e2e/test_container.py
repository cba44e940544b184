"""The image, started as GitHub's runner starts it: what gets in, what stays out, and what it costs.

A probe replaces the package `gate` inside the container where a test is about the way there (entry point, variables,
users) and not about the gate.
"""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e import engine

ROOT = Path(__file__).resolve().parents[2]
EVENT = {"number": 7, "pull_request": {"number": 7, "head": {"ref": "f"}, "base": {"ref": "main"}}}

PROBE = """
import json, os, subprocess, sys

def main(*_):
    tool = [sys.executable, "-c", '''
import json, os
import numpy, bm25s
def allowed(action, path):
    try:
        action(path)
    except OSError:
        return False
    return True
print(json.dumps({
    "uid": os.getuid(),
    "gid": os.getgid(),
    "reads_parent": allowed(lambda p: open(p).read(), f"/proc/{os.getppid()}/environ"),
    "writes_gate": os.access("/opt/retrieval-gate", os.W_OK) or os.access("/opt/retrieval-gate/lib", os.W_OK),
    "uses_socket": os.access("/var/run/docker.sock", os.W_OK),
}))
''']
    child = subprocess.run(tool, user="retriever", group="retriever", extra_groups=[], env={}, cwd="/", stdout=-1)
    print(json.dumps({
        "argv": sys.argv[1:],
        "cwd": os.getcwd(),
        "uid": os.getuid(),
        "env": dict(os.environ),
        "child": json.loads(child.stdout),
        "import_path": sys.path,
        "encoding": sys.stdout.encoding,
    }))
    for name, value in (("GITHUB_OUTPUT", "verdict=fail\\n"), ("GITHUB_STEP_SUMMARY", "## seen\\n")):
        with open(os.environ[name], "a") as file:
            file.write(value)
    return 4
"""


@pytest.fixture(scope="module")
def image():
    available, reason = engine.engine_available()
    if not available:
        pytest.skip(reason)
    return engine.build_action_image(ROOT)


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "repo" / "repo"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def start(image, workspace, tmp_path):
    """Start the image on the workspace; with `probe=True` the probe stands where the package is."""

    def run(*args, probe=False, **options):
        volumes = []
        if probe:
            package = tmp_path / "probe"
            package.mkdir()
            (package / "__init__.py").touch()
            (package / "action.py").write_text(PROBE)
            (package / "cli.py").write_text(PROBE)
            volumes = [f"{package}:/opt/retrieval-gate/gate:ro"]
        work = tmp_path / "work"
        return engine.runner_docker_run(image, workspace, EVENT, args=args, volumes=volumes, work=work, **options)

    return run


def seen(result):
    return json.loads(result.stdout.splitlines()[-1])


def docker(*words):
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.e2e
class TestEntryPoint:
    def test_is_executed_without_a_shell_in_between(self, image):
        entrypoint = json.loads(docker("image", "inspect", image, "--format", "{{json .Config.Entrypoint}}"))
        assert entrypoint[0].endswith("/python")
        assert "-I" in entrypoint

    def test_with_arguments_is_the_command_line(self, start):
        result = start("--help")
        assert result.exit_code == 0, result.log
        assert "compare" in result.stdout

    def test_passes_arguments_on_and_returns_the_exit_code(self, start):
        result = start("compare", "--golden", "a b", probe=True)
        assert result.exit_code == 4, result.log
        assert seen(result)["argv"] == ["compare", "--golden", "a b"]

    def test_without_arguments_is_the_action_and_returns_its_exit_code(self, start):
        result = start(probe=True)
        assert result.exit_code == 4, result.log
        assert seen(result)["argv"] == []
        assert result.outputs == {"verdict": "fail"}
        assert result.summary == "## seen\n"

    def test_runs_as_root_in_the_workspace_with_utf8_whatever_the_locale(self, start):
        result = seen(start(probe=True, env={"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"}))
        assert (result["uid"], result["cwd"], result["encoding"]) == (0, "/github/workspace", "utf-8")

    @pytest.mark.parametrize("args", [(), ("--help",)], ids=["action", "command line"])
    def test_imports_nothing_from_the_workspace_or_the_home(self, start, workspace, tmp_path, args):
        trap = "import sys; print('HIJACKED by', __file__, file=sys.stderr)\n"
        home = tmp_path / "work" / "_temp" / "_github_home"
        for folder in (workspace, home / ".local/lib/python3.13/site-packages"):
            folder.mkdir(parents=True, exist_ok=True)
            for module in ("json", "sitecustomize", "usercustomize", "argparse", "yaml", "numpy", "entrypoint"):
                (folder / f"{module}.py").write_text(trap)
            for package in ("gate", "lib", "templates", "encodings"):
                (folder / package).mkdir()
                (folder / package / "__init__.py").write_text(trap)
            (folder / "gate" / "action.py").write_text(trap)
            (folder / "gate" / "cli.py").write_text(trap)
            (folder / "trap.pth").write_text("import sys; print('HIJACKED by .pth', file=sys.stderr)\n")
        hostile = {
            "PYTHONPATH": "/github/workspace",
            "PYTHONUSERBASE": "/github/home/.local",
            "PYTHONSTARTUP": "/github/workspace/json.py",
            "PYTHONINSPECT": "1",
        }
        result = start(*args, env=hostile)
        assert "HIJACKED" not in result.log
        assert "site-packages" not in result.log


@pytest.mark.e2e
class TestVariables:
    def test_inputs_keep_hyphens_newlines_and_unicode(self, start):
        inputs = {"min-queries": "10", "golden.file": "g.jsonl", "with space": "x", "notes": "première\nzweite\n"}
        env = seen(start(probe=True, inputs=inputs))["env"]
        assert env["INPUT_MIN-QUERIES"] == "10"
        assert env["INPUT_GOLDEN.FILE"] == "g.jsonl"
        assert env["INPUT_WITH_SPACE"] == "x"
        assert env["INPUT_NOTES"] == "première\nzweite\n"

    def test_paths_are_those_inside_the_container(self, start):
        env = seen(start(probe=True))["env"]
        assert env["GITHUB_WORKSPACE"] == "/github/workspace"
        assert env["GITHUB_EVENT_PATH"] == "/github/workflow/event.json"
        assert env["GITHUB_OUTPUT"].startswith("/github/file_commands/set_output_")
        assert env["RUNNER_TEMP"] == "/github/runner_temp"
        assert env["HOME"] == "/github/home"
        assert env["GITHUB_ACTIONS"] == env["CI"] == "true"


@pytest.mark.e2e
class TestChildUser:
    def test_has_the_libraries_but_no_way_to_the_gate(self, start):
        child = seen(start(probe=True, inputs={"github-token": "ghs_secret"}))["child"]
        assert child == {
            "uid": 10001,
            "gid": 10001,
            "reads_parent": False,
            "writes_gate": False,
            "uses_socket": False,
        }


@pytest.mark.e2e
class TestImage:
    def test_holds_compiled_code_for_the_library_and_for_itself(self, image):
        script = (
            "import json, importlib.util as u, pathlib, sys\n"
            "import argparse, numpy, yaml, gate\n"
            "files = [m.__file__ for m in (json, argparse, numpy, yaml, gate)]\n"
            "print(json.dumps([f for f in files if not pathlib.Path(u.cache_from_source(f)).exists()]))"
        )
        assert json.loads(docker("run", "--rm", "--entrypoint", "/usr/local/bin/python", image, "-c", script)) == []

    def test_carries_no_tests_headers_or_build_inputs(self, image):
        listing = docker("run", "--rm", "--entrypoint", "/usr/bin/find", image, "/opt/retrieval-gate")
        left = [
            path
            for path in listing.splitlines()
            if path.endswith((".h", ".pyi", ".c", ".jsonl", ".toml", "/tests", "/.git", "/requirements"))
        ]
        assert left == []

    def test_adds_less_than_90_mb_to_its_base(self, image, capsys):
        names = (image, engine.BASE_IMAGE)
        size, base = (int(docker("image", "inspect", name, "--format", "{{.Size}}")) for name in names)
        with capsys.disabled():
            print(f"\nimage: {size / 1e6:.0f} MB, of which the base is {base / 1e6:.0f} MB")
        assert size - base < 90e6  # numpy 49, psycopg with its own libpq and OpenSSL 13
