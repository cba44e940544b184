"""How text becomes index terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput
from gate.snapshot.analysis import Analyser, from_options


@pytest.mark.parametrize(("text", "terms"), [
    ("Does ERR-4417 hit?", ["does", "err-4417", "err", "4417", "hit"]),
    ("gw-lys-02 speaks tls1.2", ["gw-lys-02", "gw", "lys", "02", "speaks", "tls1.2", "tls", "1", "2"]),
    ("snake_case and pg_wal.", ["snake_case", "snake", "case", "pg_wal", "pg", "wal"]),
    ("err4417", ["err4417", "err", "4417"]),
    ("The user's laptop, don't", ["user", "laptop", "dont"]),
    ("Straße ÜBER École", ["straße", "über", "école"]),
    ("ﬁle ２", ["file", "2"]),
    ("the of and", []),
    ("", []),
])
def test_words_are_lower_case_and_identifiers_count_whole_and_in_parts(text, terms):
    assert Analyser().terms(text) == terms


def test_the_manifest_decides_how_queries_are_analysed():
    options = Analyser(frozenset({"honey"})).options()
    assert from_options(options).terms("the honey") == ["the"]


@pytest.mark.parametrize("change", [{"name": "stems"}, {"version": 2}, {"stop_words": "the"}, {"stop_words": [1]}])
def test_an_analyser_that_this_version_lacks_is_refused(change):
    with pytest.raises(InvalidInput, match="build the snapshot again"):
        from_options(Analyser().options() | change)


@given(st.text())
def test_analysing_twice_changes_nothing_about_the_words(text):
    analyser = Analyser()
    once = analyser.terms(text)
    assert all(term and term not in analyser.stop_words for term in once)
    assert once == analyser.terms(text.upper().lower()) or not text.isascii()
