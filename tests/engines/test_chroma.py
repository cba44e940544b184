"""Kind ``chroma`` against a real Chroma server, and against one that answers nonsense."""

import http.server
import json
import threading
import time

import pytest
import requests

from gate.errors import InvalidInput, RetrieverFailed
from tests.retrievers.frozen import dense_snapshot

HOME = "/api/v2/tenants/default_tenant/databases/default_database/collections"


def text_of(server, collection="docs", more="") -> str:
    return f"  kind: chroma\n  url: {server.url}\n  collection: {collection}\n{more}"


@pytest.fixture
def filled(chroma, small, ask):
    """The small snapshot in a new collection; its path for requests."""
    snapshot, queries = small
    requests.delete(f"{chroma.url}{HOME}/docs", timeout=10)
    ask(text_of(chroma, more="  load: true\n  document: doc\n"), queries[:1], snapshot)
    return f"{chroma.url}{HOME}/{requests.get(f'{chroma.url}{HOME}/docs', timeout=10).json()['id']}"


def refused(ask, text, queries, snapshot=None, error=InvalidInput, **variables) -> str:
    with pytest.raises(error) as caught:
        ask(text, queries, snapshot, **variables)
    return str(caught.value)


def test_a_filled_collection_is_compared_and_not_filled_again(ask, small, chroma, filled):
    snapshot, queries = small
    found = ask(text_of(chroma, more="  load: true\n"), queries, snapshot)
    assert found.notes == [] and found.facts["check"] == "vectors"
    assert found.facts["hnsw"] == {"space": "cosine", "ef_construction": 100, "ef_search": 100, "max_neighbors": 16, "resize_factor": 1.2,
                                   "sync_threshold": 400}
    assert [found[query.id].docs[0] for query in queries] == [f"u{n:03}" for n in range(len(queries))]
    assert all(ranking.ms > 0 and 0.5 < ranking.scores[0] <= 1 for ranking in found.rankings.values())


@pytest.mark.parametrize("change, body, told", [
    ("delete", {"ids": ["u003", "u250"]}, "lacks 2 of them: 'u003', 'u250'"),
    ("add", {"ids": ["new"], "embeddings": [[1.0] * 16]}, "1 are unknown to the snapshot: 'new'"),
    ("update", {"ids": [f"u{n:03}" for n in range(400)], "embeddings": [[1.0] * 8 + [-1.0] * 8] * 400}, "are not the snapshot's"),
])
def test_a_collection_that_is_not_the_frozen_one_is_refused(ask, small, chroma, filled, change, body, told):
    assert requests.post(f"{filled}/{change}", json=body, timeout=10).ok
    snapshot, queries = small
    assert told in refused(ask, text_of(chroma), queries, snapshot)


@pytest.mark.parametrize("search", ["ann", "exact"])
def test_documents_come_from_metadata_and_conditions_are_chromas(ask, small, chroma, filled, search):
    snapshot, queries = small
    body = {"ids": ["u003", "u005"], "metadatas": [{"doc": "book", "s": 3, "e": 9}, {"doc": "book"}]}
    assert requests.post(f"{filled}/update", json=body, timeout=10).ok
    more = f"  document: doc\n  start: s\n  end: e\n  where: {{doc: book}}\n  search: {search}\n"
    found = ask(text_of(chroma, more=more), queries, snapshot)
    assert found["q03"].docs == ["book", "book"] and found["q03"].chunks[0] == ("u003", 3, 9) and found["q03"].chunks[1].start is None
    assert not any("fewer" in note for note in found.notes) and found.facts["where"] == {"doc": "book"}
    told = refused(ask, text_of(chroma, more="  where: {doc: {$bad: 1}}\n"), queries, snapshot)
    assert "`retriever.where`: POST" in told and "answered 400 (it said: " in told


@pytest.mark.parametrize("space", ["l2", "ip", "cosine"])
def test_exact_search_knows_every_space(ask, small, chroma, space):
    snapshot, queries = small
    requests.delete(f"{chroma.url}{HOME}/of-{space}", timeout=10)
    more = f"  load: true\n  hnsw: {{space: {space}, ef_search: 400}}\n"
    ann = ask(text_of(chroma, f"of-{space}", more), queries, snapshot)
    exact = ask(text_of(chroma, f"of-{space}", "  search: exact\n"), queries, snapshot)
    for query in queries:
        found, truth = (dict(zip(each[query.id].docs, each[query.id].scores, strict=True)) for each in (ann, exact))
        common = found.keys() & truth.keys()
        # An inner product is no distance, and a graph of near neighbours loses some by it.
        assert len(common) >= (6 if space == "ip" else 10) and exact[query.id].scores == sorted(truth.values(), reverse=True)
        assert [found[doc] for doc in common] == pytest.approx([truth[doc] for doc in common], rel=1e-4, abs=1e-4)
        assert max(found.values()) <= max(truth.values()) + 1e-4


def test_the_index_must_have_the_parameters_that_the_configuration_names(ask, small, chroma, filled):
    snapshot, queries = small
    told = refused(ask, text_of(chroma, more="  hnsw: {ef_search: 7, max_neighbors: 16}\n"), queries, snapshot)
    assert "its index has ef_search 100, the configuration says 7" in told and "max_neighbors" not in told


def test_a_collection_or_database_that_is_not_there_is_named(ask, small, chroma):
    snapshot, queries = small
    assert "collection nowhere: there is none in database default_database" in refused(ask, text_of(chroma, "nowhere"), queries, snapshot)
    assert "there is none in database other" in refused(ask, text_of(chroma, "docs", "  database: other\n"), queries, snapshot)


def test_vectors_of_other_dimensions_are_refused_before_the_first_question(ask, small, chroma, filled, tmp_path):
    _, queries = small
    other = dense_snapshot(tmp_path, {f"u{n:03}": [1.0, n] for n in range(400)}, {(query.id, query.text): [1.0, 2.0] for query in queries})
    told = refused(ask, text_of(chroma, more="  check: ids\n"), queries, other)
    assert "query vectors have 2 dimensions, collection docs 16" in told
    assert "its vectors have 16 dimensions, the snapshot's 2" in refused(ask, text_of(chroma), queries, other)


# a server that is none


class Stub:
    """A server whose answers a test writes: path's last part → (status, body), or a list of
    them. The engine itself never answers like that."""

    def __init__(self) -> None:
        self.answers = {"docs": (200, {"id": "1-2", "configuration_json": {"hnsw": {"space": "cosine"}}}), "version": (200, "1.0.0"),
                        "get": (200, {"ids": []}), "query": (200, {"ids": [["a"]], "distances": [[0.5]]})}
        self.seen: list = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.seen.append((f"{self.command} {self.path}", dict(self.headers)))
                answers = outer.answers[self.path.rpartition("/")[2]]
                status, body = answers if isinstance(answers, tuple) else answers.pop(0)
                time.sleep(body) if isinstance(body, float) else None
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "http://127.0.0.1:1/")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            do_DELETE = do_GET

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def stub():
    server = Stub()
    yield server
    server.close()


@pytest.mark.parametrize("answer, told", [
    ((200, {"ids": [["a"]], "distances": [[]]}), "something else than ids and distances"),
    ((200, {"ids": [["a"]], "distances": [[None]]}), "something else than ids and distances"),
    ((200, {"ids": [[1]], "distances": [[0.5]]}), "something else than ids and distances"),
    ((200, {}), "something else than ids and distances"),
    ((200, []), "something else than ids and distances"),
    ((400, {"error": "InvalidArgumentError", "message": "no\nmore"}), "answered 400 (it said: "),
    ((200, b"<html>"), "answered 200 with what is not JSON"),
    ((200, b'{"ids": [["a"]], "distances": [[NaN]]}'), "answered 200 with what is not JSON"),
])
def test_an_answer_that_is_none_fails_the_query(ask, small, stub, answer, told):
    snapshot, queries = small
    stub.answers["query"] = answer
    found = ask(text_of(stub, more="  check: none\n"), queries, snapshot)
    assert len(found.rankings) == 20 and all(told in ranking.error for ranking in found.rankings.values())


@pytest.mark.parametrize("answer, told", [
    ((503, b"busy"), "answered 503 (it said: busy)"), ((429, {"message": "slow down"}), "answered 429 (it said: "),
    ((200, 1.5), "gave no answer within 0.1 s"),
])
def test_a_server_in_trouble_ends_the_run_after_four_queries(ask, small, stub, answer, told):
    snapshot, queries = small
    stub.answers["query"] = answer
    message = refused(ask, text_of(stub, more="  check: none\n  limits: {query_seconds: 0.1}\n"), queries, snapshot, RetrieverFailed)
    assert told in message and "4th query in a row" in message


def test_a_load_that_fails_leaves_no_half_collection(ask, small, stub):
    snapshot, queries = small
    stub.answers |= {"docs": [(404, {"message": "none"}), stub.answers["docs"], (200, {})], "collections": (200, {}),
                     "add": (507, {"message": "the disk is full"})}
    told = refused(ask, text_of(stub, more="  load: true\n"), queries, snapshot, RetrieverFailed)
    assert told.startswith("collection docs: POST") and "answered 507" in told and "the disk is full" in told
    assert [path for path, _ in stub.seen] == [f"GET {HOME}/docs", f"POST {HOME}", f"GET {HOME}/docs", f"POST {HOME}/1-2/add",
                                               f"DELETE {HOME}/docs"]


def test_secrets_in_headers_are_sent_and_not_shown(ask, small, stub):
    snapshot, queries = small
    text = text_of(stub, more="  check: none\n  headers: {x-chroma-token: '${CHROMA_TOKEN}'}\n")
    assert "s3cr3t" not in str(ask(text, queries, snapshot, CHROMA_TOKEN="s3cr3t").facts)
    assert {headers["x-chroma-token"] for _, headers in stub.seen} == {"s3cr3t"}
    stub.answers["query"] = (403, {"message": "token s3cr3t is not welcome"})
    told = refused(ask, text, queries, snapshot, RetrieverFailed, CHROMA_TOKEN="s3cr3t")
    assert "answered 403: it refuses the gate, which asked with CHROMA_TOKEN" in told and "s3cr3t" not in told
    told = refused(ask, text, queries, snapshot, RetrieverFailed, CHROMA_TOKEN="two\nlines")
    assert "CHROMA_TOKEN holds line breaks" in told and "lines\n" not in told
    assert "needs the variable CHROMA_TOKEN" in refused(ask, text, queries, snapshot, RetrieverFailed)


def test_a_redirect_ends_the_run_and_is_not_followed(ask, small, stub):
    snapshot, queries = small
    stub.answers["query"] = (302, {})
    told = refused(ask, text_of(stub, more="  check: none\n"), queries, snapshot, RetrieverFailed)
    assert "answered 302 and points to http://127.0.0.1:1/" in told and [path for path, _ in stub.seen][-1].endswith("/1-2/query")


def test_a_passing_refusal_is_asked_again_and_said(ask, small, stub):
    snapshot, queries = small
    stub.answers["query"] = [(503, b"busy"), *[stub.answers["query"]] * len(queries)]
    found = ask(text_of(stub, more="  check: none\n"), queries, snapshot)
    assert all(ranking.docs == ["a"] for ranking in found.rankings.values())
    assert any("1 request had to be sent again (503: 1)" in note for note in found.notes)


@pytest.mark.parametrize("url", ["ftp://x", "localhost:8000", "http://", "http://u:p@x", "http://x/?a=1", "http://[::1", "http://x:y"])
def test_an_address_that_is_none_is_a_fault_of_the_configuration(ask, small, url):
    snapshot, queries = small
    assert "c.yml:5: `url` " in refused(ask, f"  kind: chroma\n  url: {url}\n  collection: docs\n", queries, snapshot)
