"""A folder of Markdown, or corpus.jsonl, becomes units with ids that a golden set can name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput
from gate.snapshot.corpus import read_corpus
from gate.snapshot.markdown import slug, split
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


def test_files_with_the_same_name_are_refused_naming_both(tmp_path):
    write(tmp_path, {"a/page.md": "x", "b/page.txt": "y"})
    with pytest.raises(InvalidInput) as caught:
        read_corpus(tmp_path)
    assert str(tmp_path / "a/page.md") in str(caught.value) and str(tmp_path / "b/page.txt") in str(caught.value)


def test_links_and_bad_encodings_are_all_named(tmp_path):
    write(tmp_path, {"good.md": "x", "latin.md": b"caf\xe9"})
    (tmp_path / "link.md").symlink_to("/etc/hostname")
    (tmp_path / "folder").symlink_to("/etc")
    with pytest.raises(InvalidInput) as caught:
        read_corpus(tmp_path)
    assert len(caught.value.problems) == 3
    assert "latin.md: not UTF-8 (byte 4)" in str(caught.value) and "link.md: is a symbolic link" in str(caught.value)


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
    assert ids(corpus) == ["7"] and "1 ids are numbers" in corpus.warnings[0]


@pytest.mark.parametrize("files", [{}, {"a.md": ""}, {"a.png": "x"}])
def test_a_folder_without_text_is_refused(tmp_path, files):
    with pytest.raises(InvalidInput, match="with text in it"):
        read_corpus(write(tmp_path, files))


def test_every_unit_that_the_example_names_exists():
    from gate.golden.read import read_golden

    wiki = {unit.id for unit in read_corpus(ROOT / "examples" / "wiki").units}
    golden = read_golden(ROOT / "examples" / "golden.jsonl")
    assert {doc for query in golden.queries for doc in query.gains} <= wiki
