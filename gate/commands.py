"""What each command of the command line does: read, call the pipeline, print."""

from __future__ import annotations

import contextlib
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gate import console, jsonio
from gate.errors import GateError, InvalidInput
from gate.policy import DEFAULT_METRICS, Policy
from gate.reports.report import Report
from gate.runs import Run, run_lines

if TYPE_CHECKING:
    from gate.scoring.metrics import Metric


def compare(options: Namespace) -> int:
    """``compare``: two runs or records, no retriever."""
    from gate import pipeline, references
    from gate.golden.read import read_golden
    from gate.golden.splits import of_splits, without_blind
    from gate.scoring.beside import extras

    # numpy's linear algebra starts a thread for every core when it is loaded; nothing here has a matrix worth one.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    policy, gate, splits, facts = Policy(), "default", (), {}
    if options.tier and not options.config:
        raise InvalidInput("--tier: there is no configuration whose tier it could be", "name one with --config")
    if options.config:
        from gate.settings import load_settings

        settings = load_settings(options.config, tier=options.tier or "pr")
        policy, gate, splits, facts = settings.policy, settings.gate, settings.splits, {"tier": settings.tier}
    golden = read_golden(options.golden)
    judged = of_splits(golden, splits)
    candidate, baseline = references.load_scored([options.candidate, options.baseline], judged, policy.all_metrics, policy.unit,
                                               policy.overlap, extras(policy.primary, judged))
    if candidate.record:
        pipeline.check_depth(policy.all_metrics, candidate.record)
    latest = references.load_reference(options.latest) if options.latest else None
    report = pipeline.assess(golden, candidate.run, baseline, policy, pipeline.Circumstances(gate, metadata=facts), splits=splits,
                             latest=latest, plain=candidate.plain)
    return _finish(report, options, run_lines(without_blind(golden, candidate.run.rankings)) if options.out else None)


def run(options: Namespace) -> int:
    """``run``: the configured retriever, then the same road as in CI."""
    from gate import pipeline, references
    from gate.asking import answer_key
    from gate.baseline.making import input_metadata, make_record
    from gate.baseline.record import Provenance, pack
    from gate.changes import policy_changes
    from gate.journal import Journal
    from gate.progress import shown_on
    from gate.settings import load_settings, policy_facts
    from gate.world import world_of

    settings = load_settings(options.config, tier=options.tier or "pr")
    if options.record and options.record.name.removesuffix(".gz").endswith((".jsonl", ".run", ".trec", ".txt")):
        raise InvalidInput(f"--record: {options.record} would be read as a run file", "name it .json or .json.gz")
    if options.latest and not options.baseline:
        raise InvalidInput("--latest: is a second reference beside the approved baseline", "name the baseline with --baseline as well")
    reference = references.load_reference(options.baseline) if options.baseline else None
    latest = references.load_reference(options.latest) if options.latest else None
    if options.resume and not options.out:
        raise InvalidInput("--resume: goes on from the answers in the folder of the reports", "name that folder with --out")
    with contextlib.ExitStack() as open_files:
        journal = open_files.enter_context(Journal(options.out, answer_key(settings), options.resume)) if options.out else None
        evaluated = pipeline.evaluate(settings, world_of(os.environ), shown_on(sys.stderr), bool(options.record), journal)
    lines = run_lines(evaluated.shown)
    changes = policy_changes(reference.record.policy, policy_facts(settings)) if reference and reference.record else []
    around = pipeline.Circumstances(settings.gate, changes=tuple(changes), notes=evaluated.notes, titles=evaluated.titles,
                                    excerpts=evaluated.excerpts, show_queries=settings.show_queries,
                                    metadata=input_metadata(settings, evaluated))
    try:
        if evaluated.failure:
            raise evaluated.failure
        report = pipeline.assess(evaluated.golden, evaluated.run, reference, settings.policy, around, splits=settings.splits,
                                 repeats=evaluated.repeats, latest=latest)
    except GateError as error:
        report = pipeline.failure_report(error, settings.policy, around)
    lacking = evaluated.failure or (report.problems and any(ranking.error for each in (evaluated.run, *evaluated.repeats)
                                                            for ranking in each.rankings.values()))
    if options.record and report.problems:
        print(f"{options.record}: not written, there is no complete run to record", file=sys.stderr)
    elif options.record:
        jsonio.write_atomic(options.record, pack(make_record(settings, evaluated, report, Provenance("local"))))
        print(f"record: {options.record}", file=sys.stderr)
    code = _finish(report, options, lines)
    if journal and not lacking:
        journal.done()  # now that its answers are in a run file
    elif journal and journal.answers:
        console.tell(f"{journal.path}: keeps what was answered; `--resume` asks only the rest")
    return code


def evaluate(options: Namespace) -> int:
    """``evaluate``: scores of one run, no comparison."""
    from gate import pipeline, references
    from gate.golden.read import read_golden
    from gate.reports.scores import scores_json, scores_text
    from gate.scoring.beside import extras, with_shown
    from gate.scoring.score import score_run
    from gate.scoring.units import OVERLAP
    from gate.validity import check_cut, found_nothing

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    metrics = _metrics(options.metrics)
    golden = read_golden(options.golden)
    more = extras(metrics[0], golden, compared=False)
    reference, = references.load_scored([options.run], golden, metrics, options.unit, OVERLAP, more)
    run = reference.run
    if reference.record:
        pipeline.check_depth(metrics, reference.record)
    scored = with_shown(score_run(golden, run, metrics, options.unit, beside=more), more)
    pipeline.check_validity(scored, run, Policy(max_errors=len(golden.queries)), run.name or "run")
    check_cut([(scored, run.name or "run", reference.plain)], metrics)
    nothing = found_nothing(golden, run, scored) if scored.queries else ""
    for warning in (*golden.warnings, *run.warnings, *([nothing] if nothing else [])):
        console.tell(f"warning: {warning}")
    if options.format == "json":
        console.show_json(scores_json(golden, scored))
    else:
        console.show(scores_text(golden, scored))
    return 0


def history(options: Namespace) -> int:
    """``history``: no verdict."""
    from gate.baseline.show import found_records
    from gate.golden.read import read_golden
    from gate.history import history_of
    from gate.reports.historical import history_json, history_text

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if bool(options.records) == bool(options.repository):
        raise InvalidInput("history: takes records, or --repository, and one of the two")
    if options.metrics and not options.golden:
        raise InvalidInput("--metrics: chooses what is scored anew", "give the golden set with --golden")
    metrics = _metrics(options.metrics)
    found = found_records(options.records, options.repository, options.branch, options.gate, latest=True)
    golden = read_golden(options.golden) if options.golden else None
    told = history_of((record for _, record in found), golden, metrics)
    if options.format == "json":
        console.show_json(history_json(told))
    elif options.format == "html":
        from gate.reports.history_page import history_page

        print(history_page(told), end="")
    else:
        console.show(history_text(told))
    return 0


def _metrics(names: str | None) -> list[Metric]:
    """Of --metrics, or the usual ones. Every unknown name is listed."""
    from gate.scoring.metrics import UnknownMetric, parse_metric

    found, problems = [], []
    for name in names.split(",") if names else DEFAULT_METRICS:
        try:
            found.append(parse_metric(name))
        except UnknownMetric as fault:
            problems.append(f"--metrics: {fault}")
    if problems:
        raise InvalidInput(problems)
    return found


def explain(options: Namespace) -> int:
    """``explain``: one query, no verdict."""
    from gate import references
    from gate.explain.query import explain as explained
    from gate.golden.read import read_golden
    from gate.reports.explained import explained_json, explained_text

    if options.k < 1:
        raise InvalidInput(f"-k: {options.k} is not at least 1")
    golden = read_golden(options.golden)
    before, after = (references.load_reference(path).run for path in (options.baseline, options.candidate))
    if options.query in golden.by_id and not any(options.query in side.rankings for side in (before, after)):
        raise InvalidInput(f"neither run has a ranking of {options.query!r}", "run the retriever over this golden set")
    snapshot = None
    if options.snapshot:
        from gate.snapshot.reader import Snapshot
        from gate.snapshot.verify import verify

        snapshot = Snapshot(options.snapshot, verify(options.snapshot))
    found = explained(options.query, golden, before, after, options.k, snapshot)
    if options.format == "json":
        console.show_json(explained_json(found))
    else:
        console.show(explained_text(found))
    return 0


def golden_plan(options: Namespace) -> int:
    """``golden plan``: what a golden set can resolve; no verdict."""
    from gate import pipeline, references
    from gate.golden.plan import documents_of, make_plan
    from gate.golden.read import read_golden
    from gate.repeats import measure
    from gate.reports.plan import plan_json, plan_text
    from gate.scoring.metrics import UnknownMetric, parse_metric
    from gate.scoring.score import ScoredRun, score_run

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    problems = [] if 0 < options.tolerance <= 1 else [f"--tolerance: {options.tolerance:g} is not above 0 and at most 1"]
    try:
        metric = parse_metric(options.metric)
    except UnknownMetric as fault:
        problems.append(f"--metric: {fault}")
    if options.repeats and len(options.repeats) < 2:
        problems.append("--repeats: noise is measured by at least two runs of the same code")
    if problems:
        raise InvalidInput(problems)
    golden = read_golden(options.golden)
    for warning in golden.warnings:
        console.tell(f"warning: {warning}")

    def scored(path: Path, side: str) -> tuple[Run, ScoredRun]:
        reference = references.load_reference(path)
        if reference.record:
            pipeline.check_depth([metric], reference.record)
        found = score_run(golden, reference.run, [metric])
        pipeline.check_validity(found, reference.run, Policy(max_errors=len(golden.queries)), reference.run.name or side)
        return reference.run, found

    scores = []
    for side in ("baseline", "candidate"):
        if path := getattr(options, side):
            queries = scored(path, side)[1].queries
            scores.append({i: score.values[str(metric)] for i, score in queries.items() if str(metric) in score.values})
    noise = None
    if options.repeats:
        runs, found = zip(*(scored(path, "repeat") for path in options.repeats), strict=True)
        if any(str(metric) in score.values for score in found[0].queries.values()):
            noise = measure(golden, runs, found, metric, 0.95)
    documents = None
    if options.snapshot:
        from gate.snapshot.reader import Snapshot
        from gate.snapshot.verify import verify

        documents = documents_of(golden, list(Snapshot(options.snapshot, verify(options.snapshot)).units()))
    plan, path = make_plan(golden, str(metric), options.tolerance, scores, documents=documents, noise=noise), str(options.golden)
    if options.format == "json":
        console.show_json(plan_json(plan, path))
    else:
        console.show(plan_text(plan, path))
    return 0


def baseline_show(options: Namespace) -> int:
    """``baseline show``."""
    from gate.baseline.show import show

    console.show(show(options.records, options.repository, options.branch, options.gate))
    return 0


def baseline_verify(options: Namespace) -> int:
    """``baseline verify``."""
    from gate.baseline.record import read_record

    record = read_record(options.record)
    print(f"{options.record}: whole, schema and content agree\ndigest: {record.digest}")
    return 0


def demo(options: Namespace) -> int:
    """``demo``."""
    from gate.demo import run_demo

    return run_demo(options.out, options.change)


def _finish(report: Report, options: Namespace, run: bytes | None) -> int:
    """Write ``--out``, print the asked format; the report exists also when the gate fails."""
    if options.out:
        from gate.reports.files import write_reports

        write_reports(report, options.out, run)
    if options.format == "json":
        from gate.reports.json_report import report_json

        console.show_json(report_json(report))
    elif options.format == "markdown":
        from gate.reports.comment import render_comment

        console.show_markdown(render_comment(report))
    else:
        from gate.reports.paint import wanted
        from gate.reports.text import render_text

        print(render_text(report, color=wanted(os.environ, sys.stdout is not None and sys.stdout.isatty())), end="")
        if options.out:
            print(f"Reports: {Path(options.out) / 'report.html'}")
    return report.exit_code
