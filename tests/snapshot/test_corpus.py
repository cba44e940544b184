"""A folder of Markdown, or corpus.jsonl, becomes units with ids that a golden set can name."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput
from gate.snapshot.corpus import read_corpus
from gate.snapshot.markdown import front_matter, slug, split
from tests.snapshot.support import ROOT, corpus_of, write

PAGE = """# Load balancer errors

The public balancers.

## ERR-4462 upstream too slow!

The backend.

## Take a *member* out
drain it
## Take a member out

```sh
## not a heading
# nor this
```
## Empty
"""


def ids(corpus):
    return [unit.id for unit in corpus.units]


def test_markdown_is_cut_at_second_level_headings(tmp_path):
    corpus = read_corpus(write(tmp_path, {"net/lb.md": PAGE}))
    assert ids(corpus) == ["lb#intro", "lb#err-4462-upstream-too-slow", "lb#take-a-member-out", "lb#take-a-member-out-1",
                           "lb#empty"]
    intro, slow, *_, code, empty = corpus.units
    assert (intro.title, intro.text) == ("Load balancer errors", "The public balancers.")
    assert (slow.title, slow.text) == ("Load balancer errors › ERR-4462 upstream too slow!", "The backend.")
    assert (slow.doc, slow.parent) == (slow.id, "lb")
    assert code.text.startswith("```sh\n## not a heading")
    assert (empty.title, empty.text) == ("Load balancer errors › Empty", "")


def test_offsets_point_at_the_text_in_its_document(tmp_path):
    corpus = read_corpus(write(tmp_path, {"lb.md": PAGE}))
    assert all(corpus.documents[0].text[unit.start:unit.end] == unit.text for unit in corpus.units)


@given(st.lists(st.sampled_from(["# T", "## A", "## A", "## intro", "##", "text", "  text ", "", "```", "~~~", "### C", "## "])))
def test_no_cut_loses_or_doubles_text(lines):
    text = "\n".join(lines)
    _, sections = split(text)
    assert len({section.slug for section in sections}) == len(sections)
    ends = [0, *(place for section in sections for place in (section.start, section.end))]
    assert ends == sorted(ends)
    assert all(text[section.start:section.end] == section.text for section in sections)


def test_a_page_without_headings_is_its_intro_and_is_titled_by_its_name(tmp_path):
    corpus = read_corpus(write(tmp_path, {"note.md": "only text\n", "plain.txt": "## kept as it is\n"}))
    assert [(unit.id, unit.title) for unit in corpus.units] == [("note#intro", "note"), ("plain", "plain")]


def test_a_heading_called_intro_does_not_take_the_place_of_the_preface(tmp_path):
    corpus = read_corpus(write(tmp_path, {"p.md": "before\n## Intro\nafter\n"}))
    assert [(unit.id, unit.text) for unit in corpus.units] == [("p#intro", "before"), ("p#intro-1", "after")]


@pytest.mark.parametrize(("heading", "expected"), [
    ("ERR-4417: chain problems", "err-4417-chain-problems"), ("  Ärger & Streß ", "ärger--streß"), ("C++ / C#", "c--c"),
    ("`pg_wal` full", "pgwal-full")])
def test_slugs_look_like_anchors(heading, expected):
    assert slug(heading) == expected


def test_thousands_of_equal_headings_and_blanks_take_no_time():
    start = time.process_time()
    sections = split("## a\ntext\n" * 10_000 + "## b" + " " * 100_000 + "c\ntext\n")[1]
    assert time.process_time() - start < 3
    assert [section.slug for section in sections[:3]] == ["a", "a-1", "a-2"] and sections[9_999].slug == "a-9999"


def test_without_a_chunker_a_document_is_one_unit(tmp_path):
    corpus = read_corpus(write(tmp_path, {"lb.md": PAGE}), chunker="none")
    assert [(unit.id, unit.title, unit.text) for unit in corpus.units] == [("lb", "Load balancer errors", PAGE)]


def test_the_digest_knows_the_content_and_neither_order_nor_place_nor_chunker(tmp_path):
    one = read_corpus(write(tmp_path / "one", {"a.md": PAGE, "b.md": "text"}))
    windows = PAGE.replace("\n", "\r\n").encode("utf-8-sig")
    other = read_corpus(write(tmp_path / "other", {"deep/b.md": "text", "z/a.md": windows}))
    assert one.digest == other.digest == read_corpus(tmp_path / "one", chunker="none").digest
    assert one.digest != read_corpus(write(tmp_path / "one", {"b.md": "text."})).digest


def test_the_digest_of_lines_knows_neither_their_order(tmp_path):
    first = corpus_of(tmp_path, ("a", "A", "x"), ("b", "", "y"))
    assert first.digest == corpus_of(tmp_path, ("b", "", "y"), ("a", "A", "x")).digest
    assert first.digest != corpus_of(tmp_path, ("a", "", "x"), ("b", "", "y")).digest


def test_files_with_the_same_name_are_refused_naming_both_and_the_option(tmp_path):
    write(tmp_path, {"a/page.md": "x", "b/page.txt": "y"})
    with pytest.raises(InvalidInput) as caught:
        read_corpus(tmp_path)
    assert str(tmp_path / "a/page.md") in str(caught.value) and str(tmp_path / "b/page.txt") in str(caught.value)
    assert "build with `--ids path`" in caught.value.cure


def test_paths_as_ids_tell_files_of_the_same_name_apart(tmp_path):
    files = {"index.md": "top", "a/index.md": "# A\n\n## One\n\nx", "a/b.c/index.txt": "y", "a/v1.2.md": "z"}
    corpus = read_corpus(write(tmp_path, files), ids="path")
    assert ids(corpus) == ["index#intro", "a/index#one", "a/v1.2#intro", "a/b.c/index"]
    assert [document.id for document in corpus.documents] == ["index", "a/index", "a/v1.2", "a/b.c/index"]
    assert {unit.parent for unit in corpus.units if "#" in unit.id} == {"index", "a/index", "a/v1.2"}


def test_how_ids_were_made_is_a_fact_of_the_chunker(tmp_path):
    write(tmp_path, {"a/x.md": "text"})
    assert read_corpus(tmp_path).chunker == {"kind": "heading", "level": 2, "ids": "stem"}
    assert read_corpus(tmp_path, ids="path").chunker["ids"] == "path"
    assert read_corpus(tmp_path, "none", "path").chunker == {"kind": "none", "ids": "path"}


def test_even_with_paths_two_endings_of_one_name_are_refused(tmp_path):
    with pytest.raises(InvalidInput) as caught:
        read_corpus(write(tmp_path, {"a/page.md": "x", "a/page.txt": "y"}), ids="path")
    assert "has the same document id 'a/page'" in str(caught.value) and caught.value.cure == "rename one of the files"


def test_ids_of_lines_are_their_own(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id":"a","text":"x"}\n')
    with pytest.raises(InvalidInput, match="leave out --ids"):
        read_corpus(tmp_path / "corpus.jsonl", ids="path")
    with pytest.raises(InvalidInput, match="ids 'name' must be one of stem, path"):
        read_corpus(tmp_path, ids="name")


FRONT = """---
# who looks after it
owner: network
title: "Load: balancer"
tags:
  - net
---

Before any heading.

## Slow
The backend.
"""


def test_front_matter_gives_the_title_and_is_not_indexed(tmp_path):
    corpus = read_corpus(write(tmp_path, {"lb.md": FRONT}))
    assert [(unit.id, unit.title, unit.text) for unit in corpus.units] == [
        ("lb#intro", "Load: balancer", "Before any heading."), ("lb#slow", "Load: balancer › Slow", "The backend.")]
    document = corpus.documents[0]
    assert document.text == FRONT and document.title == "Load: balancer"
    assert all(document.text[unit.start:unit.end] == unit.text for unit in corpus.units)


def test_an_uncut_document_starts_after_its_front_matter(tmp_path):
    corpus = read_corpus(write(tmp_path, {"lb.md": FRONT.replace("\n", "\r\n")}), chunker="none")
    unit, = corpus.units
    assert unit.text.startswith("\nBefore") and corpus.documents[0].text[unit.start:unit.end] == unit.text


@pytest.mark.parametrize(("text", "title", "body"), [
    ("---\ntitle: A\n---\n# B\ntext", "B", "text"),
    ("---\ntitle: Not: valid: yaml\n---\ntext", "Not: valid: yaml", "text"),
    ("---\ntitle: 2024\n---\ntext", "2024", "text"),
    ("---\ntitle: >\n  two\n  lines\n---\ntext", "two lines", "text"),

    ("---\nx: " + "[" * 5000 + "\n---\ntext", "p", "text"),
    ("---\n---\ntext", "p", "text"),
    ("---\ntitle: A\ntext", "p", "---\ntitle: A\ntext"),
    ("---\nA quotation, set off by rules.\n---\ntext", "p", "---\nA quotation, set off by rules.\n---\ntext"),
    ("---\n# Heading\n---\ntext", "Heading", "---\n# Heading\n---\ntext"),
    ("\n---\ntitle: A\n---\ntext", "p", "---\ntitle: A\n---\ntext"),
    ("----\ntitle: A\n----\ntext", "p", "----\ntitle: A\n----\ntext"),
])
def test_what_is_front_matter_and_what_is_text_between_rules(tmp_path, text, title, body):
    unit, = read_corpus(write(tmp_path, {"p.md": text})).units
    assert (unit.title, unit.text) == (title, body)


def test_front_matter_in_a_text_file_is_text(tmp_path):
    assert read_corpus(write(tmp_path, {"p.txt": FRONT})).units[0].text == FRONT


@given(st.lists(st.sampled_from(["---", "title: A", "# T", "## B", "text", "", "a: [", "```"])))
def test_front_matter_and_sections_never_overlap(lines):
    text = "\n".join(lines)
    _, body = front_matter(text)
    _, sections = split(text, body)
    assert all(section.start >= body and text[section.start:section.end] == section.text for section in sections)


def test_every_kind_of_fault_of_a_folder_gets_its_own_cure(tmp_path):
    write(tmp_path, {"good.md": "x", "latin.md": b"caf\xe9"})
    with pytest.raises(InvalidInput) as caught:
        read_corpus(tmp_path)
    assert caught.value.cure == "save this file as UTF-8"
    write(tmp_path, {"b/good.md": "x", "bell\a.md": "x"})
    (tmp_path / "link.md").symlink_to("/etc/hostname")
    with pytest.raises(InvalidInput) as caught:
        read_corpus(tmp_path)
    assert len(caught.value.problems) == 4
    assert all(words in caught.value.cure for words in ("UTF-8", "--ids path", "in the place of the link", "control characters"))


def test_files_that_add_nothing_to_the_index_are_told(tmp_path):
    corpus = read_corpus(write(tmp_path, {"a.md": "x", **{f"empty{n}.md": "---\ntitle: T\n---\n" for n in range(7)}}))
    assert corpus.warnings == (f"{tmp_path}: nothing to index in empty0.md, empty1.md, empty2.md, empty3.md, empty4.md, … (7 files)",)


def test_links_and_bad_encodings_are_all_named(tmp_path):
    write(tmp_path, {"good.md": "x", "latin.md": b"caf\xe9"})
    (tmp_path / "link.md").symlink_to("/etc/hostname")
    (tmp_path / "folder").symlink_to("/etc")
    with pytest.raises(InvalidInput) as caught:
        read_corpus(tmp_path)
    assert len(caught.value.problems) == 3
    assert "latin.md: not UTF-8 (byte 4)" in str(caught.value) and "link.md: is a symbolic link" in str(caught.value)


def test_a_named_pipe_is_not_waited_for(tmp_path):
    write(tmp_path, {"a.md": "text"})
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(InvalidInput, match="pipe.md: is not a regular file"):
        read_corpus(tmp_path)


def test_hidden_and_other_files_are_left_alone(tmp_path):
    assert ids(read_corpus(write(tmp_path, {"a.md": "x", ".git/b.md": "x", ".c.md": "x", "d.png": b"\xff"}))) == ["a#intro"]


def test_every_bad_line_is_named(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id":"a","text":"x"}\n\n{"_id":"a","text":"y"}\n{"_id":"","text":"x"}\n{"id":"b"}\n{"id":"c","text":1}\n'
                    '[]\nnot json\n{"id":"d","text":"\\ud800"}\n')
    with pytest.raises(InvalidInput) as caught:
        read_corpus(path)
    assert [problem.removeprefix(str(path))[:3] for problem in caught.value.problems] == [f":{line}:" for line in range(3, 10)]


def test_number_ids_are_read_as_strings_with_a_warning(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id":7,"text":"x"}\n')
    corpus = read_corpus(path)
    assert ids(corpus) == ["7"] and "1 id is written as a number" in corpus.warnings[0]


@pytest.mark.parametrize("files", [{}, {"a.md": ""}, {"a.png": "x"}])
def test_a_folder_without_text_is_refused(tmp_path, files):
    with pytest.raises(InvalidInput, match="with text in it"):
        read_corpus(write(tmp_path, files))


def test_every_unit_that_the_example_names_exists():
    from gate.golden.read import read_golden

    wiki = {unit.id for unit in read_corpus(ROOT / "examples" / "wiki").units}
    golden = read_golden(ROOT / "examples" / "golden.jsonl")
    assert {doc for query in golden.queries for doc in query.gains} <= wiki
