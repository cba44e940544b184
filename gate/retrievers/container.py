"""Kind ``container``: the team's own search service, started by the gate from its image, with next to no rights, and asked over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.docker.health import GRACE, HOST, Health
from gate.docker.settings import Image, filled, read_container
from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers import http
from gate.retrievers.base import Given
from gate.retrievers.output import Captured
from gate.runs import Ranking
from gate.web.address import Address

if TYPE_CHECKING:
    from gate.docker.box import Box
    from gate.retriever_settings import RetrieverSettings

# Somebody who owns nothing, on the runner and in the image alike.
NOBODY = "65534:65534"


class Options(NamedTuple):
    """``http``: how it is asked, as kind ``http`` is; ``path``: its url without the host, which is for the gate to know."""

    container: Image
    http: http.Options
    path: str


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    container = read_container(section, port_required=True)
    given = section.mapping("http", required=True)
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

    @property
    def notes(self) -> list[str]:
        return [*self._notes, *(self._inner.notes if self._inner else [])]

    def describe(self) -> Mapping[str, Any]:
        container, inner = self.options.container, self._inner or self._asker(self.options.container.port)
        words = {name: " ".join(value) for name, value in (("command", container.command), ("entrypoint", container.entrypoint)) if value}
        env = {"env": {name: text.text for name, text in container.env}} if container.env else {}
        asked = {**inner.describe(), "url": self.options.path}
        del asked["kind"]
        return {"kind": "container", "image": container.image, **words, **env,
                "http": asked}

    def _asker(self, port: int) -> http.HttpRetriever:
        options: http.Options = self.options.http
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

        container, limits, snapshot = self.options.container, self.settings.limits, self._given.snapshot
        environment = filled(container.env, self._given.world.variables, "retriever.env")
        dock = Dock()
        around.callback(dock.close)
        self._notes += dock.notes
        box = self._box = Box(dock, Wanted(
            "the retriever's container", container.image, container.command, container.entrypoint, environment.values, environment.secrets,
            container.user or NOBODY, limits.memory_mb, "retriever.limits.memory_mb", container.port,
            mount=(snapshot.path, container.mount) if snapshot else None))
        around.callback(self._remove)
        port = box.start()
        box.wait(Health(self.options.http.health), limits.start_seconds, "retriever.limits.start_seconds")
        self._inner = around.enter_context(self._asker(port))

    def _remove(self) -> None:
        assert self._box is not None
        self.captured.add(self._box.printed().encode())
        self._box.remove()

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        if self._inner is None or self._box is None:
            raise RuntimeError("use the retriever as a context manager")
        try:
            for query_id, ranking in self._inner.retrieve(queries, depth):
                if ranking.error:
                    self._box.check()
                yield query_id, ranking
        except RetrieverFailed:
            self._box.check(grace=GRACE)  # that it has ended says more than that nobody answers
            raise

    def __exit__(self, *exc: object) -> None:
        self._around.close()
