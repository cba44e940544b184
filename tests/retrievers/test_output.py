"""Output of a retriever is shown, never obeyed."""

from hypothesis import given
from hypothesis import strategies as st

from gate.retrievers.team.output import Captured, quoted


def test_control_characters_and_colours_are_gone():
    assert quoted("a\x1b[31mred\x1b[0m\x07 b\u202e c\x1b]0;title\x07\r\nd\te") == "| ared b c\n| d    e"


def test_commands_of_a_workflow_log_are_inert():
    assert quoted("::error::x\n##[add-mask]y") == "| ::error::x\n| ## [add-mask]y"


def test_the_last_lines_say_how_many_were_left_out():
    assert quoted("\n".join("abcde"), last=2) == "| … 3 lines left out\n| d\n| e"


def test_the_middle_of_too_much_output_is_dropped_and_counted():
    captured = Captured(keep=20)
    for _ in range(10):
        captured.add(b"0123456789\n")
    assert captured.dropped == 90
    assert captured.text() == "| 0123456789\n| … 90 bytes left out …\n| 123456789"


def test_nothing_printed_is_nothing_shown():
    assert Captured().text() == ""


@given(st.text())
def test_no_text_can_begin_a_line_or_hide_a_command(text):
    shown = quoted(text)
    assert all(line.startswith("|") for line in shown.split("\n")) and "##[" not in shown
    assert all(c.isprintable() or c == "\n" for c in shown)


@given(st.lists(st.binary(max_size=40)), st.integers(0, 40))
def test_what_is_kept_has_a_bound(pieces, keep):
    captured = Captured(keep)
    for piece in pieces:
        captured.add(piece)
    assert captured.total - captured.dropped <= max(keep, 0)
