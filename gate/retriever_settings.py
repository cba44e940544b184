"""``retriever:`` of a configuration → what to ask, how, and within which limits. What a kind needs is read by its own module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gate import jsonio
from gate.fields import Section
from gate.paths import Paths
from gate.retrievers import CONCURRENT, KINDS, NEEDS_SNAPSHOT, module_of
from gate.retrievers.limits import Limits, read_limits

_MOST_AT_ONCE = 64


class RetrieverSettings(NamedTuple):
    """``options``: the Options of the kind's module. ``concurrency``: how many queries are asked at once. ``digest``: of the section as it
    is written, for whoever must know whether it is still the same."""

    kind: str
    options: Any = None
    limits: Limits = Limits()
    concurrency: int = 1
    digest: str = ""

    @property
    def legs(self) -> tuple[RetrieverSettings, ...]:
        """The retrievers that this one is made of."""
        return tuple(getattr(self.options, "legs", ()))

    def parts(self) -> Iterator[tuple[str, Any]]:
        """The kind and the options of everything that has a say in its answers: itself, its embedding, and all that its legs have."""
        yield self.kind, self.options
        embedding = getattr(self.options, "embedding", None)
        if embedding is not None:
            yield embedding.kind, embedding.options
        for leg in self.legs:
            yield from leg.parts()

    @property
    def needs_snapshot(self) -> bool:
        """Whether it, or one that it is made of, cannot do without a snapshot."""
        return self.kind in NEEDS_SNAPSHOT or any(leg.needs_snapshot for leg in self.legs)


def read_retriever(section: Section, paths: Paths) -> RetrieverSettings:
    """Faults are remembered in the section; so the result of a faulty one is of no use."""
    kind = section.choice("kind", KINDS, "", required=True)
    limits = read_limits(section.section("limits", section.mapping("limits")))
    concurrency = section.integer("concurrency", 1, 1, _MOST_AT_ONCE)
    if concurrency > 1 and kind and kind not in CONCURRENT:
        section.problem("concurrency", f"`concurrency` is {concurrency}, but a {kind} retriever answers one query after another; it must "
                                       f"be left out or 1 (kinds that ask several at once: {', '.join(CONCURRENT)})")
    options = module_of(kind).read(section, paths) if kind else None
    if kind:  # without one nobody knows which keys are meant
        section.done()
    return RetrieverSettings(kind, options, limits, concurrency, jsonio.sha256(repr(section.plain()).encode()))
