"""evaluate → compare → decide → report: the one road that the command line, the demo and every event of the action take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate import __version__
from gate import policy as policies
from gate.baseline.kind import is_record
from gate.changes import change_checks, corpus_changes, label_changes_shown, retriever_changes
from gate.comparison import compare, label_changes
from gate.errors import CannotDecide, GateError, InvalidInput, RetrieverFailed
from gate.figures import short_digest
from gate.golden.fit import misnamed, strange_documents
from gate.golden.model import GoldenSet
from gate.golden.read import read_golden
from gate.policy import Check, Policy
from gate.reports.report import BaselineInfo, InputChange, Latency, Report
from gate.runs import Ranking, Run, read_run
from gate.scoring.score import ScoredRun, score_run

if TYPE_CHECKING:
    from gate.baseline.approval import Eligibility
    from gate.baseline.record import Record
    from gate.scoring.metrics import Metric
    from gate.settings import Settings
    from gate.snapshot.reader import Snapshot

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Evaluated:
    """What one execution of the retriever produced, and under which frozen inputs.

    ``failure`` is set when it stopped early; ``printed`` is what the retriever's own code wrote, made harmless for a log.
    """

    golden: GoldenSet
    run: Run
    retriever: Mapping[str, Any] = field(default_factory=dict)
    snapshot_digest: str = ""
    corpus_digest: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    failure: RetrieverFailed | None = None
    notes: tuple[str, ...] = ()
    printed: str = ""


@dataclass(frozen=True)
class Reference:
    """What the candidate is compared with: the run, the labels it was scored under (None for a plain run file), its story."""

    run: Run
    labels: Mapping[str, str] | None = None
    info: BaselineInfo | None = None
    record: Record | None = None


@dataclass(frozen=True)
class Circumstances:
    """What surrounds a comparison and is only shown, or decides who must agree: nothing here is computed from rankings."""

    gate: str = "default"
    approval: Eligibility | None = None
    changes: tuple[InputChange, ...] = ()
    notes: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    show_queries: bool = True


def evaluate(settings: Settings, progress: Progress | None = None) -> Evaluated:
    """Read the golden set, verify the snapshot, ask the retriever every query. A retriever that stops early leaves ``failure``."""
    from gate.retrievers.build import build_retriever
    from gate.snapshot.reader import open_snapshot

    golden = read_golden(settings.golden)
    if problems := misnamed(golden, settings.policy, str(settings.source)):
        raise InvalidInput(problems, "mend the configuration, or bring the query or tag back")
    snapshot: Snapshot | None = open_snapshot(settings.snapshot) if settings.snapshot else None
    notes = _corpus_notes(golden, snapshot) if snapshot else []
    rankings: dict[str, Ranking] = {}
    failure = None
    retriever = build_retriever(settings, snapshot)
    try:
        with retriever:
            for query_id, ranking in retriever.retrieve(golden.queries, settings.depth):
                rankings[query_id] = ranking
                if progress:
                    progress(len(rankings), len(golden.queries))
    except RetrieverFailed as error:
        failure = error
    return Evaluated(golden, Run(rankings, "candidate"), dict(retriever.describe()),
                     snapshot.manifest.tree_digest if snapshot else "", snapshot.manifest.corpus_digest if snapshot else "",
                     snapshot.titles() if snapshot else {}, failure, (*notes, *retriever.notes), _printed(retriever))


def _corpus_notes(golden: GoldenSet, snapshot: Snapshot) -> list[str]:
    """What does not fit between golden set and corpus. Raises when nothing does: such a run could only be worthless."""
    known = snapshot.names()
    lines, nothing = strange_documents(golden, known)
    if nothing:
        raise InvalidInput(lines, f"name documents as the snapshot does, for instance {min(known, default='')!r}")
    corpus = snapshot.manifest.corpus_digest
    if golden.corpus_digest and golden.corpus_digest != corpus:
        lines.append(f"golden.yml says that the labels were made on corpus {short_digest(golden.corpus_digest)}, the snapshot holds "
                     f"{short_digest(corpus)}: see whether labels are out of date")
    return lines


def _printed(retriever: Any) -> str:
    captured = getattr(retriever, "captured", None)  # only retrievers that run somebody's program have output
    return captured.text() if captured is not None else ""


def load_reference(path: Path) -> Reference:
    """A run file or a record, told apart by content."""
    if is_record(path):
        from gate.baseline.record import read_record

        return reference_of(read_record(path))
    return Reference(read_run(path))


def load_scored(paths: Sequence[Path], golden: GoldenSet, metrics: Sequence[Metric], unit: str, overlap: float) -> list[Reference]:
    """The same for stored runs that will be scored by just these rules: run files are scored while they are read, side by side, and
    their rankings stay in them. Faults of all of them are listed together."""
    from gate.runfiles import read_files
    from gate.scoring.sheet import Sheet

    records = [is_record(path) for path in paths]
    files = [path for path, record in zip(paths, records, strict=True) if not record]
    runs = iter(read_files(files, [Sheet(golden, metrics, unit, overlap) for _ in files]))
    return [load_reference(path) if record else Reference(next(runs)) for path, record in zip(paths, records, strict=True)]


def reference_of(record: Record, info: BaselineInfo | None = None) -> Reference:
    """A record as the thing to compare with."""
    return Reference(record.run, dict(record.labels), info or baseline_info(record), record)


def baseline_info(record: Record, **more: Any) -> BaselineInfo:
    """What a report says about a record."""
    return replace(BaselineInfo(record.digest, record.commit, record.created, record.provenance.sentence()), **more)


def too_deep(metrics: Sequence[Metric], record: Record) -> list[str]:
    """Metrics that look deeper than a record's rankings reach: what was never fetched would count as not found."""
    return [str(metric) for metric in metrics if record.depth and (metric.k or 0) > record.depth]


def check_depth(metrics: Sequence[Metric], record: Record) -> None:
    """Raise when a record is too shallow for a metric."""
    if deep := too_deep(metrics, record):
        raise InvalidInput(f"the record holds {record.depth} results for each query, too few for {', '.join(deep)}",
                           "make the record again with a larger `depth`, or use smaller cutoffs")


def check_validity(scored: ScoredRun, run: Run, policy: Policy, side: str, stored: bool = False) -> None:
    """Raise unless a run can be judged: CannotDecide for a broken retriever, InvalidInput for inputs that do not belong together.

    ``stored``: a record of the past. Since then the rules may have become stricter, or the golden set another; an approval has covered
    the one and has to cover the other, so neither may make every later run impossible.
    """
    errored = len(scored.excluded.errored)
    # However many errors the rules allow: of a run that failed on most of its queries nothing can be said.
    if (errored > policy.max_errors and not stored) or 2 * errored > errored + len(scored.queries):
        raise CannotDecide(_error_lines(scored, run, policy, side),
                           "mend the retriever; the queries that worked are kept in run.jsonl.gz")
    problems = [] if stored else policies.validity_problems(scored, side)
    if problems:
        raise InvalidInput(problems, "golden set and run must speak of the same queries")


def _error_lines(scored: ScoredRun, run: Run, policy: Policy, side: str) -> list[str]:
    errored = scored.excluded.errored
    head = f"{side}: the retriever failed on {len(errored)} of {len(run.rankings)} queries; max_errors is {policy.max_errors}"
    return [head, *(f"query {i!r}: {run.rankings[i].error}" for i in errored[:5])]


def assess(golden: GoldenSet, candidate: Run, reference: Reference | None, policy: Policy,
           around: Circumstances | None = None) -> Report:
    """Score both runs under the same labels, compare, decide, and put everything that can be shown into one Report."""
    around = around or Circumstances()
    metrics = policy.all_metrics
    deep = too_deep(metrics, reference.record) if reference and reference.record else []
    scored = score_run(golden, candidate, metrics, policy.unit, policy.overlap)
    check_validity(scored, candidate, policy, candidate.name or "candidate")
    must_hit = _must_hit(golden, policy)
    base = comparison = None
    notes = [*golden.warnings, *candidate.warnings, *around.notes]
    if reference is None:
        _found_something(golden, candidate, scored)
        checks = policies.absolute_checks(scored, policy, must_hit)
    else:
        notes += reference.run.warnings
        # A record from before the golden set had spans: its changed labels need an approval, and that must stay possible.
        base = score_run(golden, reference.run, metrics, policy.unit, policy.overlap, require_offsets=reference.labels is None)
        check_validity(base, reference.run, policy, reference.run.name or "baseline", stored=reference.labels is not None)
        labels = label_changes(reference.labels, golden)
        comparison = compare(golden, base, scored, policy.primary, method=policy.method, labels=labels,
                             runs=(reference.run, candidate), declared=[p.tag for p in policy.protected if p.rule == "credible"])
        if 2 * len(comparison.unpaired) > len(comparison.paired) + len(comparison.unpaired):
            raise CannotDecide(f"only {len(comparison.paired)} queries have a score on both sides, {len(comparison.unpaired)} have one on "
                               "one side: the retriever failed on the others, now or in the baseline", "mend the retriever")
        checks = [*policies.quality_checks(comparison, scored, policy, must_hit), *_depth_checks(deep, policy)]
        notes += [f"the baseline holds {reference.record.depth} results for each query: its {name} is too low until the next approved "
                  "baseline" for name in deep if reference.record]
        changes = (*label_changes_shown(labels), *_frozen_inputs(reference.record, around), *around.changes)
        checks += change_checks(changes)
        around = replace(around, changes=changes)
    decision = policies.decide(checks, policy)
    if around.approval is not None and around.approval.eligible:
        decision = policies.accept(decision, around.approval.approver)
    verdict = "no-baseline" if reference is None and decision.verdict == "pass" else decision.verdict
    return Report(gate=around.gate, verdict=verdict, exit_code=decision.exit_code, policy=policy, checks=decision.checks,
                  comparison=comparison, candidate=scored, baseline=base, golden=golden, candidate_run=candidate,
                  baseline_run=reference.run if reference else None, approval=around.approval, input_changes=around.changes,
                  baseline_info=reference.info if reference else None, latency=_latency(candidate, reference),
                  notes=tuple(notes), metadata=dict(around.metadata) | _golden_facts(golden),
                  titles=around.titles, show_queries=around.show_queries)


def failure_report(error: GateError, policy: Policy, around: Circumstances) -> Report:
    """The report of a run that came to no judgement: it has its own words, and never a number."""
    return Report(gate=around.gate, verdict=error.verdict, exit_code=error.exit_code, policy=policy, problems=error.problems,
                  cure=error.cure, approval=around.approval, input_changes=around.changes, notes=around.notes,
                  metadata=around.metadata, show_queries=around.show_queries)


def _depth_checks(deep: Sequence[str], policy: Policy) -> list[Check]:
    """A metric that decides and cannot be compared yet: an approval makes the baseline that it needs."""
    deciding = {str(policy.primary), *policy.floors, *policy.max_drop} & set(deep)
    return [Check(f"depth {name}", "fail", f"{name} looks deeper than the baseline's rankings reach, so it cannot be compared until an "
                                           "approved change makes a deeper one.") for name in sorted(deciding)]


def _frozen_inputs(record: Record | None, around: Circumstances) -> list[InputChange]:
    """Rows for corpus, index and retriever, where the baseline is a record and this run knows its own."""
    facts = around.metadata
    if record is None or "corpus_digest" not in facts:
        return []
    return [*corpus_changes(record.corpus_digest, facts["corpus_digest"], record.snapshot_digest, facts["snapshot_digest"]),
            *retriever_changes(record.retriever, facts["retriever"])]


def _found_something(golden: GoldenSet, candidate: Run, scored: ScoredRun) -> None:
    """A first run that finds nothing at all would become a baseline that nothing can ever fall below."""
    if any(score.first_rank is not None for score in scored.queries.values()):
        return
    wanted = next(doc for query in golden.queries if query.id in scored.queries for doc in query.documents)
    given = next((doc for ranking in candidate.rankings.values() for doc in ranking.docs), "nothing")
    raise InvalidInput(f"none of the {len(scored.queries)} queries found a relevant document, at any depth: the golden set names documents "
                       f"like {wanted!r}, the retriever returns {given!r}",
                       "make both name documents alike; a run that finds nothing is no baseline")


def _must_hit(golden: GoldenSet, policy: Policy) -> list[str]:
    tagged = [q.id for q in golden.queries if set(q.tags) & set(policy.must_hit_tags)]
    carried = {tag for q in golden.queries for tag in q.tags}
    # A tag that nobody carries any more guards nothing: it is missed as if it were a query.
    gone = [f"every query with the tag {tag}" for tag in policy.must_hit_tags if tag not in carried]
    return list(dict.fromkeys((*policy.must_hit, *tagged, *gone)))


def _golden_facts(golden: GoldenSet) -> dict[str, Any]:
    return {"golden_version": golden.version, "golden_digest": golden.digest, "gate_version": __version__}


def _latency(candidate: Run, reference: Reference | None) -> Latency:
    base = _quantiles(reference.run) if reference else (None, None)
    return Latency(*base, *_quantiles(candidate))


def _quantiles(run: Run) -> tuple[float | None, float | None]:
    times = sorted(run.times if run.times is not None else [r.ms for r in run.rankings.values() if r.ms is not None])
    if not times:
        return None, None
    return times[(len(times) - 1) // 2], times[min(len(times) - 1, int(0.95 * len(times)))]
