"""One file a kind of place that snapshots are fetched from.

The module of a kind has ``Options`` (what its settings hold, with ``shown``, a name for messages), ``read(section) -> Options`` and
``fetch(options, room)``, which fills a folder and believes nothing: what came is verified by :mod:`gate.snapshot.obtain`.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

KINDS = ("git", "https", "release", "artifact", "image")


def module_of(kind: str) -> ModuleType:
    """The module of one of KINDS."""
    return import_module(f"gate.snapshot.sources.{kind}")
