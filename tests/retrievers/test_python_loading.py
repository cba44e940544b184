"""A function that cannot be used at all ends the run: exit 3, with what was printed and with what to do."""

import pytest

from gate.errors import InvalidInput, RetrieverFailed
from gate.retrievers.limits import Limits


@pytest.mark.parametrize(("source", "function", "words"), [
    ("import a_module_nobody_has\n", "search:retrieve", "ModuleNotFoundError: No module named 'a_module_nobody_has'"),
    ("", "elsewhere:retrieve", "No module named 'elsewhere'"),
    ("x = 1\n", "search:retrieve", "`search` has no `retrieve`"),
    ("retrieve = 5\n", "search:retrieve", "`search:retrieve` is 5 (int), which cannot be called"),
    ("def retrieve(query):\n    return []\n", "search:retrieve", "must accept two arguments"),
    ("def retrieve(query, n, more):\n    return []\n", "search:retrieve", "must accept two arguments"),
    ("def retrieve(query, n):\n    yield 1\n", "search:retrieve", "`search:retrieve` is a generator, which returns no list"),
    ("class Engine:\n    pass\n", "search:Engine", "`search:Engine` is a class, which is no retriever yet"),
    ("def retrieve(query, n)\n", "search:retrieve", "SyntaxError"),
    ("import os\nprint('on the way out', flush=True)\nos._exit(7)\n", "search:retrieve", "ended by itself with status 7"),
    ("raise SystemExit('no index')\n", "search:retrieve", "SystemExit: no index"),
])
def test_what_cannot_be_loaded_fails_with_its_reason(team, source, function, words):
    with pytest.raises(RetrieverFailed) as caught:
        team.ask(source, function=function)
    assert words in str(caught.value)
    assert "What to do:" in str(caught.value)
    assert caught.value.exit_code == 3


def test_what_it_printed_before_is_shown(team):
    with pytest.raises(RetrieverFailed, match=r"The retriever printed:\n\| opening the index\n\| on stderr"):
        team.ask("import sys\nprint('opening the index')\nprint('on stderr', file=sys.stderr)\nimport nothing_at_all\n")


def test_an_import_that_hangs_is_ended(team):
    with pytest.raises(RetrieverFailed, match="gave no answer within .* s"):
        team.ask("import time\ntime.sleep(60)\n", limits=Limits(start_seconds=0.5))


def test_attributes_may_be_nested_and_objects_may_be_callable(team):
    source = """
        class Engine:
            def find(self, query, n=3, *, fast=True):
                return ["found"]
            __call__ = find
        engine = Engine()
    """
    assert team.ask(source, function="search:engine.find")["q1"].docs == ["found"]
    assert team.ask(source, function="search:engine")["q1"].docs == ["found"]


def test_modules_beside_it_are_found_before_those_of_the_gate(team):
    team.write("NAME = 'the team'\n", "gate.py")
    assert team.ask("import gate\ndef retrieve(query, n):\n    return [gate.NAME]\n")["q1"].docs == ["the team"]


def test_files_beside_it_are_found_by_relative_paths(team):
    team.write("d9", "ids.txt")
    assert team.ask("def retrieve(query, n):\n    return [open('ids.txt').read()]\n")["q1"].docs == ["d9"]


def test_a_missing_directory_is_invalid_input(team):
    retriever = team.retriever("")
    retriever.path = team.path / "gone"
    with pytest.raises(InvalidInput, match="no such directory"), retriever:
        pass
