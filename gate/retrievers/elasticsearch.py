"""Kinds ``elasticsearch`` and ``opensearch``: an index, searched by text, by vector, or by whatever a whole search body says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.embedding.base import EmbeddingSettings, read_embedding
from gate.fields import Section
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.engines.ann_loss import read_search
from gate.retrievers.engines.index_check import read_check
from gate.retrievers.engines.searching import How, SearchRetriever
from gate.retrievers.engines.stored import Keys, read_keys
from gate.retrievers.engines.wire import read_engine
from gate.secret_text import SecretText, read_secret_text
from gate.web.service import Service, ServiceOptions
from gate.web.template import holds, template_fault
from gate.world import World

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings

_WAYS = ("query", "body", "vector_field")


class Login(NamedTuple):
    """Where the engine is, and what it knows the gate by: a key, or a user with a password, or what stands in address and headers."""

    service: ServiceOptions
    api_key: SecretText = SecretText()
    user: str = ""
    password: SecretText = SecretText()

    def opened(self, world: World) -> Service:
        """Raises RetrieverFailed where a secret is missing."""
        more = {"Authorization": SecretText(f"ApiKey {self.api_key.text}")} if self.api_key.text else None
        return Service(self.service, world, more, "api_key", (self.user, self.password) if self.user else None)


class Options(NamedTuple):
    """Exactly one of ``query`` (a query of the engine's language), ``body`` (a whole search) and ``vector_field`` says how is searched.

    ``effort``: of approximate search, num_candidates or ef_search. ``tie_break``: a sortable field. ``parameters``: of the request's
    address. ``mapping``: of an index that ``load`` or ``bulk`` creates, a file."""

    login: Login
    index: str
    keys: Keys
    embedding: EmbeddingSettings
    opensearch: bool = False
    query: Mapping[str, Any] = {}
    body: Mapping[str, Any] = {}
    vector_field: str = ""
    effort: int = 0
    where: Any = None
    search: str = "ann"
    ann_loss: bool = False
    tie_break: str = ""
    parameters: Mapping[str, str] = {}
    check: str = ""
    load: bool = False
    bulk: Path | None = None
    mapping: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """What decides answers besides the settings themselves."""
        return tuple(file for file in (self.bulk, self.mapping) if file)

    @property
    def by_vector(self) -> bool:
        """Whether queries have to be embedded."""
        return bool(self.vector_field) or holds(self.body, "vector") or holds(self.query, "vector")


def _login(section: Section, paths: Paths, opensearch: bool) -> Login:
    service = read_engine(section, paths)
    key = "" if opensearch else section.text("api_key", "")  # OpenSearch knows none
    user, password = section.text("user", ""), section.text("password", "")
    given = [name for name, _ in service.headers if name.lower() == "authorization"]
    if len([way for way in (key, user, given) if way]) > 1:
        section.problem("api_key" if key else "user", "`api_key`, `user` and a header Authorization exclude one another; leave one of them")
    if bool(user) != bool(password):
        section.problem("user" if user else "password", "`user` and `password` belong together; one of them is missing")
    return Login(service, read_secret_text(section, "api_key", key), user, read_secret_text(section, "password", password))


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    opensearch = section.plain().get("kind") == "opensearch"
    login, keys = _login(section, paths, opensearch), read_keys(section)
    keys = keys._replace(document="" if keys.document == "_id" else keys.document)
    query, body, field = section.mapping("query"), section.mapping("body"), section.text("vector_field", "")
    ways = [name for name, given in zip(_WAYS, (query, body, field), strict=True) if given]
    if len(ways) != 1:
        section.problem(ways[1] if ways else "kind", "exactly one of `query`, `body` and `vector_field` must say how is searched"
                                                     + (f", not {' and '.join(ways)}" if ways else ""))
    where = section.raw("filter")
    for name, template in (("query", query), ("body", body), ("filter", where)):
        if fault := template_fault(template):
            section.problem(name, f"`{name}` {fault}")
    if "'" in field or "\\" in field:
        section.problem("vector_field", "`vector_field` must be the name of a field")
    search, loss = read_search(section)
    name = "ef" if opensearch else "num_candidates"
    effort = section.integer(name, 0, 1, 10_000)
    if not field:
        for key, given in (("search", section.raw("search")), ("ann_loss", loss), (name, effort)):
            if given:
                section.problem(key, f"`{key}` is for searches by `vector_field`")
    if effort and search == "exact":
        section.problem(name, f"`{name}` is for approximate search, and `search` is exact; leave one of them out")
    if where is not None and not (isinstance(where, dict) or (isinstance(where, list) and all(isinstance(item, dict) for item in where))):
        section.problem("filter", "`filter` must be a query, or a list of queries")
    tie_break, load = section.text("tie_break", ""), section.boolean("load", False)
    for key, given in (("filter", where), ("tie_break", tie_break)):
        if body and given:
            section.problem(key, f"`body` is the whole request, so what `{key}` says must be a part of it")
    parameters = section.mapping("parameters")
    for key, value in parameters.items():
        if not isinstance(value, (str, int)) or key in ("preference", "allow_partial_search_results", "scroll"):
            section.problem(f"parameters.{key}", f"`parameters.{key}` must be text and none that the gate sets itself")
    restored = section.section("restore", section.mapping("restore"))
    bulk = restored.text("bulk", "", required=section.raw("restore") is not None)
    restored.done()
    mapping = section.text("mapping", "")
    if load and bulk:
        section.problem("restore", "`load` and `restore` both fill the index; leave one of them out")
    if mapping and not (load or bulk):
        section.problem("mapping", "`mapping` is for the index that `load` or `restore` creates")
    embedding = read_embedding(section.section("embedding", section.mapping("embedding")), paths)
    return Options(login, section.text("index", "", required=True), keys, embedding, opensearch, query, body, field, effort, where,
                   search, loss, tie_break, {key: str(value) for key, value in parameters.items()}, read_check(section), load,
                   paths.take(restored, "bulk", bulk) if bulk else None, paths.take(section, "mapping", mapping) if mapping else None)


def build(settings: RetrieverSettings, given: Given) -> SearchRetriever:
    """See :mod:`gate.retrievers`."""
    from gate.retrievers.engines.elastic_service import ElasticService

    options: Options = settings.options
    # Without a field of vectors there are none to compare, whatever the snapshot holds.
    check = options.check or ("ids" if given.snapshot and not options.vector_field else "")
    how = How(options.by_vector, options.embedding, options.search == "exact", options.ann_loss, check, bool(options.keys.chunk))
    return SearchRetriever(settings, given, ElasticService(options, given), how)
