"""One file a kind of retriever, one protocol (:mod:`gate.retrievers.base`).

The module of a kind has ``Options`` (what its settings hold), ``read(section, paths) -> Options`` and
``build(settings, given) -> Retriever``. It is imported when a configuration names the kind.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

KINDS = ("bm25", "dense", "run", "python", "command", "http", "container", "pgvector", "chroma", "qdrant", "elasticsearch", "opensearch",
         "hybrid")
NEEDS_SNAPSHOT = ("bm25", "dense")
CONCURRENT: tuple[str, ...] = ("python", "command", "http", "container", "pgvector", "chroma", "qdrant", "elasticsearch", "opensearch")
_MODULES = {"run": "runfile", "opensearch": "elasticsearch"}


def module_of(kind: str) -> ModuleType:
    """The module of one of KINDS."""
    return import_module(f"gate.retrievers.{_MODULES.get(kind, kind)}")
