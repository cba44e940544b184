"""The protocol of a source of query vectors, and its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given

if TYPE_CHECKING:
    import numpy as np

KINDS = ("snapshot", "endpoint", "function")


class QueryVectors(Protocol):
    """Used as a context manager."""

    notes: list[str]

    def describe(self) -> Mapping[str, Any]:
        """Plain values for the record: kind, model, revision. Complete after :meth:`of`."""
        ...

    def of(self, queries: Sequence[Query], width: int = 0) -> np.ndarray:
        """One row a query, in their order, float16, float32 or float64, all finite. ``width``: dimensions of the documents' vectors, 0
        where not known; what was kept from another run with others is made anew. Raises :class:`InvalidInput` that lists every query
        without one, or RetrieverFailed."""
        ...

    def __enter__(self) -> QueryVectors: ...

    def __exit__(self, *exc: object) -> None: ...


class EmbeddingSettings(NamedTuple):
    """``options``: the Options of the kind's module."""

    kind: str = "snapshot"
    options: Any = None


def read_embedding(section: Section, paths: Paths) -> EmbeddingSettings:
    """``embedding:`` of a retriever; without one, the snapshot's own query vectors. Faults are remembered in the section."""
    kind = section.choice("kind", KINDS, "snapshot")
    options = import_module(f"gate.embedding.{kind}").read(section, paths)
    section.done()
    return EmbeddingSettings(kind, options)


def open_vectors(settings: EmbeddingSettings, given: Given) -> QueryVectors:
    """The source that ``settings`` describe, not yet entered."""
    built: QueryVectors = import_module(f"gate.embedding.{settings.kind}").build(settings.options, given)
    return built
