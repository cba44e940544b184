import gzip
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.errors import GateError, InvalidInput
from gate.golden.fit import misnamed
from gate.golden.model import Query
from gate.golden.read import Ids, golden_of, read_golden
from gate.jsonio import digest, dumps
from gate.policy import Policy
from tests.conftest import golden_set

GOOD = {"id": "q1", "query": "how?", "relevant": ["a"], "tags": ["x"]}


def problems(path):
    with pytest.raises(InvalidInput) as caught:
        read_golden(path)
    return caught.value.problems


def test_reads_grades_tags_and_unanswerable_queries(write):
    golden = read_golden(write("g.jsonl", GOOD, {"id": "q2", "query": "when?", "relevant": {"b": 2, "c": -1}},
                               {"id": "q3", "query": "who?", "relevant": [], "answerable": False}))
    assert [q.id for q in golden.queries] == ["q1", "q2", "q3"]
    assert golden.by_id["q2"].gains == {"b": 2.0, "c": -1.0}
    assert golden.by_id["q1"].tags == ("x",)
    assert not golden.by_id["q3"].answerable


def test_a_byte_order_mark_crlf_and_blank_lines_do_not_matter_but_line_numbers_stay_right(tmp_path):
    path = tmp_path / "g.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id":"q1","query":"a","relevant":["a"]}\r\n\r\n{"id":"q2","query":"","relevant":["a"]}\r\n')
    assert problems(path) == (f"{path}:3: `query` must be a string with some text",)


def test_gzip_is_recognised_by_content_not_by_name(tmp_path):
    path = tmp_path / "g.jsonl"
    path.write_bytes(gzip.compress(b'{"id":"q1","query":"a","relevant":["a"]}\n'))
    assert len(read_golden(path).queries) == 1


def test_every_fault_is_listed_with_its_line_not_only_the_first(write):
    path = write("g.jsonl", "{broken", {"id": "q", "query": "x"}, GOOD, {"id": "q4", "query": "x", "relevant": {"a": True}},
                 '{"id":"q5","query":"x","relevant":{"a":NaN}}', {"id": "q6", "query": "x", "relevant": {"a": 0.5}},
                 {"id": True, "query": "x", "relevant": []}, {"id": "q8", "query": "x", "relevant": ["a"], "answerable": False},
                 {"id": "q1", "query": "other", "relevant": ["a"]}, [1], {"id": "q9", "query": "x", "relevant": [None]})
    found = problems(path)
    assert [int(p.split(":")[1]) for p in found] == [1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
    assert "float_grades" in found[4] and "already given in line 3" in found[7]


def test_numbers_as_ids_are_read_as_strings_with_a_warning(write):
    golden = read_golden(write("g.jsonl", {"id": 1, "query": "x", "relevant": [7]}))
    assert golden.queries[0].id == "1" and "7" in golden.queries[0].gains
    assert len(golden.warnings) == 2


def test_one_and_the_string_one_in_one_file_is_an_error(write):
    path = write("g.jsonl", {"id": "a", "query": "x", "relevant": [1]}, {"id": "b", "query": "x", "relevant": ["1"]})
    assert "given as a number and as a string" in problems(path)[0]


def test_identical_duplicates_warn_and_count_once(write):
    golden = read_golden(write("g.jsonl", GOOD, GOOD))
    assert len(golden.queries) == 1 and "already given" in golden.warnings[0]


def test_ids_that_differ_only_in_unicode_form_or_case_are_warned_about_and_kept_apart(write):
    golden = read_golden(write("g.jsonl", {"id": "q", "query": "x", "relevant": ["d\u00e9", "de\u0301", "A", "a"]}))
    assert len(golden.queries[0].gains) == 4
    assert sum("differ only in" in w for w in golden.warnings) == 2


def test_unknown_keys_warn(write):
    assert "unknown keys ignored: tag" in read_golden(write("g.jsonl", GOOD | {"tag": "x"})).warnings[0]


def test_the_header_beside_it_gives_version_and_allows_fractional_grades(write):
    write("golden.yml", "version: 2.1.0", "owner: search", "float_grades: true")
    golden = read_golden(write("golden.jsonl", {"id": "q", "query": "x", "relevant": {"a": 0.5}}))
    assert golden.version == "2.1.0" and golden.queries[0].gains == {"a": 0.5}


def test_a_misspelt_header_key_is_an_error_with_its_line(write):
    write("golden.yml", "owner: x", "versoin: 1.0.0")
    assert "golden.yml:2" in problems(write("golden.jsonl", GOOD))[0]


def test_names_and_tags_have_bounds(write):
    long = "x" * 10_001
    found = problems(write("g.jsonl", GOOD | {"id": long}, GOOD | {"relevant": [long]}, GOOD | {"tags": [long]}, GOOD | {"id": "q2"}))
    assert [p.split(":")[1] for p in found] == ["1", "2", "3"] and all("10000" in p and len(p) < 300 for p in found)
    many = [GOOD | {"id": f"q{n}", "tags": [f"{n}-{m}" for m in range(1001)]} for n in range(10)]
    assert "10010 different tags, at most 10000 are accepted" in problems(write("g.jsonl", *many))[0]


def test_a_header_that_is_a_link_to_elsewhere_is_refused_and_nothing_of_it_is_told(write, tmp_path):
    secret = write("outside/environ", "TOKEN: ghs_secret")
    (write("set/golden.jsonl", GOOD).parent / "golden.yml").symlink_to(secret)
    with pytest.raises(InvalidInput, match="leads out of the golden set's folder") as caught:
        read_golden(tmp_path / "set" / "golden.jsonl")
    assert "ghs_secret" not in str(caught.value) and "TOKEN" not in str(caught.value)


def test_a_header_beside_a_golden_set_that_is_a_link_itself_is_read(write, tmp_path):
    write("shared/golden.yml", "owner: search")
    write("shared/golden.jsonl", GOOD)
    (tmp_path / "set").mkdir()
    for name in ("golden.jsonl", "golden.yml"):
        (tmp_path / "set" / name).symlink_to(tmp_path / "shared" / name)
    assert read_golden(tmp_path / "set" / "golden.jsonl").owner == "search"


def test_an_empty_file_and_a_missing_file_are_errors(write, tmp_path):
    assert "no query in it" in problems(write("g.jsonl", ""))[0]
    assert "no such file" in problems(tmp_path / "none.jsonl")[0]


def test_the_digest_ignores_order_and_formatting_but_sees_labels_tags_and_text(write):
    two = GOOD | {"id": "q2"}
    base = read_golden(write("a.jsonl", GOOD, two)).digest
    assert read_golden(write("b.jsonl", two, dict(reversed(GOOD.items())))).digest == base
    for change in ({"relevant": ["b"]}, {"tags": []}, {"query": "else"}, {"relevant": {"a": 2}}, {"split": "blind"}):
        assert read_golden(write("c.jsonl", GOOD, two | change)).digest != base


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | st.lists(st.text(max_size=40), max_size=5).map(lambda x: "\n".join(x).encode("utf-8", "surrogatepass")))
def test_no_input_crashes_the_reader_with_anything_but_a_typed_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "g.jsonl"
    path.write_bytes(content)
    try:
        read_golden(path)
    except GateError as error:
        assert error.exit_code == 2


json_values = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                           lambda inner: st.lists(inner, max_size=3)
                               | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=8)


@settings(max_examples=200, deadline=None)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "query", "relevant", "tags", "spans", "answerable", "split",
    "source", "cluster"), json_values)))
def test_any_values_in_any_field_give_a_query_or_a_typed_error(tmp_path_factory, record):
    path = tmp_path_factory.mktemp("fuzz") / "g.jsonl"
    path.write_text(json.dumps(record), encoding="utf-8", errors="surrogatepass")
    try:
        assert read_golden(path).digest
    except GateError as error:
        assert error.exit_code == 2


def test_rules_that_name_what_the_golden_set_does_not_have_are_all_listed_with_the_nearest_name(write):
    from gate.policy import Policy, Protected

    golden = read_golden(write("g.jsonl", GOOD | {"tags": ["exact-term"]}))
    policy = Policy(protected=(Protected("exact_term", 0.1),), must_hit=("q1", "q7"), must_hit_tags=("nono",))
    found = misnamed(golden, {"policy": policy, "tiers.nightly.policy": replace(policy, must_hit=("q8",))}, "gate.yml")
    assert found.pop() == f"gate.yml: `tiers.nightly.policy.must_hit` names the query 'q8', which {golden.path} does not have"
    assert len(found) == 3 and "did you mean 'exact-term'?" in found[0] and "'nono'" in found[1] and "'q7'" in found[2]


def test_thousands_of_wrong_names_do_not_start_thousands_of_searches(monkeypatch):
    import difflib

    searches = []
    monkeypatch.setattr(difflib, "get_close_matches", lambda *words: searches.append(words) or [])
    golden = golden_set({f"q{i}": ["d"] for i in range(100)})
    assert len(misnamed(golden, {"policy": Policy(must_hit=tuple(f"x{i}" for i in range(5000)))}, "c.yml")) == 5000
    assert len(searches) == 50


def test_documents_that_the_corpus_does_not_hold_are_listed_with_their_line(write):
    from gate.golden.fit import strange_documents

    golden = read_golden(write("g.jsonl", GOOD, {"id": "q2", "query": "x", "relevant": ["vpn#restat"]}))
    lines, nothing = strange_documents(golden, {"a", "vpn#restart"})
    assert len(lines) == 1 and "g.jsonl:2" in lines[0] and "did you mean 'vpn#restart'?" in lines[0] and not nothing
    assert strange_documents(golden, {"z"})[1]


def test_documents_that_only_spans_name_are_looked_for_in_the_corpus_too(write):
    from gate.golden.fit import strange_documents

    golden = read_golden(write("g.jsonl", GOOD, {"id": "q2", "query": "x", "spans": [{"doc": "b", "start": 0, "end": 5}]}))
    assert strange_documents(golden, {"b"})[0] == [f"{golden.path}:1: document 'a' is not in the snapshot"]
    assert strange_documents(golden, {"a"})[0] == [f"{golden.path}:2: document 'b' is not in the snapshot"]


def test_a_name_by_which_no_result_is_called_is_named_with_its_line(write):
    from gate.golden.fit import uncalled_documents

    golden = read_golden(write("g.jsonl", GOOD, {"id": "q2", "query": "x", "spans": [{"doc": "b", "start": 0, "end": 5}]}))
    assert uncalled_documents(golden, {"a", "a#1", "b"}, {"b"}) == [
        f"{golden.path}:1: document 'a' is never found by this name: results are called like 'b'"]
    assert uncalled_documents(golden, {"a", "b"}, {"a", "b"}) == [] == uncalled_documents(golden, {"b"}, {"b"})


def test_a_file_beside_the_set_that_is_something_else_is_told_apart(write, tmp_path):
    path = write("g.jsonl", GOOD)
    path.with_suffix(".yml").write_text("golden: g.jsonl\n")
    with pytest.raises(InvalidInput, match="g.yml:1: unknown key 'golden'; this file is read as what is said about g.jsonl"):
        read_golden(path)


def spans(*items, **more):
    keys = ("doc", "start", "end", "grade")
    return {"id": "q1", "query": "how?", "spans": [dict(zip(keys, item, strict=False)) for item in items]} | more


def test_a_query_with_spans_needs_no_relevant_documents(write):
    golden = read_golden(write("g.jsonl", spans(("a", 3, 9), ("a", 20, 30, 2))))
    assert golden.queries[0].spans == (("a", 3, 9, 1.0), ("a", 20, 30, 2.0)) and golden.queries[0].documents == {"a": 2.0}
    assert "`relevant` missing" in problems(write("g.jsonl", spans()))[0]


def test_a_span_given_twice_counts_once_and_with_two_grades_is_an_error(write):
    golden = read_golden(write("g.jsonl", spans(("a", 3, 9), ("a", 3, 9, 1.0))))
    assert len(golden.queries[0].spans) == 1 and "span 3–9 of document 'a' is given twice; it counts once" in golden.warnings[0]
    assert "given twice, with grades 1 and 2" in problems(write("g.jsonl", spans(("a", 3, 9), ("a", 3, 9, 2))))[0]


@pytest.mark.parametrize("relevant, grade, right", [(["a"], 1, True), ({"a": 3}, 1, True), (["b"], 0, True), ({"a": -1}, 0, True),
                                                    ({"a": 0}, 1, False), (["a"], 0, False)])
def test_labels_and_spans_that_contradict_each_other_about_a_document_are_an_error(write, relevant, grade, right):
    path = write("g.jsonl", spans(("a", 3, 9, grade), relevant=relevant))
    if right:
        assert read_golden(path).queries
    else:
        assert "g.jsonl:1: `relevant` and `spans` contradict each other" in problems(path)[0]


@pytest.fixture
def grouped(write):
    """Write golden.yml, groups.jsonl of these lines and golden.jsonl; return the path of the last."""
    def to(*groups, queries=(GOOD, GOOD | {"id": "q2", "relevant": ["z"]})):
        write("golden.yml", "equivalences: groups.jsonl")
        write("groups.jsonl", *groups)
        return write("golden.jsonl", *queries)
    return to


def test_equivalence_groups_come_from_the_file_that_the_header_names_and_reach_the_queries_they_touch(grouped):
    golden = read_golden(grouped({"id": "g", "docs": ["b", "a"]}, "", {"docs": ["c", "d"]}))
    assert golden.by_id["q1"].groups == (("a", "b"),) and golden.by_id["q2"].groups == ()
    assert golden.by_id["q1"].documents == {"a": 1.0, "b": 1.0}


def test_a_changed_group_changes_the_labels_of_the_queries_it_touches_and_of_no_other(grouped, write):
    alone = read_golden(write("alone.jsonl", GOOD, GOOD | {"id": "q2", "relevant": ["z"]})).labels
    before = read_golden(grouped({"id": "g", "docs": ["a", "b"]})).labels
    renamed = read_golden(grouped({"docs": ["b", "a"]}, {"docs": ["x", "y"]})).labels
    after = read_golden(grouped({"id": "g", "docs": ["a", "b", "c"]})).labels
    assert before["q1"] != alone["q1"] and before["q2"] == alone["q2"]
    assert renamed == before
    assert after["q1"] != before["q1"] and after["q2"] == before["q2"]


def test_every_fault_of_the_groups_is_listed_with_its_line_beside_those_of_the_queries(grouped):
    path = grouped({"id": "g", "docs": ["a", "b"]}, "{", [1], {"docs": []}, {"docs": ["c", None]}, {"docs": ["c", "b", "a"]},
                   {"id": "g", "docs": ["x", "y"]}, {"id": 7, "docs": ["x", "y"]}, {"docs": "ab"}, queries=(GOOD, "{"))
    found = problems(path)
    assert [line.rsplit("/", 1)[1].split(": ")[0] for line in found] == [
        *(f"groups.jsonl:{n}" for n in (2, 3, 4, 5, 6, 6, 7, 8, 9)), "golden.jsonl:2"]
    assert "document 'a' is already in group 'g' (line 1)" in found[4] and "already given in line 1" in found[6]


def test_group_lines_that_say_little_are_warned_about(grouped):
    warnings = read_golden(grouped({"docs": ["a", "a"]}, {"docs": ["b", "c"], "grade": 2})).warnings
    assert any("groups.jsonl:1: a group of one document says nothing" in w for w in warnings)
    assert any("groups.jsonl:2: unknown keys ignored: grade" in w for w in warnings)


def test_a_document_id_that_is_a_number_here_and_a_string_there_is_an_error_across_both_files(grouped):
    assert "document id '1' is given as a number and as a string" in problems(grouped({"docs": [1, 2]}, queries=(
        GOOD | {"relevant": ["1"]},)))[0]


def test_a_document_with_spans_leaves_its_group_with_a_warning(grouped):
    golden = read_golden(grouped({"id": "g", "docs": ["a", "b"]}, queries=(spans(("a", 0, 9), relevant=["a"]),)))
    assert golden.queries[0].groups == () and "document 'a' has spans, so group 'g' (line 1) does not" in golden.warnings[0]


@pytest.mark.parametrize("name, fault", [("none.jsonl", "no such file"), ("../groups.jsonl", "is not inside the golden set's folder"),
                                         ("/etc/hostname", "is not inside"), ("link.jsonl", "is not inside"), (".", "no such file"),
                                         ("x" * 5000, "no"), ('"a\\0b"', "is not inside")])
def test_a_groups_file_that_is_missing_or_elsewhere_is_an_error_with_the_line_that_names_it(write, tmp_path, name, fault):
    (tmp_path / "set").mkdir()
    write("groups.jsonl", {"docs": ["a", "b"]})
    (tmp_path / "set/link.jsonl").symlink_to(tmp_path / "groups.jsonl")
    write("set/golden.yml", "owner: x", f"equivalences: {name}")
    found = problems(write("set/golden.jsonl", GOOD))
    assert len(found) == 1 and "golden.yml:2: `equivalences` " in found[0] and fault in found[0]


def test_a_groups_file_that_is_no_text_is_an_error(write, tmp_path):
    write("golden.yml", "equivalences: groups.jsonl")
    (tmp_path / "groups.jsonl").write_bytes(b"\xff\xfe")
    assert "groups.jsonl:1: not UTF-8" in problems(write("golden.jsonl", GOOD))[0]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.dictionaries(st.sampled_from(("id", "docs", "x")), json_values).map(lambda d: json.dumps(d).encode()))
def test_nothing_in_a_groups_file_crashes_the_reader_with_anything_but_a_typed_error(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "groups.jsonl").write_bytes(content)
    (folder / "golden.yml").write_text("equivalences: groups.jsonl\n")
    (folder / "golden.jsonl").write_text('{"id": "q", "query": "x", "relevant": ["a"]}\n')
    try:
        assert read_golden(folder / "golden.jsonl").digest
    except GateError as error:
        assert error.exit_code == 2


names = st.text(st.sampled_from("aAbB1 ßẞﬀ\u00ad"), min_size=1, max_size=4).filter(str.strip)


@settings(deadline=None)
@given(st.lists(st.lists(names, max_size=3), max_size=4))
def test_names_that_differ_only_in_form_are_found_however_they_are_given(batches):
    whole, single = Ids("document"), Ids("document")
    for batch in batches:
        assert whole.take_all(batch) == [single.take(name) for name in batch]
    given_names = sorted({name for batch in batches for name in batch})
    alike = [(a, b) for a in given_names for b in given_names if a < b and _same_form(a, b)]
    assert whole.warnings() == single.warnings() and bool(alike) == bool(whole.warnings())
    assert len(whole.warnings()) == len({b for _, b in alike})


def _same_form(a, b):
    import unicodedata

    return len({unicodedata.normalize("NFKC", name).casefold().replace("\u00ad", "").strip() for name in (a, b)}) == 1


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12))
def test_canonical_json_is_what_the_standard_library_writes_and_never_nan(value):
    assert dumps(value) == json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            dumps([value, number])


def test_the_digest_is_that_of_all_labels_in_one_piece(write):
    golden = golden_of({"id": i, "query": f"say {i!r}?", "relevant": ["a"]} for i in ('z"', "ä", "b\\", "1"))
    assert golden.digest == digest(golden.labels)


def test_equal_grades_and_tags_are_held_once_and_a_negative_zero_stays_one(write):
    write("golden.yml", "float_grades: true")
    golden = read_golden(write("golden.jsonl", *({"id": i, "query": "?", "relevant": {"a": grade}, "tags": ["x"]}
                                                 for i, grade in (("p", 0.0), ("q", -0.0), ("r", 2), ("s", 2.0)))))
    p, q, r, s = golden.queries
    assert p.tags is q.tags and r.gains["a"] is s.gains["a"]
    assert [str(query.gains["a"]) for query in (p, q)] == ["0.0", "-0.0"]


@given(st.builds(Query, id=st.text(), text=st.text(st.characters(exclude_categories=["Cs"])), line=st.integers(0, 9),
                 gains=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.floats(-5, 5)),
                 tags=st.lists(st.sampled_from(["a", "b\"", "ö", "\u2028"])).map(tuple), answerable=st.booleans(),
                 split=st.sampled_from(["dev", "blind"]), cluster=st.sampled_from(["", "c\\1"]),
                 spans=st.just(()), groups=st.just(()), versions=st.just(())))
def test_a_label_digest_is_that_of_the_canonical_json_of_what_decides_the_score(query):
    value = {"text": query.text, "gains": query.gains, "tags": sorted(query.tags), "answerable": query.answerable, "split": query.split,
             "cluster": query.cluster, "spans": []}
    assert f"sha256:{query.label_digest}" == digest(value)
