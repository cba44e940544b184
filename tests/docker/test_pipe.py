import json
import socket
import struct
import threading

import pytest

from gate.docker.pipe import MAX_ANSWER, Pipe, PipeSeat
from gate.golden.model import Query
from gate.retrievers.pool import QueryFailed


def frame(data: bytes, stream: int = 1) -> bytes:
    return struct.pack(">BxxxI", stream, len(data)) + data


@pytest.fixture
def ends():
    """The gate's end and the container's; what the gate asked can be read from the latter."""
    mine, other = socket.socketpair()
    yield mine, other
    mine.close()
    other.close()


def ask(mine, query: str = "q1", seconds: float = 5.0, seat: PipeSeat | None = None):
    return (seat or PipeSeat(Pipe(mine), 0.0)).ask(Query(id=query, text="what", gains={}, line=1), 3, seconds)


def answer(query: str = "q1", **more) -> bytes:
    return json.dumps({"id": query, "ranked": ["a", "b"], **more}).encode() + b"\n"


def test_a_question_is_a_line_and_so_is_its_answer(ends):
    mine, other = ends
    other.sendall(frame(answer(cost=2)))
    ranking = ask(mine)
    assert (ranking.docs, ranking.cost) == (["a", "b"], 2) and ranking.ms is not None
    assert json.loads(other.recv(1000)) == {"id": "q1", "query": "what", "n": 3}


def test_an_answer_may_come_in_pieces_with_other_output_in_between(ends):
    mine, other = ends
    whole = frame(answer()[:9]) + frame(b"warning: slow\n", stream=2) + frame(answer()[9:])

    def drip() -> None:
        for byte in whole:
            other.sendall(bytes([byte]))

    threading.Thread(target=drip, daemon=True).start()
    assert ask(mine).docs == ["a", "b"]


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(ends):
    mine, other = ends
    seat = PipeSeat(Pipe(mine), 0.0)
    with pytest.raises(QueryFailed, match="gave no answer in time") as caught:
        ask(mine, "q1", 0.05, seat)
    assert caught.value.outage
    other.sendall(frame(answer("q1", ranked=["late"]) + answer("q2")))
    assert ask(mine, "q2", 5.0, seat).docs == ["a", "b"]


@pytest.mark.parametrize(("line", "said"), [
    (b"loading the model\n", "a line that is not JSON"),
    (b"[1]\n", "without the `id`"),
    (b'{"ranked": []}\n', "without the `id`"),
    (answer("q7"), "answered the query 'q7', which it was not asked"),
    (answer(results=[]), "unknown key 'results'"),
    (answer(error="index is gone"), "answered with an error: index is gone"),
    (answer(ranked="a"), "ranked"),
    (answer(ranked=["a" * 10_001]), "an id of 10001 characters"),
    (b"x" * (MAX_ANSWER + 1), "a line of more than"),
])
def test_what_is_no_answer_is_the_fault_of_its_query_and_says_why(ends, line, said):
    mine, other = ends
    threading.Thread(target=lambda: other.sendall(frame(line)), daemon=True).start()
    with pytest.raises(QueryFailed, match=said):
        ask(mine)


def test_a_container_that_has_gone_answers_nothing(ends):
    mine, other = ends
    other.close()
    with pytest.raises(QueryFailed, match="standard (in|out)put is closed"):
        ask(mine)
