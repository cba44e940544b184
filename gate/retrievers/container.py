"""Kind ``container``: the team's own search, started by the gate from its image with next to no rights, asked over HTTP or by lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.docker.health import GRACE, HOST, Health
from gate.docker.pipe import Pipe, PipeSeat
from gate.docker.settings import Image, filled, read_container
from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers import http
from gate.retrievers.base import Given
from gate.retrievers.pool import Pool
from gate.retrievers.team.output import Captured
from gate.runs import Ranking
from gate.web.address import Address

if TYPE_CHECKING:
    from gate.docker.box import Box
    from gate.retriever_settings import RetrieverSettings

# Somebody who owns nothing, on the runner and in the image alike.
NOBODY = "65534:65534"
NETWORKS = ("shared", "none")


class Options(NamedTuple):
    """``http``: how it is asked, as kind ``http`` is, None by lines of its standard input and output; ``path``: its url without the host,
    which is for the gate to know; ``alone``: without a network."""

    container: Image
    http: http.Options | None = None
    path: str = ""
    alone: bool = False


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    stdio, alone = section.boolean("stdio", False), section.choice("network", NETWORKS, NETWORKS[0]) == "none"
    container = read_container(section, port_required=not stdio)
    given = section.mapping("http", required=not stdio)
    if not stdio:
        if alone:
            section.problem("network", "`network` is none, but then nobody can ask it over HTTP; use `stdio: true`, or leave it out")
        return _over_http(section, container, given, paths)
    for key in ("http", "port"):
        if section.raw(key) is not None:
            section.problem(key, f"`{key}` has no meaning with `stdio: true`")
    if section.raw("concurrency") not in (None, 1):
        section.problem("concurrency", "with `stdio: true` one query is asked after another; `concurrency` must be left out or 1")
    return Options(container, alone=alone)


def _over_http(section: Section, container: Image, given: Mapping[str, Any], paths: Paths) -> Options:
    path = given.get("url")
    if not isinstance(path, str) or not path.startswith("/"):
        if given:
            section.problem("http.url", f"`url` must be a path that begins with /, for instance /search; the host is the container, port "
                                        f"{container.port or 8080}")
        path = "/"
    inner = section.section("http", {**given, "url": _url(container.port, path)})
    options = http.read(inner, paths)
    if options.health and not options.health.startswith("/"):
        inner.problem("health", "`health` must be a path that begins with /")
    inner.done()
    return Options(container, options, path)


def _url(port: int, path: str) -> str:
    return f"http://{HOST}:{port or 1}{path}"


def build(settings: RetrieverSettings, given: Given) -> ContainerRetriever:
    """See :mod:`gate.retrievers`."""
    return ContainerRetriever(settings, given)


class ContainerRetriever:
    """The container lives from entering to leaving. ``captured``: the last lines that it wrote."""

    def __init__(self, settings: RetrieverSettings, given: Given) -> None:
        self.settings, self.options, self._given = settings, settings.options, given
        self.captured = Captured()
        self._notes: list[str] = []
        self._around = ExitStack()
        self._box: Box | None = None
        self._inner: http.HttpRetriever | None = None
        self._pipe: Pipe | None = None

    @property
    def notes(self) -> list[str]:
        found = [*self._notes, *(self._inner.notes if self._inner else [])]
        return [self._box.hidden(note) for note in found] if self._box else found

    def describe(self) -> Mapping[str, Any]:
        container, options = self.options.container, self.options
        described: dict[str, Any] = {"kind": "container", "image": container.image}
        words = (("command", container.command), ("entrypoint", container.entrypoint))
        described |= {name: " ".join(value) for name, value in words if value}
        described |= {"env": {name: text.text for name, text in container.env}} if container.env else {}
        if options.http is None:
            return described | {"stdio": True} | ({"network": "none"} if options.alone else {})
        asked = {**(self._inner or self._asker(options.http, container.port)).describe(), "url": options.path}
        return described | {"http": {name: value for name, value in asked.items() if name != "kind"}}

    def _asker(self, options: http.Options, port: int) -> http.HttpRetriever:
        service = options.service._replace(address=Address(_url(port, self.options.path)), key="http.url")
        return http.build(self.settings._replace(options=options._replace(service=service)), self._given)

    def __enter__(self) -> ContainerRetriever:
        with ExitStack() as around:
            self._start(around)
            self._around = around.pop_all()
        return self

    def _start(self, around: ExitStack) -> None:
        from gate.docker.box import Box
        from gate.docker.dock import Dock, Wanted

        container, limits, snapshot, options = self.options.container, self.settings.limits, self._given.snapshot, self.options.http
        environment = filled(container.env, self._given.world.variables, "retriever.env")
        dock = Dock()
        around.callback(dock.close)
        self._notes += dock.notes
        box = self._box = Box(dock, Wanted(
            "the retriever's container", container.image, container.command, container.entrypoint, environment.values, environment.secrets,
            container.user or NOBODY, limits.memory_mb, "retriever.limits.memory_mb", container.port,
            mount=(snapshot.path, container.mount) if snapshot else None, stdin=options is None, alone=self.options.alone))
        around.callback(self._remove)
        if options is None:
            self._pipe = box.attach()
            around.callback(self._pipe.close)
            box.start()
            return
        port = box.start()
        box.wait(Health(options.health), limits.start_seconds, "retriever.limits.start_seconds")
        self._inner = around.enter_context(self._asker(options, port))

    def _remove(self) -> None:
        assert self._box is not None
        self.captured.add(self._box.printed().encode())
        self._box.remove()

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        if self._box is None:
            raise RuntimeError("use the retriever as a context manager")
        hidden = self._box.hidden
        try:
            for query_id, ranking in self._answers(queries, depth):
                if ranking.error:
                    self._box.check()
                    ranking.error = hidden(ranking.error)
                yield query_id, ranking
        except RetrieverFailed as failure:
            self._box.check(grace=GRACE)  # that it has ended says more than that nobody answers
            raise RetrieverFailed([hidden(problem) for problem in failure.problems], failure.cure) from None

    def _answers(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        if self._inner is not None:
            yield from self._inner.retrieve(queries, depth)
            return
        assert self._pipe is not None
        limits, pipe = self.settings.limits, self._pipe
        pool = Pool(lambda: PipeSeat(pipe, limits.start_seconds), limits)
        try:
            yield from pool.retrieve(queries, depth)
        finally:
            self._notes += pool.notes

    def __exit__(self, *exc: object) -> None:
        self._around.close()
