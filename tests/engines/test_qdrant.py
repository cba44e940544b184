"""Kind ``qdrant`` against its stand-in: a frozen index is what was asked, and nothing that went wrong passes for an answer."""

import pytest

from gate.errors import InvalidInput, RetrieverFailed
from tests.engines import squad
from tests.engines.standins import Standin, by_client, needs

HNSW = {"hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10}, "optimizers_config": {"indexing_threshold": 10}}


@pytest.fixture(scope="module", autouse=True)
def packages():
    needs("qdrant_client", "qdrant_edge")


@pytest.fixture(scope="module")
def server():
    with Standin("qdrant_standin.py") as started:
        yield started


def settings(server, **more):
    return {"kind": "qdrant", "url": server.url, "collection": "docs", "document": "doc_id", "limits": {"start_seconds": 5}, **more}


def test_exact_search_agrees_with_the_snapshot_to_the_document(server, snapshot, asked, exact):
    built, found = squad.ask(settings(server, load=True, search="exact"), asked, snapshot)
    assert all(squad.same(found[query.id], exact[query.id]) for query in asked)
    told = built.describe()
    assert told["engine"].startswith("Qdrant 1.") and told["points"] == 1216 and told["check"] == "vectors" and told["distance"] == "Cosine"
    assert told["url"] == server.url


def test_several_at_once_get_the_same_answers(server, snapshot, asked, exact):
    _, found = squad.ask(settings(server, load=True, search="exact", concurrency=4), asked, snapshot)
    assert all(squad.same(found[query.id], exact[query.id]) for query in asked)


def test_what_a_small_ef_loses_is_told_apart_from_the_model(server, snapshot, asked):
    graph = {"load": True, "create": HNSW, "collection": "graph", "ann_loss": True}
    low, _ = squad.ask(settings(server, **graph, ef=1), asked[:40], snapshot, depth=10)
    high, _ = squad.ask(settings(server, **graph, ef=1216), asked[:40], snapshot, depth=10)
    assert "the index's doing, not the model's" in "".join(low.notes)
    assert "approximate search returned everything that exact search does, in all 40 queries" in high.notes
    assert low.describe()["hnsw"] == {"m": 16, "ef_construct": 100} and low.describe()["ef"] == 1


def test_without_a_graph_approximate_search_is_said_to_have_been_exact(server, snapshot, asked):
    built, _ = squad.ask(settings(server, load=True), asked[:3], snapshot)
    assert any("built no HNSW index" in note for note in built.notes)


def test_another_index_under_the_same_name_is_refused(server, snapshot, asked, tmp_path):
    squad.ask(settings(server, load=True), asked[:1], snapshot)
    by_client("import sys; from qdrant_client import QdrantClient, models as m; c = QdrantClient(url=sys.argv[1]);"
              "c.create_collection('other', vectors_config=m.VectorParams(size=384, distance='Cosine'));"
              "ps, _ = c.scroll('docs', limit=5000, with_payload=True, with_vectors=True);"
              "c.upsert('other', [m.PointStruct(id=p.id, payload=p.payload, vector=p.vector[::-1]) for p in ps[1:]])", server.url)
    with pytest.raises(InvalidInput, match=r"collection other: holds 1,215 units, the snapshot 1216.*\n.*lacks 1"):
        squad.ask(settings(server, collection="other", check="ids"), asked[:1], snapshot)


def test_vectors_of_another_model_are_refused(server, snapshot, asked):
    squad.ask(settings(server, load=True), asked[:1], snapshot)
    by_client("import sys; from qdrant_client import QdrantClient, models as m; c = QdrantClient(url=sys.argv[1]);"
              "c.create_collection('turned', vectors_config={'text': m.VectorParams(size=384, distance='Cosine')});"
              "ps, _ = c.scroll('docs', limit=5000, with_payload=True, with_vectors=True);"
              "c.upsert('turned', [m.PointStruct(id=p.id, payload=p.payload, vector={'text': p.vector[::-1]}) for p in ps])", server.url)
    with pytest.raises(InvalidInput, match="256 of 256 sampled vectors are not the snapshot's"):
        squad.ask(settings(server, collection="turned", using="text"), asked[:1], snapshot)
    with pytest.raises(InvalidInput, match="`retriever.using` must name one of its vectors: text"):
        squad.ask(settings(server, collection="turned"), asked[:1], snapshot)


def test_a_named_vector_with_chunks_and_offsets_comes_back_as_chunks(server, tmp_path):
    from tests.retrievers.frozen import dense_snapshot

    small = dense_snapshot(tmp_path, {"b": [0, 1], "a": [1, 0], "c": [1, 1]}, {("q1", "text 1"): [1, 0]})
    from tests.retrievers.support import queries

    _, found = squad.ask(settings(server, collection="chunks", load=True, document="meta.doc", chunk="meta.chunk", using="v"), queries(1),
                         small.path)
    assert found["q1"].docs == ["a", "c", "b"] and [chunk.chunk for chunk in found["q1"].chunks] == ["a", "c", "b"]


def test_a_filter_restricts_search_and_check_alike(server, tmp_path):
    from tests.retrievers.frozen import dense_snapshot
    from tests.retrievers.support import queries

    small = dense_snapshot(tmp_path, {"b": [0, 1], "a": [1, 0]}, {("q1", "text 1"): [1, 0]})
    by_client("import sys; from qdrant_client import QdrantClient, models as m; c = QdrantClient(url=sys.argv[1]);"
              "c.create_collection('tenants', vectors_config=m.VectorParams(size=2, distance='Cosine'));"
              "c.upsert('tenants', [m.PointStruct(id=n, payload={'doc_id': d, 'team': t}, vector=v) for n, d, t, v in"
              " [(1, 'a', 'x', [1, 0]), (2, 'b', 'x', [0, 1]), (3, 'z', 'y', [1, 0.1])]])", server.url)
    where = {"must": [{"key": "team", "match": {"value": "x"}}]}
    _, found = squad.ask(settings(server, collection="tenants", filter=where), queries(1), small.path)
    assert found["q1"].docs == ["a", "b"]
    with pytest.raises(InvalidInput, match="1 are unknown to the snapshot: 'z'"):
        squad.ask(settings(server, collection="tenants"), queries(1), small.path)


def test_numbers_are_ids_too(server, tmp_path):
    from tests.retrievers.frozen import dense_snapshot
    from tests.retrievers.support import queries

    small = dense_snapshot(tmp_path, {"7": [0, 1], "8": [1, 0]}, {("q1", "text 1"): [1, 0]})
    by_client("import sys; from qdrant_client import QdrantClient, models as m; c = QdrantClient(url=sys.argv[1]);"
              "c.create_collection('numbers', vectors_config=m.VectorParams(size=2, distance='Cosine'));"
              "c.upsert('numbers', [m.PointStruct(id=n, payload={'n': n}, vector=v) for n, v in [(7, [0, 1]), (8, [1, 0])]])", server.url)
    own = settings(server, collection="numbers")
    del own["document"]
    assert squad.ask(own, queries(1), small.path)[1]["q1"].docs == ["8", "7"]
    assert squad.ask({**own, "document": "n"}, queries(1), small.path)[1]["q1"].docs == ["8", "7"]
    _, found = squad.ask({**own, "document": "absent", "check": "none"}, queries(1), small.path)
    assert "has no id at `absent` (nothing is there)" in found["q1"].error


def test_a_snapshot_of_qdrants_own_is_restored_where_the_collection_is_missing(server, snapshot, asked, exact, tmp_path):
    squad.ask(settings(server, load=True), asked[:1], snapshot)
    by_client("import sys, urllib.request; from qdrant_client import QdrantClient; url, file = sys.argv[1:];"
              "made = QdrantClient(url=url).create_snapshot('docs');"
              "urllib.request.urlretrieve(f'{url}/collections/docs/snapshots/{made.name}', file)", server.url, tmp_path / "docs.snapshot")
    restored = settings(server, collection="restored", restore={"snapshot": str(tmp_path / "docs.snapshot")}, search="exact")
    _, found = squad.ask(restored, asked, snapshot)
    assert all(squad.same(found[query.id], exact[query.id]) for query in asked)


def test_a_snapshot_that_cannot_be_restored_leaves_no_collection(server, snapshot, asked, tmp_path):
    (tmp_path / "bad.snapshot").write_bytes(b"no archive")
    bad = settings(server, collection="half", restore={"snapshot": str(tmp_path / "bad.snapshot")})
    with pytest.raises(RetrieverFailed, match="Can't recover from snapshot"):
        squad.ask(bad, asked[:1], snapshot)
    with pytest.raises(InvalidInput, match="has no collection half; it has: "):
        squad.ask(settings(server, collection="half"), asked[:1], snapshot)


def test_a_query_as_the_team_writes_it_may_fuse_and_prefetch(server, snapshot, asked, exact):
    body = {"prefetch": [{"query": "{vector}", "limit": "{n}"}, {"query": "{vector}", "limit": "{n}"}], "query": {"fusion": "rrf"}}
    squad.ask(settings(server, load=True), asked[:1], snapshot)
    _, found = squad.ask(settings(server, body=body), asked[:10], snapshot, depth=10)
    assert all(found[query.id].docs[:3] == exact[query.id].docs[:3] for query in asked[:10])


def test_a_key_is_sent_and_a_wrong_one_is_named_but_never_shown(snapshot, asked):
    with Standin("qdrant_standin.py", "--api-key", "right-key-8431") as locked:
        own = settings(locked, load=True, api_key="${QDRANT_KEY}")
        assert not squad.ask(own, asked[:1], snapshot, variables={"QDRANT_KEY": "right-key-8431"})[1][asked[0].id].error
        with pytest.raises(RetrieverFailed, match=r"401.*QDRANT_KEY") as error:
            squad.ask(own, asked[:1], snapshot, variables={"QDRANT_KEY": "wrong-key-7731"})
        assert "7731" not in error.value.text()


def test_a_collection_that_is_still_optimised_is_waited_for_and_then_refused(snapshot, asked):
    with Standin("qdrant_standin.py", "--yellow", "2") as slow:
        _, found = squad.ask(settings(slow, load=True), asked[:1], snapshot)
        assert found[asked[0].id].docs
    with Standin("qdrant_standin.py", "--yellow", "1000") as never:
        with pytest.raises(RetrieverFailed, match="still being optimised"):
            squad.ask(settings(never, load=True, limits={"start_seconds": 1}), asked[:1], snapshot)
        built, _ = squad.ask(settings(never, search="exact", limits={"start_seconds": 1}), asked[:1], snapshot)
        assert any("which exact search does not depend on" in note for note in built.notes)


def test_nobody_there_is_exit_3_and_names_the_setting(asked, snapshot):
    with Standin("qdrant_standin.py") as gone:
        url = gone.url
    with pytest.raises(RetrieverFailed, match=r"start_seconds") as error:
        squad.ask({"kind": "qdrant", "url": url, "collection": "docs", "limits": {"start_seconds": 0.5}}, asked[:1], snapshot)
    assert error.value.exit_code == 3
