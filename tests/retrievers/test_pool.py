"""Asking many queries: within the limits, one after another or several at once; what a service's silence means."""

import threading
import time

import pytest

from gate.errors import RetrieverFailed
from gate.retrievers.limits import Limits
from gate.retrievers.pool import OUTAGES, Pool, QueryFailed
from gate.runs import Ranking
from tests.retrievers.support import QUICK, queries


class Desk:
    """Makes seats that answer by ``answer(query, seconds)``, and remembers what happened to them."""

    def __init__(self, answer=lambda query, seconds: Ranking([f"doc of {query.id}"])):
        self.answer, self.opened, self.closed, self.threads = answer, 0, 0, set()

    def __call__(self):
        self.opened += 1
        return self

    def ask(self, query, depth, seconds):
        self.threads.add(threading.get_ident())
        return self.answer(query, seconds)

    def close(self):
        self.closed += 1


def ask(desk, count=20, depth=5, concurrency=1, limits=QUICK):
    pool = Pool(desk, limits, concurrency)
    return pool, dict(pool.retrieve(queries(count), depth))


@pytest.mark.parametrize("concurrency", [1, 4, 40])
def test_every_query_is_asked_once_and_every_seat_is_closed(concurrency):
    asked = []
    desk = Desk(lambda query, seconds: asked.append(query.id) or Ranking([query.id]))
    _, found = ask(desk, concurrency=concurrency)
    assert found.keys() == {f"q{n}" for n in range(1, 21)} and sorted(asked) == sorted(found)
    assert all(ranking.docs == [query_id] and ranking.ms >= 0 for query_id, ranking in found.items())
    assert desk.opened == desk.closed == min(concurrency, 20)


def test_several_are_asked_at_the_same_time():
    together = threading.Barrier(4, timeout=30)
    _, found = ask(Desk(lambda query, seconds: together.wait() and None or Ranking([])), count=8, concurrency=4)
    assert len(found) == 8  # with fewer than four at once nobody would ever pass the barrier


def test_a_query_that_fails_costs_only_itself():
    def answer(query, seconds):
        if query.id == "q2":
            raise QueryFailed("it answered 400")
        return Ranking(["a"])

    _, found = ask(Desk(answer), count=3)
    assert found["q2"] == Ranking([], error="it answered 400.") and not found["q3"].error


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_service_that_fails_on_one_query_after_another_counts_as_down(concurrency):
    def answer(query, seconds):
        if int(query.id[1:]) > 10:
            raise QueryFailed("http://localhost:1 does not answer", outage=True)
        return Ranking(["a"])

    found, desk = {}, Desk(answer)
    with pytest.raises(RetrieverFailed, match=r"does not answer; this was the 4th query in a row .* of 100 queries were asked before"):
        for query_id, ranking in Pool(desk, Limits(), concurrency).retrieve(queries(100), 5):
            found[query_id] = ranking
    assert [ranking for ranking in found.values() if not ranking.error] == [Ranking(["a"], ms=r.ms) for r in found.values() if not r.error]
    assert sum(not ranking.error for ranking in found.values()) == 10 and len(found) < 10 + OUTAGES + concurrency
    assert desk.opened == desk.closed


def test_now_and_then_a_fault_is_no_outage():
    def answer(query, seconds):
        if int(query.id[1:]) % 2:
            raise QueryFailed("it answered 503", outage=True)
        return Ranking(["a"])

    assert len(ask(Desk(answer), count=30)[1]) == 30


@pytest.mark.parametrize("concurrency", [1, 2])
def test_the_run_ends_at_its_limit_and_keeps_what_it_has(concurrency):
    found = {}
    pool = Pool(Desk(lambda query, seconds: time.sleep(0.02) or Ranking([])), Limits(run_seconds=0.2), concurrency)
    with pytest.raises(RetrieverFailed, match=r"took longer than 0.2 s; \d+ of 500 queries") as error:
        for query_id, ranking in pool.retrieve(queries(500), 5):
            found[query_id] = ranking
    assert 0 < len(found) < 500 and "run_seconds" in error.value.cure


def test_a_query_may_take_what_its_limit_or_the_rest_of_the_run_allows():
    given = []
    ask(Desk(lambda query, seconds: given.append(seconds) or Ranking([])), count=1, limits=Limits(query_seconds=3, run_seconds=60))
    ask(Desk(lambda query, seconds: given.append(seconds) or Ranking([])), count=1, limits=Limits(query_seconds=300, run_seconds=60))
    assert given[0] == 3 and 50 < given[1] <= 60


def test_longer_answers_are_cut_and_said():
    pool, found = ask(Desk(lambda query, seconds: Ranking(["a", "b", "c"], [3.0, 2.0, 1.0])), count=2, depth=2)
    assert found["q1"].docs == ["a", "b"] and found["q1"].scores == [3.0, 2.0]
    assert pool.notes == ["2 queries got more than 2 results; the rest was cut"]


def test_whoever_stops_listening_stops_the_asking():
    desk = Desk()
    asking = Pool(desk, Limits(), 3).retrieve(queries(1000), 5)
    next(asking)
    asking.close()
    assert desk.closed == desk.opened and threading.active_count() < 50


def test_a_time_that_the_answer_itself_reports_is_kept():
    assert ask(Desk(lambda query, seconds: Ranking(["a"], ms=7.0)), count=1)[1]["q1"].ms == 7.0


def test_a_machine_without_room_for_more_threads_is_no_broken_gate(monkeypatch):
    started, real = [], threading.Thread.start

    def start(self):
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(self)
        real(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    desk = Desk()
    with pytest.raises(RetrieverFailed, match="not all of the 8 threads") as caught:
        ask(desk, concurrency=8)
    assert "retriever.concurrency" in caught.value.cure and not any(thread.is_alive() for thread in started) and desk.closed == desk.opened
