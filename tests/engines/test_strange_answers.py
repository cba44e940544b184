"""Engines that answer 200 with JSON of another shape, as a proxy or a version to come might."""

import json

import pytest

from gate.errors import GateError, RetrieverFailed
from gate.snapshot.build import build_bm25
from gate.snapshot.chunking import Chunking
from gate.snapshot.corpus import read_corpus
from gate.snapshot.reader import Snapshot
from tests.engines.squad import retriever
from tests.retrievers.frozen import dense_snapshot
from tests.retrievers.support import queries
from tests.web.support import Answering

QDRANT = {"kind": "qdrant", "collection": "docs", "check": "none", "body": {"query": "{query}"}, "api_key": "${KEY}"}
ELASTIC = {"kind": "elasticsearch", "index": "docs", "check": "none", "query": {"match": {"text": "{query}"}}, "api_key": "${KEY}"}
KEY = "0123456789abcdef"
ROOTS = {"qdrant": {"title": "qdrant", "version": "1.9.0"}, "elasticsearch": {"version": {"number": "8.15.0"}}}
SOUND = {"collections/docs": {"result": {"status": "green", "config": {"params": {"vectors": {}}}}}, "docs/_mapping": {"docs": {}},
         "docs/_count": {"count": 1, "_shards": {}}, "_cluster/health/docs": {"status": "green"}}


def asked(settings, answers, snapshot=None, notes=None, seen=None):
    def answer(request, _):
        place = request.path.partition("?")[0].strip("/")
        if seen is not None:
            seen.append(f"{request.method} {place}")
            return answers(request.method, place) or (200, json.dumps(ROOTS[settings["kind"]]).encode())
        return 200, json.dumps(answers.get(place, SOUND.get(place, ROOTS[settings["kind"]]))).encode()

    with Answering(answer) as server:
        built = retriever({**settings, "url": server.url, "retries": 0, "limits": {"start_seconds": 2}}, snapshot, variables={"KEY": KEY})
        with built:
            found = dict(built.retrieve(queries(1), 5))
        if notes is not None:
            notes += built.notes
        return found


@pytest.mark.parametrize("answers", [{"collections/docs": {"result": {"config": {"params": None}}}},
                                     {"collections/docs": {"result": {"config": {"params": {"vectors": [1]}}}}}])
def test_a_collection_that_is_described_otherwise_ends_the_run(answers):
    with pytest.raises(RetrieverFailed):
        asked(QDRANT, answers)


@pytest.mark.parametrize("answers", [{"docs/_count": {"count": 1, "_shards": 1}}, {"docs/_mapping": {"docs": 3}}])
def test_an_index_that_is_described_otherwise_ends_the_run(answers):
    settings = {**ELASTIC, "query": None, "vector_field": "v"}
    with pytest.raises(GateError):
        asked({key: value for key, value in settings.items() if value}, answers)


@pytest.mark.parametrize(("settings", "place", "answer"), [
    (QDRANT, "collections/docs/points/query", {"result": {"points": [{"score": 1.0, "payload": 3}]}}),
    (QDRANT, "collections/docs/points/query", {"error": f"key {KEY}"}),
    (ELASTIC, "docs/_search", {"error": f"key {KEY}"}), (ELASTIC, "docs/_search", ["hits"]),
    (ELASTIC, "docs/_search", {"hits": {"hits": []}, "_shards": {"failed": 1, "failures": [{"reason": {"reason": f"key {KEY}"}}]}})])
def test_an_answer_of_another_shape_fails_the_query_without_the_key(settings, place, answer):
    settings = {**settings, "document": "id"}
    ranking = asked(settings, {place: answer})["q1"]
    assert ranking.error and KEY not in ranking.error


@pytest.mark.parametrize(("more", "told"), [({}, True), ({"document": "doc", "chunk": "id"}, False)])
def test_results_that_are_called_like_parts_of_documents_are_told(tmp_path, more, told):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "bees", "text": "some honey and more"}\n')
    manifest = build_bm25(read_corpus(tmp_path / "corpus.jsonl", Chunking("fixed", size=2)), tmp_path / "snapshot")
    hits = [{"_id": unit, "_score": 1.0, "_source": {"id": unit, "doc": "bees"}} for unit in Snapshot(tmp_path / "snapshot", manifest).ids]
    answers = {"docs/_search": {"hits": {"hits": hits}, "_shards": {}}, "_search/scroll": {"hits": {"hits": []}}}
    notes = []
    asked({**ELASTIC, "check": "ids", **more}, answers, tmp_path / "snapshot", notes)
    assert any("`retriever.chunk`" in note for note in notes) is told


@pytest.mark.parametrize(("settings", "place"), [
    ({**QDRANT, "body": None, "load": True, "document": "id"}, "collections/docs"),
    ({**ELASTIC, "load": True}, "docs"), ({**ELASTIC, "restore": {"bulk": "bulk.jsonl"}}, "docs")])
def test_an_index_that_another_run_creates_at_the_same_time_is_not_removed(tmp_path, monkeypatch, settings, place):
    """It was not there when this run looked, and is there when it comes to create it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bulk.jsonl").write_text('{"index": {"_id": "a"}}\n{"text": "x"}\n')
    snapshot = dense_snapshot(tmp_path / "dense", {"a": [1.0, 0.0]}, {("q1", "text 1"): [1.0, 0.0]})

    def answers(method, asked_for):
        if method == "PUT":
            return 409, b'{"status": "already exists"}'
        return (404, b"{}") if asked_for in (place, f"{place}/_mapping") else None

    seen = []
    with pytest.raises(GateError, match="already exists"):
        asked({key: value for key, value in settings.items() if value}, answers, snapshot.path, seen=seen)
    assert f"PUT {place}" in seen and not any(line.startswith("DELETE") for line in seen)
