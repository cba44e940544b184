"""A small part of JSONPath: what a path says, what it finds, and what there is where it finds nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.web.jsonpath import BadPath, Nothing, Path

ANSWER = {"hits": {"hits": [{"_id": "a", "s": [1, 2]}, {"_id": "b", "s": [3]}]}, "a.b": {"": 0, "$x": 1}, "none": None, "empty": []}
STEPS = st.one_of(st.text(max_size=8), st.integers(-999_999_999, 999_999_999), st.none())


@pytest.mark.parametrize(("text", "found"), [
    ("", [ANSWER]), ("$", [ANSWER]), ("hits.hits[0]._id", ["a"]), ("$.hits.hits[-1]._id", ["b"]), ("hits.hits[*]._id", ["a", "b"]),
    ("hits.hits[*].s[*]", [1, 2, 3]), ('["a.b"]', [{"": 0, "$x": 1}]), ('["a.b"][""]', [0]), ('$["a.b"].$x', [1]), ("none", [None]),
    ("empty[*]", []), ("empty", [[]]), ("hits[*][0]._id", ["a"])])
def test_a_path_finds_what_it_names(text, found):
    assert Path.parse(text).all(ANSWER) == found


@pytest.mark.parametrize("text", [".", "a.", "a..b", "a b", "[", "[x]", "[1", "a[]", "[1.5]", "['a']", '["a]', "$$", ".a", "a$.b", "*",
                                  "a.*", "[--1]", '["\\x"]', "x" * 501, "a\n", "[1] "])
def test_what_is_no_path_is_refused(text):
    with pytest.raises(BadPath):
        Path.parse(text)


@pytest.mark.parametrize(("text", "message"), [
    ("hits.total", "`hits.total` finds nothing: at `hits` there is an object with the keys hits"),
    ("x", "at the top there is an object with the keys hits, a.b, none, empty"), ("hits.hits[2]", "at `hits.hits` there is a list of 2"),
    ("hits.hits._id", "at `hits.hits` there is a list of 2"), ("none.x", "at `none` there is null"), ("empty[0]", "there is an empty list"),
    ("hits.hits[0]._id.x", 'there is the text "a"'), ("hits.hits[0].s[0][*]", "there is the number 1"), ("hits[0]", "an object with")])
def test_a_path_that_finds_nothing_says_what_is_there(text, message):
    with pytest.raises(Nothing) as error:
        Path.parse(text).all(ANSWER)
    assert message in str(error.value)


def test_one_is_one():
    assert Path.parse("hits.hits[0]._id").one(ANSWER) == "a"
    with pytest.raises(Nothing, match="leads to 2 values"):
        Path.parse("hits.hits[*]").one(ANSWER)


@given(st.lists(STEPS, max_size=6))
def test_a_path_is_written_so_that_it_is_read_again(steps):
    path = Path(tuple(steps))
    assert len(str(path)) > 500 or Path.parse(str(path)) == path


@given(st.text(max_size=40))
def test_any_text_is_a_path_or_refused(text):
    try:
        path = Path.parse(text)
    except BadPath:
        return
    assert Path.parse(str(path)) == path


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)), max_leaves=12)


def places(value, steps=()):
    """Every place in a value, with the path that leads there."""
    yield steps, value
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*steps, step))


@given(VALUES)
def test_every_place_is_found_by_its_own_path(value):
    for steps, inner in places(value):
        assert Path.parse(str(Path(steps))).one(value) is inner


@given(VALUES, st.lists(STEPS, max_size=4))
def test_any_path_finds_parts_of_the_value_or_says_what_there_is(value, steps):
    try:
        found = Path(tuple(steps)).all(value)
    except Nothing as fault:
        assert "finds nothing: at" in str(fault)
        return
    every = [inner for _, inner in places(value)]
    assert all(any(item is inner for inner in every) for item in found)
