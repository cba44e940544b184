"""Secrets by name, the cache's place, and how far a run is."""

import io

import pytest
import yaml

from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.progress import shown_on
from gate.secret_text import SecretText, read_secret_text
from gate.world import default_cache, world_of
from gate.yamlio import parse_yaml


def read(text):
    problems: list[str] = []
    document = parse_yaml(yaml.safe_dump({"key": text}).encode(), "c.yml")
    return read_secret_text(Section(document, "", document.value, problems), "key", text), problems


def test_a_secret_is_put_in_when_it_is_used_and_nowhere_else():
    secret, problems = read("Bearer ${SEARCH_KEY}")
    assert not problems and secret.names == ("SEARCH_KEY",)
    assert secret.filled({"SEARCH_KEY": "s3cr3t"}, "headers") == "Bearer s3cr3t"
    assert "s3cr3t" not in repr(secret)


def test_a_value_is_not_expanded_again():
    assert SecretText("${A}").filled({"A": "${B}", "B": "x"}, "k") == "${B}"


@pytest.mark.parametrize("variables", [{}, {"SEARCH_KEY": ""}])
def test_a_secret_that_is_missing_cannot_decide(variables):
    with pytest.raises(RetrieverFailed, match="`headers` needs the variable SEARCH_KEY, which is not set or empty") as error:
        read("${SEARCH_KEY}")[0].filled(variables, "headers")
    assert error.value.exit_code == 3 and "forks get no secrets" in error.value.cure


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "INPUT_TOKEN", "ACTIONS_RUNTIME_TOKEN", "RUNNER_TEMP", "GH_TOKEN"])
def test_what_belongs_to_the_gate_or_the_runner_is_not_passed_on(name):
    assert f"asks for {name}" in read(f"${{{name}}}")[1][0]
    assert name not in world_of({name: "x", "MINE": "y"}).variables and world_of({"MINE": "y"}).variables == {"MINE": "y"}


def test_an_unclosed_name_is_a_fault():
    assert "is no" in read("${SEARCH_KEY")[1][0] and "is no" in read("${a-b}")[1][0]


def test_nothing_secret_is_in_a_repr():
    assert "hidden" not in repr(world_of({"KEY": "hidden"}, token="hidden"))


def test_the_cache_is_where_the_variable_says_in_the_workspace_or_at_the_users(tmp_path):
    assert default_cache({"RETRIEVAL_GATE_CACHE": "/c"}, tmp_path).as_posix() == "/c"
    assert default_cache({"RETRIEVAL_GATE_CACHE": "c"}, tmp_path) == tmp_path / "c"
    assert default_cache({}, tmp_path) == tmp_path / ".retrieval-gate-cache"
    assert default_cache({"XDG_CACHE_HOME": "/x"}).as_posix() == "/x/retrieval-gate"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def lines_of(stream, times, *steps):
    clock = iter(times)
    say = shown_on(stream, lambda: next(clock))
    for done, total in steps:
        say(done, total)
    return stream.getvalue()


def test_a_job_log_gets_a_line_every_few_seconds_and_one_at_the_end():
    told = lines_of(io.StringIO(), [0, 1, 6, 7, 8], (1, 4), (2, 4), (3, 4), (4, 4))
    assert told == "answered 2 of 4 queries, about 6 s left\nanswered 4 of 4 queries\n"


def test_a_terminal_gets_a_bar_in_one_line():
    told = lines_of(Terminal(), [0, 1, 1.01, 2], (1, 3), (2, 3), (3, 3))
    assert told.count("\r") == 2 and told.endswith(f"[{'#' * 30}] 3 of 3 queries\n") and "1 of 3 queries, about 2 s left" in told


def test_what_an_earlier_run_answered_does_not_make_this_one_look_fast():
    assert "about 10 s left" in lines_of(io.StringIO(), [0, 10], (91, 92))
