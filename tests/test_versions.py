"""versions.jsonl: which document is the current one, as read and as given to the queries that ask for it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.errors import GateError, InvalidInput
from gate.golden.model import Query, Version
from gate.golden.read import read_golden

GOOD = {"id": "q1", "query": "how long is leave?", "relevant": ["leave"]}
LINE = {"current": "leave", "older": ["leave-2023", "leave-2021"]}


@pytest.fixture
def versioned(write):
    """Write golden.yml, versions.jsonl of these lines and golden.jsonl; return the path of the last."""
    def to(*lines, queries=(GOOD,), header=("versions: versions.jsonl",)):
        write("golden.yml", *header)
        write("versions.jsonl", *lines)
        return write("golden.jsonl", *queries)
    return to


def problems(path):
    with pytest.raises(InvalidInput) as caught:
        read_golden(path)
    return caught.value.problems


def versions(path):
    return {query.id: query.versions for query in read_golden(path).queries}


def test_a_query_whose_relevant_documents_have_the_current_version_asks_for_it(versioned):
    path = versioned(LINE, "", {"id": "v", "current": "x", "older": ["y"]}, queries=(GOOD, GOOD | {"id": "q2", "relevant": ["z"]}))
    assert versions(path) == {"q1": (Version(("leave",), ("leave-2021", "leave-2023")),), "q2": ()}


@pytest.mark.parametrize("relevant, asks", [
    ({"leave": 1, "leave-2023": 1}, True), ({"leave": 2, "leave-2023": 1}, True), ({"leave": 1, "leave-2023": 2}, False),
    ({"leave-2023": 1}, False), ({"leave": 0}, False), ({"leave": 1, "leave-2021": -1}, True)])
def test_who_labels_an_outdated_version_higher_wants_that_one(versioned, relevant, asks):
    assert bool(versions(versioned(LINE, queries=(GOOD | {"relevant": relevant},)))["q1"]) == asks


def test_spans_in_the_current_version_ask_for_it_too(versioned):
    asked = {"id": "q1", "query": "how long?", "spans": [{"doc": "leave", "start": 0, "end": 9}]}
    assert versions(versioned(LINE, queries=(asked,)))["q1"]


def test_what_is_equivalent_to_the_current_version_stands_for_it_unless_it_is_outdated(versioned, write):
    path = versioned(LINE, header=("versions: versions.jsonl", "equivalences: groups.jsonl"))
    write("groups.jsonl", {"docs": ["leave", "leave-fr", "leave-2021"]})
    assert versions(path)["q1"] == (Version(("leave", "leave-fr"), ("leave-2021", "leave-2023")),)


def test_versions_change_the_labels_of_the_queries_that_ask_for_them_and_of_no_other(versioned, write):
    queries = (GOOD, GOOD | {"id": "q2", "relevant": ["z"]})
    alone = read_golden(write("alone/golden.jsonl", *queries)).labels
    with_one = read_golden(versioned({"current": "leave", "older": ["b"]}, queries=queries)).labels
    with_two = read_golden(versioned({"current": "leave", "older": ["b", "c"]}, queries=queries)).labels
    assert len({alone["q1"], with_one["q1"], with_two["q1"]}) == 3 and alone["q2"] == with_one["q2"] == with_two["q2"]


def test_queries_without_versions_keep_the_digest_that_baselines_remember():
    assert Query("q", "how long is leave", {"a": 1.0}, line=3).label_digest == \
        "147aacc6982928cdaa8fc29d43c5f8abfe539b044d970541564c231764aaa6c0"


def test_every_fault_of_the_versions_is_listed_with_its_line_beside_those_of_the_queries(versioned):
    path = versioned({"id": "v", **LINE}, "{", [1], {"current": "a"}, {"older": ["b"]}, {"current": "a", "older": []},
                     {"current": "a", "older": ["a"]}, {"current": "b", "older": ["leave"]}, {"current": "leave-2023", "older": ["c"]},
                     {"id": "v", "current": "d", "older": ["e"]}, {"id": 7, "current": "d", "older": ["e"]},
                     {"current": None, "older": ["e"]}, {"current": "d", "older": "e"}, queries=(GOOD, "{"))
    found = problems(path)
    assert [line.rsplit("/", 1)[1].split(": ")[0] for line in found] == [*(f"versions.jsonl:{n}" for n in range(2, 14)), "golden.jsonl:2"]
    assert "document 'leave' is already in line 1" in found[6] and "both the current version and an older one" in found[5]


def test_a_file_that_no_query_has_to_do_with_and_unknown_keys_are_warned_about(versioned):
    warnings = read_golden(versioned({"current": "x", "older": ["y"], "since": 2024})).warnings
    assert any("versions.jsonl:1: unknown keys ignored: since" in w for w in warnings)
    assert any("no query asks for a current version" in w for w in warnings)


@pytest.mark.parametrize("name, fault", [("none.jsonl", "no such file"), ("../versions.jsonl", "is not inside the golden set's folder"),
                                         ("link.jsonl", "is not inside"), ("[1]", "must be a string")])
def test_a_versions_file_that_is_missing_or_elsewhere_is_an_error_with_the_line_that_names_it(write, tmp_path, name, fault):
    (tmp_path / "set").mkdir()
    write("versions.jsonl", LINE)
    (tmp_path / "set/link.jsonl").symlink_to(tmp_path / "versions.jsonl")
    write("set/golden.yml", "owner: x", f"versions: {name}")
    found = problems(write("set/golden.jsonl", GOOD))
    assert len(found) == 1 and "golden.yml:2: `versions` " in found[0] and fault in found[0]


values = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.sampled_from(["a", "b", 1, None]), max_size=3)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100) | st.dictionaries(st.sampled_from(("id", "current", "older", "x")), values).map(
    lambda d: json.dumps(d).encode()))
def test_nothing_in_a_versions_file_crashes_the_reader_with_anything_but_a_typed_error(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "versions.jsonl").write_bytes(content)
    (folder / "golden.yml").write_text("versions: versions.jsonl\n")
    (folder / "golden.jsonl").write_text('{"id": "q", "query": "x", "relevant": ["a"]}\n')
    try:
        assert read_golden(folder / "golden.jsonl").digest
    except GateError as error:
        assert error.exit_code == 2
