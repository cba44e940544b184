"""Commands that look and judge nothing: scores of one run, a history, one query, what a golden set can resolve."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gate import console
from gate.errors import GateError, InvalidInput
from gate.policy import DEFAULT_METRICS, Policy
from gate.runs import Run

if TYPE_CHECKING:
    from gate.explain.query import Rules
    from gate.scoring.metrics import Metric
    from gate.settings import Settings
    from gate.snapshot.reader import Snapshot

_TOP = 10  # where the primary metric has no cutoff


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
        console.show(scores_text(golden, scored), color=True)
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
        console.show(history_text(told), color=True)
    return 0


def explain(options: Namespace) -> int:
    """``explain``: one query, no verdict."""
    from gate import references
    from gate.explain.query import explain as explained
    from gate.golden.read import read_golden
    from gate.reports.explained import explained_json, explained_text, hidden

    asked = _asked(options)
    golden = read_golden(asked.golden)
    before, after = (references.load_reference(path).run for path in (options.baseline, options.candidate))
    if options.query in golden.by_id and not any(options.query in side.rankings for side in (before, after)):
        raise InvalidInput(f"neither run has a ranking of {options.query!r}", "run the retriever over this golden set")
    found = explained(options.query, golden, before, after, asked.rules, asked.snapshot)
    found = found if asked.show_queries else hidden(found)
    if options.format == "json":
        console.show_json(explained_json(found))
    else:
        console.show_report(lambda color, columns: explained_text(found, color, columns))
    return 0


class _Asked(NamedTuple):
    """What ``explain`` works with: from options, else from the configuration."""

    golden: Path
    rules: Rules
    snapshot: Snapshot | None
    show_queries: bool = True


def _asked(options: Namespace) -> _Asked:
    from gate.explain.query import Rules

    problems = [f"-k: {options.k} is not at least 1"] if options.k is not None and options.k < 1 else []
    if not options.config:
        problems += ["--golden: is needed where no --config names the golden set"] if not options.golden else []
        problems += ["--tier: there is no configuration whose tier it could be"] if options.tier else []
    if problems:
        raise InvalidInput(problems)
    if not options.config:
        metric = Policy().primary
        return _Asked(options.golden, Rules(metric, options.k or metric.k or _TOP),
                      _snapshot(options.snapshot) if options.snapshot else None)
    from gate.settings import load_settings

    settings = load_settings(options.config, tier=options.tier or "pr")
    policy = settings.policy
    rules = Rules(policy.primary, options.k or policy.primary.k or _TOP, policy.unit, policy.overlap)
    snapshot = _snapshot(options.snapshot) if options.snapshot else _pinned(settings)
    return _Asked(options.golden or settings.golden, rules, snapshot, settings.show_queries)


def _pinned(settings: Settings) -> Snapshot | None:
    """The configured snapshot, as a gate opens it; without one there is less to say, and that is said."""
    from gate.snapshot.reader import open_snapshot
    from gate.world import world_of

    if settings.snapshot is None:
        return None
    try:
        return open_snapshot(settings.snapshot, world_of(os.environ))
    except GateError as error:
        console.tell(f"warning: without the snapshot, since it cannot be opened: {error.problems[0]}")
        return None


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
        documents = documents_of(golden, list(_snapshot(options.snapshot).units()))
    plan, path = make_plan(golden, str(metric), options.tolerance, scores, documents=documents, noise=noise), str(options.golden)
    if options.format == "json":
        console.show_json(plan_json(plan, path))
    else:
        console.show(plan_text(plan, path))
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


def _snapshot(directory: Path) -> Snapshot:
    """Verified against its own manifest; no configuration pins it here."""
    from gate.snapshot.reader import Snapshot
    from gate.snapshot.verify import verify

    return Snapshot(directory, verify(directory))
