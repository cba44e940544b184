"""Runs: all rankings of one retriever over one golden set. Reading their files is in :mod:`gate.runfiles`; writing them is here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio

if TYPE_CHECKING:
    from gate.scoring.sheet import Sheet

RUN_FILE = "run.jsonl.gz"  # among the reports
_BARE = {"id", "ranked"}  # what most lines have, and nothing else
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
    """Query id → ranking. ``kept`` (milliseconds and costs) and ``sheet`` (scores) are what was kept of every ranking when it was read, so
    that nobody has to go through the rankings again, which may have stayed in their file; None where rankings were never in one."""

    rankings: Mapping[str, Ranking]
    name: str = ""
    warnings: tuple[str, ...] = ()
    kept: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    sheet: Sheet | None = None

    @property
    def times(self) -> tuple[float, ...]:
        """Milliseconds of every query that has them."""
        return self.kept[0] if self.kept else tuple(r.ms for r in self.rankings.values() if r.ms is not None)

    @property
    def costs(self) -> tuple[float, ...]:
        """Cost of every query that has one."""
        return self.kept[1] if self.kept else tuple(r.cost for r in self.rankings.values() if r.cost is not None)


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


def _candidates(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise BadRanking(f"`candidates` must be a list, not {type(value).__name__}")
    if not _texts(value):
        odd = next(item for item in value if type(item) is not str)
        raise BadRanking(f"`candidates` holds {odd!r}, which is not a document id (a string)"[:200])
    return value


def _texts(items: list[Any]) -> bool:
    """Whether there is nothing else in it. Thousands of rankings of a hundred ids each: no item is to be looked at in Python."""
    try:
        "".join(items)
    except TypeError:
        return False
    return True


def parse_ranking(record: Any) -> Ranking:
    """One ``{"ranked": …}`` object, from a run file or over a retriever's pipe. Raises :class:`BadRanking`."""
    ranked = record.get("ranked")
    if record.keys() == _BARE and isinstance(ranked, list) and _texts(ranked) and all(ranked):
        return Ranking(ranked)
    if ranked is None and "ranked" not in record and record.get("error"):
        ranked = []
    scores: list[float] | None = None
    chunks: list[Chunk] | None = None
    if not isinstance(ranked, list):
        raise BadRanking(f"`ranked` must be a list, not {type(ranked).__name__}")
    if _texts(ranked):
        docs = ranked
    else:
        items = [_item(item) for item in ranked]
        docs = [doc for doc, _, _ in items]
        if any(chunk != Chunk() for _, chunk, _ in items):
            chunks = [chunk for _, chunk, _ in items]
        given = [score for _, _, score in items if score is not None]
        if given and len(given) != len(items):
            raise BadRanking("some ranked items have a score and some have none")
        scores = given or None
    if not all(docs):
        raise BadRanking("an empty document id")
    if record.get("scores") is not None:
        if not isinstance(record["scores"], list) or len(record["scores"]) != len(docs):
            raise BadRanking("`scores` must be a list as long as `ranked`")
        scores = record["scores"]
        if not (set(map(type, scores)) <= {float} and math.isfinite(sum(scores))):
            for score in scores:
                if type(score) is not float or not -math.inf < score < math.inf:
                    _number(score, "a score")
    error = record.get("error") or ""
    if not isinstance(error, str):
        raise BadRanking("`error` must be a string")
    return Ranking(docs=docs, scores=scores, chunks=chunks, error=error,
                   candidates=None if record.get("candidates") is None else _candidates(record["candidates"]),
                   ms=None if record.get("ms") is None else _number(record["ms"], "ms"),
                   cost=None if record.get("cost") is None else _number(record["cost"], "cost"))


def is_trec(path: Path) -> bool:
    """By name: ``.run``, ``.trec``, ``.txt``, each also with ``.gz``."""
    return path.name.removesuffix(".gz").endswith((".run", ".trec", ".txt"))


def read_run(path: str | Path) -> Run:
    """Read a run file and hold it. Raises :class:`InvalidInput` that lists every fault as ``file:line: what``."""
    from gate.runfiles import read_files

    return read_files([Path(path)], [None])[0]


def run_lines(rankings: Mapping[str, Ranking] | Iterable[tuple[str, Ranking]]) -> bytes:
    """The JSON lines of a run file."""
    pairs = rankings.items() if isinstance(rankings, Mapping) else rankings
    return "".join(jsonio.dumps(ranking.to_json(query_id)) + "\n" for query_id, ranking in pairs).encode()


def write_run(path: Path, rankings: Mapping[str, Ranking]) -> None:
    """Write a run file; gzip when the name ends with ``.gz``."""
    data = run_lines(rankings)
    jsonio.write_atomic(path, jsonio.gzip_bytes(data) if path.name.endswith(".gz") else data)
