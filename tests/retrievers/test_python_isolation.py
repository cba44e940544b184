"""What the retriever's process can see of the gate: nothing that the gate did not hand over."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from gate.errors import RetrieverFailed
from gate.retrievers.team import child, sandbox
from gate.retrievers.team.closing import Closing, private_folders
from gate.retrievers.team.sandbox import User, first_closed
from tests.retrievers.support import queries, why_no_other_user

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the retriever another user")
needs_other_user = pytest.mark.skipif(bool(why_no_other_user()), reason=why_no_other_user())
open_to_others = pytest.mark.skipif(os.geteuid() == 0 and bool(why_no_other_user()), reason=why_no_other_user())

SECRETS = ("GITHUB_TOKEN", "INPUT_GITHUB-TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL", "GITHUB_OUTPUT",
           "MY_TOKEN", "PYTHONPATH", "PYTHONSTARTUP", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL")
SHOW = """
    import os
    def retrieve(query, n):
        return [f"{name}={value}" for name, value in os.environ.items()]
"""


def test_the_environment_is_an_allow_list(team, monkeypatch):
    for name in SECRETS:
        monkeypatch.setenv(name, "s3cret")
    found = dict(pair.split("=", 1) for pair in team.ask(SHOW, depth=500)["q1"].docs)
    assert "s3cret" not in str(found)
    assert found.keys() <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "HOME", "TMPDIR", "PYTHONHASHSEED",
                            "PYTHONDONTWRITEBYTECODE", "RETRIEVAL_GATE_DEPTH", *sandbox._THREADS}
    assert found["RETRIEVAL_GATE_DEPTH"] == "500"
    assert found["PYTHONHASHSEED"] == "0"
    assert found["HOME"] == found["TMPDIR"] != os.environ.get("HOME")


def test_the_snapshot_is_named_in_the_environment(team):
    (team.path / "index").mkdir()
    docs = team.ask(SHOW, snapshot=team.path / "index", depth=500)["q1"].docs
    assert f"RETRIEVAL_GATE_SNAPSHOT={team.path.resolve() / 'index'}" in docs


def test_its_home_is_its_own_and_is_gone_afterwards(team):
    source = """
        import os, tempfile
        def retrieve(query, n):
            with open(os.path.expanduser("~/cache"), "w") as file:
                file.write("x")
            os.symlink("/etc", os.path.expanduser("~/link"))
            return [os.path.expanduser("~"), tempfile.gettempdir()]
    """
    home, temporary = team.ask(source)["q1"].docs
    assert home == temporary
    assert not os.path.exists(home) and os.path.isdir("/etc")


def test_standard_input_is_empty_and_no_other_descriptor_is_open(team, monkeypatch):
    with open(__file__) as kept:
        os.set_inheritable(kept.fileno(), True)
        source = """
            import os, sys
            def retrieve(query, n):
                links = ["/proc/self/fd/" + fd for fd in os.listdir("/proc/self/fd")]
                return [sys.stdin.read() or "nothing", *(os.readlink(link) for link in links if os.path.lexists(link))]
        """
        first, *links = team.ask(source, depth=50)["q1"].docs
    assert first == "nothing"
    assert all(link == "/dev/null" or link.startswith(("pipe:", "/proc/")) for link in links), links


def test_programs_it_starts_inherit_no_pipe_of_the_protocol(team):
    source = """
        import subprocess
        def retrieve(query, n):
            listed = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False).stdout
            return [line for line in listed.splitlines() if "pipe:" in line]
    """
    # Its own standard output and error, and nothing else.
    assert len(team.ask(source)["q1"].docs) == 2


def test_the_package_of_the_gate_is_not_on_its_path(team):
    source = """
        import sys
        def retrieve(query, n):
            return [entry for entry in sys.path if entry] + list(sys.argv)
    """
    root = str(Path(__file__).resolve().parents[2])
    docs = team.ask(source, depth=50)["q1"].docs
    assert docs[0] == str(team.path.resolve()) and root not in docs and docs[-1] == "search"


def test_it_can_raise_no_limit_and_gain_no_privilege(team):
    source = """
        import resource
        def retrieve(query, n):
            found = [str(resource.getrlimit(resource.RLIMIT_CORE)), str(resource.getrlimit(resource.RLIMIT_AS)[1] // 2**20)]
            with open("/proc/self/status") as status:
                return found + [line.split()[1] for line in status if line.startswith(("NoNewPrivs", "CapEff"))]
    """
    core, memory, *kernel = team.ask(source)["q1"].docs
    assert (core, memory) == ("(0, 0)", "1024")
    assert kernel[-1] == "1"
    if not why_no_other_user():
        assert int(kernel[0], 16) == 0


PROBE = """
    import os
    def retrieve(query, n):
        found = [str(os.getuid()), str(os.getgid()), str(os.getgroups())]
        for name in ("environ", "mem", "fd/0"):
            try:
                with open(f"/proc/{os.getppid()}/{name}", "rb") as file:
                    file.read(1)
                found.append(f"read {name}")
            except OSError as error:
                found.append(type(error).__name__)
        return found
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@open_to_others
def test_it_cannot_read_the_memory_the_environment_or_the_files_of_the_gate(team):
    uid, gid, groups, *tries = team.ask(PROBE)["q1"].docs
    user = sandbox.other_user()
    if user is not None:
        assert (uid, gid) == (str(user.uid), str(user.gid))
        assert groups in ("[]", f"[{user.gid}]")
    assert tries == ["PermissionError"] * 3
    assert team.last.notes == []


@needs_other_user
def test_it_can_neither_write_beside_its_code_nor_signal_the_gate(team):
    source = """
        import os
        def attempt(action):
            try:
                action()
                return "done"
            except OSError as error:
                return type(error).__name__
        def retrieve(query, n):
            return [attempt(lambda: open("search.py", "a")), attempt(lambda: open("new.txt", "w")),
                    attempt(lambda: os.kill(os.getppid(), 0))]
    """
    assert team.ask(source)["q1"].docs == ["PermissionError"] * 3


@needs_other_user
def test_what_escapes_into_a_session_of_its_own_is_ended_with_the_run(team):
    source = """
        import os, time
        def retrieve(query, n):
            reader, writer = os.pipe()
            if os.fork() == 0:
                os.setsid()
                for _ in range(3):
                    if os.fork() == 0:
                        os.write(writer, b"%d " % os.getpid())
                        while True:
                            time.sleep(60)
                os._exit(0)
            found = b""
            while found.count(b" ") < 3:
                found += os.read(reader, 100)
            return found.decode().split()
    """
    pids = team.ask(source)["q1"].docs
    assert len(pids) == 3 and not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    assert team.last.notes == []


@needs_root
@pytest.mark.parametrize("variable", ["CI", "GITHUB_ACTIONS"])
def test_in_ci_a_directory_closed_to_it_is_named_and_nothing_runs(team, tmp_path, monkeypatch, variable):
    monkeypatch.setenv(variable, "true")
    tmp_path.chmod(0o700)
    retriever = team.retriever("def retrieve(query, n):\n    return ['a']\n", snapshot=tmp_path)
    with pytest.raises(RetrieverFailed) as caught, retriever:
        list(retriever.retrieve(queries(1), 5))
    closed = first_closed(tmp_path, sandbox.other_user())
    assert f"{closed}: is closed to the retriever's user" in str(caught.value) and "chmod" in str(caught.value)


@needs_root
def test_on_a_machine_of_ones_own_it_falls_back_to_the_same_user_and_says_so(team, tmp_path):
    tmp_path.chmod(0o700)
    assert team.ask("def retrieve(query, n):\n    return ['a']\n", snapshot=tmp_path)["q1"].docs == ["a"]
    assert len(team.last.notes) == 1 and "ran as the gate's own user" in team.last.notes[0]


@needs_root
@pytest.mark.parametrize("name", ["WORKER", "PARTS"])
def test_a_gate_in_a_closed_directory_falls_back_with_a_note_and_in_ci_fails_with_the_directory(team, tmp_path, monkeypatch, name):
    closed = tmp_path / "closed"
    closed.mkdir(0o700)
    for file in (child.WORKER, *child.PARTS):
        shutil.copy(file, closed)
    moved = tuple(closed / file.name for file in child.PARTS) if name == "PARTS" else closed / child.WORKER.name
    for module in ("team.stranger", "python") if name == "WORKER" else ("team.stranger",):
        monkeypatch.setattr(f"gate.retrievers.{module}.{name}", moved)
    assert team.ask("def retrieve(query, n):\n    return ['a']\n")["q1"].docs == ["a"]
    assert len(team.last.notes) == 1 and "ran as the gate's own user" in team.last.notes[0]
    monkeypatch.setenv("CI", "true")
    with pytest.raises(RetrieverFailed) as caught:
        team.ask("def retrieve(query, n):\n    return ['a']\n")
    assert any("is closed to the retriever's user" in problem for problem in caught.value.problems) and "chmod" in caught.value.cure


@needs_other_user
def test_a_module_that_only_its_owner_may_read_is_named(team, monkeypatch):
    monkeypatch.setenv("CI", "true")
    retriever = team.retriever("def retrieve(query, n):\n    return ['a']\n")
    (team.path / "search.py").chmod(0o600)
    with pytest.raises(RetrieverFailed, match=r"search\.py: is closed to the retriever's user"), retriever:
        list(retriever.retrieve(queries(1), 5))


def test_of_its_own_interpreter_the_standard_library_must_be_reachable_as_well():
    assert [path.name for path in sandbox.interpreter_files(sys.executable)][1:] == ["os.py"]
    assert sandbox.interpreter_files("/another/python") == [Path("/another/python")]


def test_a_directory_is_closed_by_the_bits_that_apply_to_the_user(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == os.geteuid() and str(place) not in ("/", "/tmp"):
            place.chmod(place.stat().st_mode | 0o055)
    stranger = User(4242, 4242)
    assert first_closed(tmp_path / "a" / "b", stranger) is None
    (tmp_path / "a").chmod(0o750)
    assert first_closed(tmp_path / "a" / "b", stranger) == (tmp_path / "a").resolve()
    assert first_closed(tmp_path / "a" / "b", User(4242, (tmp_path / "a").stat().st_gid)) is None
    (tmp_path / "a").chmod(0o711)
    assert first_closed(tmp_path / "a" / "b", stranger) is None
    assert first_closed(tmp_path / "a", stranger) == (tmp_path / "a").resolve()
    assert first_closed(tmp_path / "gone", stranger) == (tmp_path / "gone").resolve()


SINCE_V6 = """[includeIf "gitdir:/somewhere/.git"]
	path = /somewhere/git-credentials-0.config
[includeIf "gitdir:{path}/.git"]
	path = {path}/elsewhere/git-credentials-1.config
"""


@pytest.fixture
def checkout(team, monkeypatch):
    """A checkout in CI that left a token, as v5 or v6 of actions/checkout does."""
    monkeypatch.setattr("gate.retrievers.team.isolation.in_ci", lambda: True)
    for name in ("GITHUB_EVENT_PATH", "GITHUB_OUTPUT", "GITHUB_ENV", "RUNNER_TEMP", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for folder in (".git", "elsewhere"):
        (team.path / folder).mkdir()

    def write(version):
        token = '[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic eA==\n'
        team.write("[core]\n\tbare = false\n" + (token if version == 5 else SINCE_V6.format(path=team.path)), ".git/config")
        team.write(token, "elsewhere/git-credentials-1.config")
        return team.path / (".git/config" if version == 5 else "elsewhere/git-credentials-1.config")

    return write


READ = """
    def retrieve(query, n):
        found = []
        for name in {names!r}:
            try:
                open(name).read()
                found.append("read")
            except OSError as error:
                found.append(type(error).__name__)
        return found
"""


@needs_other_user
@pytest.mark.parametrize("version", [5, 6])
def test_a_token_that_the_checkout_left_is_closed_to_it_while_it_runs(team, checkout, version):
    file = checkout(version)
    assert team.ask(READ.format(names=[str(file)]))["q1"].docs == ["PermissionError"]
    assert team.last.notes == [] and file.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("version", [5, 6])
def test_a_token_that_cannot_be_closed_to_it_is_told(team, checkout, version):
    file = checkout(version)
    with team.retriever("") as retriever:
        retriever.isolation.user = None  # not root: there is no other user whose rights could be taken
        assert list(retriever.retrieve([], 5)) == []
    (note,) = retriever.notes
    assert str(file) in note and "persist-credentials: false" in note


def test_a_checkout_without_a_token_is_not_talked_about(team, checkout):
    checkout(6)
    (team.path / "elsewhere" / "git-credentials-1.config").unlink()
    with team.retriever("") as retriever:
        retriever.isolation.user = None
        assert list(retriever.retrieve([], 5)) == [] and retriever.notes == []


@needs_other_user
def test_the_runners_folders_are_closed_to_it_while_it_runs_and_opened_again_also_after_a_failure(team, checkout, monkeypatch):
    job = Path(tempfile.mkdtemp(prefix="job-"))
    job.chmod(0o755)
    places = {"GITHUB_EVENT_PATH": "workflow/event.json", "GITHUB_OUTPUT": "commands/output", "RUNNER_TEMP": "temp", "HOME": "home"}
    files = [job / place if "/" in place else job / place / "secret" for place in places.values()]
    try:
        for file in files:
            file.parent.mkdir()
            file.write_text("x")
            file.chmod(0o666)
            file.parent.chmod(0o777)
        for name, place in places.items():
            monkeypatch.setenv(name, str(job / place))
        names = [str(file) for file in files]
        assert team.ask(READ.format(names=names))["q1"].docs == ["PermissionError"] * len(files)
        assert {file.parent.stat().st_mode & 0o777 for file in files} == {0o777}
        with pytest.raises(RetrieverFailed):
            team.ask("raise SystemExit")
        assert {file.parent.stat().st_mode & 0o777 for file in files} == {0o777}
    finally:
        shutil.rmtree(job)


def test_a_folder_that_the_retriever_needs_is_not_closed(tmp_path):
    environ = {"RUNNER_TEMP": str(tmp_path), "HOME": str(tmp_path / "home"), "GITHUB_OUTPUT": "relative/output"}
    assert private_folders(environ, [tmp_path / "repository"]) == [(tmp_path / "home").resolve()]
    assert private_folders({"HOME": "/"}, [tmp_path]) == []
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "python").symlink_to("/usr/bin/env")
    assert private_folders({"HOME": str(tmp_path)}, [tmp_path / "venv" / "python"]) == []


def test_what_is_closed_is_never_reached_through_a_link(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("x")
    file.chmod(0o644)
    link.symlink_to(file)
    closing = Closing(User(4242, 4242), [link, tmp_path / "missing"])
    assert file.stat().st_mode & 0o777 == 0o644
    closing.release()
