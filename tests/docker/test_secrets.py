"""A container may repeat the secrets of its environment; the gate does not."""

import json
import socket
import threading
from types import SimpleNamespace

import pytest

from gate.docker.box import Box
from gate.docker.dock import Wanted
from gate.docker.health import Health
from gate.docker.pipe import Pipe
from gate.errors import RetrieverFailed
from gate.retrievers.base import Given
from gate.retrievers.container import ContainerRetriever
from gate.settings import parse_settings
from tests.docker.test_pipe import frame
from tests.retrievers.support import queries

SECRET, IMAGE = "sk-0123456789abcdef", "sha256:" + "1" * 64
SETTINGS = f"golden: g.jsonl\nretriever: {{kind: container, image: '{IMAGE}', stdio: true}}\n"


class Container:
    """One that runs, and whose commands fail with what they were given."""

    id, status = "c1", "running"
    attrs = {"NetworkSettings": {"Ports": {}}}

    def reload(self):
        pass

    def start(self):
        pass

    def remove(self, **_):
        pass

    def logs(self, **_):
        return b""


def box_of(**wanted):
    api = SimpleNamespace(exec_create=lambda *_: {"Id": "e1"}, exec_start=lambda *_, **__: [f"no login with {SECRET}\n".encode()],
                          exec_inspect=lambda _: {"ExitCode": 1})
    client = SimpleNamespace(api=api, containers=SimpleNamespace(create=lambda *_, **__: Container()),
                             images=SimpleNamespace(get=lambda _: SimpleNamespace(id=IMAGE, attrs={})))
    dock = SimpleNamespace(client=client, own=None, network=lambda _: {})
    return Box(dock, Wanted("service db", IMAGE, secrets=(SECRET,), **wanted))


def test_a_command_that_looks_after_its_health_repeats_one():
    box = box_of()
    try:
        with pytest.raises(RetrieverFailed, match=r"ended with status 1: no login with \*\*\*") as caught:
            box.wait(Health(command=("login",)), 0.0, "start_seconds")
    finally:
        box.remove()
    assert SECRET not in caught.value.text()


def answers(line):
    """What a retriever asked by lines makes of a container that answers each question with ``line``."""
    retriever = ContainerRetriever(parse_settings(SETTINGS.encode(), "c.yml", "c.yml").retriever, Given())
    mine, theirs = socket.socketpair()
    retriever._box, retriever._pipe = box_of(), Pipe(mine)

    def answer():
        for question in theirs.makefile("rb"):
            theirs.sendall(frame(json.dumps({"id": json.loads(question)["id"], **line}).encode() + b"\n"))

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        return [ranking for _, ranking in retriever.retrieve(queries(2), 10)]
    finally:
        retriever._box.remove()
        mine.close()
        theirs.shutdown(socket.SHUT_RDWR)
        thread.join(10)
        theirs.close()


@pytest.mark.parametrize("line", [{"error": f"key {SECRET} is not known"}, {"ranked": [], SECRET: 1}])
def test_its_answer_repeats_one(line):
    found = answers(line)
    assert len(found) == 2 and all("***" in ranking.error and SECRET not in ranking.error for ranking in found)
