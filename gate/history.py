"""Records of one gate over time: means, tags, and what has become of them since the first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gate.baseline.record import Record
from gate.comparison import SMALL_STRATUM, Method, Paired, pair
from gate.errors import InvalidInput
from gate.figures import plural
from gate.golden.model import GoldenSet, Query
from gate.scoring.metrics import Metric
from gate.scoring.score import ScoredRun, score_run
from gate.scoring.units import grades_of
from gate.statistics.multiplicity import benjamini_hochberg


class Point(NamedTuple):
    """One record. ``baseline``: it was made the baseline, and ``why`` says how; else it is what main retrieved at that commit.
    ``metrics``: name → mean; ``tags``: tag → mean of the primary metric. ``snapshot`` and ``golden``: digests, to see what changed."""

    created: str
    commit: str
    baseline: bool
    why: str
    digest: str
    metrics: Mapping[str, float]
    tags: Mapping[str, float]
    snapshot: str
    golden: str


class History(NamedTuple):
    """Points in the order of time. ``n``: queries of the means when they were scored anew, 0 when they are those of the records.
    ``since`` and ``tags_since``: name → the last point paired with the first one, query by query; with p and q values (Benjamini and
    Hochberg over all of them). ``left_out``: answered by some points only."""

    gate: str
    primary: str
    points: tuple[Point, ...]
    n: int = 0
    since: Mapping[str, Paired] = {}
    tags_since: Mapping[str, Paired] = {}
    left_out: int = 0


def history_of(records: Iterable[Record], golden: GoldenSet | None = None, metrics: Sequence[Metric] = ()) -> History:
    """``golden``: score all records anew, under today's labels and over the queries that all of them answered, so that neither a label
    that was mended nor a query that was added looks like a change of the search. The first of ``metrics`` is the primary one.

    Raises :class:`InvalidInput` for no record, records of several gates, or no query in common.
    """
    ordered = sorted({record.digest: record for record in records}.values(), key=lambda record: (record.created, record.commit))
    if not ordered:
        raise InvalidInput("no record was given", "name records, or a folder that holds some")
    if len(gates := sorted({record.gate for record in ordered})) > 1:
        raise InvalidInput(f"these records are of several gates: {', '.join(gates)}", "show those of one gate at a time")
    if golden is None:
        last, said = ordered[-1].metrics, str(ordered[-1].policy.get("primary"))
        points = [_point(record, record.metrics, {}) for record in ordered]
        return History(gates[0], said if said in last else next(iter(last), ""), tuple(points))
    return _scored(gates[0], ordered, golden, metrics)


def _scored(gate: str, ordered: Sequence[Record], golden: GoldenSet, metrics: Sequence[Metric]) -> History:
    # Only what a mean can hold: no unanswerable query, and none that the retriever failed on in one of the records.
    scorable = [query for query in golden.queries if query.answerable and grades_of(query)]
    known = [query for query in scorable if any(_answers(record, query) for record in ordered)]
    common = tuple(query for query in known if all(_answers(record, query) for record in ordered))
    if not common:
        raise InvalidInput(f"{golden.path}: no query is answered by all {plural(len(ordered), 'record')}",
                           "leave out the records that are too old for this golden set")
    part, primary = GoldenSet(common, path=golden.path), str(metrics[0])
    scored = [score_run(part, record.run, metrics, require_offsets=False) for record in ordered]
    tags: dict[str, list[str]] = {}
    for query in common:
        for tag in dict.fromkeys(query.tags):
            tags.setdefault(tag, []).append(query.id)
    tags = dict(sorted(tags.items()))
    points = [_point(record, {str(m): mean for m in metrics if (mean := one.mean(str(m))) is not None}, _by_tag(one, primary, tags))
              for record, one in zip(ordered, scored, strict=True)]
    since, tags_since = _since(part, scored[0], scored[-1], [str(m) for m in metrics], primary, tags)
    return History(gate, primary, tuple(points), len(common), since, tags_since, len(known) - len(common))


def _answers(record: Record, query: Query) -> bool:
    return query.id in record.rankings and not record.rankings[query.id].error


def _point(record: Record, metrics: Mapping[str, float], tags: Mapping[str, float]) -> Point:
    baseline = record.provenance.kind != "latest"
    return Point(record.created, record.commit, baseline, record.provenance.sentence() if baseline else "", record.digest, dict(metrics),
                 tags, record.snapshot_digest, record.golden_digest)


def _values(scored: ScoredRun, metric: str, ids: Iterable[str]) -> dict[str, float]:
    return {i: scored.queries[i].values[metric] for i in ids if i in scored.queries and metric in scored.queries[i].values}


def _by_tag(scored: ScoredRun, metric: str, tags: Mapping[str, Sequence[str]]) -> dict[str, float]:
    found = {tag: list(_values(scored, metric, ids).values()) for tag, ids in tags.items()}
    return {tag: sum(values) / len(values) for tag, values in found.items() if values}


def _since(golden: GoldenSet, first: ScoredRun, last: ScoredRun, metrics: Sequence[str], primary: str,
           tags: Mapping[str, Sequence[str]]) -> tuple[dict[str, Paired], dict[str, Paired]]:
    """Last against first, paired, over the queries that have a score at both. ``tags``: tag → ids of its queries."""
    clusters = {query.id: query.cluster for query in golden.queries}

    def paired(metric: str, ids: Sequence[str], tag: str = "") -> Paired | None:
        old, new = (_values(side, metric, ids) for side in (first, last))
        both = [i for i in old if i in new]
        keys = [clusters[i] for i in both]
        return pair([old[i] for i in both], [new[i] for i in both], Method(), test=not tag or len(both) >= SMALL_STRATUM,
                    clusters=keys if any(keys) else None) if both else None

    found = {metric: one for metric in metrics if (one := paired(metric, tuple(clusters)))}
    by_tag = {tag: one for tag, ids in tags.items() if (one := paired(primary, ids, tag))}
    places = [(table, name) for table in (found, by_tag) for name in table if table[name].p_value is not None]
    for (table, name), q in zip(places, benjamini_hochberg([table[name].p_value or 0.0 for table, name in places]), strict=True):
        table[name] = table[name]._replace(q_value=q)
    return found, by_tag
