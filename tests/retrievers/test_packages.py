"""`requirements:` of a team: installed once into an environment of its own, by a stranger's hands, and used while it is what it was."""

import fcntl
import os
import shutil
import sys
import threading
import time

import pytest

from gate.errors import InvalidInput, RetrieverFailed
from gate.retrievers.team.installing import Installer
from gate.retrievers.team.output import Captured
from gate.retrievers.team.requirement_files import read_requirements
from gate.retrievers.team.sandbox import other_user
from gate.retrievers.team.tree import Strange, digest_of, take_over
from tests.retrievers.support import INSTALLING, queries, reachable_interpreter, wheel, why_no_other_user

needs_other_user = pytest.mark.skipif(bool(why_no_other_user()), reason=why_no_other_user())
def test_what_is_listed_is_installed_once_and_found_by_the_retriever_alone(shelf):
    version, file = shelf.ask()["q1"].docs
    assert version == "1.0" and file.startswith(str(shelf.environment)) and shelf.team.notes == []
    made = shelf.environment.stat().st_ctime_ns
    wheel(shelf.wheels, version="2.0")
    assert shelf.ask()["q1"].docs == [version, file] and shelf.environment.stat().st_ctime_ns == made
    described = shelf.team.last.describe()
    assert described["packages"] == {"tinysearch": "1.0"} and described["requirements"].startswith("sha256:")
    error = shelf.ask("def retrieve(query, n):\n    import numpy\n")["q1"].error
    assert "the module `numpy` is not installed where the retriever runs; only what `retriever.requirements` lists is there" in error


def test_another_version_in_the_file_is_another_environment(shelf):
    shelf.ask(listed="tinysearch==1.0\n")
    wheel(shelf.wheels, version="2.0")
    assert shelf.ask(listed="tinysearch==2.0  # newer\n")["q1"].docs[0] == "2.0"
    assert len([path for path in (shelf.cache / "environments").iterdir() if path.is_dir()]) == 2


def test_a_file_that_another_one_names_counts_as_well(shelf):
    shelf.team.write("tinysearch==1.0\n", "pins.txt")
    assert shelf.ask(listed="-c pins.txt\ntinysearch\n")["q1"].docs[0] == "1.0"
    wheel(shelf.wheels, version="2.0")
    shelf.team.write("tinysearch==2.0\n", "pins.txt")
    assert shelf.ask(listed="-c pins.txt\ntinysearch\n")["q1"].docs[0] == "2.0"


def installed(shelf):
    file, = shelf.environment.glob("lib/python*/site-packages/tinysearch.py")
    return file


def test_an_environment_that_is_not_what_was_installed_is_made_anew(shelf):
    def writable(file):
        file.chmod(0o777)
        if shelf.team.last.isolation.user is None:  # then nobody else could write to it
            file.unlink()

    shelf.ask()
    for damage in (lambda file: file.write_text("__version__ = 'forged'\n"), writable,
                   lambda file: file.with_name("more.pth").write_text("import os\n"),
                   lambda file: next(shelf.cache.glob("environments/*.json")).write_text("{")):
        damage(installed(shelf))
        assert shelf.ask()["q1"].docs[0] == "1.0"
        assert shelf.team.notes == ["the stored environment of requirements.txt was not what had been installed; it was made anew"]
    assert shelf.ask()["q1"].docs[0] == "1.0" and shelf.team.notes == []


def test_what_an_interrupted_installation_left_is_never_used(shelf):
    shelf.ask()
    record, = shelf.cache.glob("environments/*.json")
    record.unlink()  # it is written last
    (shelf.cache / "environments" / f"{record.stem}.x.part" / "bin").mkdir(parents=True)
    installed(shelf).write_text("half a fi")
    assert shelf.ask()["q1"].docs[0] == "1.0"
    assert sorted(path.suffix for path in (shelf.cache / "environments").iterdir()) == ["", ".json", ".lock"]


@needs_other_user
def test_the_retriever_can_write_nothing_of_its_environment(shelf):
    source = """
        import os, pathlib, sys, tinysearch
        def attempt(action):
            try:
                action()
                return "done"
            except OSError as error:
                return type(error).__name__
        def retrieve(query, n):
            file = pathlib.Path(tinysearch.__file__)
            return [attempt(lambda: open(file, "a")), attempt(lambda: open(file.with_name("new.pth"), "w")), attempt(file.unlink),
                    attempt(lambda: os.rename(sys.prefix, sys.prefix + "2"))]
    """
    assert shelf.ask(source)["q1"].docs == ["PermissionError"] * 4
    assert {path.lstat().st_uid for path in (shelf.environment, *shelf.environment.rglob("*"))} == {os.geteuid()}


BACKEND = """
import os, pathlib, zipfile
def build_wheel(folder, settings=None, metadata=None):
    pathlib.Path({told!r}).write_text(repr((os.getuid(), dict(os.environ))))
    name = "fromsource-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as archive:
        archive.writestr("fromsource.py", "")
        archive.writestr("fromsource-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr("fromsource-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: fromsource\\nVersion: 1.0\\n")
        archive.writestr("fromsource-1.0.dist-info/RECORD", "")
    return name
"""


def test_nothing_is_built_unless_that_is_said_and_then_as_the_retrievers_user_without_secrets(shelf, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")
    shelf.variables["SECRET"] = "s3cret"
    told = shelf.place / "told"
    told.touch()
    told.chmod(0o666)
    source = shelf.place / "fromsource-1.0"
    source.mkdir()
    # The backend is the package's own: building with one of an index would first have to install that.
    for name, text in {"PKG-INFO": "Metadata-Version: 2.1\nName: fromsource\nVersion: 1.0\n", "backend.py": BACKEND.format(told=str(told)),
                       "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'}.items():
        (source / name).write_text(text)
    shutil.make_archive(str(shelf.wheels / "fromsource-1.0"), "gztar", shelf.place, "fromsource-1.0")
    with pytest.raises(InvalidInput) as caught:
        shelf.ask(listed="fromsource\n")
    assert "`build: true`" in caught.value.cure and told.read_text() == ""
    asking = "import fromsource\ndef retrieve(query, n):\n    return ['built']\n"
    assert shelf.ask(asking, listed="fromsource\n", build=True)["q1"].docs == ["built"]
    assert told.read_text().startswith(f"({(shelf.team.last.isolation.user.uid if shelf.team.last.isolation.user else os.getuid())}, ")
    assert "s3cret" not in told.read_text()


@pytest.mark.parametrize(("listed", "words"), [
    ("nosuchpackage\n", "No matching distribution found for nosuchpackage"),
    ("tinysearch==9\n", "No matching distribution found for tinysearch==9"),
    ("tiny search\n", "Invalid requirement"),
    ("--nonsense\n", "no such option")])
def test_a_file_that_cannot_be_satisfied_is_invalid_input_with_what_pip_said(shelf, listed, words):
    with pytest.raises(InvalidInput) as caught:
        shelf.ask(listed=listed)
    first, *said = caught.value.problems[0].split("\n")
    assert first.endswith("requirements.txt: cannot be installed") and said[0] == "pip said:"
    assert all(line.startswith(("|", "…")) for line in said[1:]) and words.lower() in "\n".join(said).lower()
    assert "fix the file" in caught.value.cure


def test_an_index_that_does_not_answer_is_no_fault_of_the_file(shelf):
    shelf.variables = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_TIMEOUT": "2", "NO_PROXY": "127.0.0.1"}
    with pytest.raises(RetrieverFailed, match="the index of packages could not be reached") as caught:
        shelf.ask()
    assert caught.value.exit_code == 3 and "PIP_INDEX_URL" in caught.value.cure and "pip said:" in str(caught.value)


def test_a_password_of_the_index_is_in_no_message_and_in_no_process_of_the_retriever(shelf):
    shelf.variables = {"PIP_INDEX_URL": "http://user:s3cret@127.0.0.1:9/simple", "PIP_RETRIES": "1", "PIP_TIMEOUT": "2",
                       "NO_PROXY": "127.0.0.1"}
    with pytest.raises(RetrieverFailed) as caught:
        shelf.ask()
    assert "127.0.0.1" in str(caught.value) and "s3cret" not in str(caught.value)
    shelf.variables |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf.wheels)}
    source = "import os\ndef retrieve(query, n):\n    return [f'{k}={v}' for k, v in os.environ.items()]\n"
    assert "s3cret" not in str(shelf.ask(source, depth=100)["q1"].docs) and "s3cret" not in str(shelf.team.last.describe())


def test_a_package_that_is_built_may_print_the_password_of_the_index_but_the_gate_does_not(shelf):
    installer = Installer(shelf.team.path / "requirements.txt", sys.executable, {
        "PIP_INDEX_URL": "https://user:s3%2Fcret@example.org/simple"}, None, INSTALLING, True)
    installer._captured = Captured.of("the password is s3/cret, or s3%2Fcret")
    told = str(installer._failed("pip failed", "look"))
    assert "the password is ***, or ***" in told


def test_an_installation_has_a_time_limit(shelf):
    with pytest.raises(RetrieverFailed, match=r"pip took longer than 0.05 s"):
        shelf.ask(limits=INSTALLING._replace(run_seconds=0.05))
    assert not list(shelf.cache.glob("environments/*.part"))


@pytest.mark.parametrize(("listed", "words"), [
    ("--extra-index-url https://example.org/${PIP_INDEX_URL}\n", "2: pip would fill"), ("-r ${PIP_INDEX_URL}\n", "2: pip would fill"),
    ("-e .\n", "2: an editable package is code of the repository"), ("./tool\n", "2: a file of the machine may change"),
    ("tool @ file:///opt/tool.whl\n", "2: a file of the machine"), ("..\n", "2: a file of the machine"),
    ("tool @ git+https://example.org/tool\n", "2: this package would have to be built"),
    ("https://example.org/tool.tar.gz#sha256=0\n", "2: this package would have to be built"),
    ("--no-binary :all:\n", "2: `--no-binary` builds packages"), ("-r gone.txt\n", "2: names gone.txt, which is no file"),
    ("-c ../outside.txt\n", "2: names a file outside of the repository"), ("-r/etc/passwd\n", "2: names a file outside")])
def test_what_could_change_or_run_unasked_is_refused_with_its_line(team, listed, words):
    team.write(f"tinysearch\n{listed}", "requirements.txt")
    with pytest.raises(InvalidInput) as caught:
        read_requirements(team.path / "requirements.txt", False, team.path.resolve())
    assert len(caught.value.problems) == 1 and f"requirements.txt:{words}" in caught.value.problems[0]


def test_every_fault_of_a_file_is_listed_and_honest_lines_are_none(team):
    team.write("-e .\n# -e .\nfine[extra]>=1,<2 ; python_version > '3' # ./x\nlong \\\n  ==1.0\nsmall @ https://example.org/small-1.0.whl\n"
               "--index-url https://example.org/simple\n./x\n-r more.txt\n", "requirements.txt")
    team.write("Other_Name==3\n-r requirements.txt\n/abs\n", "more.txt")
    with pytest.raises(InvalidInput) as caught:
        read_requirements(team.path / "requirements.txt", False)
    assert [problem.rpartition("/")[2].partition(": ")[0] for problem in caught.value.problems if "abs" not in problem][:2] == [
        "requirements.txt:1", "requirements.txt:8"]
    assert len(caught.value.problems) == 3 and "more.txt:3" in caught.value.problems[2]
    team.write("-r more.txt\nb\nsmall @ https://example.org/small-1.0.whl\n", "requirements.txt")
    team.write("Other_Name==3\n-r requirements.txt\n", "more.txt")
    assert read_requirements(team.path / "requirements.txt", False).names == ("b", "small", "other-name")


def test_two_gates_do_not_make_the_same_environment_at_once(shelf):
    shelf.ask()
    lock, = shelf.cache.glob("environments/*.lock")
    found = []
    with open(lock, "r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        packages = shelf.packages("tinysearch\n")
        executable = reachable_interpreter() or sys.executable
        other = threading.Thread(target=lambda: found.append(packages.provide(executable, other_user())))
        other.start()
        time.sleep(0.5)
        assert not found
        with pytest.raises(RetrieverFailed, match="another gate has been making this environment for 0.2 s"):
            shelf.packages("tinysearch\n", limits=INSTALLING._replace(run_seconds=0.2)).provide(executable, other_user())
    other.join(30)
    assert found[0][0].startswith(str(shelf.environment))


def test_several_processes_share_one_environment(shelf):
    shelf.team.write("import os, time, tinysearch\ndef retrieve(query, n):\n    time.sleep(0.2)\n    return [str(os.getpid())]\n")
    with shelf.team.retriever(shelf.team.path.joinpath("search.py").read_text(), limits=INSTALLING, concurrency=3,
                              packages=shelf.packages("tinysearch\n")) as retriever:
        found = dict(retriever.retrieve(queries(9), 5))
    assert len({ranking.docs[0] for ranking in found.values()}) == 3


@pytest.mark.parametrize("link", ["cache", "cache/environments"])
def test_a_cache_that_is_a_link_is_not_written_through(shelf, link):
    (shelf.place / link).parent.mkdir(exist_ok=True)
    (shelf.place / "elsewhere").mkdir()
    (shelf.place / link).symlink_to(shelf.place / "elsewhere")
    with pytest.raises(InvalidInput, match="is a link"):
        shelf.ask()
    assert not list((shelf.place / "elsewhere").iterdir())


def test_what_is_taken_over_is_nobody_elses_and_has_no_second_name(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "outside").write_text("x")
    os.link(tmp_path / "outside", tmp_path / "tree" / "inside")
    with pytest.raises(Strange, match="second name"):
        take_over(tmp_path / "tree", None)
    (tmp_path / "tree" / "inside").unlink()
    os.mkfifo(tmp_path / "tree" / "pipe")
    with pytest.raises(Strange, match="neither a file nor a folder"):
        take_over(tmp_path / "tree", None)
    (tmp_path / "tree" / "pipe").unlink()
    (tmp_path / "tree" / "program").write_text("x")
    (tmp_path / "tree" / "program").chmod(0o4711)
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "outside")
    mode = (tmp_path / "outside").stat().st_mode
    take_over(tmp_path / "tree", None)
    assert (tmp_path / "tree" / "program").stat().st_mode & 0o7777 == 0o755 and (tmp_path / "outside").stat().st_mode == mode


def test_names_contents_rights_and_targets_decide_the_digest(tmp_path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").symlink_to("a")
    before = digest_of(tmp_path, None)
    seen = {before}
    for change in (lambda: (tmp_path / "a").write_text("2"), lambda: (tmp_path / "a").chmod(0o755), lambda: (tmp_path / "c").mkdir(),
                   lambda: ((tmp_path / "b").unlink(), (tmp_path / "b").symlink_to("c"))):
        change()
        assert (found := digest_of(tmp_path, None)) not in seen
        seen.add(found)
