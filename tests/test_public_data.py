"""The real collections: every stored value of expected.json is reproduced, per query too, and the verdicts are right."""

from __future__ import annotations

import functools
import gzip
import json

import pytest

from gate import pipeline, references
from gate.golden.read import read_golden
from gate.policy import Policy
from gate.runs import read_run
from gate.scoring.metrics import parse_metric
from gate.scoring.score import score_run
from tests.conftest import public_data

COLLECTIONS = ("squad2-dev", "xquad-en", "anthropic-docs")
NAMES = {"ndcg@10": "ndcg@10", "recall@10": "recall@10", "mrr@10": "rr@10"}  # theirs → ours
METRICS = tuple(parse_metric(name) for name in NAMES.values())


@functools.cache
def expected() -> dict:
    return json.loads((public_data() / "expected.json").read_text())["collections"]


@functools.cache
def scored(collection: str, run: str):
    data = public_data()
    return score_run(golden(collection), read_run(data / "runs" / collection / f"{run}.jsonl.gz"), METRICS)


@functools.cache
def golden(collection: str):
    return read_golden(public_data() / "collections" / collection / "golden.jsonl")


def stored_runs(collection: str) -> list[str]:
    """Runs whose rankings are stored; expected.json also has values of some that are not."""
    folder = public_data() / "runs" / collection
    return [run for run in expected()[collection]["runs"] if (folder / f"{run}.jsonl.gz").is_file()]


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_means_of_every_stored_run_are_reproduced_to_the_digits_stored(collection):
    runs = stored_runs(collection)
    assert len(runs) >= 20
    for run in runs:
        for theirs, ours in NAMES.items():
            value = expected()[collection]["runs"][run]["mean"][theirs]
            assert round(scored(collection, run).mean(ours), 6) == pytest.approx(value, abs=1.01e-6), (run, theirs)


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_values_of_every_query_are_reproduced(collection):
    stored = json.loads(gzip.decompress((public_data() / "expected_per_query" / f"{collection}.json.gz").read_bytes()))
    checked = 0
    for run in set(stored_runs(collection)) & set(stored["runs"]):
        for query, values in zip(stored["queries"], stored["runs"][run], strict=True):
            for theirs, value in zip(stored["measures"], values, strict=True):
                assert abs(scored(collection, run).queries[query].values[NAMES[theirs]] - value) < 5.1e-6, (run, query)
                checked += 1
    assert checked > 1000


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_deltas_and_counts_are_reproduced_and_intervals_agree_with_the_resampled_ones(collection):
    data = public_data()
    for run in stored_runs(collection):
        facts = expected()[collection]["runs"][run]
        if not facts["base"] or facts["base"] not in stored_runs(collection):
            continue
        report = pipeline.assess(golden(collection), read_run(data / "runs" / collection / f"{run}.jsonl.gz"),
                                 references.Reference(read_run(data / "runs" / collection / f"{facts['base']}.jsonl.gz")),
                                 Policy(metrics=METRICS))
        for theirs, ours in NAMES.items():
            found, wanted = report.comparison.metrics[ours], facts["vs_base"][theirs]
            assert found.delta == pytest.approx(wanted["delta"], abs=1.01e-6), (run, theirs)
            assert (found.better, found.worse) == (wanted["better"], wanted["worse"]), (run, theirs)
            if found.ci.method == "exact":
                # The stored interval was drawn 10,000 times: its ends scatter by about 3 % of its width, and by one step where the
                # mean can only take steps of one query.
                slack = 0.04 * (wanted["ci95"][1] - wanted["ci95"][0]) + 1.01 / len(report.comparison.paired)
                assert found.ci.lo == pytest.approx(wanted["ci95"][0], abs=slack), (run, theirs)
                assert found.ci.hi == pytest.approx(wanted["ci95"][1], abs=slack), (run, theirs)


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_every_true_regression_fails_and_no_harmless_change_does(collection):
    data, seen = public_data(), set()
    for run in stored_runs(collection):
        facts = expected()[collection]["runs"][run]
        if facts.get("gate") not in ("must_catch", "must_pass", "improvement") or facts["base"] not in stored_runs(collection):
            continue
        report = pipeline.assess(golden(collection), read_run(data / "runs" / collection / f"{run}.jsonl.gz"),
                                 references.Reference(read_run(data / "runs" / collection / f"{facts['base']}.jsonl.gz")), Policy())
        assert (report.verdict == "fail") == (facts["gate"] == "must_catch"), (run, facts["gate"], report.verdict, report.checks)
        seen.add(facts["gate"])
    assert {"must_catch", "must_pass"} <= seen


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_base_against_itself_passes(collection):
    run = read_run(public_data() / "runs" / collection / "dense.jsonl.gz")
    report = pipeline.assess(golden(collection), run, references.Reference(run), Policy())
    assert report.verdict == "pass" and report.comparison.identical
