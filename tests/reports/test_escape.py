import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.github.commands import escape_data, escape_property
from gate.reports.escape import at_start, cell, clean, code, inline, joined, terminal, url, xml
from tests.reports.rendered import HOSTILE, github

# Any text, and text made mostly of what Markdown and GitHub react to.
ANY = st.text(max_size=60) | st.text(alphabet="|`\\*_~<>&#@$[]()!:/.-+=1aw \n\t", max_size=40) | st.sampled_from(HOSTILE)


def row_of(*cells: str):
    page = github("| a | b | c |\n|---|---|---|\n| " + " | ".join(cells) + " |\n\nafter\n")
    assert len(page.tables) == 1
    assert len(page.tables[0]) == 2
    assert page.text.rstrip().endswith("after")
    return page


@given(ANY, ANY)
def test_any_text_stays_in_its_cell_and_reads_as_it_was_written(one, two):
    page = row_of("first", cell(one), code(two))
    first, second, third = page.tables[0][1]
    assert (first.strip(), second.strip(), third.strip()) == ("first", clean(one), clean(two))
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "p", "code", "span"}
    assert not page.links and not page.comments


@given(ANY)
def test_any_text_in_prose_is_one_paragraph_without_links(text):
    page = github(f"before\n\n{at_start(inline(text).strip())}\n\nafter\n")
    assert page.tags <= {"p", "code"}
    assert page.text.split() == ["before", *clean(text).split(), "after"]


@given(st.lists(st.tuples(ANY, st.booleans()), max_size=5))
def test_pieces_of_a_sentence_never_run_into_one_another(pieces):
    shown = joined(code(text, table=False) if name else inline(text) for text, name in pieces)
    page = github(f"x {shown} y\n")
    assert page.tags <= {"p", "code"}
    assert "".join(page.text.split()) == "x" + "".join("".join(clean(text).split()) for text, _ in pieces) + "y"


@given(ANY)
def test_cleaned_text_is_one_visible_line(text):
    shown = clean(text)
    assert shown == clean(shown)
    assert "\n" not in shown and "\x1b" not in shown
    shown.encode()


@pytest.mark.parametrize("text", ["@octocat", "ask @acme/team", "(@x)", "é@octocat", "#12", "acme/wiki#7", "GH-9",
                                  "https://a.example", "www.a.example", "me@a.example", ":tada:", "8f3c2a9d41e0",
                                  "mailto:me@a.example"])
def test_what_github_would_bring_to_life_becomes_code(text):
    assert "`" in cell(text)


@pytest.mark.parametrize("text", ["ndcg@10 fell", "recall@5,", "customer_data_export", "C++ or C", "how do I reset it?",
                                  "50 % of 3/4 - maybe", "ERR-4417"])
def test_ordinary_text_is_left_as_it_is(text):
    assert cell(text) == text


def test_bidi_overrides_and_zero_width_characters_are_gone():
    assert clean("a\u202eb\u2066c\u200bd\ufeffe\u00adf") == "abcdef"


def test_long_text_is_cut_and_says_so():
    assert clean("word " * 100, 20) == "word word word word…"
    assert len(clean("x" * 10_000_000, 50)) == 50


def test_a_flood_of_combining_marks_is_dammed():
    assert len(clean("e" + "\u0301" * 100)) <= 5


@given(ANY)
def test_no_line_of_a_log_is_a_workflow_command(text):
    line = terminal(text)
    assert not line.lstrip().startswith("::")
    assert "##[" not in line
    assert "\x1b" not in line and "\n" not in line and "\r" not in line


def test_command_data_is_escaped_percent_first():
    assert escape_data("100%\r\n") == "100%25%0D%0A"
    assert escape_property("a:b,c%") == "a%3Ab%2Cc%25"


@given(st.text())
def test_xml_text_holds_only_xml_characters(text):
    from xml.etree import ElementTree

    element = ElementTree.Element("a")
    element.text = xml(text)
    ElementTree.fromstring(ElementTree.tostring(element))


@pytest.mark.parametrize(("text", "good"), [
    ("https://github.com/a/b/actions/runs/1/attempts/2", True), ("http://ghes.local:8443/a?b=c#d", True),
    ("javascript:alert(1)", False), ("https://a.example/)evil", False), ('https://a.example/"onmouseover="x', False),
    ("https://user@evil.example/", False), ("", False), ("https://a.example/ b", False), ("https://a.example/\n", False)])
def test_only_plain_web_addresses_become_links(text, good):
    assert url(text) == (text if good else "")


@pytest.mark.parametrize("text", ["👩\u200d💻", "🏳\ufe0f\u200d🌈", "می\u200cخواهم", "क\u094d\u200dष", "👩🏽\u200d⚕\ufe0f"])
def test_joiners_stay_where_they_belong_to_the_spelling(text):
    assert clean(text) == text and terminal(text) == text


@pytest.mark.parametrize("text", ["a\u200db", "ab\u200c", "\u200dab", "a\u200c\u200db"])
def test_joiners_that_only_hide_are_gone(text):
    assert clean(text) == "ab"
