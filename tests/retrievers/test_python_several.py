"""Several processes of one retriever: asked at once, lost one by one, ended together."""

import os
import threading
import time

import pytest

from gate.errors import RetrieverFailed
from gate.retrievers.limits import Limits
from tests.retrievers.support import queries, why_no_other_user
from tests.retrievers.test_python_faults import ended

needs_other_user = pytest.mark.skipif(bool(why_no_other_user()), reason=why_no_other_user())
WHO = "import os, time\ndef retrieve(query, n):\n    time.sleep(0.1)\n    return [str(os.getpid())]\n"


def test_queries_are_answered_by_several_processes_at_the_same_time(team):
    started = time.monotonic()
    found = team.ask(WHO, count=16, concurrency=4)
    assert found.keys() == {f"q{n}" for n in range(1, 17)} and len({ranking.docs[0] for ranking in found.values()}) == 4
    assert time.monotonic() - started < 16 * 0.1 + 5 and all(ended(int(ranking.docs[0])) for ranking in found.values())


def test_one_process_that_is_lost_costs_one_query_and_no_sibling(team):
    source = """
        import os, time
        def retrieve(query, n):
            if query == "text 3":
                os.kill(os.getpid(), 9)
            time.sleep(0.05)
            return [query, str(os.getpid())]
    """
    found = team.ask(source, count=20, concurrency=3)
    assert [query for query, ranking in found.items() if ranking.error] == ["q3"]
    assert len({ranking.docs[1] for ranking in found.values() if ranking.docs}) <= 4 and not team.notes


def test_the_restarts_of_all_processes_are_counted_together(team):
    source = "import os\ndef retrieve(query, n):\n    os._exit(9)\n"
    seen = {}
    with pytest.raises(RetrieverFailed, match=r"the retriever died \d times, and the gate gave up"), \
            team.retriever(source, concurrency=3) as retriever:
        for name, ranking in retriever.retrieve(queries(50), 5):
            seen[name] = ranking.error
    assert 3 <= len(seen) <= 4 + 3 and all("status 9" in error for error in seen.values())


def test_each_error_quotes_the_words_of_its_own_process_and_the_log_those_of_all(team):
    source = """
        import time
        def retrieve(query, n):
            print("asked", query)
            time.sleep(60 if query == "text 1" else 0.01)
            return ["a"]
    """
    found = team.ask(source, count=6, concurrency=2, limits=Limits(query_seconds=1.0))
    assert "| asked text 1" in found["q1"].error and "text 6" not in found["q1"].error
    assert {f"| asked text {n}" for n in range(1, 7)} <= set(team.last.captured.text().splitlines())


def test_a_module_that_cannot_be_loaded_fails_once(team):
    with pytest.raises(RetrieverFailed, match="its import failed: RuntimeError: no index"):
        team.ask("raise RuntimeError('no index')\n", count=8, concurrency=4)


@needs_other_user
def test_what_escaped_from_a_lost_process_ends_with_the_last_sibling_and_no_sibling_ends_with_it(team):
    source = """
        import os, time
        def retrieve(query, n):
            if query == "text 1":
                if os.fork() == 0:
                    os.setsid()
                    while True:
                        time.sleep(60)
                os._exit(7)
            time.sleep(0.1)
            return [str(os.getpid())]
    """
    found = team.ask(source, count=12, concurrency=2)
    assert [query for query, ranking in found.items() if ranking.error] == ["q1"]
    uid = team.last.isolation.user.uid
    mine = [pid for pid in os.listdir("/proc") if pid.isdigit() and _child_of_ours(pid, uid)]
    assert mine == [] and team.notes == []


def _child_of_ours(pid, uid):
    try:
        with open(f"/proc/{pid}/status") as status:
            facts = dict(line.split(":", 1) for line in status if ":" in line)
    except OSError:
        return False
    return facts["PPid"].strip() == str(os.getpid()) and str(uid) in facts["Uid"].split()


def test_two_retrievers_at_once_do_not_end_each_other(team):
    team.write(WHO)
    with team.retriever(WHO) as first:
        kept = next(first.retrieve(queries(1), 5))[1].docs
        with team.retriever(WHO) as second:
            assert dict(second.retrieve(queries(2), 5))["q2"].docs != kept
        assert dict(first.retrieve(queries(1), 5))["q1"].docs == kept


def test_threads_that_ask_do_not_outlive_the_run(team):
    before = threading.active_count()
    with team.retriever(WHO, concurrency=3) as retriever:
        stream = retriever.retrieve(queries(50), 5)
        next(stream)
        stream.close()
    assert threading.active_count() == before
