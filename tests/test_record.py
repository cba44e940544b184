import dataclasses
import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.baseline.kind import is_record
from gate.baseline.record import Provenance, Record, pack, read_record, unpack
from gate.errors import InvalidInput
from gate.runs import Chunk, Ranking

RECORD = Record(gate="default", rankings={"q": Ranking(["a", "b"], [2.0, 1.0]), "p": Ranking([], error="boom"),
                                          "c": Ranking(["a"], chunks=[Chunk("a#1", 0, 5)])},
                golden_digest="sha256:1", labels={"q": "1", "p": "2"}, metrics={"ndcg@10": 0.5}, commit="abc", depth=20,
                provenance=Provenance("approved", 7, "maria", "the new chunker", 11, 12))


def test_a_record_survives_writing_and_reading(tmp_path):
    path = tmp_path / "record.json.gz"
    path.write_bytes(pack(RECORD))
    assert read_record(path) == RECORD and read_record(path).digest == RECORD.digest
    assert is_record(path)


def test_equal_records_give_equal_bytes_and_order_of_queries_does_not_matter():
    other = dataclasses.replace(RECORD, rankings=dict(reversed(RECORD.rankings.items())))
    assert pack(other) == pack(RECORD)


def edited(**changes):
    value = json.loads(gzip.decompress(pack(RECORD)))
    return json.dumps(value | changes).encode()


@pytest.mark.parametrize("data, words", [
    (pack(RECORD)[:-5], "cut or damaged"), (b"\x1f\x8bnonsense", "damaged"), (b"", "not a record"), (b"[]", "no schema"),
    (b"\xff", "not a record"),
    (edited(commit="else"), "damaged or edited"), (edited(schema=99), "newer than this gate"), (edited(digest=None), "damaged or edited"),
    (b'{"schema":1,"x":NaN}', "NaN")])
def test_a_damaged_edited_or_future_record_is_an_error_with_a_cure(data, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        unpack(data, "baseline")
    assert caught.value.cure


def test_a_bomb_is_stopped_while_it_inflates(monkeypatch):
    monkeypatch.setattr("gate.baseline.record.MAX_BYTES", 1000)
    with pytest.raises(InvalidInput, match="inflates to more than"):
        unpack(gzip.compress(b"0" * 100_000), "baseline")


def test_the_stored_record_of_schema_1_still_reads():
    from tests.conftest import ROOT

    record = read_record(ROOT / "tests" / "data" / "records" / "schema-1.json.gz")
    assert record.provenance.approver == "maria" and record.rankings["q"].docs == ["a", "b"]


@settings(deadline=None)
@given(st.binary(max_size=200) | st.binary(max_size=100).map(gzip.compress))
def test_no_bytes_crash_the_reader_with_anything_but_a_typed_error(data):
    with pytest.raises(InvalidInput):
        unpack(data, "baseline")


@settings(deadline=None)
@given(st.sampled_from(sorted(json.loads(gzip.decompress(pack(RECORD))))), st.none() | st.integers() | st.text(max_size=3) |
       st.lists(st.none(), max_size=2) | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2))
def test_a_wrong_type_in_any_field_is_a_typed_error_even_with_a_right_digest(key, value):
    from gate import jsonio

    body = json.loads(gzip.decompress(pack(RECORD))) | {key: value}
    body.pop("digest")
    try:
        unpack(jsonio.dumps(body | {"digest": jsonio.digest(body)}).encode(), "baseline")
    except InvalidInput as error:
        assert error.problems


@pytest.mark.parametrize("change", [{"reason": {}}, {"reason": 7}, {"approver": ["maria"]}, {"pull_request": "7"}, {"pull_request": True},
                                    {"review_id": 1.5}, {"label_event_id": ""}, {"by": None}])
def test_a_provenance_of_wrong_types_is_an_error_even_with_a_right_digest(change):
    from gate import jsonio

    body = json.loads(gzip.decompress(pack(RECORD)))
    body.pop("digest")
    body["provenance"] |= change
    with pytest.raises(InvalidInput, match="`provenance`"):
        unpack(jsonio.dumps(body | {"digest": jsonio.digest(body)}).encode(), "baseline")
