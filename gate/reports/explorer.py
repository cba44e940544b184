"""All queries of a report as columns, and a page for each: what the script of the HTML report searches, sorts and opens. Pure but for the
texts of documents, which are read from the snapshot when a page shows them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from gate.errors import GateError
from gate.explain import moved
from gate.explain.ask import ID
from gate.explain.scores import by_rank
from gate.figures import metric_label
from gate.reports.escape import clean
from gate.reports.pages import Names, Reader
from gate.reports.report import Report
from gate.reports.rows import is_blind, query_text, tags_of
from gate.reports.words import this_side
from gate.runs import Ranking, Run
from gate.scoring.beside import TOP

ROWS = 20_000  # queries in the table
PAGES = 10_000  # of them with both rankings
UNCHANGED = 1_000  # pages of queries that nothing happened to, for which a reader has little use
DEPTH = 20
_DEEPEST = 50
TEXTS = 2_000_000  # characters of documents in one file
_TEXT, _SHORTEST = 1_200, 160  # of one document
_FACTS = 5  # relevant documents whose fate is told in sentences
_JOINERS = "\u200c\u200d"  # without them Persian words and many emoji fall apart
_ID, _QUERY, _TAG, _NAME, _TITLE, _SENTENCE = 120, 500, 80, 160, 160, 600


class Line(NamedTuple):
    """A row of the table. ``kind``: lost, worse, gained, better, same or not compared, without a baseline found or missed; failed or
    unanswerable. ``before`` and ``now``: ranks of the first gold unit; ``old`` and ``new``: the primary metric; None: none."""

    id: str
    kind: str
    before: int | None = None
    now: int | None = None
    old: float | None = None
    new: float | None = None
    delta: float | None = None


def lines(report: Report) -> Iterator[Line]:
    """Every query that the report judges: lost ones first, then the rest by how much they changed, then what did not; without a
    baseline the worst ones first."""
    c, primary = report.comparison, str(report.policy.primary)
    if report.candidate is None:
        return
    before, after = report.baseline.queries if report.baseline else {}, report.candidate.queries
    told: set[str] = set()
    if c is not None:
        flipped = {x.id for x in (*c.lost, *c.gained)}
        rest = [x for x in c.changes if x.id not in flipped]  # by damage
        for kind, changes in (("lost", c.lost), ("worse", [x for x in rest if x.delta < 0]), ("gained", c.gained),
                              ("better", [x for x in reversed(rest) if x.delta > 0])):
            for x in changes:
                told.add(x.id)
                yield Line(x.id, kind, x.baseline_rank, x.candidate_rank, x.baseline, x.candidate, x.delta)
    k = report.policy.primary.k
    rest = after if c is not None else sorted(after, key=lambda i: after[i].values.get(primary, 0.0))
    for i in rest:
        if i in told:
            continue
        score = after[i]
        value, old = score.values.get(primary), before.get(i)
        if c is None:
            hit = score.first_rank is not None and (k is None or score.first_rank <= k)
            yield Line(i, "found" if hit else "missed", None, score.first_rank, None, value)
        elif i in c.deltas and old is not None:
            yield Line(i, "same", old.first_rank, score.first_rank, old.values.get(primary), value, c.deltas[i])
        else:
            yield Line(i, "not compared", old.first_rank if old else None, score.first_rank,
                       old.values.get(primary) if old else None, value)
    yield from (Line(i, "failed") for i in report.candidate.excluded.errored)
    yield from (Line(i, "unanswerable") for i in report.candidate.unanswerable)


class Explorer(NamedTuple):
    """``data``: plain values for JSON, every text cleaned; its columns have an entry for each row. ``addresses``: query id → what leads to
    its page."""

    data: dict[str, Any]
    addresses: Mapping[str, str]


def explorer(report: Report) -> Explorer | None:
    """None where no query was judged."""
    if report.candidate is None or report.golden is None:
        return None
    every = list(lines(report))
    if not every:
        return None
    every, total = every[:ROWS], len(every)
    names = Names()
    pages = list(_pages(report, every, names))
    kinds, tags = list(dict.fromkeys(line.kind for line in every)), Names()
    unstable = set(report.noise.unstable) if report.noise else set()
    remarks = {str(n): found for n, line in enumerate(every) if (found := _remarks(report, line, unstable))}
    addresses = _addresses([line.id for line in every])
    columns = {
        "id": addresses,
        "text": [clean(query_text(report, line.id), _QUERY) for line in every],
        "tags": [[tags.number(clean(tag, _TAG)) for tag in tags_of(report, line.id)] for line in every],
        "kind": [kinds.index(line.kind) for line in every],
        "before": [line.before or 0 for line in every], "now": [line.now or 0 for line in every],
        "old": [_round(line.old) for line in every], "new": [_round(line.new) for line in every],
        "delta": [_round(line.delta) for line in every]}
    texts, unread = _texts(report, names)
    data = {
        "metric": metric_label(report.policy.primary), "side": this_side(report), "k": report.policy.primary.k or 0,
        "compared": report.comparison is not None, "total": total, "kinds": kinds, "tags": list(tags.index), "rows": columns,
        "pages": pages, "remarks": remarks, "names": [clean(name, _NAME) for name in names.index], "titles": _titles(report, names),
        "texts": texts, "unread": unread, "patterns": _patterns(report, every),
        "explain": [clean(line, _SENTENCE) for line in report.explain] or [f"retrieval-gate explain {ID} --golden … --baseline … "
                                                                           "--candidate … --snapshot …"],
    }
    return Explorer(data, dict(zip((line.id for line in every), addresses, strict=True)))


def script_safe(value: Any) -> str:
    """JSON that can stand inside a script element, whatever its strings hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _pages(report: Report, every: list[Line], names: Names) -> Iterator[Any]:
    """A page for each row; 2 for a blind query, 0 where there is none."""
    policy, golden = report.policy, report.golden
    assert golden is not None
    deepest = max((metric.k for metric in (policy.primary, *policy.metrics) if metric.k), default=TOP)
    reader = Reader(names, policy.unit, policy.overlap, min(max(DEPTH, deepest), _DEEPEST))
    before, after = report.baseline.queries if report.baseline else {}, report.candidate.queries if report.candidate else {}
    made, plain, k = 0, 0, policy.primary.k or TOP
    scored = report.baseline_run is not None and not by_rank(report.baseline_run)
    for line in every:
        query = golden.by_id.get(line.id)
        if query is None or query.blind or made >= PAGES or (line.kind == "same" and plain >= UNCHANGED):
            yield 2 if query is not None and query.blind else 0
            continue
        made, plain = made + 1, plain + (line.kind == "same")
        # One object in the scores of two runs says that the rankings are equal: it need not be read twice.
        alike = line.id in before and before[line.id] is after.get(line.id)
        now = _ranking(report.candidate_run, line.id)
        old = now if alike else _ranking(report.baseline_run, line.id)
        page = reader.page(query, old, now, old is not None and now is not None and (alike or _equal(old, now)))
        if line.kind in ("lost", "worse") and old is not None and now is not None:
            relevant, _ = moved.places(query, old, now, k, {}, policy.unit)
            page["why"] = [clean(f"{fact.seen} {fact.likely}", _SENTENCE)
                           for fact in moved.facts(old, now, relevant[:_FACTS], k, policy.unit, scored)]
        yield page


def _ranking(run: Run | None, query_id: str) -> Ranking | None:
    return run.rankings.get(query_id) if run else None


def _equal(one: Ranking, other: Ranking) -> bool:
    return (one.docs, one.chunks, one.scores, one.candidates) == (other.docs, other.chunks, other.scores, other.candidates)


def _remarks(report: Report, line: Line, unstable: Collection[str]) -> list[str]:
    found = []
    if line.id in unstable:
        found.append("Ranked differently between repeats of the same code.")
    if line.kind == "failed" and report.candidate_run is not None:
        ranking = report.candidate_run.rankings.get(line.id)
        # What a retriever says of itself may quote the query.
        said = clean(ranking.error.partition("\n")[0], 300) if ranking and report.show_queries and not is_blind(report, line.id) else ""
        found.append(f"The retriever failed on it{': ' + said if said else '.'}")
    return found


def _patterns(report: Report, every: list[Line]) -> list[dict[str, Any]]:
    """``rows``: of the queries that show the pattern."""
    at = {line.id: n for n, line in enumerate(every)}
    return [{"seen": clean(pattern.seen, _SENTENCE), "cause": clean(pattern.cause, _SENTENCE),
             "rows": [at[i] for i in pattern.queries if i in at]} for pattern in report.patterns]


def _addresses(ids: list[str]) -> list[str]:
    """Ids as they are shown and stand in an address; two that look the same get a number."""
    seen: dict[str, int] = {}
    found = []
    for shown in (clean(i, _ID) or "blank" for i in ids):
        seen[shown] = seen.get(shown, 0) + 1
        found.append(shown if seen[shown] == 1 else f"{shown} ({seen[shown]})")
    return found


def _titles(report: Report, names: Names) -> dict[str, str]:
    if not report.show_queries or not report.titles:
        return {}
    return {str(n): clean(title, _TITLE) for name, n in names.index.items() if (title := report.titles.get(name, ""))}


def _texts(report: Report, names: Names) -> tuple[dict[str, str], str]:
    """Number of the name → the beginning of its text, as many as fit; and why there are none, when they could not be read."""
    if not report.show_queries or report.excerpts is None:
        return {}, ""
    # Names were numbered page by page, what changed first: what does not fit is of the least interest.
    wanted = list(names.index)[:TEXTS // _SHORTEST]
    try:
        found: Mapping[str, str] = report.excerpts(wanted, _TEXT)
    except (OSError, GateError) as fault:
        return {}, clean(f"The texts of the documents could not be read again: {fault}", 300)
    most = max(_SHORTEST, min(_TEXT, TEXTS // max(len(found), 1)))
    return {str(names.index[name]): _visible(text[:most]) for name, text in found.items()}, ""


def _visible(text: str) -> str:
    """As long as it was, so that offsets into it still hold."""
    return text if text.isprintable() else "".join(char if char.isprintable() or char in _JOINERS else " " for char in text)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
