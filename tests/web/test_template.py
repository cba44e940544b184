"""A request's body: the query and the number are put in, and nothing else changes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gate.web.template import holds, put_in, template_fault

PLAIN = st.text(max_size=12).filter(lambda text: "{" not in text and "}" not in text)
TEMPLATES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(-1e300, 1e300), st.lists(
        st.one_of(PLAIN, st.sampled_from(["{query}", "{n}", "{{n}}", "{", "}", "{other}"])), max_size=4).map("".join)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)), max_leaves=10)


def shape(value):
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else "text" if isinstance(value, (str, int)) else value


@given(TEMPLATES, st.text(max_size=20), st.integers(1, 1000))
def test_only_texts_change_and_what_comes_out_is_json(template, query, n):
    assert not template_fault(template)
    filled = put_in(template, {"query": query, "n": n})
    assert shape(filled) == shape(template) and json.loads(json.dumps(filled)) == filled


@given(st.text(max_size=20), st.text(max_size=9).filter(lambda text: "{" not in text and "}" not in text))
def test_the_query_is_never_looked_at_again(query, around):
    assert put_in(f"{around}{{query}}{around}", {"query": query, "n": 5}) == around + query + around
    assert put_in({"{query}": ["{query}"]}, {"query": query, "n": 5}) == {"{query}": [query]}


def test_a_number_stays_a_number_where_it_stands_alone():
    assert put_in(["{n}", "top {n}", "{{n}}", "{{query}} {n}"], {"query": "x", "n": 7}) == [7, "top 7", "{n}", "{query} 7"]


def test_what_is_escaped_is_no_placeholder():
    assert holds(["a", {"k": "a {query}"}], "query") and not holds(["{{query}}", {"{query}": 1}], "query")
