"""What is said about code that fails: where it is, which setting or step fixes it, and nothing that only fills the line."""

import pytest

from gate.errors import RetrieverFailed
from gate.policy import Policy
from gate.reports.comment import render_comment
from gate.reports.report import Report
from gate.reports.text import render_text
from gate.retrievers.limits import Limits
from gate.retrievers.team.faults import Raised
from tests.retrievers.support import QUICK


def refused(team, source, function="search:retrieve", **more):
    with pytest.raises(RetrieverFailed) as caught:
        team.ask(source, function=function, **more)
    return caught.value


OWN_LIBRARIES = ("in the action only the gate's own libraries are there: list it in a file that `retriever.requirements` names, or use "
                 "kind `run` with your own environment")
WHERE = "check `retriever.function` and `retriever.path`"


@pytest.mark.parametrize(("source", "head", "cure"), [
    ("\nimport numpi\n", "ModuleNotFoundError: No module named 'numpi' (search.py:2)",
     f"the module `numpi` is not installed where the gate runs; {OWN_LIBRARIES}"),
    ("import numpi.linalg\n", "No module named 'numpi' (search.py:1)", "the module `numpi` is not installed"),
    ("from json import nothing\n", "ImportError: cannot import name 'nothing'", "the module `json` is not the one it was written for"),
    ("from helpers import nothing\n", "ImportError: cannot import name 'nothing'", "fix the import; `retriever.path` is the first"),
    ("import helpers.more\n", "No module named 'helpers.more'", "fix the import; `retriever.path` is the first"),
    ("def retrieve(query, n)\n    return []\n", "SyntaxError: expected ':' (search.py:1)", "fix this line; it is read by Python 3."),
    ("import broken\n", "(broken.py:2)", "fix this line; it is read by Python 3."),
    ("import sys\nsys.exit('usage: …')\n", "SystemExit: usage: … (search.py:2)",
     "put what is a program under `if __name__ == \"__main__\":`"),
    ("import os\nD = os.environ['RETRIEVAL_GATE_SNAPSHOT']\n", "KeyError: 'RETRIEVAL_GATE_SNAPSHOT' (search.py:2)",
     "no snapshot is configured: set `snapshot.path` and `snapshot.digest`"),
    ("import os\nD = os.environ['MY_INDEX']\n", "KeyError: 'MY_INDEX' (search.py:2)", "gets none of the job's variables, so `MY_INDEX`"),
    ("x = 'x' * 10**10\n", "MemoryError (search.py:1)", "raise `retriever.limits.memory_mb`, which is 1024"),
    ("raise RuntimeError('no index here')\n", "RuntimeError: no index here (search.py:1)",
     "fix what the module does when it is imported"),
    ("print('bad_alloc', flush=True)\nimport os\nos.abort()\n", "its process was ended by SIGABRT (often: out of memory;",
     "raise `retriever.limits.memory_mb`"),
])
def test_a_failing_import_is_told_with_its_place_and_the_cure_that_fits(team, source, head, cure):
    team.write("x = 1\n", "helpers.py")
    team.write("\nfor x in y\n", "broken.py")
    error = refused(team, source)
    assert len(error.problems) == 1 and head in error.problems[0].split("\n")[0]
    assert cure in error.cure and WHERE not in error.cure
    assert "importlib" not in str(error) and "worker.py" not in str(error)


@pytest.mark.parametrize(("source", "function"), [
    ("", "elsewhere:retrieve"), ("", "elsewhere.deeper:retrieve"), ("", "search.deeper:retrieve"), ("", "search:retrieve"),
    ("class Engine: pass\n", "search:Engine.find")])
def test_only_a_module_or_function_that_is_not_there_puts_the_settings_in_question(team, source, function):
    assert WHERE in refused(team, source, function).cure


@pytest.mark.parametrize("source", ["retrieve = 5\n", "def retrieve(query):\n    return []\n"])
def test_a_function_of_another_shape_is_to_be_mended_not_looked_for(team, source):
    assert refused(team, source).cure == "fix the function that `retriever.function` names"


def test_all_reports_of_a_failing_import_show_the_last_line_and_the_frames_that_led_to_it(team):
    deep = "def level_0():\n    import numpi\n" + "".join(f"def level_{n}():\n    level_{n - 1}()\n" for n in range(1, 40))
    team.write(deep + "level_39()\n", "deep.py")
    error = refused(team, "import deep\n")
    lines = error.problems[0].split("\n")
    assert lines[0].endswith("its import failed: ModuleNotFoundError: No module named 'numpi' (deep.py:2)")
    assert lines[1] == "| … 31 lines left out"
    assert lines[-2:] == ["| deep.py:2 in level_0: import numpi", "| ModuleNotFoundError: No module named 'numpi'"]
    report = Report("wiki", error.verdict, error.exit_code, Policy(), problems=error.problems, cure=error.cure)
    for text in (render_text(report), render_comment(report)):
        assert "deep.py:2 in level_0: import numpi\n" in text and "ModuleNotFoundError: No module named 'numpi'\n" in text
        assert "is not installed where the gate runs" in text


def test_what_led_to_an_exception_is_told_before_it(team):
    source = """
        def look(query):
            try:
                return {}[query]
            except KeyError as error:
                raise LookupError("no such page") from error
        def retrieve(query, n):
            return look(query)
    """
    assert team.ask(source)["q1"].error.split("\n") == [
        "the function raised LookupError: no such page (search.py:6).", "| search.py:4 in look: return {}[query]",
        "| KeyError: 'text 1'", "| which led to:", "| search.py:8 in retrieve: return look(query)",
        '| search.py:6 in look: raise LookupError("no such page") from error', "| LookupError: no such page"]


def test_the_members_of_a_group_of_exceptions_are_told(team):
    source = "def retrieve(query, n):\n    raise ExceptionGroup('two shards', [ValueError('left'), OSError('right')])\n"
    error = team.ask(source)["q1"].error
    assert "| ValueError: left\n| OSError: right" in error


@pytest.mark.parametrize(("source", "words"), [
    ("import os\ndef retrieve(query, n):\n    os.environ['RETRIEVAL_GATE_SNAPSHOT']\n", "; no snapshot is configured: set `snapshot.path`"),
    ("def retrieve(query, n):\n    import numpi\n", "; the module `numpi` is not installed where the gate runs"),
    ("def retrieve(query, n):\n    return ['x' * 10**10]\n", "MemoryError (search.py:2); load less, or raise `retriever.limits.memory_mb`"),
    ("import os\ndef retrieve(query, n):\n    os.kill(os.getpid(), 9)\n",
     "the retriever died: its process was ended by SIGKILL (often: out of memory; `retriever.limits.memory_mb` is 1024)."),
    ("class Odd(Exception):\n    def __str__(self):\n        raise SystemExit\ndef retrieve(query, n):\n    raise Odd\n",
     "the function raised search.Odd"),
    ("def retrieve(query, n):\n    raise ValueError('\\ud800')\n", "ValueError: \\ud800"),
])
def test_the_error_of_one_query_says_what_to_do_as_well(team, source, words):
    error = team.ask(source)["q1"].error
    assert words in error and "query 'q1'" not in error


def test_a_variable_that_is_configured_gets_no_such_advice(team):
    (team.path / "index").mkdir()
    source = "import os\ndef retrieve(query, n):\n    return [os.environ['RETRIEVAL_GATE_SNAPSHOT'], {}['RETRIEVAL_GATE_SNAPSHOT']]\n"
    assert "configured" not in team.ask(source, snapshot=team.path / "index")["q1"].error


def test_a_hang_says_how_long_by_which_setting_and_what_was_printed(team):
    source = "import time\ndef retrieve(query, n):\n    print('waiting')\n    time.sleep(60)\n"
    assert team.ask(source, limits=Limits(query_seconds=0.3))["q1"].error == (
        "the retriever hung: it gave no answer within 0.3 s (`retriever.limits.query_seconds`).\nThe retriever printed:\n| waiting")


def test_when_every_query_hangs_the_limit_its_setting_and_the_queries_are_named(team):
    source = "import time\ndef retrieve(query, n):\n    print('asked', query)\n    time.sleep(60)\n"
    error = refused(team, source, count=6, limits=Limits(query_seconds=0.2))
    assert error.problems[0].split("\n") == [
        "the retriever hung 4 times, and the gate gave up: it gave no answer within 0.2 s (`retriever.limits.query_seconds`) on queries "
        "'q1', 'q2', 'q3', 'q4'; 4 of 6 queries were asked before",
        "The retriever printed:", "| asked text 1", "| asked text 2", "| asked text 3", "| asked text 4"]
    assert error.cure == "make the retriever faster, or raise `retriever.limits.query_seconds`"


def test_when_queries_end_in_different_ways_each_is_named_with_its_queries(team):
    source = """
        import os, time
        def retrieve(query, n):
            if query == "text 1":
                os.kill(os.getpid(), 9)
            if query == "text 3":
                time.sleep(60)
            os._exit(7)
    """
    error = refused(team, source, count=6, limits=Limits(query_seconds=0.3, memory_mb=512))
    assert error.problems[0].startswith("the retriever died or hung 4 times, and the gate gave up: ")
    for words in ("ended by SIGKILL (often: out of memory; `retriever.limits.memory_mb` is 512) on query 'q1'; ",
                  "ended by itself with status 7 on queries 'q2', 'q4'; ", "(`retriever.limits.query_seconds`) on query 'q3'; "):
        assert words in error.problems[0]
    for words in ("`retriever.limits.memory_mb`, which is 512", "`retriever.limits.query_seconds`", "see what it printed"):
        assert words in error.cure


def test_a_crash_shows_the_teams_frames_only(team):
    error = team.ask("import faulthandler\ndef retrieve(query, n):\n    faulthandler._sigsegv()\n")["q1"].error
    assert 'search.py", line 3 in retrieve' in error and "worker.py" not in error


@pytest.mark.parametrize("value", [None, 7, "text", [], {"error": {}, "lines": {"a": 1}}, {"error": "x\n::error::y", "lines": [7, "::z\n"]},
                                   {"error": "e" * 100_000, "lines": ["\x1b[31m" + "l" * 100_000] * 100, "name": "`" * 500, "own": 1}])
def test_an_answer_may_hold_anything(value):
    raised = Raised.read(value)
    assert all(line.startswith("|") for line in raised.lines) and len(raised.lines) <= 32
    assert "\n" not in raised.sentence and len(raised.sentence) < 700
    assert isinstance(raised.cure(QUICK, False) + raised.start_cure("a:b", QUICK, True), str)
