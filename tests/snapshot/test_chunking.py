"""How documents are cut: nothing is lost, places are exact, ids are what golden sets can rely on."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput
from gate.snapshot.chunking import Chunking, faults, from_facts, windows
from gate.snapshot.corpus import read_corpus
from gate.snapshot.markdown import split
from tests.snapshot.support import corpus_of, write

TEXTS = st.text(alphabet=st.sampled_from("ab.é \n\t\u3000日本が\u3099𠀀"), max_size=120) | st.text(max_size=80)
SIZES = st.integers(1, 12).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def words(text):
    """Words of scripts that put white space between them."""
    return re.findall(r"\S+", text)


@given(TEXTS, SIZES, st.sampled_from(["words", "chars"]))
def test_every_character_is_in_a_window_and_each_window_goes_on_where_the_one_before_ended_or_earlier(text, sizes, by):
    found = windows(text, 0, len(text), *sizes, by)
    assert found[0][0] == 0 and found[-1][1] == len(text)
    for (start, end), (after, later) in zip(found, found[1:], strict=False):
        assert start < after <= end < later


@given(st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=40), SIZES)
def test_windows_of_words_have_their_size_and_share_exactly_the_overlap(parts, sizes):
    text, (size, overlap) = " ".join(parts), sizes
    cut = [words(text[start:end]) for start, end in windows(text, 0, len(text), size, overlap, "words")]
    assert all(len(window) == size for window in cut[:-1]) and 1 <= len(cut[-1]) <= size
    assert cut[0] + [word for window in cut[1:] for word in window[overlap:]] == parts
    for one, other in zip(cut, cut[1:], strict=False):
        assert one[len(one) - overlap:] == other[:overlap]


@given(st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=40), SIZES)
def test_windows_of_characters_keep_to_their_size_and_never_cut_a_word(parts, sizes):
    text, (size, overlap) = "  ".join(parts), sizes
    found = windows(text, 0, len(text), size, overlap, "chars")
    for start, end in found:
        assert start == 0 or text[start - 1].isspace() and not text[start].isspace()
        assert end == len(text) or text[end - 1].isspace() and not text[end].isspace()
        window = text[start:end].rstrip()
        assert len(window) <= size or len(words(window)) == 1
    for (_, end), (after, _) in zip(found, found[1:], strict=False):
        assert len(text[after:end].rstrip()) <= overlap


def test_windows_of_characters_take_in_as_much_as_fits():
    text = "one two three four five"
    assert [text[a:b] for a, b in windows(text, 0, len(text), 13, 0, "chars")] == ["one two three ", "four five"]
    assert [text[a:b] for a, b in windows(text, 0, len(text), 13, 5, "chars")] == ["one two three ", "three four ", "four five"]


def test_where_a_script_has_no_spaces_a_window_may_end_after_any_character():
    text = "日本語の検索は難しい。"
    assert [text[a:b] for a, b in windows(text, 0, len(text), 4, 1, "chars")] == ["日本語の", "の検索は", "は難しい", "い。"]


def test_windows_know_their_document_and_their_place_in_it(tmp_path):
    corpus = corpus_of(tmp_path, ("a", "A", "one two three four five"), ("b", "", ""))
    cut = read_corpus(tmp_path / "corpus.jsonl", Chunking("fixed", size=2, overlap=1))
    assert [(u.id, u.doc, u.parent, u.title, u.text, u.start, u.end) for u in cut.units] == [
        ("a#1", "a", "a", "A", "one two ", 0, 8), ("a#2", "a", "a", "A", "two three ", 4, 14),
        ("a#3", "a", "a", "A", "three four ", 8, 19), ("a#4", "a", "a", "A", "four five", 14, 23), ("b#1", "b", "b", "", "", 0, 0)]
    assert cut.digest == corpus.digest and cut.chunker == {"kind": "fixed", "size": 2, "overlap": 1, "by": "words"}


def test_windows_of_a_page_begin_after_its_front_matter_and_text_files_are_cut_as_well(tmp_path):
    write(tmp_path, {"p.md": "---\ntitle: T\n---\none two three", "q.txt": "# one two"})
    cut = read_corpus(tmp_path, Chunking("fixed", size=2))
    assert [(u.id, u.title, u.text) for u in cut.units] == [("p#1", "T", "one two "), ("p#2", "T", "three"), ("q#1", "q", "# one "),
                                                            ("q#2", "q", "two")]
    texts = {document.id: document.text for document in cut.documents}
    assert all(texts[u.doc][u.start:u.end] == u.text for u in cut.units)


@given(st.lists(st.sampled_from(["# A", "## B", "### C", "#### D", "text", "  more text", "", "```", "####### no"])), st.integers(1, 6))
def test_a_section_holds_no_heading_at_which_it_should_have_ended(lines, level):
    text = "\n".join(lines)
    _, sections = split(text, 0, level)
    ends = [0, *(place for section in sections for place in (section.start, section.end))]
    assert ends == sorted(ends) and all(text[s.start:s.end] == s.text for s in sections)
    if "```" not in lines:
        for section in sections:
            inside = re.findall(r"^(#{1,6}) ", section.text, re.M)
            title = section.slug == "intro" and "#" in inside  # one that stands below other text
            assert sum(len(mark) <= level for mark in inside) <= title


PAGE = "# Guide\nfirst\n## Net\nnet\n### DNS\ndns\n## Disk\ndisk\n# Part two\nlast\n## Net\nmore\n"


@pytest.mark.parametrize(("level", "expected"), [
    (1, ["intro", "part-two"]), (2, ["intro", "net", "disk", "part-two", "net-1"]),
    (3, ["intro", "net", "dns", "disk", "part-two", "net-1"])])
def test_sections_begin_at_headings_of_the_level_or_above(tmp_path, level, expected):
    corpus = read_corpus(write(tmp_path, {"g.md": PAGE}), Chunking("heading", level=level))
    assert [unit.id.removeprefix("g#") for unit in corpus.units] == expected


def test_a_deeper_section_is_titled_by_all_headings_above_it(tmp_path):
    units = read_corpus(write(tmp_path, {"g.md": PAGE}), Chunking("heading", level=3)).units
    assert [unit.title for unit in units] == ["Guide", "Guide › Net", "Guide › Net › DNS", "Guide › Disk", "Guide › Part two",
                                              "Guide › Part two › Net"]


def test_lines_are_cut_at_headings_when_that_is_asked_and_lose_no_heading(tmp_path):
    corpus_of(tmp_path, ("a", "Given", "# Other\nx\n## One\ny"), ("b", "", "# Own\nz"), ("c", "Same", "# Same\nw"))
    corpus = read_corpus(tmp_path / "corpus.jsonl", "heading")
    assert [(u.id, u.title, u.text) for u in corpus.units] == [
        ("a#other", "Given › Other", "x"), ("a#one", "Given › Other › One", "y"), ("b#intro", "Own", "z"), ("c#intro", "Same", "w")]
    assert corpus.digest == read_corpus(tmp_path / "corpus.jsonl").digest
    assert [unit.id for unit in read_corpus(tmp_path / "corpus.jsonl").units] == ["a", "b", "c"]


def test_a_long_section_is_cut_into_windows_that_are_called_by_the_section(tmp_path):
    write(tmp_path, {"g.md": "# G\n## Short\na b\n## Long\na b c d e", "t.txt": "a b c d"})
    how = Chunking("heading", size=3, overlap=1)
    corpus = read_corpus(tmp_path, how)
    assert [(u.id, u.doc, u.text) for u in corpus.units] == [
        ("g#short", "g#short", "a b"), ("g#long#1", "g#long", "a b c "), ("g#long#2", "g#long", "c d e"),
        ("t#1", "t", "a b c "), ("t#2", "t", "c d")]
    assert corpus.chunker == {"kind": "heading", "level": 2, "max_size": 3, "overlap": 1, "by": "words", "ids": "stem"}
    assert {u.doc for u in read_corpus(tmp_path, how._replace(doc="document")).units} == {"g", "t"}


def test_two_documents_whose_parts_would_have_one_id_are_refused(tmp_path):
    write(tmp_path, {"a.md": "## B\none two three", "a#b.md": "## 1\nx"})
    with pytest.raises(InvalidInput, match="'a' and 'a#b' both have a part with the id 'a#b#1'|'a#b' and 'a' both"):
        read_corpus(tmp_path, Chunking("heading", size=2))


@pytest.mark.parametrize("how", [Chunking("fixed", size=2), Chunking("heading")])
def test_a_part_that_is_called_like_another_document_is_refused(tmp_path, how):
    """Its title and text would be shown for the document, and a label could mean either."""
    write(tmp_path, {"a.md": "## 1\none two three", "a#1.md": "four five six"})
    with pytest.raises(InvalidInput, match="a part of the document 'a' has the id of the document 'a#1'"):
        read_corpus(tmp_path, how)


@pytest.mark.parametrize(("how", "words"), [
    (Chunking("sentence"), "chunker 'sentence' must be one of"), (Chunking("fixed"), "needs --size"),
    (Chunking("fixed", size=-1), "size must"), (Chunking("fixed", size=5, overlap=5), "a whole number from 0 and below size"),
    (Chunking("heading", level=7), "level must"), (Chunking("fixed", size=5, by="tokens"), "by 'tokens' must"),
    (Chunking("heading", size=3, overlap=4), "below max-size")])
def test_what_cannot_be_cut_is_said_with_the_option(how, words):
    assert any(words in problem for problem in faults(how))


@given(st.sampled_from([Chunking(), Chunking("heading"), Chunking("heading", 3), Chunking("heading", 1, 9, 2, "chars", "document"),
                        Chunking("fixed", size=8), Chunking("fixed", size=8, overlap=3, by="chars")]), st.sampled_from(["stem", "path"]))
def test_the_manifest_says_all_that_is_needed_to_cut_again(how, ids):
    assert from_facts(how.facts() | {"ids": ids}) == (how, ids)


@pytest.mark.parametrize("facts", [{}, {"kind": "semantic"}, {"kind": "heading", "level": "2"}, {"kind": "heading", "level": True},
                                   {"kind": "fixed", "size": 4, "overlap": 1, "by": "words", "model": "x"}, {"kind": "none", "ids": "name"},
                                   {"kind": ["fixed"]}])
def test_a_chunker_that_this_version_lacks_is_refused(facts):
    with pytest.raises(InvalidInput, match="build the snapshot again"):
        from_facts(facts)


LINES = st.dictionaries(st.text("abcé/", min_size=1, max_size=6), st.text("xy \n#é\u0301", max_size=12), min_size=1, max_size=6)


@given(LINES, st.randoms(use_true_random=False))
def test_the_corpus_digest_knows_neither_the_order_of_lines_nor_their_ends_nor_the_spelling_of_json(tmp_path_factory, documents, random):
    import json

    folder = tmp_path_factory.mktemp("digest")
    rows = list(documents.items())
    (folder / "one.jsonl").write_text("".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in rows))
    random.shuffle(rows)
    other = "".join(json.dumps({"text": t, "title": None, "id": i}, ensure_ascii=False) + "\r\n\r\n" for i, t in rows)
    (folder / "two.jsonl").write_bytes(b"\xef\xbb\xbf" + other.encode())
    assert read_corpus(folder / "one.jsonl").digest == read_corpus(folder / "two.jsonl", Chunking("fixed", size=3)).digest
    changed = dict(rows) | {rows[0][0]: rows[0][1] + "."}
    (folder / "two.jsonl").write_text("".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in changed.items()))
    assert read_corpus(folder / "one.jsonl").digest != read_corpus(folder / "two.jsonl").digest


def test_a_file_has_the_same_id_however_the_file_system_spells_its_name(tmp_path):
    one = read_corpus(write(tmp_path / "one", {"caf\u00e9.md": "x"}))
    two = read_corpus(write(tmp_path / "two", {"cafe\u0301.md": "x"}))
    assert one.digest == two.digest and one.units == two.units
    assert one.digest != read_corpus(write(tmp_path / "three", {"caf\u00e9.md": "x\u0301"})).digest
