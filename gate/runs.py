"""Runs: all rankings of one retriever over one golden set. Reads JSON lines and TREC, plain or gzip; writes JSON lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gate import jsonio
from gate.errors import InvalidInput

_KEYS = {"id", "ranked", "scores", "candidates", "ms", "cost", "error"}
_ITEM_KEYS = {"doc", "chunk", "start", "end", "score"}


class Chunk(NamedTuple):
    """Where in its document a ranked item lies; characters ``start`` (inclusive) to ``end`` (exclusive)."""

    chunk: str = ""
    start: int | None = None
    end: int | None = None


@dataclass(slots=True)
class Ranking:
    """What came back for one query, best first. ``docs[i]`` belongs to ``chunks[i]`` and ``scores[i]`` where those are given."""

    docs: list[str]
    scores: list[float] | None = None
    chunks: list[Chunk] | None = None
    candidates: list[str] | None = None
    ms: float | None = None
    cost: float | None = None
    error: str = ""

    def to_json(self, query_id: str) -> dict[str, Any]:
        """The line of a run file."""
        record: dict[str, Any] = {"id": query_id, "ranked": self.docs}
        if self.chunks is not None:
            record["ranked"] = [
                {"doc": doc, **{k: v for k, v in (("chunk", c.chunk), ("start", c.start), ("end", c.end)) if v not in (None, "")}}
                for doc, c in zip(self.docs, self.chunks, strict=True)]
        optional = {"scores": self.scores, "candidates": self.candidates, "ms": self.ms, "cost": self.cost, "error": self.error or None}
        return record | {key: value for key, value in optional.items() if value is not None}


class Run(NamedTuple):
    """Query id → ranking. ``tied`` counts neighbours with equal scores, ``scored`` all neighbours with scores."""

    rankings: Mapping[str, Ranking]
    name: str = ""
    tied: int = 0
    scored: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def tie_rate(self) -> float | None:
        """Share of neighbouring results with equal scores; None when the run has no scores."""
        return self.tied / self.scored if self.scored else None


class BadRanking(ValueError):
    """One ranking that cannot be used; the message says why."""


def _number(value: Any, what: str) -> float:
    if not jsonio.finite(value):
        raise BadRanking(f"{what} must be a finite number, not {str(value)[:60]}")
    return float(value)


def _item(item: Any) -> tuple[str, Chunk, float | None]:
    if isinstance(item, str):
        return item, Chunk(), None
    if not isinstance(item, dict) or not isinstance(item.get("doc"), str):
        raise BadRanking(f"a ranked item must be a document id (string) or an object with `doc`, not {item!r}"[:200])
    if item.keys() - _ITEM_KEYS:
        raise BadRanking(f"unknown key {sorted(item.keys() - _ITEM_KEYS)[0]!r} in a ranked item")
    start, end = item.get("start"), item.get("end")
    if (start is None) != (end is None) or (start is not None and not (type(start) is type(end) is int and 0 <= start <= end)):
        raise BadRanking(f"start and end of a ranked item must be whole numbers with 0 <= start <= end, not {start!r}, {end!r}"[:200])
    chunk = item.get("chunk", "")
    if not isinstance(chunk, str):
        raise BadRanking(f"`chunk` must be a string, not {chunk!r}"[:200])
    return item["doc"], Chunk(chunk, start, end), None if item.get("score") is None else _number(item["score"], "a score")


def _ids(value: Any, what: str) -> list[str]:
    if not isinstance(value, list):
        raise BadRanking(f"`{what}` must be a list, not {type(value).__name__}")
    for item in _not_strings(value):
        raise BadRanking(f"`{what}` holds {item!r}, which is not a document id (a string)"[:200])
    return value


def _not_strings(items: list[Any]) -> list[Any]:
    # Thousands of rankings of a hundred plain ids each: the common case must not look at every item in Python.
    return [] if set(map(type, items)) <= {str} else [item for item in items if type(item) is not str]


def parse_ranking(record: Any) -> Ranking:
    """One ``{"ranked": …}`` object, from a run file or over a retriever's pipe. Raises :class:`BadRanking`."""
    ranked = record.get("ranked", [] if record.get("error") else None)
    scores: list[float] | None = None
    chunks: list[Chunk] | None = None
    if isinstance(ranked, list) and _not_strings(ranked):
        items = [_item(item) for item in ranked]
        docs = [doc for doc, _, _ in items]
        if any(chunk != Chunk() for _, chunk, _ in items):
            chunks = [chunk for _, chunk, _ in items]
        given = [score for _, _, score in items if score is not None]
        if given and len(given) != len(items):
            raise BadRanking("some ranked items have a score and some have none")
        scores = given or None
    else:
        docs = _ids(ranked, "ranked")
    if "" in docs:
        raise BadRanking("an empty document id")
    if record.get("scores") is not None:
        if not isinstance(record["scores"], list) or len(record["scores"]) != len(docs):
            raise BadRanking("`scores` must be a list as long as `ranked`")
        scores = record["scores"]
        for score in scores:
            # The common case must stay cheap: a hundred scores a query, ten thousand queries.
            if type(score) is not float or not -math.inf < score < math.inf:
                _number(score, "a score")
    error = record.get("error") or ""
    if not isinstance(error, str):
        raise BadRanking("`error` must be a string")
    return Ranking(docs=docs, scores=scores, chunks=chunks, error=error,
                   candidates=None if record.get("candidates") is None else _ids(record["candidates"], "candidates"),
                   ms=None if record.get("ms") is None else _number(record["ms"], "ms"),
                   cost=None if record.get("cost") is None else _number(record["cost"], "cost"))


class _Collector:
    def __init__(self, name: str) -> None:
        self.name = name
        self.rankings: dict[str, Ranking] = {}
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.numbers: set[str] = set()

    def query_id(self, value: Any) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            self.numbers.add(str(value))
            return str(value)
        if not isinstance(value, str) or not value.strip():
            raise BadRanking(f"`id` must be a non-empty string, not {value!r}"[:200])
        return value

    def line(self, number: int, text: str) -> None:
        try:
            record = jsonio.loads(text)
            if not isinstance(record, dict):
                raise BadRanking("a line must be an object with `id` and `ranked`")
            query_id = self.query_id(record.get("id"))
            if query_id in self.rankings:
                raise BadRanking(f"query id {query_id!r} was already answered")
            if not record.keys() <= _KEYS:
                unknown = ", ".join(sorted(map(str, record.keys() - _KEYS)))
                self.warnings.append(f"{self.name}:{number}: unknown keys ignored: {unknown[:200]}")
            self.rankings[query_id] = parse_ranking(record)
        except (BadRanking, jsonio.NotJson) as fault:
            self.problems.append(f"{self.name}:{number}: {fault}")

    def run(self) -> Run:
        if not self.problems and not self.rankings:
            self.problems.append(f"{self.name}: no ranking in it")
        if self.problems:
            raise InvalidInput(self.problems, "mend or make this run again; the format is described in README, «Runs»")
        if self.numbers:
            self.warnings.append(f"{self.name}: {len(self.numbers)} query ids are numbers; they were read as strings")
        tied = scored = 0
        for ranking in self.rankings.values():
            if ranking.scores:
                scored += len(ranking.scores) - 1
                tied += sum(map(float.__eq__, map(float, ranking.scores), map(float, ranking.scores[1:])))
        return Run(self.rankings, self.name, tied, scored, tuple(self.warnings))


def _trec(path: Path, collector: _Collector) -> None:
    """``qid Q0 docid rank score tag``: the rank column is ignored, as trec_eval ignores it."""
    found: dict[str, list[tuple[float, str]]] = {}
    seen: dict[tuple[str, str], int] = {}
    for number, text in jsonio.read_lines(path):
        fields = text.split()
        try:
            if len(fields) != 6:
                raise BadRanking(f"{len(fields)} columns; a TREC run has 6: query Q0 document rank score tag")
            query, _, doc, _, score, _ = fields
            try:
                value = float(score)
            except ValueError:
                raise BadRanking(f"score {score[:40]!r} is not a number") from None
            if not math.isfinite(value):
                raise BadRanking(f"score {score[:40]!r} is not finite")
            first = seen.setdefault((query, doc), number)
            if first != number:
                raise BadRanking(f"document {doc!r} was already ranked for query {query!r} in line {first}")
            found.setdefault(query, []).append((value, doc))
        except BadRanking as fault:
            collector.problems.append(f"{path}:{number}: {fault}")
    for query, pairs in found.items():
        pairs.sort(reverse=True)  # score descending, then document id descending: trec_eval's order
        collector.rankings[query] = Ranking([doc for _, doc in pairs], [score for score, _ in pairs])


def is_trec(path: Path) -> bool:
    """By name: ``.run``, ``.trec``, ``.txt``, each also with ``.gz``."""
    return path.name.removesuffix(".gz").endswith((".run", ".trec", ".txt"))


def read_run(path: str | Path) -> Run:
    """Read a run file. Raises :class:`InvalidInput` that lists every fault as ``file:line: what``."""
    path = Path(path)
    collector = _Collector(str(path))
    if is_trec(path):
        _trec(path, collector)
    else:
        for number, text in jsonio.read_lines(path):
            collector.line(number, text)
    return collector.run()


def run_lines(rankings: Mapping[str, Ranking] | Iterable[tuple[str, Ranking]]) -> bytes:
    """The JSON lines of a run file."""
    pairs = rankings.items() if isinstance(rankings, Mapping) else rankings
    return "".join(jsonio.dumps(ranking.to_json(query_id)) + "\n" for query_id, ranking in pairs).encode()


def write_run(path: Path, rankings: Mapping[str, Ranking]) -> None:
    """Write a run file; gzip when the name ends with ``.gz``."""
    data = run_lines(rankings)
    jsonio.write_atomic(path, jsonio.gzip_bytes(data) if path.name.endswith(".gz") else data)
