"""Settings → the retriever they describe."""

from __future__ import annotations

from gate.errors import InvalidInput
from gate.retriever_settings import RetrieverSettings
from gate.retrievers import KINDS, NEEDS_SNAPSHOT, module_of
from gate.retrievers.base import Given, Retriever


def build_retriever(settings: RetrieverSettings, given: Given) -> Retriever:
    """The retriever of ``settings``. Raises :class:`InvalidInput`."""
    if settings.kind not in KINDS:
        raise InvalidInput(f"retriever kind {settings.kind!r} must be one of {', '.join(KINDS)}")
    if settings.kind in NEEDS_SNAPSHOT and given.snapshot is None:
        raise InvalidInput(f"a {settings.kind} retriever needs a snapshot", "set `snapshot.path` and `snapshot.digest`")
    built: Retriever = module_of(settings.kind).build(settings, given)
    return built
