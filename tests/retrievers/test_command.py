"""A program in any language, asked over its standard input and output, apart from the gate like a function of the team's."""

import json
import os
import shutil
import sys

import pytest

from gate.errors import InvalidInput, RetrieverFailed
from gate.golden.model import Query
from gate.retrievers.command import CommandRetriever
from gate.retrievers.limits import Limits
from gate.runs import Chunk
from gate.settings import parse_settings
from tests.retrievers.support import QUICK, queries, reachable_interpreter, why_no_other_user
from tests.retrievers.test_python_faults import ended

needs_other_user = pytest.mark.skipif(bool(why_no_other_user()), reason=why_no_other_user())

# Each takes the question apart in its own language and answers [query, n].
SHELL = r"""#!/bin/sh
while IFS= read -r line; do
    id=${line#*\"id\":\"}; query=${line#*\"query\":\"}; n=${line#*\"n\":}
    printf '{"id": "%s", "ranked": ["%s", "%s"]}\n' "${id%%\"*}" "${query%%\"*}" "${n%%,*}"
done
"""
PERL = r"""$| = 1;
while (<STDIN>) {
    my ($id) = /"id":"([^"]*)"/; my ($query) = /"query":"([^"]*)"/; my ($n) = /"n":(\d+)/;
    print qq({"id": "$id", "ranked": ["$query", "$n"]}\n);
}
"""
PYTHON = """
    import json, os, sys
    {before}
    for line in sys.stdin:
        question = json.loads(line)
        answer = {{"id": question["id"], "ranked": [question["query"], str(question["n"])]}}
        {change}
        print(json.dumps(answer), flush=True)
"""


class Program:
    """Writes a program and asks it."""

    def __init__(self, team):
        self.team, self.last = team, None
        self.python = reachable_interpreter() or sys.executable

    def ask(self, *command, count=1, depth=10, limits=QUICK, asked=None, **more):
        with CommandRetriever(tuple(command), self.team.path, limits, executable=self.python, **more) as self.last:
            return dict(self.last.retrieve(asked or queries(count), depth))

    def run(self, change="pass", before="pass", **more):
        """A program in Python whose ``answer`` to every ``question`` is altered by ``change``."""
        self.team.write(PYTHON.format(before=before, change=change), "program.py")
        return self.ask(self.python, "program.py", **more)

    @property
    def notes(self):
        return [note for note in self.last.notes if "ran as the gate's own user" not in note]


@pytest.fixture
def program(team):
    return Program(team)


@pytest.mark.parametrize(("file", "source", "command"), [
    ("search.sh", SHELL, ["./search.sh"]),
    pytest.param("search.pl", PERL, ["perl", "search.pl"], marks=pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl"))])
def test_a_program_in_any_language_is_asked_line_by_line(program, file, source, command):
    program.team.write(source, file)
    (program.team.path / file).chmod(0o755)
    found = program.ask(*command, count=3, depth=7)
    assert {query: ranking.docs for query, ranking in found.items()} == {f"q{i}": [f"text {i}", "7"] for i in (1, 2, 3)}
    assert all(ranking.ms > 0 for ranking in found.values()) and program.notes == []


def test_one_process_answers_all_questions_and_several_answer_at_once(program):
    change = "import time; time.sleep(0.1); answer['ranked'] = [str(os.getpid())]"
    assert len({ranking.docs[0] for ranking in program.run(change, count=5).values()}) == 1
    assert len({ranking.docs[0] for ranking in program.run(change, count=9, concurrency=3).values()}) == 3


def test_an_answer_may_hold_scores_places_candidates_cost_and_time(program):
    change = "answer.update(ranked=[{'doc': 'a', 'chunk': 'a-1', 'start': 0, 'end': 5}, {'doc': 'b'}], scores=[2.0, 1.0], " \
             "candidates=['b', 'a', 'c'], cost=0.5, ms=12)"
    ranking = program.run(change)["q1"]
    assert (ranking.docs, ranking.scores, ranking.candidates) == (["a", "b"], [2.0, 1.0], ["b", "a", "c"])
    assert (ranking.cost, ranking.ms) == (0.5, 12)
    assert ranking.chunks == [Chunk("a-1", 0, 5), Chunk()]


def test_more_results_than_asked_for_are_cut_and_said_and_candidates_are_not(program):
    ranking = program.run("answer.update(ranked=list('abcdef'), candidates=list('abcdefgh'))", depth=3)["q1"]
    assert ranking.docs == ["a", "b", "c"] and len(ranking.candidates) == 8
    assert program.notes == ["1 query got more than 3 results; the rest was cut"]


def test_text_of_every_kind_arrives_whole(program):
    text = "two\nlines, \"quotes\", é, \U0001f50d " + "long " * 50_000
    found = program.run("answer['ranked'] = [question['query'][-9:] + str(len(question['query']))]", asked=[Query("q1", text, {})])
    assert found["q1"].docs == [text[-9:] + str(len(text))]


@pytest.mark.parametrize(("change", "words"), [
    ("answer = {'id': question['id'], 'error': 'no index\\n::error::x'}", "the program answered with an error: no index ::error::x"),
    ("answer['ranked'] = 'abc'", "`ranked` must be a list, not str"), ("del answer['ranked']", "`ranked` must be a list, not NoneType"),
    ("answer['ranked'] = [17]", "must be a document id (string)"), ("answer['ranked'] = ['a', '']", "an empty document id"),
    ("answer['scores'] = [1]", "`scores` must be a list as long as `ranked`"), ("answer['candidates'] = [3]", "`candidates` holds 3"),
    ("answer['candidates'] = ['c'] * 10_001", "10001 candidates came back; at most 10000 are kept"),
    ("answer['candidates'] = ['c' * 20_000]", "an id of 20000 characters"),
    ("answer['cost'] = -1", "`cost` is -1, and must not be negative"),
    ("answer['ms'] = 'fast'", "ms must be a finite number"), ("answer['results'] = []", "the unknown key 'results'; known are id, ranked")])
def test_what_an_answer_has_wrong_is_that_querys_error(program, change, words):
    ranking = program.run(change)["q1"]
    assert words in ranking.error and ranking.docs == []


@pytest.mark.parametrize(("change", "words"), [
    ("answer['id'] = 'x'", "an answer to another question than the one that was asked"),
    ("del answer['id']", "an answer to another question"),
    ("print('searching')", "a line that is not JSON on standard output, where only answers belong: b'searching'"),
    ("print('x' * 9_000_000)", "an answer longer than 8388608 bytes"), ("os._exit(3)", "its process ended by itself with status 3"),
    ("os.kill(os.getpid(), 11)", "its process was ended by SIGSEGV")])
def test_nonsense_and_death_cost_one_query_and_then_a_new_process_is_asked(program, change, words):
    found = program.run(f"if question['query'] == 'text 2': {change}", count=3)
    assert words in found["q2"].error
    assert [found[q].docs for q in ("q1", "q3")] == [["text 1", "10"], ["text 3", "10"]]


def test_a_late_answer_never_answers_a_later_question(program):
    change = "question['query'] == 'text 1' and (print(json.dumps(answer), flush=True), __import__('time').sleep(0.2))"
    found = program.run(change, count=3)
    assert [ranking.docs[0] for ranking in found.values() if not ranking.error] in (["text 1", "text 2", "text 3"], ["text 1", "text 3"])
    assert program.notes or found["q2"].error


def test_a_program_that_hangs_is_told_with_its_limit_and_with_what_is_usually_forgotten(program):
    program.team.write("import sys\nfor line in sys.stdin:\n    print('{}')\n    sys.stderr.write('asked\\n')\n", "program.py")
    with pytest.raises(RetrieverFailed) as caught:  # its output stays in a buffer
        program.ask(program.python, "program.py", count=6, limits=Limits(query_seconds=0.3))
    assert "the retriever hung 4 times, and the gate gave up: it gave no answer within 0.3 s" in caught.value.problems[0]
    assert "| asked" in caught.value.problems[0] and "must be told to flush" in caught.value.cure and caught.value.exit_code == 3


def test_a_program_for_one_question_is_told_that_there_are_more(program):
    program.team.write(SHELL.replace("while IFS= read", "IFS= read").replace("; do", "").replace("done", ""), "once.sh")
    with pytest.raises(RetrieverFailed, match="the gate gave up") as caught:
        program.ask("sh", "once.sh", count=20)
    assert "until its input ends" in caught.value.cure


@pytest.mark.parametrize(("command", "words"), [
    (["no-such-program"], "no-such-program: cannot be started: there is no such program"),
    (["./gone"], "./gone: cannot be started: there is no such program"), (["./plain.txt"], "it may not be executed"),
    (["plain.txt"], "it is not on PATH"), ([".", "x"], "it is not on PATH")])
def test_a_program_that_is_not_there_is_named_before_the_first_query(program, command, words):
    program.team.write("text", "plain.txt")
    with pytest.raises(RetrieverFailed) as caught:
        program.ask(*command)
    assert words in caught.value.problems[0] and "as ./NAME, and must be executable" in caught.value.cure


def test_a_file_that_no_kernel_can_start_says_so(program):
    program.team.write("\x7fELF nonsense", "broken")
    (program.team.path / "broken").chmod(0o755)
    with pytest.raises(RetrieverFailed) as caught:
        program.ask("./broken", count=6)
    assert "status 126" in caught.value.problems[0] and "| ./broken cannot be executed: Exec format error" in caught.value.problems[0]


def test_standard_error_is_output_and_disturbs_no_answer(program):
    found = program.run("sys.stderr.write('::error::looked up\\n')", count=2)
    assert not any(ranking.error for ranking in found.values())
    assert program.last.captured.text() == "| ::error::looked up\n| ::error::looked up"


def test_it_sees_its_own_variables_and_nothing_of_the_jobs(program, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")
    monkeypatch.setenv("MY_TOKEN", "s3cret")
    (program.team.path / "index").mkdir()
    found = program.run("answer['ranked'] = [f'{k}={v}' for k, v in os.environ.items()]", depth=100, env={"INDEX": "small"},
                        snapshot=program.team.path / "index")["q1"].docs
    assert "INDEX=small" in found and "RETRIEVAL_GATE_DEPTH=100" in found and "s3cret" not in str(found)
    assert f"RETRIEVAL_GATE_SNAPSHOT={program.team.path.resolve() / 'index'}" in found
    assert not any(row.startswith("PYTHON") and not row.startswith(("PYTHONHASHSEED=", "PYTHONDONTWRITE")) for row in found)


def test_it_is_limited_and_gains_no_privilege(program):
    change = "import resource; answer['ranked'] = [str(resource.getrlimit(resource.RLIMIT_AS)[1] // 2**20), os.getcwd(), " \
             "*(line.split()[1] for line in open('/proc/self/status') if line.startswith('NoNewPrivs')), " \
             "*(fd for fd in os.listdir('/proc/self/fd') if int(fd) > 2 and os.path.lexists('/proc/self/fd/' + fd) and " \
             "not os.readlink('/proc/self/fd/' + fd).startswith('/proc/'))]"
    assert program.run(change)["q1"].docs == ["1024", str(program.team.path.resolve()), "1"]


@needs_other_user
def test_it_is_a_stranger_to_the_gate_and_what_it_started_ends_with_it(program):
    change = "def tried(name):\n" \
             "            try:\n" \
             "                return open(name).read(1)\n" \
             "            except OSError as error:\n" \
             "                return type(error).__name__\n" \
             "        child = os.fork()\n" \
             "        if child == 0:\n" \
             "            os.setsid()\n" \
             "            while True:\n" \
             "                __import__('time').sleep(60)\n" \
             "        tries = [tried(f'/proc/{os.getppid()}/environ'), tried('program.py') and 'read']\n" \
             "        answer['ranked'] = [str(os.getuid()), *tries, str(child)]"
    uid, environ, own, child = program.run(change)["q1"].docs
    assert (int(uid), environ, own) == (program.last.isolation.user.uid, "PermissionError", "read") and int(uid) != os.getuid()
    assert ended(int(child))


def configured(text):
    return parse_settings(("golden: g.jsonl\nretriever:\n  kind: command\n" + text).encode(), "c.yml", "c.yml").retriever


def test_settings_name_program_folder_and_plain_variables(tmp_path):
    settings = configured("  command: [./search, --top, --top]\n  path: tools\n  env: {INDEX: small}\n  concurrency: 4\n")
    assert settings.options.command == ("./search", "--top", "--top") and settings.options.env == (("INDEX", "small"),)
    assert settings.concurrency == 4
    retriever = CommandRetriever(settings.options.command, tmp_path, QUICK, env={"INDEX": "small"})
    assert json.loads(json.dumps(retriever.describe())) == {"kind": "command", "command": "./search --top --top", "env": {"INDEX": "small"}}


@pytest.mark.parametrize(("text", "words"), [
    ("  path: .\n", "`command` must be a list of texts"), ("  command: ./search --fast\n", "4: `command` must be a list of texts"),
    ("  command: [./search, 3]\n", "`command` must be a list of texts"), ("  command: []\n", "`command` must be a list of texts"),
    ("  command: [a]\n  env: {GITHUB_TOKEN: x}\n", "`env.GITHUB_TOKEN` belongs to the gate or the runner"),
    ("  command: [a]\n  env: {HOME: x}\n", "`env.HOME` belongs"),
    ("  command: [a]\n  env: {RETRIEVAL_GATE_DEPTH: x}\n", "belongs to the gate"),
    ("  command: [a]\n  env: {KEY: '${SECRET}'}\n", "gets no secrets; write the value itself"),
    ("  command: [a]\n  env: {N: 3}\n", "`env.N` must be text (quote numbers)"),
    ("  command: [a]\n  env: {a-b: x}\n", "no name of a variable"),
    ("  command: [a]\n  env: [x]\n", "`env` must be a mapping"), ("  command: [a]\n  function: b\n", "unknown key `function`")])
def test_faults_of_the_settings_are_named(text, words):
    with pytest.raises(InvalidInput) as caught:
        configured(text)
    assert len(caught.value.problems) == 1 and words in caught.value.problems[0]
