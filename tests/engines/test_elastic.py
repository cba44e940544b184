"""Kinds ``elasticsearch`` and ``opensearch`` against their stand-in, which is as strict as they are."""

import json
import sys

import pytest
import requests

from gate.errors import InvalidInput, RetrieverFailed
from tests.engines import squad
from tests.engines.standins import Standin, by_client, needs
from tests.retrievers.frozen import dense_snapshot
from tests.retrievers.support import queries

KINDS = ("elasticsearch", "opensearch")


def standin(kind, *arguments):
    return Standin("elastic_standin.py", *(["--opensearch"] if kind == "opensearch" else []), *arguments, python=sys.executable)


@pytest.fixture(scope="module")
def servers():
    with standin("elasticsearch") as one, standin("opensearch") as other:
        yield {"elasticsearch": one, "opensearch": other}


@pytest.fixture(params=KINDS)
def server(request, servers):
    found = servers[request.param]
    found.kind = request.param
    return found


@pytest.fixture
def small(tmp_path):
    return dense_snapshot(tmp_path, {"b": [0, 1], "a": [1, 0], "c": [1, 1]}, {("q1", "text 1"): [1, 0.1]}).path


def settings(server, kind=None, **more):
    return {"kind": kind or server.kind, "url": server.url, "index": "docs", "limits": {"start_seconds": 5}, **more}


def next_answers(server, *faults):
    requests.post(f"{server.url}/_standin", json={"next": faults}, timeout=10).raise_for_status()


def docs_file(path, documents, action="index"):
    path.write_text("".join(json.dumps({action: {"_id": name}}) + "\n" + json.dumps(source) + "\n" for name, source in documents.items()))
    return str(path)


# searching

@pytest.mark.parametrize("search", ["exact", "ann"])
def test_search_by_vector_agrees_with_the_snapshot_to_the_document(server, snapshot, asked, exact, search):
    built, found = squad.ask(settings(server, load=True, vector_field="vector", search=search, concurrency=3), asked, snapshot)
    assert all(squad.same(found[query.id], exact[query.id]) for query in asked)
    told = built.describe()
    assert told["documents"] == 1216 and told["check"] == "vectors" and told["dimensions"] == 384 and told["url"] == server.url
    assert told["engine"] == {"elasticsearch": "Elasticsearch 9.2.0", "opensearch": "OpenSearch 3.3.0"}[server.kind]


def test_dot_products_keep_their_order(server, tmp_path):
    long = dense_snapshot(tmp_path, {"b": [0.5, 3], "a": [1, 0], "c": [-2, 1]}, {("q1", "text 1"): [1, 0.1]}, similarity="dot").path
    for search in ("exact", "ann"):
        _, found = squad.ask(settings(server, index=f"dots-{search}", load=True, vector_field="v", search=search), queries(1), long)
        assert found["q1"].docs == ["a", "b", "c"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_approximate_search_loses_is_told(kind, snapshot, asked):
    effort = {"ef": 10} if kind == "opensearch" else {"num_candidates": 20}
    with standin(kind, "--lossy") as lossy:
        built, found = squad.ask(settings(lossy, kind, load=True, vector_field="vector", ann_loss=True, **effort), asked, snapshot)
    assert any("lack something: that much is the index's doing, not the model's" in note for note in built.notes)
    assert effort.items() <= built.describe().items() and len(found) == len(asked)


def test_approximate_search_without_loss_is_said_to_have_none_whatever_scale_its_scores_have(server, small):
    built, _ = squad.ask(settings(server, index="noloss", load=True, vector_field="v", ann_loss=True), queries(1), small, depth=2)
    assert "approximate search returned everything that exact search does, in all 1 query" in built.notes


def test_texts_are_searched_as_the_team_does_and_equal_scores_are_ordered_by_id(server, tmp_path):
    texts = {"z": "bees make honey", "y": "bees make honey", "x": "honey", "w": "ants", "10": "bees make honey"}
    source = docs_file(tmp_path / "bulk.ndjson", {name: {"text": text, "team": "t"} for name, text in texts.items()})
    own = settings(server, index="texts", restore={"bulk": source}, query={"match": {"text": "{query}"}})
    _, found = squad.ask(own, [queries(1)[0]._replace(text="honey bees")])
    assert found["q1"].docs == ["10", "y", "z", "x"] and found["q1"].scores == sorted(found["q1"].scores, reverse=True)
    _, found = squad.ask({**own, "filter": {"ids": {"values": ["x", "y"]}}}, [queries(1)[0]._replace(text="honey bees")])
    assert found["q1"].docs == ["y", "x"]


def test_a_field_may_break_ties_over_the_whole_index_and_not_only_in_what_was_fetched(server, tmp_path):
    mapping = tmp_path / "mapping.json"
    mapping.write_text(json.dumps({"mappings": {"properties": {"key": {"type": "keyword"}, "text": {"type": "text"}}}}))
    source = docs_file(tmp_path / "bulk.ndjson", {f"d{n}": {"text": "same", "key": f"k{9 - n}"} for n in range(9)})
    own = settings(server, index="ties", restore={"bulk": source}, mapping=str(mapping), document="key",
                   query={"match": {"text": "{query}"}})
    asked = [queries(1)[0]._replace(text="same")]
    assert squad.ask(own, asked, depth=3)[1]["q1"].docs == ["k7", "k8", "k9"]  # the first three that were stored
    assert squad.ask({**own, "tie_break": "key"}, asked, depth=3)[1]["q1"].docs == ["k1", "k2", "k3"]


def test_a_whole_body_is_sent_as_it_is_with_the_query_put_in(server, tmp_path):
    source = docs_file(tmp_path / "bulk.ndjson", {"a": {"title": "bees", "text": "honey"}, "b": {"title": "honey", "text": "ants"}})
    body = {"query": {"multi_match": {"query": "{query}", "fields": ["title^3", "text"]}}}
    own = settings(server, index="body", restore={"bulk": source}, body=body)
    assert squad.ask(own, [queries(1)[0]._replace(text="honey")])[1]["q1"].docs == ["b", "a"]
    wrong = {**own, "body": {"query": {"macth": {"text": "{query}"}}}}
    assert "unknown query [macth]" in squad.ask(wrong, queries(1))[1]["q1"].error


def test_documents_chunks_and_offsets_come_from_dotted_fields(server, tmp_path):
    source = docs_file(tmp_path / "bulk.ndjson", {
        "1": {"text": "honey honey", "meta": {"doc": "bees", "chunk": "bees#0", "from": 0, "to": 11}},
        "2": {"text": "some honey here", "meta": {"doc": "bees", "chunk": "bees#1", "from": 12, "to": 27}}})
    own = settings(server, index="chunks", restore={"bulk": source}, query={"match": {"text": "{query}"}}, document="meta.doc",
                   chunk="meta.chunk", start="meta.from", end="meta.to")
    found = squad.ask(own, [queries(1)[0]._replace(text="honey")])[1]["q1"]
    assert found.docs == ["bees", "bees"] and [tuple(chunk) for chunk in found.chunks] == [("bees#0", 0, 11), ("bees#1", 12, 27)]


# answers that are none

@pytest.mark.parametrize(("fault", "said"), [({"shards": 1}, r"1 of 3 shards failed \(Data too large\), and the answer is only a part"),
                                             ({"timed_out": True}, "ran out of time, and the answer is only a part")])
def test_a_part_of_an_answer_is_none(server, small, fault, said):
    import re

    own = settings(server, index="parts", load=True, vector_field="v", check="none")
    squad.ask(own, queries(1), small)
    next_answers(server, fault)
    found = squad.ask(own, queries(1), small)[1]["q1"]
    assert not found.docs and re.search(said, found.error)


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_with_a_shard_that_is_not_there_is_waited_for_and_then_exit_3(kind, small):
    with standin(kind) as sick:
        own = settings(sick, kind, load=True, vector_field="v", limits={"start_seconds": 1})
        squad.ask(own, queries(1), small)
        requests.post(f"{sick.url}/_standin", json={"health": "red"}, timeout=10).raise_for_status()
        with pytest.raises(RetrieverFailed, match="its health is red: not every shard is there"):
            squad.ask(own, queries(1), small)


def test_a_passing_refusal_is_asked_again_and_said(server, small):
    own = settings(server, index="again", load=True, vector_field="v", check="none")
    squad.ask(own, queries(1), small)
    next_answers(server, {"status": 429}, {"status": 503})
    built, found = squad.ask(own, queries(1), small)
    assert found["q1"].docs == ["a", "c", "b"] and any("2 requests had to be sent again (429: 1, 503: 1)" in note for note in built.notes)


def test_one_kind_against_the_other_engine_is_told_which_one_to_name(servers, small):
    for kind, other in (KINDS, KINDS[::-1]):
        with pytest.raises(InvalidInput, match="`retriever.kind` is another") as error:
            squad.ask(settings(servers[other], kind, vector_field="v"), queries(1), small)
        assert f"`retriever.kind: {other}`" in error.value.cure


def test_something_else_at_the_address_is_neither(small):
    from tests.engines.standins import PYTHON

    if not PYTHON.exists():
        pytest.skip("there is no .engines with qdrant-client")
    with Standin("qdrant_standin.py") as qdrant, pytest.raises(InvalidInput, match="not as Elasticsearch or OpenSearch does"):
        squad.ask(settings(qdrant, "elasticsearch", vector_field="v"), queries(1), small)


@pytest.mark.parametrize("kind", KINDS)
def test_passwords_and_keys_are_sent_and_never_shown(kind, small):
    with standin(kind, "--password", "right&8431 word") as locked:
        own = settings(locked, kind, load=True, vector_field="v", user="elastic", password="${SEARCH_PASSWORD}")
        assert squad.ask(own, queries(1), small, variables={"SEARCH_PASSWORD": "right&8431 word"})[1]["q1"].docs
        with pytest.raises(RetrieverFailed, match=r"401.*SEARCH_PASSWORD") as error:  # it repeats what it was sent
            squad.ask(own, queries(1), small, variables={"SEARCH_PASSWORD": "wrong-7731-word"})
        assert "7731" not in error.value.text() and "d3JvbmctNzcz" not in error.value.text()
    with standin("elasticsearch", "--api-key", "a2V5OjEyMw==") as locked:
        own = settings(locked, "elasticsearch", load=True, vector_field="v", api_key="${SEARCH_KEY}")
        assert squad.ask(own, queries(1), small, variables={"SEARCH_KEY": "a2V5OjEyMw=="})[1]["q1"].docs
        with pytest.raises(RetrieverFailed, match="SEARCH_KEY, which is not set or empty"):
            squad.ask(own, queries(1), small)


# the frozen index

def test_another_index_under_the_same_name_is_refused(server, small, tmp_path):
    other = dense_snapshot(tmp_path / "other", {"b": [0, 1], "a": [1, 0], "c": [1, -1]}, {("q1", "text 1"): [1, 0]}).path
    more = dense_snapshot(tmp_path / "more", {"b": [0, 1], "a": [1, 0], "d": [1, 1]}, {("q1", "text 1"): [1, 0]}).path
    own = settings(server, index="frozen", load=True, vector_field="v", document="meta.id")
    squad.ask(own, queries(1), small)
    with pytest.raises(InvalidInput, match="1 of 3 sampled vectors are not the snapshot's: 'c'"):
        squad.ask(own, queries(1), other)
    with pytest.raises(InvalidInput, match=r"lacks 1 of them: 'd'[\s\S]*1 are unknown to the snapshot: 'c'"):
        squad.ask(own, queries(1), more)


def test_ids_in_a_field_of_words_are_compared_by_their_whole_text(server, small, tmp_path):
    source = docs_file(tmp_path / "bulk.ndjson", {str(n): {"name": name, "v": vector} for n, (name, vector) in enumerate(
        {"b": [0, 1], "a": [1, 0], "c": [1, 1]}.items())})
    mapping = tmp_path / "mapping.json"
    field = {"type": "dense_vector", "dims": 2} if server.kind == "elasticsearch" else {
        "type": "knn_vector", "dimension": 2, "space_type": "cosinesimil"}
    mapping.write_text(json.dumps({"settings": {"index": {"knn": True}} if server.kind == "opensearch" else {},
                                   "mappings": {"properties": {"v": field}}}))
    own = settings(server, index="words", restore={"bulk": source}, mapping=str(mapping), vector_field="v", document="name")
    assert squad.ask(own, queries(1), small)[1]["q1"].docs == ["a", "c", "b"]


@pytest.mark.parametrize("version", ["8.19.3", "9.1.0", "9.2.0"])
def test_vectors_are_compared_whether_or_not_the_version_leaves_them_out_of_a_source(version, small):
    with standin("elasticsearch", "--version", version) as server:
        built, _ = squad.ask(settings(server, "elasticsearch", load=True, vector_field="v"), queries(1), small)
    assert built.describe()["check"] == "vectors" and built.describe()["engine"] == f"Elasticsearch {version}"


def test_every_document_that_was_not_stored_is_named_and_no_half_index_stays(server, tmp_path):
    mapping = tmp_path / "mapping.json"
    field = {"type": "dense_vector", "dims": 2} if server.kind == "elasticsearch" else {"type": "knn_vector", "dimension": 2}
    mapping.write_text(json.dumps({"mappings": {"properties": {"v": field}}}))
    source = docs_file(tmp_path / "bulk.ndjson", {"a": {"v": [1, 0]}, "b": {"v": [1, 0, 0]}, "c": {"v": [1]}})
    own = settings(server, index="half", restore={"bulk": source}, mapping=str(mapping), query={"match_all": {}})
    with pytest.raises(InvalidInput, match=r"bulk.ndjson:3: 'b' was not stored: .*\[3\][\s\S]*bulk.ndjson:5: 'c' was not stored: .*\[1\]"):
        squad.ask(own, [])
    with pytest.raises(InvalidInput, match="has no index half"):
        squad.ask(settings(server, index="half", query={"match_all": {}}), [])


def test_an_index_that_an_earlier_run_filled_in_part_is_refused(server, tmp_path):
    source = docs_file(tmp_path / "bulk.ndjson", {"a": {"text": "x"}, "b": {"text": "y"}})
    own = settings(server, index="part", restore={"bulk": source}, query={"match": {"text": "{query}"}})
    squad.ask(own, [])
    squad.ask(own, [])  # whole: nothing to do
    docs_file(tmp_path / "bulk.ndjson", {"a": {"text": "x"}, "b": {"text": "y"}, "c": {"text": "z"}})
    with pytest.raises(InvalidInput, match="holds 2 documents, bulk.ndjson has 3"):
        squad.ask(own, [])


@pytest.mark.parametrize(("lines", "said"), [
    (['{"delete": {"_id": "a"}}'], "bulk.ndjson:1: must be"), (['{"index": {}}', "{}"], "bulk.ndjson:1: has no `_id`"),
    (['{"index": {"_id": "a", "_index": "elsewhere"}}', "{}"], "is for the index 'elsewhere'"),
    (['{"index": {"_id": "a"}}'], "bulk.ndjson:1: the document that belongs to it is missing"),
    (['{"index": {"_id": "a"}}', '{"x": NaN}'], "bulk.ndjson:2: NaN"), (['{"index": {"_id": "a"}}', "[1]"], "bulk.ndjson:2: is no object")])
def test_a_bulk_file_with_anything_but_documents_is_refused_before_the_index_is_made(servers, tmp_path, lines, said):
    (tmp_path / "bulk.ndjson").write_text("".join(f"{line}\n" for line in lines))
    own = settings(servers["elasticsearch"], "elasticsearch", index="never", restore={"bulk": str(tmp_path / "bulk.ndjson")},
                   query={"match_all": {}})
    with pytest.raises(InvalidInput, match=said):
        squad.ask(own, [])


# the stand-in itself

ES_CLIENT = """
import sys
from elasticsearch import Elasticsearch, helpers, BadRequestError
client = Elasticsearch(sys.argv[1])
assert client.info()["version"]["number"] == "9.2.0"
client.indices.create(index="official", mappings={"properties": {"v": {"type": "dense_vector", "dims": 2}, "t": {"type": "text"}}})
helpers.bulk(client, [{"_index": "official", "_id": str(n), "t": f"word {n}", "v": [n, 1]} for n in range(1, 5)], refresh=True)
found = client.search(index="official", knn={"field": "v", "query_vector": [0, 1], "k": 2, "num_candidates": 10}, size=2)
print([hit["_id"] for hit in found["hits"]["hits"]], client.search(index="official", query={"match": {"t": "3"}})["hits"]["total"]["value"])
assert client.count(index="official")["count"] == 4
for wrong in ({"query": {"nonsense": {}}}, {"knn": {"field": "v", "query_vector": [0], "k": 2, "num_candidates": 10}}):
    try:
        client.search(index="official", **wrong)
    except BadRequestError:
        continue
    sys.exit("it accepted " + str(wrong))
"""
OS_CLIENT = """
import sys
from opensearchpy import OpenSearch, RequestError, helpers
client = OpenSearch(sys.argv[1])
assert client.info()["version"]["distribution"] == "opensearch"
client.indices.create(index="official", body={"settings": {"index": {"knn": True}}, "mappings": {"properties": {
    "v": {"type": "knn_vector", "dimension": 2}, "t": {"type": "text"}}}})
helpers.bulk(client, [{"_index": "official", "_id": str(n), "t": f"word {n}", "v": [n, 1]} for n in range(1, 5)], refresh=True)
found = client.search(index="official", body={"size": 2, "query": {"knn": {"v": {"vector": [0, 1], "k": 2}}}})
print([hit["_id"] for hit in found["hits"]["hits"]],
      client.search(index="official", body={"query": {"match": {"t": "3"}}})["hits"]["total"]["value"])
try:
    client.search(index="official", body={"knn": {"field": "v"}})
except RequestError:
    pass
else:
    sys.exit("it accepted the other engine's words")
"""


@pytest.mark.parametrize(("kind", "module", "script"), [("elasticsearch", "elasticsearch", ES_CLIENT),
                                                        ("opensearch", "opensearchpy", OS_CLIENT)])
def test_the_official_client_talks_to_the_stand_in(kind, module, script):
    needs(module)
    with standin(kind) as server:
        assert by_client(script, server.url) == "['1', '2'] 1\n"


# killed in the middle

def test_nobody_there_is_exit_3(small):
    with standin("elasticsearch") as gone:
        url = gone.url
    with pytest.raises(RetrieverFailed, match="start_seconds") as error:
        squad.ask({"kind": "elasticsearch", "url": url, "index": "docs", "vector_field": "v", "limits": {"start_seconds": 0.5}}, queries(1),
                  small)
    assert error.value.exit_code == 3
