"""evaluate → compare → decide → report: the one road that the command line, the demo and every event of the action take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gate import __version__
from gate import policy as policies
from gate.changes import change_checks, frozen_inputs, label_changes_shown
from gate.comparison import compare, label_changes
from gate.errors import CannotDecide, GateError, InvalidInput, RetrieverFailed
from gate.figures import plural, short_digest
from gate.findings import findings
from gate.golden.fit import misnamed, strange_documents, uncalled_documents
from gate.golden.model import GoldenSet
from gate.golden.read import read_golden
from gate.golden.splits import check_answered, of_splits, set_aside, silent_splits, split_facts, without_blind
from gate.patterns.find import find_patterns
from gate.policy import Check, Policy
from gate.repeats import Repeats, TooNoisy, measure, noise_check
from gate.reported import model_warnings
from gate.reports.report import Excerpts, InputChange, Report
from gate.retrievers import NEEDS_SNAPSHOT
from gate.runs import Ranking, Run
from gate.scoring.beside import Beside, extras, with_shown
from gate.scoring.score import ScoredRun, score_run
from gate.usage import limit_checks, usage_of
from gate.validity import check_cut, check_found, check_validity, found_nothing, too_deep, with_errors_aside
from gate.validity import check_depth as check_depth

if TYPE_CHECKING:
    from gate.baseline.approval import Eligibility
    from gate.journal import Journal
    from gate.progress import Progress
    from gate.references import Reference
    from gate.settings import Settings
    from gate.snapshot.reader import Snapshot
    from gate.world import World


@dataclass(frozen=True)
class Evaluated:
    """What one execution of the retriever produced, and under which frozen inputs.

    ``failure`` is set when it stopped early; ``printed`` is what the retriever's own code wrote, made harmless for a log. ``repeats``: the
    runs after the first one, which is what is judged and stored; they say what the retriever changes on its own.
    """

    golden: GoldenSet
    run: Run
    retriever: Mapping[str, Any] = field(default_factory=dict)
    snapshot_digest: str = ""
    corpus_digest: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    excerpts: Excerpts | None = None
    failure: RetrieverFailed | None = None
    notes: tuple[str, ...] = ()
    printed: str = ""
    repeats: tuple[Run, ...] = ()

    @property
    def shown(self) -> Mapping[str, Ranking]:
        """The rankings that a report's run.jsonl.gz may hold."""
        return without_blind(self.golden, self.run.rankings)


@dataclass(frozen=True)
class Circumstances:
    """What surrounds a comparison and is only shown, or decides who must agree: nothing here is computed from rankings.

    ``proposed``: the tolerance that this change would set, where the base branch's rules are in force. ``kept``: the file that keeps the
    candidate's answers whatever comes of them, where there is one."""

    gate: str = "default"
    approval: Eligibility | None = None
    changes: tuple[InputChange, ...] = ()
    notes: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    excerpts: Excerpts | None = None
    show_queries: bool = True
    proposed: float | None = None
    kept: str = ""


def evaluate(settings: Settings, world: World, progress: Progress | None = None, everything: bool = False,
             journal: Journal | None = None) -> Evaluated:
    """Read the golden set, verify the snapshot, ask the retriever every query of the tier's splits, or ``everything``: what becomes a
    baseline has to serve every tier. A retriever that stops early leaves ``failure``. ``journal``: an entered one keeps every answer as it
    comes, and those of an interrupted run are not asked for again."""
    from gate.asking import Asker
    from gate.snapshot.reader import open_snapshot

    golden = read_golden(settings.golden)
    if problems := misnamed(golden, settings.policies, str(settings.source)):
        raise InvalidInput(problems, "fix the configuration, or bring the query or tag back")
    asked = golden if everything else of_splits(golden, settings.splits)
    snapshot: Snapshot | None = open_snapshot(settings.snapshot, world) if settings.snapshot else None
    notes = [*snapshot.notes, *_corpus_notes(golden, snapshot, settings.retriever.kind in NEEDS_SNAPSHOT)] if snapshot else []
    aside = golden.by_id.keys() - asked.by_id.keys()
    asker = Asker(settings, snapshot, world, progress, journal)
    first = asker.ask(asked.queries, aside)
    again, failure = [], first.failure
    if not failure and settings.repeat > 1:
        judged = of_splits(golden, settings.splits)
        again, failure = asker.again(judged.queries, golden.by_id.keys() - judged.by_id.keys())
    if everything and not first.failure:
        notes += [f"the run answers none of the {plural(len(ids), 'query')} of the split {split}: as a baseline it is of no use to a tier "
                  "that judges them" for split, ids in silent_splits(golden, first.rankings).items()]
    said = dict.fromkeys((*notes, *(note for answers in (first, *again) for note in answers.notes)))
    return Evaluated(golden, Run(first.rankings, "candidate"), first.retriever,
                     snapshot.manifest.tree_digest if snapshot else "", snapshot.manifest.corpus_digest if snapshot else "",
                     snapshot.titles() if snapshot else {}, snapshot.excerpts if snapshot else None, failure, tuple(said),
                     "\n".join(answers.printed for answers in (first, *again) if answers.printed),
                     tuple(Run(answers.rankings, f"repeat {number} of {settings.repeat}") for number, answers in enumerate(again, 2)))


def _corpus_notes(golden: GoldenSet, snapshot: Snapshot, by_unit: bool) -> list[str]:
    """What does not fit between golden set and corpus. Raises when nothing does: such a run could only be worthless. ``by_unit``: results
    are called what the snapshot's chunker says."""
    known = snapshot.names()
    lines, nothing = strange_documents(golden, known)
    if nothing:
        raise InvalidInput(lines, f"name documents as the snapshot does, for instance {min(known, default='')!r}")
    if by_unit:
        lines += uncalled_documents(golden, known, set(snapshot.docs))
    corpus = snapshot.manifest.corpus_digest
    if golden.corpus_digest and golden.corpus_digest != corpus:
        lines.append(f"golden.yml says that the labels were made on corpus {short_digest(golden.corpus_digest)}, the snapshot holds "
                     f"{short_digest(corpus)}: see whether labels are out of date")
    return lines


def _scored(golden: GoldenSet, judged: GoldenSet, run: Run, policy: Policy, beside: Beside | None = None,
            require_offsets: bool = True) -> ScoredRun:
    """Scores over the judged queries. A ranking of one that is set aside is no stranger."""
    scored = score_run(judged, run, policy.all_metrics, policy.unit, policy.overlap, require_offsets, beside=beside)
    extra = tuple(i for i in scored.excluded.extra if i not in golden.by_id)
    return scored._replace(excluded=scored.excluded._replace(extra=extra))


def assess(golden: GoldenSet, candidate: Run, reference: Reference | None, policy: Policy,
           around: Circumstances | None = None, *, splits: Sequence[str] = (), repeats: Sequence[Run] = (),
           latest: Reference | None = None, plain: bool = False) -> Report:
    """Score both runs under the same labels, compare, decide, and put everything that can be shown into one Report.

    ``splits``: only their queries are judged, by default all; the labels of the others are compared as well. ``repeats``: further runs of
    the candidate, for its noise; ``latest``: what main retrieves now, where that is known beside the approved baseline; ``plain``: the
    candidate is a run file, of which nobody says how deep it was fetched. Raises TooNoisy when the noise is above the tolerance.
    """
    around = around or Circumstances()
    if reference and reference.record and reference.record.provenance.kind == "latest":
        raise InvalidInput(f"the record given as the baseline is {reference.record.provenance.sentence()}",
                           "compare with an approved record, and give this one as the latest run (--latest)")
    judged = of_splits(golden, splits)
    deep = too_deep(policy.all_metrics, reference.record) if reference and reference.record else []
    more = extras(policy.primary, judged)
    scored = _scored(golden, judged, candidate, policy, more)
    name = candidate.name or "candidate"
    check_validity(scored if judged is golden else with_errors_aside(scored, golden, candidate), candidate, policy, name, golden=golden,
                   kept=around.kept, quoting=around.show_queries)
    check_answered(judged, candidate, name)
    noise = _noise(golden, judged, (candidate, *repeats), scored, policy, around.show_queries) if repeats else None
    aside = set_aside(golden, judged, policy)
    rules = replace(policy, protected=tuple(rule for rule in policy.protected if rule.tag not in aside.tags))
    must_hit = [i for i in _must_hit(golden, policy) if i not in aside.must_hit]
    base = comparison = beside = None
    notes = [*golden.warnings, *candidate.warnings, *around.notes]
    if reference is None:
        check_found(judged, candidate, scored)
        scored = with_shown(scored, more)
        check_cut([(scored, name, plain)], policy.all_metrics)
        checks = policies.absolute_checks(scored, policy, must_hit)
    else:
        notes += reference.run.warnings
        # A record from before the golden set had spans: its changed labels need an approval, and that must stay possible.
        base = _scored(golden, judged, reference.run, policy, more, require_offsets=reference.labels is None)
        side = reference.run.name or "baseline"
        check_validity(base, reference.run, policy, side, stored=reference.labels is not None, golden=golden, quoting=around.show_queries)
        check_answered(judged, reference.run, side, reference.labels, reference.record is not None)
        bare = reference.labels is None and (latest is None or latest.labels is None)
        if bare and found_nothing(judged, candidate, scored, base):  # a record did find something, under its own labels
            check_found(judged, candidate, scored, base, *([_scored(golden, judged, latest.run, policy)] if latest else []))
        scored = with_shown(scored, more, base)
        check_cut([(base, side, reference.plain), (scored, name, plain)], policy.all_metrics)
        labels = label_changes(reference.labels, golden)
        comparison = compare(judged, base, scored, policy.primary, method=policy.method, labels=labels,
                             runs=(reference.run, candidate), declared=[p.tag for p in rules.protected if p.rule == "credible"])
        if 2 * len(comparison.unpaired) > len(comparison.paired) + len(comparison.unpaired):
            raise CannotDecide(f"only {len(comparison.paired)} queries have a score on both sides, {len(comparison.unpaired)} have one on "
                               "one side: the retriever failed on the others, now or in the baseline", "fix the retriever")
        drops: list[Check] = []
        if latest is not None:
            from gate.latest import drop_checks, set_against

            beside, why_not = set_against(latest, judged, candidate, scored, reference.run, comparison, policy,
                                          str(around.metadata.get("corpus_digest") or ""))
            notes += [why_not] if why_not else []
            drops = drop_checks(comparison, beside, policy) if beside else []
        checks = [*policies.quality_checks(comparison, scored, rules, must_hit, drops), *_depth_checks(deep, policy)]
        notes += [f"the baseline holds {reference.record.depth} results for each query: its {name} is too low until the next approved "
                  "baseline" for name in deep if reference.record]
        on_main = label_changes(latest.labels, golden, reference.labels) if latest and reference.labels is not None else None
        changes = (*label_changes_shown(labels, on_main), *frozen_inputs(reference.record, around.metadata), *around.changes)
        checks += change_checks(changes)
        around = replace(around, changes=changes)
    latency, cost = usage_of(candidate, reference.run if reference else None)
    checks += limit_checks(latency, cost, policy.limits, reference is not None)
    if noise:
        checks.append(noise_check(noise, policy, [change.id for change in comparison.lost] if comparison else (), around.proposed))
    decision = policies.decide([*checks, *policies.aside_checks(aside.tags, aside.must_hit)], policy)
    if around.approval is not None and around.approval.eligible:
        decision = policies.accept(decision, around.approval.approver)
    verdict = "no-baseline" if reference is None and decision.verdict == "pass" else decision.verdict
    return Report(gate=around.gate, verdict=verdict, exit_code=decision.exit_code, policy=policy, checks=decision.checks,
                  comparison=comparison, candidate=scored, baseline=base, golden=golden, candidate_run=candidate, latest=beside,
                  baseline_run=reference.run if reference else None, approval=around.approval, input_changes=around.changes,
                  baseline_info=reference.info if reference else None, latency=latency, cost=cost,
                  notes=tuple(notes), warnings=_warnings(reference, around),
                  metadata=dict(around.metadata) | _golden_facts(golden) | split_facts(golden, judged),
                  titles=around.titles, excerpts=around.excerpts, show_queries=around.show_queries, noise=noise,
                  findings=findings(scored, base, comparison, policy.score_floor),
                  patterns=find_patterns(golden, comparison, reference.run, candidate) if comparison and reference else ())


def _warnings(reference: Reference | None, around: Circumstances) -> tuple[str, ...]:
    before = reference.record.retriever if reference and reference.record else None
    return tuple(model_warnings(before, around.metadata.get("retriever") or {}))


def failure_report(error: GateError, policy: Policy, around: Circumstances) -> Report:
    """The report of a run that came to no judgement: it has its own words, and never a number."""
    return Report(gate=around.gate, verdict=error.verdict, exit_code=error.exit_code, policy=policy, problems=error.problems,
                  cure=error.cure, approval=around.approval, input_changes=around.changes, notes=around.notes,
                  metadata=around.metadata, show_queries=around.show_queries,
                  noise=error.repeats if isinstance(error, TooNoisy) else None)


def _noise(golden: GoldenSet, judged: GoldenSet, runs: Sequence[Run], first: ScoredRun, policy: Policy,
           quoting: bool) -> Repeats:
    """Every repeat has to be as valid as the run that it repeats."""
    scored = [first]
    for run in runs[1:]:
        scored.append(_scored(golden, judged, run, policy))
        check_validity(scored[-1], run, policy, run.name, golden=golden, quoting=quoting)
        check_answered(judged, run, run.name)
    return measure(judged, runs, scored, policy.primary, policy.method.confidence)


def _depth_checks(deep: Sequence[str], policy: Policy) -> list[Check]:
    """A metric that decides and cannot be compared yet: an approval makes the baseline that it needs."""
    deciding = {str(policy.primary), *policy.floors, *policy.max_drop} & set(deep)
    return [Check(f"depth {name}", "fail", f"{name} looks deeper than the baseline's rankings reach, so it cannot be compared until an "
                                           "approved change makes a deeper one.") for name in sorted(deciding)]


def _must_hit(golden: GoldenSet, policy: Policy) -> list[str]:
    tagged = [q.id for q in golden.queries if set(q.tags) & set(policy.must_hit_tags)]
    carried = {tag for q in golden.queries for tag in q.tags}
    # A tag that nobody carries any more guards nothing: it is missed as if it were a query.
    gone = [f"every query with the tag {tag}" for tag in policy.must_hit_tags if tag not in carried]
    return list(dict.fromkeys((*policy.must_hit, *tagged, *gone)))


def _golden_facts(golden: GoldenSet) -> dict[str, Any]:
    return {"golden_version": golden.version, "golden_digest": golden.digest, "gate_version": __version__}
