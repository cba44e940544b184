"""Records of one gate over time: means, tags, and what has become of them since the first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gate.comparison import SMALL_STRATUM, Method, Paired, pair
from gate.errors import InvalidInput
from gate.figures import plural
from gate.golden.model import SPLITS, GoldenSet, Query
from gate.scoring.metrics import Metric
from gate.scoring.score import ScoredRun, score_run
from gate.scoring.units import OVERLAP, grades_of
from gate.statistics.multiplicity import benjamini_hochberg
from gate.validity import too_deep

if TYPE_CHECKING:
    from gate.baseline.record import Record
    from gate.reports.report import Report


DECIMALS = 6  # of means that are stored; beyond them is no change


class Point(NamedTuple):
    """One record. ``baseline``: it was made the baseline, and ``why`` says how; else it is what main retrieved at that commit.
    ``metrics``: name → mean; ``tags``: tag → mean of the primary metric. ``snapshot`` and ``golden``: digests, to see what changed.

    Where the means are those of the point's own time: ``primary``, the metric of ``tags``; ``splits``, what they are over; ``verdict`` and
    ``run``, what the run came to and its id. ``here``: it is the run that is reported on, and no record."""

    created: str
    commit: str
    baseline: bool
    why: str
    digest: str
    metrics: Mapping[str, float]
    tags: Mapping[str, float]
    snapshot: str
    golden: str
    primary: str = ""
    splits: tuple[str, ...] = ()
    verdict: str = ""
    run: str = ""
    here: bool = False


class History(NamedTuple):
    """Points in the order of time. ``n``: queries of the means when they were scored anew, 0 when they are those of the records.
    ``since`` and ``tags_since``: name → the last point paired with the first one that has the metric, query by query; with p and q values
    (Benjamini and Hochberg over all of them). ``left_out``: answered by some points only; ``shallow``: points whose rankings end before
    one of the metrics stops to look, which has no value there; ``elsewhere``: points that judged other splits and are left out.
    ``baselines``: all of them, also those that no line can show."""

    gate: str
    primary: str
    points: tuple[Point, ...]
    n: int = 0
    since: Mapping[str, Paired] = {}
    tags_since: Mapping[str, Paired] = {}
    left_out: int = 0
    shallow: int = 0
    elsewhere: int = 0
    baselines: tuple[Point, ...] = ()


def history_of(records: Iterable[Record], golden: GoldenSet | None = None, metrics: Sequence[Metric] = (), here: Record | None = None,
               unit: str = "doc", overlap: float = OVERLAP) -> History:
    """``golden``: score all records anew, under today's labels and over the queries that all of them answered, so that neither a label
    that was fixed nor a query that was added looks like a change of the search. The first of ``metrics`` is the primary one. ``here``: the
    run that is reported on, as a record: the last point, whatever its time; it takes a golden set.

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
        return History(gates[0], said if said in last else next(iter(last), ""), tuple(points), baselines=_baselines(points))
    if here is None:
        return _scored(gates[0], ordered, golden, metrics, unit, overlap)
    found = _scored(gates[0], [*ordered, here], golden, metrics, unit, overlap)
    return found._replace(points=(*found.points[:-1], found.points[-1]._replace(here=True)))


def _scored(gate: str, ordered: Sequence[Record], golden: GoldenSet, metrics: Sequence[Metric], unit: str, overlap: float) -> History:
    # Only what a mean can hold: no unanswerable query, and none that the retriever failed on in one of the records.
    scorable = [query for query in golden.queries if query.answerable and grades_of(query)]
    known = [query for query in scorable if any(_answers(record, query) for record in ordered)]
    common = tuple(query for query in known if all(_answers(record, query) for record in ordered))
    if not common:
        raise InvalidInput(f"{golden.path}: no query is answered by all {plural(len(ordered), 'record')}",
                           "leave out the records that are too old for this golden set")
    part, primary = GoldenSet(common, path=golden.path), str(metrics[0])
    scored = [score_run(part, record.run, metrics, unit, overlap, require_offsets=False) for record in ordered]
    tags = dict(sorted(_ids_by_tag(common).items()))
    deep = [too_deep(metrics, record) for record in ordered]
    points = [_point(record, {str(m): mean for m in metrics if str(m) not in lacks and (mean := one.mean(str(m))) is not None},
                     {} if primary in lacks else _by_tag(one, primary, tags))
              for record, one, lacks in zip(ordered, scored, deep, strict=True)]
    having = {str(m): [one for one, lacks in zip(scored, deep, strict=True) if str(m) not in lacks] for m in metrics}
    first = {name: runs[0] for name, runs in having.items() if name not in deep[-1] and (len(runs) > 1 or len(scored) == 1)}
    since, tags_since = _since(part, first, scored[-1], primary, tags)
    return History(gate, primary, tuple(points), len(common), since, tags_since, len(known) - len(common), sum(map(bool, deep)),
                   baselines=_baselines(points))


def point_of(record: Record, report: Report) -> Point:
    """What a run on the default branch has found, as it stores it. ``record``: that of the run; ``report``: what it came to."""
    return _point(record, record.metrics, _tags_in(report))._replace(
        primary=str(report.policy.primary), splits=_splits_in(report), verdict=report.verdict, run=record.run_id)


def baseline_point(record: Record, digest: str) -> Point:
    """A baseline of which only the record is known, and not what its means are over: it has none."""
    return Point(record.created, record.commit, True, record.provenance.sentence(), digest, {}, {}, record.snapshot_digest,
                 record.golden_digest)


def leading_to(past: Sequence[Point], report: Report) -> History | None:
    """What ``report`` is the last point of. ``past``: the points of the default branch, each with the means of its own time; those over
    other splits have no place in one line with it. None without a run, or where fewer than two are left: one is the baseline at most."""
    candidate, facts = report.candidate, report.metadata
    if candidate is None:
        return None
    means = {str(metric): mean for metric in candidate.metrics if (mean := candidate.mean(str(metric))) is not None}
    primary, splits = str(report.policy.primary), _splits_in(report)
    points = [point if point.primary == primary else point._replace(tags={}) for point in past if point.splits == splits and point.metrics]
    if len(points) < 2:
        return None
    here = Point("", str(facts.get("head_sha") or ""), False, "", "", means, _tags_in(report), str(facts.get("snapshot_digest") or ""),
                 str(facts.get("golden_digest") or ""), primary, splits, report.verdict, here=True)
    return History(report.gate, primary, (*points, here), elsewhere=sum(bool(point.metrics) for point in past) - len(points),
                   baselines=_baselines(past))


def _splits_in(report: Report) -> tuple[str, ...]:
    return tuple(sorted(report.metadata.get("judged") or SPLITS[:1]))


def _tags_in(report: Report) -> dict[str, float]:
    """Means of the primary metric; the tags of most queries come first."""
    scored, golden = report.candidate, report.golden
    if scored is None or golden is None:
        return {}
    tags = _ids_by_tag(query for query in golden.queries if query.id in scored.queries)
    return _by_tag(scored, str(report.policy.primary), dict(sorted(tags.items(), key=lambda item: (-len(item[1]), item[0]))))


def _ids_by_tag(queries: Iterable[Query]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for query in queries:
        for tag in dict.fromkeys(query.tags):
            found.setdefault(tag, []).append(query.id)
    return found


def _baselines(points: Iterable[Point]) -> tuple[Point, ...]:
    return tuple(point for point in points if point.baseline)


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


def _since(golden: GoldenSet, first: Mapping[str, ScoredRun], last: ScoredRun, primary: str,
           tags: Mapping[str, Sequence[str]]) -> tuple[dict[str, Paired], dict[str, Paired]]:
    """Last against first, paired, over the queries that have a score at both. ``first``: metric → run; ``tags``: tag → ids."""
    clusters = {query.id: query.cluster for query in golden.queries}

    def paired(metric: str, ids: Sequence[str], tag: str = "") -> Paired | None:
        old, new = (_values(side, metric, ids) for side in (first[metric], last))
        both = [i for i in old if i in new]
        keys = [clusters[i] for i in both]
        return pair([old[i] for i in both], [new[i] for i in both], Method(), test=not tag or len(both) >= SMALL_STRATUM,
                    clusters=keys if any(keys) else None) if both else None

    found = {metric: one for metric in first if (one := paired(metric, tuple(clusters)))}
    by_tag = {tag: one for tag, ids in tags.items() if primary in first and (one := paired(primary, ids, tag))}
    places = [(table, name) for table in (found, by_tag) for name in table if table[name].p_value is not None]
    for (table, name), q in zip(places, benjamini_hochberg([table[name].p_value or 0.0 for table, name in places]), strict=True):
        table[name] = table[name]._replace(q_value=q)
    return found, by_tag
