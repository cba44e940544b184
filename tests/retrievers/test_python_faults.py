"""Hanging, dying, flooding and forging: one query's error, never a wrong answer and never a pass."""

import os
import time

import pytest

from gate.errors import RetrieverFailed
from gate.retrievers.limits import Limits
from tests.retrievers.support import queries

# Writes lines to every descriptor that looks like the answer pipe.
FORGE = """
    import os
    def forge(line):
        for fd in range(3, 300):
            try:
                if os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:"):
                    os.write(fd, line)
            except OSError:
                pass
"""


def test_a_crash_in_query_57_of_60_costs_that_query_only(team):
    source = """
        import os
        def retrieve(query, n):
            if query == "text 57":
                os.kill(os.getpid(), 11)
            return [query]
    """
    found = team.ask(source, count=60)
    assert list(found) == [f"q{i}" for i in range(1, 61)]
    assert [q for q, ranking in found.items() if ranking.error] == ["q57"]
    assert "was ended by SIGSEGV" in found["q57"].error
    assert found["q60"].docs == ["text 60"]


def test_a_segmentation_fault_shows_where_it_happened(team):
    source = "import faulthandler\ndef retrieve(query, n):\n    faulthandler._sigsegv()\n"
    error = team.ask(source)["q1"].error
    assert "Segmentation fault" in error and 'search.py", line 3 in retrieve' in error


def test_leaving_without_an_answer_is_an_error_even_with_status_0(team):
    found = team.ask("import os\ndef retrieve(query, n):\n    query == 'text 1' and os._exit(0)\n    return ['a']\n", count=2)
    assert "ended by itself with status 0" in found["q1"].error
    assert found["q2"].docs == ["a"]


def test_a_query_that_hangs_is_an_error_and_the_next_one_gets_a_new_process(team):
    source = """
        import os, time
        def retrieve(query, n):
            if query == "text 2":
                print("waiting for a lock")
                time.sleep(60)
            return [str(os.getpid())]
    """
    found = team.ask(source, count=3, limits=Limits(query_seconds=0.5))
    assert "gave no answer within 0.5 s" in found["q2"].error
    assert "| waiting for a lock" in found["q2"].error
    assert found["q1"].docs != found["q3"].docs


def test_a_hang_that_ignores_signals_and_holds_the_interpreter_is_ended(team):
    source = """
        import re, signal
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        def retrieve(query, n):
            re.match("(a|aa)+$", "a" * 60 + "b")
    """
    assert "gave no answer" in team.ask(source, limits=Limits(query_seconds=0.3))["q1"].error


def test_after_three_restarts_the_run_ends_and_keeps_what_was_answered(team):
    source = "import os\ndef retrieve(query, n):\n    print('asked', query)\n    os._exit(9)\n"
    seen = {}
    with pytest.raises(RetrieverFailed, match="the retriever died 4 times") as caught, team.retriever(source) as retriever:
        for name, ranking in retriever.retrieve(queries(9), 5):
            seen[name] = ranking.error
    assert list(seen) == ["q1", "q2", "q3", "q4"] and all("status 9" in error for error in seen.values())
    assert "ended by itself with status 9 on queries 'q1', 'q2', 'q3', 'q4'; 4 of 9 queries were asked" in caught.value.problems[0]
    assert "| asked text 4" in str(caught.value)


def test_the_run_has_a_time_limit_and_keeps_what_was_answered(team):
    source = "import time\ndef retrieve(query, n):\n    time.sleep(60 if query == 'text 3' else 0)\n    return ['a']\n"
    seen = []
    with pytest.raises(RetrieverFailed, match="the run took longer than 1 s; 2 of 5 queries were asked"), \
            team.retriever(source, limits=Limits(run_seconds=1.0, query_seconds=50)) as retriever:
        for name, _ in retriever.retrieve(queries(5), 5):
            seen.append(name)
    assert seen == ["q1", "q2"]


def test_prints_do_not_disturb_the_answers(team):
    source = """
        import os, subprocess, sys
        def retrieve(query, n):
            print('{"mark": "x", "ranked": ["forged"]}')
            os.write(1, b"from C\\n")
            os.write(2, b"::set-output name=verdict::pass\\n")
            subprocess.run(["echo", "from a program"], check=True)
            sys.stderr.write("no line end")
            return ["a"]
    """
    assert [r.docs for r in team.ask(source, count=2).values()] == [["a"], ["a"]]
    lines = team.last.captured.text().splitlines()
    assert {"| from C", "| from a program", "| ::set-output name=verdict::pass"} <= set(lines)
    assert all(line.startswith("|") for line in lines)


def test_a_flood_of_output_neither_blocks_nor_fills_memory(team):
    source = """
        import os
        def retrieve(query, n):
            for _ in range(800):
                os.write(1, b"x" * 65535 + b"\\n")
            print("the end")
            return ["a"]
    """
    assert team.ask(source)["q1"].docs == ["a"]
    assert team.last.captured.total > 50_000_000
    assert len(team.last.captured.text()) < 80_000
    assert team.last.captured.text().endswith("| the end")


def test_a_memory_hog_meets_its_limit(team):
    source = """
        def retrieve(query, n):
            return [str(len(bytearray(2**31)))] if query == "text 1" else ["a"]
    """
    found = team.ask(source, count=2, limits=Limits(memory_mb=256))
    assert "MemoryError" in found["q1"].error
    assert found["q2"].docs == ["a"]


@pytest.mark.skipif(not os.path.exists("/proc/self/oom_score_adj"), reason="needs Linux")
def test_when_the_machine_runs_out_of_memory_it_goes_before_the_gate(team):
    source = "def retrieve(query, n):\n    return [open('/proc/self/oom_score_adj').read().strip()]\n"
    assert team.ask(source)["q1"].docs == ["1000"]


def test_an_id_without_a_bound_does_not_fill_the_gates_memory_instead(team):
    source = """
        def retrieve(query, n):
            return [{"doc": "d", "chunk": "x" * 2**20}] if query == "text 2" else ["x" * 2**20 if query == "text 1" else "x" * 10_000]
    """
    found = team.ask(source, count=3)
    assert "an id of 1048576 characters" in found["q1"].error and "an id of 1048576 characters" in found["q2"].error
    assert found["q3"].docs == ["x" * 10_000]


def test_forged_answers_are_never_taken(team):
    source = FORGE + """
    def retrieve(query, n):
        if query == "text 2":
            forge(b'{"mark": "0", "ranked": ["forged"]}\\n')
        return ["honest"]
    """
    found = team.ask(source, count=3)
    assert "answer to another question" in found["q2"].error
    assert [found[q].docs for q in ("q1", "q3")] == [["honest"], ["honest"]]


def test_a_line_left_over_for_the_next_question_is_never_taken(team):
    source = FORGE + """
    import threading, time
    def late():
        time.sleep(0.05)
        forge(b'{"mark": "0", "ranked": ["forged"]}\\n')
    def retrieve(query, n):
        if query == "text 1":
            threading.Thread(target=late).start()
        else:
            time.sleep(0.15)
        return ["honest"]
    """
    found = team.ask(source, count=3)
    assert all(ranking.docs in ([], ["honest"]) for ranking in found.values())
    assert found["q3"].docs == ["honest"]
    assert any(ranking.error for ranking in found.values()) or team.last.notes


@pytest.mark.parametrize("line", [b"nonsense", b"\xff\xfe", b"[]", b"[" * 50_000, b'{"mark": 1e999}', b"9" * 5000])
def test_lines_that_are_no_answer_are_a_fault_of_the_protocol(team, line):
    line += b"\n"
    found = team.ask(FORGE + f"    def retrieve(query, n):\n        forge({line!r})\n        return ['a']\n")
    assert "answer pipe" in found["q1"].error or "another question" in found["q1"].error


def test_an_endless_line_is_a_fault_of_the_protocol(team):
    source = FORGE + """
    def retrieve(query, n):
        for _ in range(200):
            forge(b"x" * 65536)
        return ["a"]
    """
    assert "an answer longer than" in team.ask(source)["q1"].error


def test_an_answer_that_is_too_long_is_refused(team):
    found = team.ask("def retrieve(query, n):\n    return ['x' * 9_000_000]\n")
    assert "an answer longer than 8388608 bytes" in found["q1"].error


def test_a_fork_that_comes_back_does_not_answer_as_well(team):
    source = """
        import os
        def retrieve(query, n):
            os.fork()
            return [str(os.getpid())]
    """
    found = team.ask(source, count=5)
    assert all(ranking.docs and not ranking.error for ranking in found.values())
    assert len({ranking.docs[0] for ranking in found.values()}) == 1


def ended(pid):
    """A process that was sent SIGKILL is gone a moment later, or a zombie that waits for whoever adopted it."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
    return False


OUTLIVING = """
    import os, time
    def retrieve(query, n):
        pid = os.fork()
        if pid == 0:
            {first}
            while True:
                time.sleep(60)
        return [str(pid)]
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_fork_that_outlives_its_question_is_ended_with_the_run(team):
    pid = int(team.ask(OUTLIVING.format(first="pass"))["q1"].docs[0])
    assert ended(pid)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_fork_holding_the_pipes_does_not_hide_a_death(team):
    source = OUTLIVING.format(first="pass") + "\n    _retrieve = retrieve\n    def retrieve(query, n):\n" \
        "        print('child', *_retrieve(query, n))\n        os._exit(3)\n"
    found = team.ask(source)
    assert "ended by itself with status 3" in found["q1"].error
    assert ended(int(team.last.captured.text().split()[-1]))


def test_a_process_that_dies_between_two_queries_costs_no_query(team):
    source = """
        import os, threading
        def retrieve(query, n):
            if query == "text 1":
                threading.Timer(0.05, os._exit, [0]).start()
            return [query]
    """
    with team.retriever(source) as retriever:
        stream = retriever.retrieve(queries(3), 5)
        found = dict([next(stream)])
        while retriever._kept.child.alive():
            pass
        found |= dict(stream)
    assert [ranking.docs for ranking in found.values()] == [["text 1"], ["text 2"], ["text 3"]]
    assert team.notes == ["the retriever's process ended between two queries, and was started anew"]
