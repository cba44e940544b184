"""What each command of the command line does: read, call the pipeline, print."""

from __future__ import annotations

import contextlib
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gate import console, jsonio
from gate.errors import GateError, InvalidInput
from gate.explain.ask import of_files
from gate.policy import Policy
from gate.reports.report import Report
from gate.runs import RUN_FILE, run_lines

if TYPE_CHECKING:
    from gate.baseline.record import Record


def compare(options: Namespace) -> int:
    """``compare``: two runs or records, no retriever."""
    from gate import pipeline, references
    from gate.golden.read import read_golden
    from gate.golden.splits import of_splits, without_blind
    from gate.scoring.beside import extras

    # numpy's linear algebra starts a thread for every core when it is loaded; nothing here has a matrix worth one.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    policy, gate, splits, facts, show_queries = Policy(), "default", (), {}, True
    if options.tier and not options.config:
        raise InvalidInput("--tier: there is no configuration whose tier it could be", "name one with --config")
    if options.config:
        from gate.settings import load_settings

        settings = load_settings(options.config, tier=options.tier or "pr")
        policy, gate, splits, facts = settings.policy, settings.gate, settings.splits, {"tier": settings.tier}
        show_queries = settings.show_queries
    earlier = _earlier(options, gate if options.config else "")
    golden = read_golden(options.golden)
    judged = of_splits(golden, splits)
    candidate, baseline = references.load_scored([options.candidate, options.baseline], judged, policy.all_metrics, policy.unit,
                                                 policy.overlap, extras(policy.primary, judged))
    if candidate.record:
        pipeline.check_depth(policy.all_metrics, candidate.record)
    latest = references.load_reference(options.latest) if options.latest else None
    around = pipeline.Circumstances(gate, metadata=facts, show_queries=show_queries)
    report = pipeline.assess(golden, candidate.run, baseline, policy, around, splits=splits, latest=latest, plain=candidate.plain)
    report = replace(report, explain=of_files(options.baseline, options.candidate, options.golden, options.config, options.tier))
    report = _with_history(report, earlier)
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
    earlier = _earlier(options, settings.gate)
    with contextlib.ExitStack() as open_files:
        journal = open_files.enter_context(Journal(options.out, answer_key(settings), options.resume)) if options.out else None
        evaluated = pipeline.evaluate(settings, world_of(os.environ), shown_on(sys.stderr), bool(options.record), journal)
    lines = run_lines(evaluated.shown)
    changes = policy_changes(reference.record.policy, policy_facts(settings)) if reference and reference.record else []
    around = pipeline.Circumstances(settings.gate, changes=tuple(changes), notes=evaluated.notes, titles=evaluated.titles,
                                    excerpts=evaluated.excerpts, show_queries=settings.show_queries,
                                    metadata=input_metadata(settings, evaluated), kept=RUN_FILE if options.out else "")
    try:
        if evaluated.failure:
            raise evaluated.failure
        report = pipeline.assess(evaluated.golden, evaluated.run, reference, settings.policy, around, splits=settings.splits,
                                 repeats=evaluated.repeats, latest=latest)
        report = _with_history(report, earlier)
    except GateError as error:
        report = pipeline.failure_report(error, settings.policy, around)
    lacking = evaluated.failure or (report.problems and any(ranking.error for each in (evaluated.run, *evaluated.repeats)
                                                            for ranking in each.rankings.values()))
    if options.baseline and (answers := options.out or options.record):
        report = replace(report, explain=of_files(options.baseline, answers, None, options.config, options.tier))
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


def _earlier(options: Namespace, gate: str) -> list[Record]:
    """The records of --history, read before anything is asked. ``gate``: whose they have to be, "" for whichever."""
    if not options.history:
        return []
    if not options.out:
        raise InvalidInput("--history: is drawn in report.html", "name the folder of the reports with --out as well")
    from gate.baseline.show import found_records

    found = [record for _, record in found_records(options.history, None, "", "")]
    if others := sorted({record.gate for record in found if gate and record.gate != gate}):
        raise InvalidInput(f"--history: holds records of the gate {' and '.join(others)}, not of {gate}", "name those of this gate")
    return found


def _with_history(report: Report, earlier: Sequence[Record]) -> Report:
    """``report`` with what led to it: the records, scored as this run is. What cannot be drawn is said and changes no verdict."""
    candidate, run, golden, policy = report.candidate, report.candidate_run, report.golden, report.policy
    if not earlier or candidate is None or run is None or golden is None:
        return report
    from gate.baseline.record import Record
    from gate.history import history_of

    judged = replace(golden, queries=tuple(query for query in golden.queries if query.id in candidate.queries))
    snapshot = str(report.metadata.get("snapshot_digest") or max(earlier, key=lambda record: record.created).snapshot_digest)
    try:
        here = Record(report.gate, run.rankings, golden.digest, snapshot_digest=snapshot)
        return replace(report, history=history_of(earlier, judged, policy.all_metrics, here, policy.unit, policy.overlap))
    except InvalidInput as fault:
        return replace(report, notes=(*report.notes, f"there is no history: {fault.problems[0]}"))


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
        from gate.reports.text import render_text

        console.show_report(lambda color, columns: render_text(report, color, columns))
        if options.out:
            print(f"Reports: {Path(options.out) / 'report.html'}")
    return report.exit_code
