"""Kind ``hybrid``: several retrievers of any kind, fused by reciprocal rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio
from gate.errors import GateError, RetrieverFailed
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given, Retriever
from gate.retrievers.cutting import cut
from gate.retrievers.fusion import fuse
from gate.runs import Ranking

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings

_USUAL_K, _USUAL_FETCH, _MOST_LEGS = 60.0, 100, 8


class Options(NamedTuple):
    """``fetch``: results asked of each leg; 0: the depth, but 100 at least."""

    legs: tuple[RetrieverSettings, ...]
    k: float = _USUAL_K
    weights: tuple[float, ...] = ()
    fetch: int = 0


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    from gate.retriever_settings import read_retriever

    given = section.raw("legs")
    if not isinstance(given, list) or not 2 <= len(given) <= _MOST_LEGS:
        section.problem("legs", f"`legs` must be a list of two to {_MOST_LEGS} retrievers")
        given = []
    legs = []
    for number, value in enumerate(given):
        if not isinstance(value, dict):
            section.problem(f"legs.{number}", f"leg {number + 1} must be a retriever: a mapping with `kind`")
            continue
        legs.append(read_retriever(section.section(f"legs.{number}", value), paths))
    return Options(tuple(legs), section.number("k", _USUAL_K, 0, 10_000), _weights(section, len(given)),
                   section.integer("fetch", 0, 1, 10_000))


def _weights(section: Section, legs: int) -> tuple[float, ...]:
    value = section.raw("weights")
    if value is None:
        return (1.0,) * legs
    if not isinstance(value, list) or len(value) != legs or not all(jsonio.finite(weight) and weight >= 0 for weight in value) \
            or not any(value):
        section.problem("weights", "`weights` must be a list with one number for each leg, none negative and not all 0")
        return (1.0,) * legs
    return tuple(map(float, value))


def build(settings: RetrieverSettings, given: Given) -> HybridRetriever:
    """See :mod:`gate.retrievers`."""
    from gate.retrievers.build import build_retriever

    return HybridRetriever([build_retriever(leg, given) for leg in settings.options.legs], settings.options)


class _Captured:
    """What the programs of all legs printed."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = parts

    def text(self) -> str:
        return "\n".join(text for part in self._parts if (text := part.text()))


class HybridRetriever:
    """Order: fused score descending, then id ascending. A query that a leg fails on, or does not answer, has failed."""

    def __init__(self, legs: Sequence[Retriever], options: Options) -> None:
        self._legs, self._options = legs, options
        self._stack, self._notes = ExitStack(), list[str]()

    def _name(self, leg: int) -> str:
        return f"leg {leg + 1} ({self._options.legs[leg].kind})"

    @property
    def notes(self) -> list[str]:
        return [*(f"{self._name(leg)}: {note}" for leg, retriever in enumerate(self._legs) for note in retriever.notes), *self._notes]

    @property
    def captured(self) -> _Captured:
        """Output of the legs that run somebody's program."""
        return _Captured([held for leg in self._legs if (held := getattr(leg, "captured", None))])

    def describe(self) -> Mapping[str, Any]:
        what: dict[str, Any] = {"kind": "hybrid", "fusion": "rrf", "k": self._options.k, "fetch": self._options.fetch or None,
                                "weights": list(self._options.weights) if len(set(self._options.weights)) > 1 else None}
        return {key: value for key, value in what.items() if value is not None} | {
            f"leg {number}": dict(leg.describe()) for number, leg in enumerate(self._legs, 1)}

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        """The legs are asked in turn, an answer each; a query is yielded as soon as all have answered it."""
        fetch = self._options.fetch or max(depth, _USUAL_FETCH)
        running: dict[int, Iterator[tuple[str, Ranking]]] = {leg: iter(one.retrieve(queries, fetch)) for leg, one in enumerate(self._legs)}
        waiting: dict[str, dict[int, Ranking]] = {}
        try:
            while running:
                for leg in list(running):
                    answer = self._next(leg, running)
                    if answer is None:
                        continue
                    held = waiting.setdefault(answer[0], {})
                    held[leg] = answer[1]
                    if len(held) == len(self._legs):
                        yield answer[0], self._fused(waiting.pop(answer[0]), depth)
        finally:
            for answers in running.values():
                answers.close() if hasattr(answers, "close") else None
        for query_id, held in waiting.items():
            silent = ", ".join(self._name(leg) for leg in range(len(self._legs)) if leg not in held)
            yield query_id, Ranking([], error=f"{silent} gave no ranking.")

    def _next(self, leg: int, running: dict[int, Iterator[tuple[str, Ranking]]]) -> tuple[str, Ranking] | None:
        try:
            answer = next(running[leg], None)
        except RetrieverFailed as failure:
            first, *more = failure.problems
            raise RetrieverFailed([f"{self._name(leg)}: {first}", *more], failure.cure) from failure
        if answer is None:
            del running[leg]
        return answer

    def _fused(self, held: Mapping[int, Ranking], depth: int) -> Ranking:
        if failed := [f"{self._name(leg)}: {held[leg].error}" for leg in sorted(held) if held[leg].error]:
            return Ranking([], error=" ".join(failed))
        ranking = fuse([held[leg] for leg in sorted(held)], self._options.weights, self._options.k)
        cut(ranking, depth)
        return ranking

    def __enter__(self) -> HybridRetriever:
        try:
            for number, leg in enumerate(self._legs):
                try:
                    self._stack.enter_context(leg)
                except GateError as error:
                    first, *more = error.problems
                    raise type(error)([f"{self._name(number)}: {first}", *more], error.cure) from error
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
