from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput
from gate.github import commands


def parse_outputs(text: str) -> dict[str, str]:
    """As the runner reads the file: only LF ends a line, a block ends at its delimiter's line."""
    found, lines = {}, text.split("\n")
    while lines:
        line = lines.pop(0)
        if not line:
            continue
        name, delimiter = line.split("<<", 1)
        end = lines.index(delimiter)
        found[name] = "\n".join(lines[:end])
        lines = lines[end + 1 :]
    return found


def test_data_and_properties_are_escaped_as_the_runner_expects():
    assert commands.command("error", "50%\r\nb: c, d", title="a:b,c%\n", line=3) == (
        "::error title=a%3Ab%2Cc%25%0A,line=3::50%25%0D%0Ab: c, d"
    )


def test_an_annotation_names_its_place():
    assert commands.annotation("warning", "old", title="Baseline", file="gate.yml", line=4) == (
        "::warning file=gate.yml,line=4,title=Baseline::old"
    )
    assert commands.annotation("notice", "x", line=4) == "::notice::x"
    assert len(commands.annotation("error", "x" * 9999)) == len("::error::") + 4096
    with pytest.raises(ValueError, match="annotation level"):
        commands.annotation("panic", "x")


@given(st.text())
def test_no_text_can_begin_a_second_command_in_an_annotation(text):
    assert "\n" not in commands.annotation("error", text, title=text, file=text)
    assert "\r" not in commands.annotation("error", text, title=text, file=text)


@given(st.dictionaries(st.sampled_from(["verdict", "delta", "ci"]), st.text(st.characters(exclude_categories=["Cs"]))))
def test_outputs_come_back_as_they_were(values):
    assert parse_outputs(commands.output_text(values)) == values


def test_a_value_cannot_end_itself_and_set_another_output():
    hostile = "x\nEOF\nverdict=pass\nverdict<<EOF\npass\nEOF"
    assert parse_outputs(commands.output_text({"delta": hostile, "verdict": "fail"})) == {"delta": hostile, "verdict": "fail"}


def test_a_value_that_holds_the_delimiter_is_refused():
    with pytest.raises(InvalidInput, match="cannot be written"):
        commands.output_text({"a": "gate_known\nb=1"}, token=lambda: "known")


@pytest.mark.parametrize("name", ["", "a=b", "a\nb", "a<<b"])
def test_a_name_that_would_change_the_grammar_is_refused(name):
    with pytest.raises(InvalidInput):
        commands.output_text({name: "x"})


def test_every_write_has_a_delimiter_of_its_own():
    assert commands.output_text({"a": "b"}) != commands.output_text({"a": "b"})


def test_outputs_and_summaries_are_appended(tmp_path):
    outputs, summary = tmp_path / "out", tmp_path / "summary"
    commands.set_outputs(outputs, {"a": "1"})
    commands.set_outputs(outputs, {"b": "2\r\n3"})
    commands.append_summary(summary, "# one")
    commands.append_summary(summary, "two \ud800\n")
    assert parse_outputs(outputs.read_bytes().decode()) == {"a": "1", "b": "2\r\n3"}
    assert summary.read_text() == "# one\ntwo ?\n"


def test_without_a_file_nothing_is_written():
    commands.set_outputs("", {"a": "1"})
    commands.append_summary(None, "x")


def test_groups_and_stops_end_even_when_the_inside_fails():
    lines = []
    with pytest.raises(RuntimeError), commands.group("Retriever, 2:1", lines.append), commands.stop_commands(lines.append):
        lines.append("::error::ignored")
        raise RuntimeError
    assert lines[0] == "::group::Retriever, 2:1" and lines[-1] == "::endgroup::"
    token = lines[1].removeprefix("::stop-commands::")
    assert re.fullmatch(r"[0-9a-f]{40}", token) and lines[3] == f"::{token}::"


@given(st.text(st.characters() | st.sampled_from(":#[]\r\n\u2028\x85\x1b \t")))
def test_no_untrusted_line_can_be_a_command(text):
    shown = commands.neutralise(text)
    # However a log reader cuts lines.
    for line in shown.splitlines():
        assert not line.lstrip().startswith("::") and "##[" not in line
    assert all(line.startswith("| ") for line in shown.split("\n"))
    assert shown.encode()


@pytest.mark.parametrize(
    "text", ["::set-output name=verdict::pass", "  ::add-mask::a", "a\r::error::x", "##[set-output name=v;]p", "x ##[error]y"]
)
def test_known_ways_to_inject_a_command_are_broken(text):
    shown = commands.neutralise(text)
    assert not any(line.lstrip().startswith("::") for line in re.split(r"[\r\n]", shown)) and "##[" not in shown
