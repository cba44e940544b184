"""What a configuration may ask of qdrant, elasticsearch and opensearch, and what is sent for it."""

import io
import json
from email.parser import BytesParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput
from gate.retrievers.base import Given
from gate.retrievers.engines import elastic_bodies
from gate.retrievers.engines.elastic_fill import actions
from gate.retrievers.engines.elastic_service import ElasticService
from gate.retrievers.engines.qdrant_fill import Form, point_id
from gate.retrievers.engines.qdrant_service import QdrantService
from gate.retrievers.engines.stored import Keys, hit_of, stored_unit, value_at
from gate.retrievers.pool import QueryFailed
from gate.settings import parse_settings
from gate.world import World

QDRANT = {"kind": "qdrant", "url": "http://localhost:6333", "collection": "docs"}
ELASTIC = {"kind": "elasticsearch", "url": "http://localhost:9200", "index": "docs", "vector_field": "v"}
SEARCH = {"kind": "opensearch", "url": "http://localhost:9200", "index": "docs", "vector_field": "v"}


def parsed(retriever):
    rest = {"golden": "g.jsonl", "snapshot": {"path": "s", "digest": "sha256:" + "0" * 64}}
    return parse_settings(json.dumps(rest | {"retriever": retriever}, indent=1).encode(), "c.yml", "c.yml").retriever


def faults(retriever):
    with pytest.raises(InvalidInput) as error:
        parsed(retriever)
    assert all(problem.startswith("c.yml:") for problem in error.value.problems)
    return "\n".join(error.value.problems)


@pytest.mark.parametrize(("more", "said"), [
    ({"url": "localhost:6333"}, "must begin with http:// or https://"), ({"url": "http://h/?a=b"}, "must end before the `?`"),
    ({"url": "http://me:secret@h"}, "has a password in it"), ({"api_key": "${GITHUB_TOKEN}"}, "belongs to the gate"),
    ({"chunk": "c"}, "`chunk` needs `document`"), ({"document": "d", "chunk": "c", "start": "s"}, "`start` and `end` belong together"),
    ({"document": "d", "start": "s", "end": "e"}, "set `chunk` as well"), ({"load": True}, "`load` needs `document`"),
    ({"search": "exact", "ef": 10}, "`ef` is for approximate search"), ({"search": "exact", "ann_loss": True}, "`ann_loss` compares"),
    ({"search": "exakt"}, "did you mean exact?"), ({"ef": 0}, "`ef` must be a whole number"),
    ({"quantization": {"rescor": True}}, "`quantization` has no 'rescor'"), ({"create": {"x": 1}}, "`create` is for the collection"),
    ({"restore": {}}, "`snapshot` is missing"), ({"restore": {"snapshot": "f", "x": 1}}, "unknown key `x`"),
    ({"document": "d", "load": True, "restore": {"snapshot": "f"}}, "leave one of them out"),
    ({"body": {"query": "{vector}"}, "ef": 4, "filter": {"must": []}}, "`body` is the whole request, so `filter`"),
    ({"colection": "x"}, "did you mean `collection`?"), ({"embedding": {"kind": "none"}}, "`kind` is 'none'")])
def test_a_fault_in_the_settings_of_qdrant_is_named_with_its_line(more, said):
    assert said in faults(QDRANT | more)


@pytest.mark.parametrize(("more", "said"), [
    ({"query": {"match_all": {}}}, "exactly one of `query`, `body` and `vector_field`"), ({"vector_field": None}, "exactly one of"),
    ({"user": "u"}, "`user` and `password` belong together"), ({"user": "u", "password": "p", "api_key": "k"}, "exclude one another"),
    ({"headers": {"authorization": "Basic ${LOGIN}"}, "api_key": "k"}, "exclude one another"),
    ({"vector_field": "it's"}, "must be the name of a field"), ({"filter": "x"}, "`filter` must be a query"),
    ({"search": "exact", "num_candidates": 50}, "is for approximate search"), ({"ef": 50}, "unknown key `ef`"),
    ({"vector_field": None, "query": {"match": {"t": "{query}"}}, "ann_loss": True}, "is for searches by `vector_field`"),
    ({"vector_field": None, "body": {"query": {}}, "tie_break": "t"}, "`body` is the whole request, so what `tie_break` says"),
    ({"vector_field": None, "body": {"x": float("inf")}}, "`body` has inf"),
    ({"parameters": {"preference": "x"}}, "`parameters.preference`"),
    ({"mapping": "m.json"}, "`mapping` is for the index"), ({"load": True, "restore": {"bulk": "b"}}, "leave one of them out")])
def test_a_fault_in_the_settings_of_elasticsearch_is_named_with_its_line(more, said):
    own = {key: value for key, value in (ELASTIC | more).items() if value is not None}
    text = json.dumps(own).replace("Infinity", ".inf")
    with pytest.raises(InvalidInput) as error:
        parse_settings(f"golden: g.jsonl\nretriever: {text}\n".encode(), "c.yml", "c.yml")
    assert said in error.value.text() and "c.yml:2: " in error.value.text()


def test_the_words_of_one_engine_are_unknown_to_the_other():
    assert "unknown key `num_candidates`" in faults(SEARCH | {"num_candidates": 100})
    assert "unknown key `api_key`" in faults(SEARCH | {"api_key": "${KEY}"})


@pytest.mark.parametrize("settings", [
    "{kind: qdrant, url: http://h, collection: c, filter: {must: [{key: d, range: {gte: 2024-01-01}}]}}",
    "{kind: opensearch, url: http://h, index: c, vector_field: v, filter: {range: {d: {gte: 2024-01-01}}}}"])
def test_a_date_that_yaml_has_read_as_one_is_named(settings):
    with pytest.raises(InvalidInput, match="`filter` has 2024-01-01, which JSON does not know; quote it"):
        parse_settings(f"golden: g.jsonl\nretriever: {settings}\n".encode(), "c.yml", "c.yml")


def test_all_faults_are_named_at_once():
    assert len(faults(QDRANT | {"url": "x", "collection": "", "ef": -1, "nonsense": 1}).splitlines()) == 4


def service(retriever, **look):
    options = parsed(retriever).options
    made = (QdrantService if retriever["kind"] == "qdrant" else ElasticService)(options, Given(world=World()))
    for name, value in look.items():
        setattr(made, name, value)
    return made


def test_what_qdrant_is_asked():
    made = service(QDRANT | {"document": "d", "ef": 64, "using": "text", "filter": {"must": [1]}, "quantization": {"rescore": True}})
    path, body, params, ordered = made.request("words", [1.0, 2.0], 7, exact=False)
    assert path == "/collections/docs/points/query" and params is None and not ordered
    assert body == {"query": [1.0, 2.0], "limit": 7, "with_payload": ["d"], "with_vector": False, "using": "text", "filter": {"must": [1]},
                    "params": {"exact": False, "hnsw_ef": 64, "quantization": {"rescore": True}}}
    assert made.request("words", [1.0], 7, exact=True).body["params"] == {"exact": True, "quantization": {"rescore": True, "ignore": True}}


def test_distances_become_scores_by_their_sign():
    made = service(QDRANT, _params={"distance": "Euclid"})
    found = made.hits({"result": {"points": [{"id": 2, "score": 0.5}, {"id": 1, "score": 0.75}]}})
    assert [(hit.id, hit.score) for hit in found] == [("2", -0.5), ("1", -0.75)]


@pytest.mark.parametrize("value", [None, [], {}, {"result": []}, {"result": {"points": [{"id": 1}]}}, {"result": {"points": [3]}},
                                   {"result": {"points": [{"id": 1, "score": True}]}}])
def test_an_answer_of_qdrant_that_is_none_is_an_error_of_its_query(value):
    with pytest.raises(QueryFailed):
        service(QDRANT).hits(value)


@pytest.mark.parametrize("value", [None, [], {}, {"hits": {"hits": [{"_score": 1}]}}, {"hits": {"hits": [{"_id": "a", "_score": None}]}},
                                   {"hits": {"hits": []}, "timed_out": True}, {"hits": {"hits": []}, "_shards": {"failed": 1, "total": 2}}])
def test_an_answer_of_elasticsearch_that_is_none_is_an_error_of_its_query(value):
    with pytest.raises(QueryFailed):
        service(ELASTIC).hits(value)


def test_what_elasticsearch_and_opensearch_are_asked_differs_where_they_differ():
    field = {"type": "dense_vector", "dims": 2}
    elastic = service(ELASTIC | {"filter": {"term": {"a": 1}}}, _field=field)
    path, body, params, _ = elastic.request("", [1.0, 2.0], 7, exact=False)
    assert path == "/docs/_search" and params == {"preference": "retrieval-gate", "allow_partial_search_results": "false"}
    assert body == {"size": 7, "track_total_hits": False, "_source": False, "knn": {
        "field": "v", "query_vector": [1.0, 2.0], "k": 7, "num_candidates": 100, "filter": {"term": {"a": 1}}}}
    exact = elastic.request("", [1.0, 2.0], 7, exact=True).body["query"]["script_score"]
    assert "cosineSimilarity" in exact["script"]["source"] and {"exists": {"field": "v"}} in exact["query"]["bool"]["filter"]
    other = service(SEARCH | {"ef": 50}, _field={"type": "knn_vector", "dimension": 2, "method": {"space_type": "innerproduct"}})
    assert other.request("", [1.0, 2.0], 7, exact=False).body["query"] == {
        "knn": {"v": {"vector": [1.0, 2.0], "k": 7, "method_parameters": {"ef_search": 50}}}}
    assert other.request("", [1.0], 7, exact=True).body["query"]["script_score"]["script"]["params"]["space_type"] == "innerproduct"


def test_fewer_candidates_than_results_are_refused_before_the_engine_does_it():
    with pytest.raises(InvalidInput, match="`retriever.num_candidates` is 5, and 20 results are asked for"):
        elastic_bodies.ann("v", [1.0], 20, 5, None, False)


def test_a_similarity_without_an_exact_formula_is_refused():
    with pytest.raises(InvalidInput, match="no exact search for its similarity 'hamming'"):
        elastic_bodies.exact("v", [1.0], "hamming", None, True)


# keys of what is stored

KEY = st.lists(st.text("abc", min_size=1, max_size=2), min_size=1, max_size=3).map(".".join)


@given(KEY, st.text(min_size=1) | st.integers(0, 9))
def test_what_is_stored_under_a_dotted_key_is_found_there(key, value):
    name = str(value)
    record = stored_unit({"id": name, "doc": name, "title": "t", "text": "x"}, Keys(key), text=False)
    assert value_at(record, key) == name and hit_of(record, Keys(key), "own", 1.0).id == name
    assert value_at({key: value}, key) == value  # the dots may be in the name


@pytest.mark.parametrize("value", [None, "", 1.5, True, ["a"], {"a": 1}])
def test_what_is_no_id_is_an_error_that_shows_what_is_there(value):
    with pytest.raises(QueryFailed, match="the result 7 has no id at `d`.*it has: d, other"):
        hit_of({"d": value, "other": 1}, Keys("d"), "7", 1.0)


@pytest.mark.parametrize(("start", "end"), [(None, None), (3, 2), (-1, 2), ("0", "2"), (True, 2)])
def test_offsets_that_are_none_are_an_error(start, end):
    with pytest.raises(QueryFailed, match="no whole numbers with 0 <= start <= end"):
        hit_of({"d": "a", "c": "b", "s": start, "e": end}, Keys("d", "c", "s", "e"), "7", 1.0)


# files

@given(st.binary(max_size=5000), st.text(max_size=20), st.integers(1, 700))
def test_a_form_read_in_pieces_is_the_file(tmp_path_factory, data, name, step):
    path = tmp_path_factory.getbasetemp() / "form.bin"
    path.write_bytes(data)
    with open(path, "rb") as stream:
        form = Form("snapshot", name, stream)
        whole = b"".join(iter(lambda: form.read(step), b""))
    assert len(whole) == len(form)
    border = form.kind.partition("boundary=")[2].encode()
    head, _, rest = whole.partition(b"\r\n\r\n")
    assert rest == data + b"\r\n--" + border + b"--\r\n"
    part = BytesParser().parse(io.BytesIO(head.split(b"\r\n", 1)[1] + b"\r\n\r\n"))
    assert part.get_param("name", header="Content-Disposition") == "snapshot"


def test_a_unit_has_the_same_point_in_every_run():
    assert point_id("a#1") == point_id("a#1") != point_id("a#2") and point_id("a#1") == "a01defbc-2391-5aa9-8b8d-c698a668029f"


def test_a_bulk_file_may_be_compressed_and_its_actions_become_stores(tmp_path):
    import gzip

    lines = b'{"create": {"_id": "a", "routing": "x"}}\n{"t": 1}\n\n{"index": {"_id": "b", "_index": "docs"}}\n{"t": 2}\n'
    (tmp_path / "bulk.gz").write_bytes(gzip.compress(lines))
    found = list(actions(tmp_path / "bulk.gz", "docs"))
    assert [(line, own) for line, own, _ in found] == [(1, "a"), (4, "b")]
    assert [lines for _, _, lines in found] == [b'{"index":{"_id":"a","routing":"x"}}\n{"t":1}\n', b'{"index":{"_id":"b"}}\n{"t":2}\n']
