"""Kind ``http``: a search service of the team's own, asked over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio
from gate.fields import Section
from gate.figures import plural, short_digest
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.limits import Limits
from gate.retrievers.pool import Pool, QueryFailed
from gate.runs import BadRanking, Ranking, parse_ranking
from gate.web.jsonpath import BadPath, Nothing, Path, contents
from gate.web.service import Service, ServiceOptions, read_service
from gate.web.template import holds, put_in, template_fault, texts
from gate.world import World

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings
    from gate.web.connection import Connection

METHODS = ("GET", "POST", "PUT")
# Rankings are kept until the report.
LONGEST_ID = 10_000
_MOST_WARM_UP = 1000
_OF_ITEM = ("score", "chunk", "start", "end")
_OF_ANSWER = ("candidates", "cost", "ms")


class Options(NamedTuple):
    """``body``: a JSON template, None without one. ``paths``: what is read → where it is: ``results``, ``candidates``, ``cost`` and ``ms``
    in the answer, ``candidate_id`` in a candidate, everything else in a result."""

    service: ServiceOptions
    method: str
    body: Any
    paths: Mapping[str, Path]
    warm_up: int = 0
    health: str = ""


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    service = read_service(section, paths, placeholders=True)
    body = section.raw("body")
    method = section.choice("method", METHODS, "GET" if body is None else "POST")
    if body is not None:
        if fault := template_fault(body):
            section.problem("body", f"`body` {fault}")
        elif any("${" in text for text in texts(body)):
            section.problem("body", "`body` has `${` in it, but secrets are put into `url` and `headers` only")
        if method == "GET":
            section.problem("body", "`body` is never sent with GET; set `method` to POST or PUT, or leave it out")
    if not holds(body, "query") and not service.address.holds("{query}"):
        section.problem("url", "neither `url` nor `body` has {query} in it, so every query would get the same answer")
    found = {name: path for name, usual in _READ.items() if (path := _path(section, name, section.text(name, usual))) is not None}
    if "candidate_id" in found and "candidates" not in found:
        section.problem("candidate_id", "`candidate_id` is read from each of `candidates`, which is not set")
    if ("start" in found) != ("end" in found):
        section.problem("start" if "start" in found else "end", "`start` and `end` belong together")
    health = section.text("health", "")
    if health and (not health.startswith(("/", "http://", "https://")) or "${" in health or not health.isprintable() or " " in health):
        section.problem("health", "`health` must be a path that begins with /, or an address; without `${`")
    return Options(service, method, body, found, section.integer("warm_up", 0, 0, _MOST_WARM_UP), health)


_READ = {"results": "results", "id": "id", **dict.fromkeys((*_OF_ITEM, *_OF_ANSWER, "candidate_id"), "")}


def _path(section: Section, name: str, text: str) -> Path | None:
    if not text:
        return None
    try:
        return Path.parse(text)
    except BadPath as fault:
        section.problem(name, f"`{name}`: {fault}")
        return Path()


def build(settings: RetrieverSettings, given: Given) -> HttpRetriever:
    """See :mod:`gate.retrievers`."""
    return HttpRetriever(settings.options, settings.limits, settings.concurrency, given.world)


class HttpRetriever:
    """Takes its secrets and waits for ``health`` when entered."""

    def __init__(self, options: Options, limits: Limits, concurrency: int, world: World) -> None:
        self.options, self._limits, self._concurrency, self._world = options, limits, concurrency, world
        self._service: Service | None = None
        self._notes: list[str] = []

    @property
    def notes(self) -> list[str]:
        return [*self._notes, *(self._service.notes if self._service else [])]

    def describe(self) -> Mapping[str, Any]:
        options = self.options
        headers = {name: text.text for name, text in options.service.headers}
        request = short_digest(jsonio.digest({"body": options.body, "headers": headers}))
        return {"kind": "http", "url": options.service.address.shown, "method": options.method, "request": request,
                **{name: str(path) for name, path in options.paths.items()}}

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        service = self._service
        if service is None:
            raise RuntimeError("use the retriever as a context manager")
        self._warm_up(service, queries, depth)
        pool = Pool(lambda: _Seat(self.options, service), self._limits, self._concurrency)
        try:
            yield from pool.retrieve(queries, depth)
        finally:
            self._notes += pool.notes

    def _warm_up(self, service: Service, queries: Sequence[Query], depth: int) -> None:
        """Ask the first queries and forget the answers: what a service loads and caches at first is not what is measured."""
        deadline, failed, last = time.monotonic() + self._limits.start_seconds, 0, ""
        with service.connect() as connection:
            seat = _Seat(self.options, service, connection)
            for query in islice(queries, self.options.warm_up):
                if (left := deadline - time.monotonic()) <= 0:
                    self._notes.append(f"warming up took longer than {self._limits.start_seconds:g} s and was ended")
                    break
                try:
                    seat.ask(query, depth, min(left, self._limits.query_seconds))
                except QueryFailed as fault:
                    failed, last = failed + 1, str(fault)
        if failed:
            self._notes.append(f"{plural(failed, 'query')} of the warm-up got no answer: {last}")

    def __enter__(self) -> HttpRetriever:
        self._service = Service(self.options.service, self._world)
        if self.options.health:
            self._service.wait_until_healthy(self.options.health, self._limits.start_seconds)
        return self

    def __exit__(self, *exc: object) -> None:
        """Every seat has closed its own connection."""


class _Seat:
    """See :class:`gate.retrievers.pool.Seat`."""

    def __init__(self, options: Options, service: Service, connection: Connection | None = None) -> None:
        self._options, self._service = options, service
        self._connection = connection or service.connect()

    def ask(self, query: Query, depth: int, seconds: float) -> Ranking:
        values: dict[str, str | int] = {"query": query.text, "n": depth}
        body = None if self._options.body is None else put_in(self._options.body, values)
        what = f"{self._options.method} {self._service.shown()}"
        reply = self._connection.ask(self._options.method, seconds, body, values=values)
        answer = self._connection.decoded(reply, what)
        try:
            ranking = ranking_of(answer, self._options.paths, depth)
        except (Nothing, BadRanking) as fault:
            # Keys and values of somebody's answer are quoted in it.
            raise QueryFailed(f"{what}: {self._service.mask.excerpt(str(fault), 600)}") from None
        if ranking.ms is None:
            ranking.ms = reply.ms  # of the attempt that was answered, without the waits before it
        return ranking

    def close(self) -> None:
        self._connection.close()


def ranking_of(answer: Any, paths: Mapping[str, Path], depth: int) -> Ranking:
    """What ``paths`` find in an answer. One more result than ``depth`` is read, so that who cuts knows. Raises :class:`Nothing` or
    BadRanking, which name the setting."""
    results = _list(_found(answer, paths["results"], "results"), paths["results"], "results")
    record: dict[str, Any] = {"ranked": [_item(item, paths, number) for number, item in enumerate(results[:depth + 1], 1)]}
    if "candidates" in paths:
        inner = paths.get("candidate_id", paths["id"])
        if (found := _found(answer, paths["candidates"], "candidates")) is not None:
            record["candidates"] = [_identifier(_one(item, inner, f"candidate {number}"), f"candidate {number}")
                                    for number, item in enumerate(_list(found, paths["candidates"], "candidates"), 1)]
    for name in ("cost", "ms"):
        if name in paths:
            record[name] = _one(answer, paths[name], name)
    return parse_ranking(record)


def _found(answer: Any, path: Path, setting: str) -> Any:
    try:
        return path.all(answer) if path.several else path.one(answer)
    except Nothing as fault:
        raise Nothing(f"`{setting}`: {fault}") from None


def _list(found: Any, path: Path, setting: str) -> list[Any]:
    if not isinstance(found, list):
        raise Nothing(f"`{setting}`: `{path}` must lead to a list, but there is {contents(found)}")
    return found


def _one(value: Any, path: Path, what: str) -> Any:
    try:
        return path.one(value)
    except Nothing as fault:
        raise Nothing(f"{what}: {fault}") from None


def _item(item: Any, paths: Mapping[str, Path], number: int) -> dict[str, Any]:
    what = f"result {number}"
    found = {"doc": _identifier(_one(item, paths["id"], what), what)}
    for name in _OF_ITEM:
        if name in paths and (value := _one(item, paths[name], what)) is not None:
            found[name] = _identifier(value, what) if name == "chunk" else value
    return found


def _identifier(value: Any, what: str) -> str:
    """Ids are texts; whole numbers are as good."""
    if type(value) not in (str, int) or value == "":
        raise BadRanking(f"{what} has for its id {contents(value)}; ids are non-empty texts or whole numbers")
    text = str(value)
    if len(text) > LONGEST_ID:
        raise BadRanking(f"{what} has an id of {len(text)} characters; the gate keeps ids of at most {LONGEST_ID}")
    return text
