"""Query vectors from a team's own function: in a process without secrets, kept only where somebody says which weights they are."""

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from gate.embedding.function import Function, Options
from gate.embedding.function import read as read_function
from gate.embedding.made import MadeVectors
from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers import python
from gate.retrievers.base import Given
from gate.world import World
from gate.yamlio import parse_yaml
from tests.retrievers.support import QUICK, Team, reachable_interpreter

LENGTHS = "def embed(texts):\n    return [[float(len(text)), 1.0] for text in texts]\n"


@pytest.fixture
def team():
    made = Team()
    yield made
    made.remove()


class Asking:
    def __init__(self, team, cache):
        self.team, self.cache = team, cache

    def __call__(self, source, *texts, factory=False, **more):
        self.team.write(source)
        options = Options(python.Options("search:embed", self.team.path, factory), limits=QUICK, **more)
        world = World({"KEY": "a-secret-variable"}, self.cache)
        embedder = Function(options, Given(world=world), reachable_interpreter() or sys.executable)
        with MadeVectors(embedder, world.cache, options.query_prefix, options.verify) as vectors:
            found = vectors.of([Query(f"q{number}", text, {}) for number, text in enumerate(texts, 1)])
        self.described = dict(vectors.describe())
        self.notes = [note for note in vectors.notes if "ran as the gate's own user" not in note]
        return found


@pytest.fixture
def ask(team, tmp_path):
    return Asking(team, tmp_path / "cache")


@pytest.mark.parametrize("source", [
    LENGTHS, "async def embed(texts):\n    return tuple((len(text), 1) for text in texts)\n",
    "class Rows(list):\n    def tolist(self):\n        return list(self)\n\n"
    "def embed(texts):\n    return Rows([Rows([len(t), 1]) for t in texts])\n"])
def test_a_function_gives_a_vector_for_each_text(ask, source):
    assert ask(source, "a", "bcd", "", batch=2).tolist() == [[1, 1], [3, 1], [0, 1]]
    assert ask.described == {"kind": "function", "function": "search:embed", "dimensions": 2} and ask.notes == []


def test_what_a_factory_makes_may_embed(ask):
    source = "class Model:\n    def __call__(self, texts):\n        return [[len(text)] for text in texts]\n\nembed = Model\n"
    assert ask(source, "ab", factory=True, query_prefix="q: ").tolist() == [[5]]


COUNTED = "import os\ndef embed(texts):\n    with open({file!r}, 'a') as file:\n        file.write(','.join(texts) + ' ')\n" \
          "    return [[len(text)] for text in texts]\n"


@pytest.mark.parametrize(("revision", "calls"), [("", "a,b a,b,c "), ("r1", "a,b c,a ")])
def test_vectors_are_kept_where_a_revision_names_the_weights(ask, team, revision, calls):
    file = team.path / "calls"
    file.touch()
    file.chmod(0o666)
    source = COUNTED.format(file=str(file))
    ask(source, "a", "b", revision=revision)
    assert ask(source, "a", "b", "c", revision=revision).tolist() == [[1], [1], [1]] and file.read_text() == calls


def test_another_code_makes_all_of_them_anew(ask):
    ask(LENGTHS, "abc", revision="r1")
    assert ask(LENGTHS.replace("len(text)", "-1"), "abc", revision="r1").tolist() == [[-1, 1]]


def test_the_function_gets_no_secret_and_not_the_gates_environment(ask, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_THE_JOB", "x")
    source = "import os\ndef embed(texts):\n    return [[len([n for n in os.environ if 'SECRET' in n or n == 'KEY'])] for t in texts]\n"
    assert ask(source, "a").tolist() == [[0]]


@pytest.mark.parametrize(("body", "message"), [
    ("return [[1.0]]", "got 2 texts and returned 1 vectors"), ("return 'ab'", "not a list of vectors"),
    ("return [[1.0], [1.0, 2.0]]", "1 and 2 dimensions"), ("return [[1.0], ['x']]", "the vector of text 2 holds 'x'"),
    ("return [[1.0], [float('nan')]]", "which is no finite number"), ("return [[1.0], []]", "not a list of numbers"),
    ("return [[1.0], [1e300]]", "numbers that float32 cannot"), ("raise ValueError('no such model')", "no such model"),
    ("import os; os._exit(3)", "its process ended by itself with status 3"), ("import time; time.sleep(60)", "no answer within")])
def test_what_goes_wrong_cannot_decide_and_is_told(ask, monkeypatch, body, message):
    monkeypatch.setattr("tests.test_embedding_function.QUICK", QUICK._replace(query_seconds=2))
    with pytest.raises(RetrieverFailed) as error:
        ask(f"def embed(texts):\n    {body}\n", "a", "b")
    assert message in str(error.value) and "search:embed: texts 1 to 2: " in str(error.value)


@pytest.mark.parametrize(("source", "message"), [
    ("embed = 5", "cannot be called with a list of texts"), ("def embed():\n    pass\n", "must accept one argument, a list of texts"),
    ("other = 1", "has no `embed`"), ("import no_such_module_here", "no_such_module_here"), ("def embed(", "search.py")])
def test_a_function_that_cannot_embed_is_found_at_the_start(ask, source, message):
    with pytest.raises(RetrieverFailed) as error:
        ask(source, "a")
    assert message in str(error.value)


def test_only_what_a_function_has_may_be_set():
    given = {"function": "a:b", "id_key": "x", "limits": {"query_seconds": 3}, "revision": "1"}
    document, problems = parse_yaml(yaml.safe_dump(given).encode(), "c.yml"), []
    section = Section(document, "", document.value, problems)
    options = read_function(section, Paths(Path(), None))
    section.done()
    assert options.limits.query_seconds == 3 and options.revision == "1" and len(problems) == 1 and "`id_key`" in problems[0]


def test_no_text_starts_no_process(ask, tmp_path):
    assert ask("raise SystemExit(9)").shape[0] == 0 and not np.any(ask("x = 1"))


def test_a_mistake_is_shown_by_the_teams_own_lines_alone(ask):
    with pytest.raises(RetrieverFailed) as caught:
        ask("async def embed(texts):\n    raise ValueError('boom')\n", "a")
    said = "\n".join(caught.value.problems)
    assert "search.py:2 in embed: raise ValueError('boom')" in said and "worker.py" not in said
