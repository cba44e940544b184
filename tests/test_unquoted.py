"""With `show_queries: false` no message of a retriever quotes a query, however it writes it."""

import json
from urllib.parse import quote, quote_plus

import pytest

from gate.golden.model import Query
from gate.unquoted import unquoted_problems

TEXT = "Größe «M/L»\tof the\nO'Brien coat?"
QUERIES = [Query("q1", TEXT, {"d": 1.0}), Query("q2", "Größe", {"d": 1.0}), Query("q3", "of", {"d": 1.0})]


@pytest.mark.parametrize("write", [lambda text: " ".join(text.split()), quote, quote_plus, lambda text: quote(text, safe=""), json.dumps,
                                   repr, lambda text: json.dumps(text, ensure_ascii=False)])
def test_a_query_is_taken_out_in_every_spelling(write):
    said, = unquoted_problems([f"http://engine/search?q={write(TEXT)} failed\n| {TEXT}"], QUERIES)
    assert said.replace('"', "").replace("'", "") == "http://engine/search?q=… failed"


def test_what_is_no_query_stays():
    assert unquoted_problems(["2 of 3 threads died"], QUERIES) == ["2 of 3 threads died"]
