"""Kind ``http``: a service is asked as its configuration says, and its faults are told apart."""

import datetime
import time

import pytest
import yaml

from gate.errors import InvalidInput, RetrieverFailed
from gate.golden.model import Query
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.runs import Chunk
from gate.settings import parse_settings
from gate.world import World
from tests.retrievers.support import queries
from tests.web.support import Answering, in_turn

FOUND = {"results": [{"id": "a", "score": 2.5}, {"id": 7, "score": 1}]}
SECRET = "s3cr3t/+=key-value"


def settings_of(url, **more):
    retriever = {"kind": "http", "url": url, "retries": 0, **more}
    if "{query}" not in url:
        retriever.setdefault("body", {"q": "{query}", "n": "{n}"})
    return parse_settings(yaml.safe_dump({"golden": "g.jsonl", "retriever": retriever}).encode(), "c.yml", "c.yml").retriever


def retriever_of(url, variables=None, **more):
    return build_retriever(settings_of(url, **more), Given(world=World(variables or {})))


def ask(retriever, asked=1, depth=10):
    with retriever:
        return dict(retriever.retrieve(queries(asked) if isinstance(asked, int) else asked, depth))


def faults(url, **more):
    with pytest.raises(InvalidInput) as error:
        settings_of(url, **more)
    return error.value.problems


def test_a_query_is_sent_as_the_template_says_and_the_answer_read_where_the_paths_say():
    answer = {"took": 12, "price": 0.5, "stages": [{"hits": [{"k": "z"}, {"k": "a"}]}],
              "hits": {"hits": [{"_source": {"id": "a"}, "_score": 2, "c": "a-1", "from": 0, "to": 9}]}}
    with Answering(lambda asked, handler: (200, answer)) as server:
        retriever = retriever_of(
            f"{server.url}/search?lang=en", {"KEY": SECRET}, headers={"X-Key": "${KEY}"}, method="PUT",
            body={"q": ["{query}"], "size": "{n}", "note": "top {n} for {query}", "raw": "{{n}}", "deep": {"on": True, "x": None}},
            results="hits.hits", id="_source.id", score="_score", chunk="c", start="from", end="to", ms="took", cost="price",
            candidates="stages[0].hits", candidate_id="k")
        found = ask(retriever, [Query("q", "wie {n} «geht» das?", {})])["q"]
    asked, = server.asked
    assert (asked.method, asked.path, asked.headers["x-key"]) == ("PUT", "/search?lang=en", SECRET)
    assert asked.json == {"q": ["wie {n} «geht» das?"], "size": 10, "note": "top 10 for wie {n} «geht» das?", "raw": "{n}",
                          "deep": {"on": True, "x": None}}
    assert (found.docs, found.scores, found.chunks) == (["a"], [2.0], [Chunk("a-1", 0, 9)])
    assert (found.candidates, found.ms, found.cost, found.error) == (["z", "a"], 12.0, 0.5, "")


def test_a_query_in_the_address_is_escaped():
    with Answering(lambda asked, handler: (200, {"results": ["a"]})) as server:
        found = ask(retriever_of(f"{server.url}/s?q={{query}}&n={{n}}&key=${{KEY}}", {"KEY": "a&{n}"}, id="$"),
                    [Query("q", "c&d=ü {n} #1", {})], 3)
    assert found["q"].docs == ["a"] and server.asked[0].method == "GET" and server.asked[0].body == b""
    assert server.asked[0].path == "/s?q=c%26d%3D%C3%BC%20%7Bn%7D%20%231&n=3&key=a%26%7Bn%7D"


def test_whole_numbers_are_ids_and_the_rest_is_cut_and_said():
    with Answering(lambda asked, handler: (200, FOUND)) as server:
        retriever = retriever_of(server.url, score="score")
        found = ask(retriever, 2, depth=1)
        assert found["q1"].docs == ["a"] and found["q1"].scores == [2.5] and found["q1"].ms > 0
        assert retriever.notes == ["2 queries got more than 1 results; the rest was cut"]
        assert ask(retriever_of(server.url))["q1"].docs == ["a", "7"]


def test_several_are_asked_at_once():
    with Answering(lambda asked, handler: time.sleep(0.5) or (200, FOUND)) as server:
        started = time.monotonic()
        retriever = build_retriever(settings_of(server.url, concurrency=8), Given())
        assert len(ask(retriever, 16)) == 16 and time.monotonic() - started < 6


@pytest.mark.parametrize(("answer", "message"), [
    ({"hits": []}, "`results`: `results` finds nothing: at the top there is an object with the keys hits"),
    ({"results": {"a": 1}}, "`results` must lead to a list, but there is an object with the keys a"),
    ({"results": [{"id": "a"}, {"_id": "b", "n": 1}]}, "result 2: `id` finds nothing: at the top there is an object with the keys _id, n"),
    ({"results": [{"id": None}]}, "result 1 has for its id null; ids are"), ({"results": [{"id": True}]}, "result 1 has for its id"),
    ({"results": [{"id": ""}]}, "ids are non-empty texts"), ({"results": ["a"]}, "there is the text \"a\""),
    ([], "at the top there is an empty list"), (b"<html>Bad \x1b[31mgateway", "is not JSON: not valid JSON"),
    (b'{"results": [{"id": "a", "score": NaN}]}', "NaN is not a JSON number"), (b"", "is not JSON"), (b"\xff\xfe", "not UTF-8"),
    ({"results": [{"id": "x" * 10_001}]}, "ids of at most 10000"), ({"results": []}, "")])
def test_an_answer_that_cannot_be_read_is_an_error_that_says_what_is_there(answer, message):
    with Answering(lambda asked, handler: (200, answer)) as server:
        error = ask(retriever_of(server.url))["q1"].error
    assert message in error and "\x1b" not in error and bool(error) == bool(message)


@pytest.mark.parametrize(("item", "message"), [({"id": "a", "score": "high"}, "a score must be a finite number"),
                                               ({"id": "a", "score": None}, ""), ({"id": "a"}, "`score` finds nothing")])
def test_a_score_that_is_none_is_no_score(item, message):
    with Answering(lambda asked, handler: (200, {"results": [item]})) as server:
        error = ask(retriever_of(server.url, score="score"))["q1"].error
    assert message in error and bool(error) == bool(message)


def test_a_query_without_a_first_stage_has_none():
    with Answering(lambda asked, handler: (200, {"results": [{"id": "a"}], "first": None, "cost": None})) as server:
        found = ask(retriever_of(server.url, candidates="first", cost="cost"))["q1"]
    assert (found.docs, found.candidates, found.cost, found.error) == (["a"], None, None, "")


def test_a_query_that_the_service_refuses_costs_only_itself():
    def answer(asked, handler):
        return (400, {"detail": "##[error] too\nlong"}) if b"text 2" in asked.body else (200, FOUND)

    with Answering(answer) as server:
        found = ask(retriever_of(server.url), 3)
    assert found["q2"].error == f'POST {server.url} answered 400 (it said: {{"detail": "## [error] too\\nlong"}}).'
    assert not found["q1"].error and not found["q3"].error


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_may_pass_is_asked_again_and_said(status):
    with Answering(in_turn((status, "busy", {"Retry-After": "2"}), (200, FOUND))) as server:
        retriever = retriever_of(server.url, retries=2)
        found = ask(retriever, 2)
    assert [ranking.error for ranking in found.values()] == ["", ""] and len(server.asked) == 3
    assert retriever.notes == [f"{server.url}: 1 request had to be sent again ({status}: 1)"]
    assert found["q1"].ms < 1900  # the wait before the second attempt is not the service's time


def test_a_connection_that_breaks_is_tried_again():
    with Answering(in_turn(lambda asked, handler: None, (200, FOUND))) as server:
        retriever = retriever_of(server.url, retries=1)
        assert ask(retriever)["q1"].docs and "(no answer: 1)" in retriever.notes[0]


def test_retry_after_is_honoured():
    with Answering(in_turn((429, "", {"Retry-After": "1"}), (200, FOUND))) as server:
        started = time.monotonic()
        assert ask(retriever_of(server.url, retries=1))["q1"].docs and time.monotonic() - started >= 1


def test_retry_after_beyond_the_time_of_the_query_is_not_waited_for():
    with Answering(lambda asked, handler: (429, b"", {"Retry-After": "3600"})) as server:
        started = time.monotonic()
        error = ask(retriever_of(server.url, retries=3, limits={"query_seconds": 5}))["q1"].error
    assert "answered 429, and asks to wait 3600 s; the 5 s that it may take were up" in error and time.monotonic() - started < 3


@pytest.mark.parametrize(("status", "message"), [(503, "answered 503"), (429, "answered 429")])
def test_a_service_that_is_down_ends_the_run_and_keeps_what_was_answered(status, message):
    with Answering(in_turn((200, FOUND), (status, "down for maintenance"))) as server:
        retriever, found = retriever_of(server.url), {}
        with pytest.raises(RetrieverFailed, match=f"{message} .*down for maintenance.* the 4th query in a row"), retriever:
            for query_id, ranking in retriever.retrieve(queries(50), 5):
                found[query_id] = ranking
    assert found["q1"].docs == ["a", "7"] and len(server.asked) == 5


def test_nobody_listening_is_an_outage():
    with Answering(lambda asked, handler: (200, FOUND)) as server:
        pass
    with pytest.raises(RetrieverFailed, match="gave no answer .Connection refused.; this was the 4th query in a row"):
        ask(retriever_of(server.url), 10)


def drip(asked, handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(100):
        handler.wfile.write(b"x")
        time.sleep(0.05)


def drip_headers(asked, handler):
    for _ in range(100):
        handler.wfile.write(b"H")
        time.sleep(0.05)


def drip_and_close(asked, handler):
    handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
    for _ in range(100):
        handler.wfile.write(b"x")
        time.sleep(0.05)


@pytest.mark.parametrize("answer", [lambda asked, handler: time.sleep(5) or (200, FOUND), drip, drip_headers, drip_and_close])
def test_a_slow_answer_ends_at_its_time_however_it_is_slow(answer):
    with Answering(answer) as server:
        started = time.monotonic()
        error = ask(retriever_of(server.url, limits={"query_seconds": 0.5}))["q1"].error
        assert "gave no answer within 0.5 s" in error and time.monotonic() - started < 4


def huge(asked, handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while True:
        handler.wfile.write(b" " * 65536)


def test_an_answer_without_an_end_is_not_read_to_it():
    with Answering(huge) as server:
        assert "more than the gate reads (8388608 bytes)" in ask(retriever_of(server.url))["q1"].error


def test_a_bomb_is_not_inflated():
    import gzip

    with Answering(lambda asked, handler: (200, gzip.compress(b" " * 2**28), {"Content-Encoding": "gzip"})) as server:
        assert "more than the gate reads" in ask(retriever_of(server.url))["q1"].error


def test_damaged_compression_is_the_fault_of_that_query():
    with Answering(lambda asked, handler: (200, b"not gzip", {"Content-Encoding": "gzip"})) as server:
        assert "damaged compressed data" in ask(retriever_of(server.url))["q1"].error


def test_a_redirect_is_not_followed():
    with Answering(lambda asked, handler: (200, FOUND)) as other, \
            Answering(lambda asked, handler: (302, "", {"Location": f"{other.url}/login?token=x"})) as server:
        with pytest.raises(RetrieverFailed, match=f"answered 302 and points to {other.url}/login; the gate follows no redirect") as error:
            ask(retriever_of(server.url), 3)
        assert not other.asked and len(server.asked) == 1 and "token" not in str(error.value)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_secret_stops_at_once_and_is_named_by_its_name(status):
    with Answering(lambda asked, handler: (status, f"bad key {asked.headers['authorization']}")) as server, \
            pytest.raises(RetrieverFailed, match=f"answered {status}: it refuses the gate, which asked with SEARCH_KEY from") as error:
        ask(retriever_of(server.url, {"SEARCH_KEY": SECRET}, headers={"Authorization": "Bearer ${SEARCH_KEY}"}), 3)
    assert len(server.asked) == 1 and "bad key ***" in str(error.value) and "forks get no secrets" in error.value.cure


def test_404_before_any_answer_stops_and_later_it_is_the_querys():
    with Answering(lambda asked, handler: (404, "no such route")) as server, \
            pytest.raises(RetrieverFailed, match="answered 404 to the first query .it said: \"no such route\""):
        ask(retriever_of(server.url), 3)
    with Answering(in_turn((200, FOUND), (404, "gone"), (200, FOUND))) as server:
        assert [bool(ranking.error) for ranking in ask(retriever_of(server.url), 3).values()] == [False, True, False]


def test_a_missing_secret_cannot_decide():
    with pytest.raises(RetrieverFailed, match="`headers.X-Key` needs the variable SEARCH_KEY, which is not set or empty"):
        ask(retriever_of("http://localhost:1", headers={"X-Key": "${SEARCH_KEY}"}))


def test_warm_up_is_asked_first_and_not_measured():
    with Answering(in_turn(lambda asked, handler: time.sleep(2) or (200, FOUND), (500, "x"), (200, FOUND))) as server:
        retriever = retriever_of(server.url, warm_up=2)
        found = ask(retriever, 3)
    assert len(server.asked) == 5 and all(ranking.ms < 1900 and not ranking.error for ranking in found.values())
    assert "1 query of the warm-up got no answer: POST" in retriever.notes[0]


def test_health_is_waited_for():
    with Answering(in_turn((503, "loading"), (503, "loading"), (200, "ok"), (200, FOUND))) as server:
        assert ask(retriever_of(f"{server.url}/search", {"KEY": SECRET}, headers={"X-Key": "${KEY}"}, health="/ready"))["q1"].docs
    assert [asked.path for asked in server.asked] == ["/ready"] * 3 + ["/search"] and server.asked[0].headers["x-key"] == SECRET


def test_a_service_that_never_gets_ready_cannot_decide():
    with Answering(lambda asked, handler: (503, "loading the model")) as server, \
            pytest.raises(RetrieverFailed, match="GET /ready: .*not ready within 0.6 s; last answer: it answered 503 .*loading the model"):
        ask(retriever_of(server.url, health="/ready", limits={"start_seconds": 0.6}))


def test_health_of_another_host_is_asked_without_the_secrets():
    with Answering(lambda asked, handler: (200, FOUND)) as other, Answering(lambda asked, handler: (200, FOUND)) as server:
        ask(retriever_of(server.url, {"KEY": SECRET}, headers={"X-Key": "${KEY}"}, health=f"{other.url}/ok"))
    assert "x-key" not in other.asked[0].headers and server.asked[0].headers["x-key"] == SECRET


def test_a_description_says_what_is_asked_and_holds_no_secret():
    made = settings_of("https://reader:${PW}@h.example/s?q={query}&key=${KEY}", headers={"X-Key": "${KEY}"}, score="score")
    described = build_retriever(made, Given()).describe()
    assert described == {"kind": "http", "url": "https://h.example/s?q={query}&key=${KEY}", "method": "GET", "results": "results",
                         "id": "id", "score": "score", "request": described["request"]}
    assert build_retriever(settings_of("https://h.example/s?q={query}"), Given()).describe()["request"] != described["request"]


@pytest.mark.parametrize(("more", "message"), [
    ({"url": "ftp://h/{query}"}, "`url` must begin with http:// or https://"), ({"url": "http://"}, "`url` names no host"),
    ({"url": "http://h:0/"}, "`url` names no host"), ({"url": "http://h:99999/"}, "`url` is no address"),
    ({"url": "http://u:hunter2@h/?q={query}"}, "`url` has a password in it that everybody can read"),
    ({"url": "http://h/?q={query}&api_key=hunter2"}, "`url` has a value for api_key in it that everybody can read"),
    ({"url": "http://h/{query}/x"}, "`url` has {query} where it cannot be put in; it belongs behind the `?`"),
    ({"url": "http://h/#a"}, "a part behind `#`"), ({"url": "http://h /"}, "white space"), ({"url": "${GITHUB_TOKEN}"}, "is not passed on"),
    ({"body": {"q": "x"}}, "neither `url` nor `body` has {query} in it"), ({"method": "GET"}, "`body` is never sent with GET"),
    ({"body": {"q": "{query}", "since": datetime.date(2024, 1, 2)}}, "`body` has 2024-01-02, which JSON does not know; quote it"),
    ({"method": "DELETE"}, "must be one of GET, POST, PUT"), ({"body": {"q": "{query}", "k": "${KEY}"}}, "`url` and `headers` only"),
    ({"body": {"q": "{query}", "x": [float("inf")]}}, "`body` has inf, which JSON does not know"),
    ({"results": "a..b"}, "`results`: '..b' at character 2"),
    ({"candidate_id": "id"}, "`candidates`, which is not set"), ({"start": "s"}, "`start` and `end` belong together"),
    ({"headers": {"X Y": "a"}}, "none that HTTP knows"), ({"headers": {"X": "a\nb"}}, "must be text on one line"),
    ({"headers": {"X": "${a-b}"}}, "is no `${NAME}`"), ({"health": "ready"}, "`health` must be a path"), ({"retries": -1}, "`retries`"),
    ({"function": "a:b"}, "unknown key `function`")])
def test_settings_that_cannot_work_are_faults_with_their_line(more, message):
    problems = faults(**({"url": "http://h/"} | more))
    assert any(message in problem and problem.startswith("c.yml:") for problem in problems), problems
    assert not any("hunter2" in problem for problem in problems)
