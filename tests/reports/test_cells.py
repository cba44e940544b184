"""Columns of a terminal: wide, joined and combining characters, cutting and wrapping."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.progress import shown_on
from gate.reports import cells
from gate.reports.text import render_text
from tests.reports import build
from tests.reports.build import q


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("東京", 4), ("é", 1), ("e\u0301", 1), ("👍🏽", 2), ("👩‍👩‍👧‍👦", 2),
                                               ("❤️", 2), ("مرحبا", 5), ("한국어", 6), ("ｱ", 1), ("Ａ", 2), ("", 0)])
def test_text_takes_the_columns_that_a_terminal_gives_it(text, columns):
    assert cells.width(text) == columns


@given(st.text(alphabet="ab 東京é\u0301👍🏽\u200d", max_size=40), st.integers(2, 30))
def test_cut_text_fits_and_is_a_beginning(text, columns):
    found = cells.cut(text, columns)
    assert cells.width(found) <= columns
    assert found == text or text.startswith(found.removesuffix("…"))


@given(st.lists(st.text(alphabet="ab東x", min_size=1, max_size=8), min_size=1, max_size=30), st.integers(20, 80), st.integers(0, 4))
def test_wrapped_lines_fit_and_lose_no_word(words, columns, indent):
    found = list(cells.wrapped([" " * indent + " ".join(words)], columns))
    assert " ".join(found).split() == words
    assert all(cells.width(line) <= columns for line in found)


def test_a_word_that_fits_only_further_out_stands_there():
    assert list(cells.wrapped(["   a a aa東東東東東東"], 20)) == ["   a a", "      aa東東東東東東"]


def test_what_is_piped_is_not_broken():
    assert list(cells.wrapped(["word " * 100], 0)) == ["word " * 100]


def test_queries_in_wide_letters_keep_the_columns_together():
    lines = [q(f"a{n}", 1, None, text, ["x"]) for n, text in enumerate(("東京の天気予報", "plain words", "👩‍👩‍👧‍👦 family", "e\u0301tat"))]
    text = render_text(build.make([*lines, *(q(f"b{n}") for n in range(20))]))
    rows = [line for line in text.splitlines() if " doc-a" in line]
    assert len(rows) == 4 and len({cells.width(row.partition(" doc-a")[0]) for row in rows}) == 1


@pytest.mark.parametrize("columns", [40, 80])
def test_no_line_of_prose_is_longer_than_the_terminal(columns):
    text = render_text(build.failing(), columns=columns)
    assert max(map(cells.width, text.splitlines())) <= columns
    assert text.split() == render_text(build.failing()).split()


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def test_progress_on_a_terminal_that_knows_no_escape_sequences(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    shown_on(stream)(2, 2)
    assert stream.getvalue() == "answered 2 of 2 queries\n"


def test_progress_has_no_bar_where_there_is_no_room_for_one(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for columns, bar in (("40", False), ("120", True)):
        monkeypatch.setenv("COLUMNS", columns)
        stream = Terminal()
        shown_on(stream)(2, 2)
        assert ("[" * 1 + "#" * 30 in stream.getvalue()) is bar
