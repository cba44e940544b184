"""Reads run files: JSON lines and TREC, plain or gzip, one alone or two side by side.

Two runs of one golden set are mostly the same lines. Where both files have the same bytes, they are checked and scored once; wherever
they differ each line stands for itself, under its own query id, so the order of lines decides nothing but how much work it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio
from gate.errors import InvalidInput
from gate.filed import FiledRankings, stamp_of
from gate.runs import BadRanking, Ranking, Run, is_trec, parse_ranking

if TYPE_CHECKING:
    from gate.scoring.sheet import Sheet

_KEYS = {"id", "ranked", "scores", "candidates", "ms", "cost", "error"}

_Place = tuple[int, int, bytes]  # number of a line, its offset, its bytes


class _Line(NamedTuple):
    """What a line says, in whichever file it stands. ``fault``: why it cannot be used; ``id`` is empty where even that is not known;
    ``numeric``: it was a number."""

    id: str = ""
    ranking: Ranking | None = None
    fault: str = ""
    unknown: tuple[str, ...] = ()
    numeric: bool = False


def _read(text: str) -> _Line:
    query_id, unknown = "", ()
    try:
        record = jsonio.loads(text)
        if not isinstance(record, dict):
            raise BadRanking("a line must be an object with `id` and `ranked`")
        value = record.get("id")
        query_id = _query_id(value)
        if not record.keys() <= _KEYS:
            unknown = tuple(sorted(record.keys() - _KEYS))
        ranking = parse_ranking(record)
        return _Line(query_id, ranking, "", unknown, query_id is not value)
    except (BadRanking, jsonio.NotJson) as fault:
        return _Line(query_id, None, str(fault), unknown)


def _query_id(value: Any) -> str:
    if type(value) is str and value.strip():
        return value
    if type(value) is int:
        return str(value)
    raise BadRanking(f"`id` must be a non-empty string, not {value!r}"[:200])


class _File:
    """One file while it is read. With a ``sheet`` every ranking is entered there, and need not stay in memory."""

    def __init__(self, path: Path, sheet: Sheet | None) -> None:
        self.path, self.name, self.sheet = path, str(path), sheet
        self.stamp = stamp_of(path) if sheet is not None and not is_trec(path) else None
        self.found: dict[str, Any] = {}  # query id → its ranking, or the offset of its line where the ranking stays in the file
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.times: list[float] = []
        self.costs: list[float] = []
        self.numbers = 0

    def read(self, place: _Place) -> _Line:
        text = jsonio.text_of(place[2], self.name, place[0])
        return _read(text) if text else _Line()

    def position(self, line: _Line) -> int:
        """Where the golden set has the line's query; before all others what it does not have."""
        return self.sheet.position(line.id) if self.sheet is not None else -1

    def keep(self, place: _Place, line: _Line, twin: _File | None = None) -> None:
        """``twin``: another file that says the same of this query (:func:`_same`), and has kept it."""
        query_id, ranking, fault, unknown, numeric = line
        if query_id in self.found:
            fault = f"query id {query_id!r} was already answered"
        if fault:
            self.problems.append(f"{self.name}:{place[0]}: {fault}")
        if fault or ranking is None:
            return
        if unknown:
            self.warnings.append(f"{self.name}:{place[0]}: unknown keys ignored: {', '.join(unknown)[:200]}")
        if numeric:
            self.numbers += 1
        if self.sheet is not None:
            query_id = self.sheet.own(query_id)
        self.found[query_id] = ranking if self.stamp is None else place[1]
        if ranking.ms is not None:
            self.times.append(ranking.ms)
        if ranking.cost is not None:
            self.costs.append(ranking.cost)
        if self.sheet is not None:
            self.sheet.enter(query_id, ranking, None if twin is None else twin.sheet)

    def read_alone(self) -> None:
        if is_trec(self.path):
            _trec(self)
        else:
            for place in jsonio.read_bytes(self.path):
                self.keep(place, self.read(place))

    def faults(self) -> list[str]:
        return self.problems or ([] if self.found else [f"{self.name}: no ranking in it"])

    def run(self) -> Run:
        if self.numbers:
            self.warnings.append(f"{self.name}: {self.numbers} query ids are numbers; they were read as strings")
        rankings = self.found if self.stamp is None else FiledRankings(self.path.absolute(), self.found, self.stamp)
        return Run(rankings, self.name, tuple(self.warnings), (tuple(self.times), tuple(self.costs)), self.sheet)


def read_files(paths: Sequence[Path], sheets: Sequence[Sheet | None]) -> list[Run]:
    """Read run files, the first two side by side. Raises :class:`InvalidInput` that lists every fault of all of them as
    ``file:line: what``.

    ``sheets``: one a file, of one golden set and the same rules, or None for rankings that are only to be held.
    """
    files = [_File(path, sheet) for path, sheet in zip(paths, sheets, strict=True)]
    pair = files[:2] if len(files) > 1 and not any(map(is_trec, paths[:2])) else []
    if pair:
        _side_by_side(*pair)
    for file in files[len(pair):]:
        file.read_alone()
    if problems := [fault for file in files for fault in file.faults()]:
        raise InvalidInput(problems, "fix or make this run again; the format is described in README, «Runs»")
    return [file.run() for file in files]


def _side_by_side(first: _File, second: _File) -> None:
    """Both files at once. Where their lines speak of different queries, the one that the golden set has first goes ahead alone, so that a
    line which only one file has does not put all later ones out of step."""
    ones, others = jsonio.read_bytes(first.path), jsonio.read_bytes(second.path)
    here, there = next(ones, None), next(others, None)
    one = other = None  # the two lines, read
    while here is not None and there is not None:
        if here[2] == there[2]:
            one = other = one or first.read(here)
            ahead, same = 0, True
        else:
            one, other = one or first.read(here), other or second.read(there)
            same = _same(one, other)
            ahead = 0 if one.id == other.id else first.position(one) - second.position(other)
        if ahead <= 0:
            first.keep(here, one)
            here, one = next(ones, None), None
        if ahead >= 0:
            second.keep(there, other, first if same else None)
            there, other = next(others, None), None
    for file, rest, place, line in ((first, ones, here, one), (second, others, there, other)):
        if place is not None:
            file.keep(place, line or file.read(place))
            _keep_all(file, rest)


def _keep_all(file: _File, places: Iterator[_Place]) -> None:
    for place in places:
        file.keep(place, file.read(place))


def _same(one: _Line, other: _Line) -> bool:
    """Whether two lines say the same of one query, but for what it took in time and money."""
    a, b = one.ranking, other.ranking
    return (a is not None and b is not None and one.id == other.id and a.docs == b.docs and a.chunks == b.chunks
            and a.scores == b.scores and a.candidates == b.candidates)


def _trec(file: _File) -> None:
    """``qid Q0 docid rank score tag``: the rank column is ignored, as trec_eval ignores it."""
    found: dict[str, list[tuple[float, str]]] = {}
    seen: dict[tuple[str, str], int] = {}
    for number, text in jsonio.read_lines(file.path):
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
            file.problems.append(f"{file.name}:{number}: {fault}")
    for query, pairs in found.items():
        pairs.sort(reverse=True)  # score descending, then document id descending: trec_eval's order
        file.keep((0, 0, b""), _Line(query, Ranking([doc for _, doc in pairs], [score for score, _ in pairs])))
