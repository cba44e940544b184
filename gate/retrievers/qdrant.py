"""Kind ``qdrant``: a collection of a Qdrant server, over its REST interface."""

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
from gate.web.service import ServiceOptions
from gate.web.template import holds, template_fault

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings


class Options(NamedTuple):
    """``using``: the named vector. ``body``: a whole query as the team writes it, with placeholders, instead of a search by vector.
    ``create``: parameters of a collection that ``load`` creates. ``restore``: a snapshot file of Qdrant's own."""

    service: ServiceOptions
    collection: str
    keys: Keys
    embedding: EmbeddingSettings
    api_key: SecretText = SecretText()
    using: str = ""
    where: Mapping[str, Any] = {}
    search: str = "ann"
    ann_loss: bool = False
    ef: int = 0
    quantization: Mapping[str, Any] = {}
    body: Mapping[str, Any] = {}
    check: str = ""
    load: bool = False
    create: Mapping[str, Any] = {}
    restore: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """What decides answers besides the settings themselves."""
        return (self.restore,) if self.restore else ()

    @property
    def by_vector(self) -> bool:
        """Whether queries have to be embedded."""
        return not self.body or holds(self.body, "vector")


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    service = read_engine(section, paths)
    api_key = read_secret_text(section, "api_key", section.text("api_key", ""))
    keys = read_keys(section)
    search, loss = read_search(section)
    body, ef, load = section.mapping("body"), section.integer("ef", 0, 1, 100_000), section.boolean("load", False)
    quantization = section.mapping("quantization")
    if odd := sorted(quantization.keys() - {"ignore", "rescore", "oversampling"}):
        section.problem(f"quantization.{odd[0]}", f"`quantization` has no {odd[0]!r}; it may hold ignore, rescore, oversampling")
    create, where = section.mapping("create"), section.mapping("filter")
    for name, value in (("body", body), ("create", create), ("filter", where), ("quantization", quantization)):
        if fault := template_fault(value):
            section.problem(name, f"`{name}` {fault}")
    if body:
        for name in ("filter", "ef", "quantization", "search", "ann_loss"):
            if section.raw(name) is not None:
                section.problem(name, f"`body` is the whole request, so `{name}` must be a part of it")
    if search == "exact" and ef:
        section.problem("ef", "`ef` is for approximate search, and `search` is exact; leave one of them out")
    restored = section.section("restore", section.mapping("restore"))
    file = restored.text("snapshot", "", required=section.raw("restore") is not None)
    restored.done()
    if load and not keys.document:
        section.problem("load", "`load` needs `document`, the payload key that the id of a unit is written to: ids of points are numbers "
                                "or UUIDs in Qdrant")
    if load and file:
        section.problem("restore", "`load` and `restore` both fill the collection; leave one of them out")
    if create and not load:
        section.problem("create", "`create` is for the collection that `load` creates")
    using = section.text("using", "")
    embedding = read_embedding(section.section("embedding", section.mapping("embedding")), paths)
    return Options(service, section.text("collection", "", required=True), keys, embedding, api_key, using, where, search, loss, ef,
                   quantization, body, read_check(section), load, create, paths.take(restored, "snapshot", file) if file else None)


def build(settings: RetrieverSettings, given: Given) -> SearchRetriever:
    """See :mod:`gate.retrievers`."""
    from gate.retrievers.engines.qdrant_service import QdrantService

    options: Options = settings.options
    how = How(options.by_vector, options.embedding, options.search == "exact", options.ann_loss, options.check, bool(options.keys.chunk))
    return SearchRetriever(settings, given, QdrantService(options, given), how)
