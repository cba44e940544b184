"""The commands that a report gives to whoever asks why one query moved."""

import shlex
from pathlib import Path

import pytest

from gate.cli import build_parser
from gate.explain.ask import ID, asked, of_files, of_workflow

NAMES = ("retrieval-gate-baseline-wiki", "")


def workflow(url, names=NAMES, run_id="77", tier="pr"):
    return of_workflow(run_id, "retrieval-gate-report-wiki", url, names, "search/gate.yml", tier)


def options(line):
    words = shlex.split(line)
    assert words[0] == "retrieval-gate"
    return build_parser().parse_args(words[1:])


def test_names_with_spaces_and_signs_come_through_the_shell():
    line, = of_files(Path("a b/main.jsonl.gz"), Path("$(rm x).jsonl"), Path("golden.jsonl"))
    found = options(asked([line], "what's; up")[0])
    assert (found.query, found.baseline, found.candidate) == ("what's; up", Path("a b/main.jsonl.gz"), Path("$(rm x).jsonl"))


def test_after_a_workflow_both_artifacts_are_downloaded():
    *fetch, last = workflow("https://github.com/acme/wiki/actions/runs/61/artifacts/5")
    assert fetch == ["gh run download 77 -n retrieval-gate-report-wiki -D gate-report",
                     "gh run download 61 -n retrieval-gate-baseline-wiki -D gate-baseline"]
    found = options(last)
    assert (found.query, found.config, found.baseline, found.candidate) == (ID, Path("search/gate.yml"), Path("gate-baseline"),
                                                                            Path("gate-report"))
    assert found.tier is None and options(workflow("x/actions/runs/61/artifacts/5", tier="nightly")[-1]).tier == "nightly"


def test_a_baseline_on_a_branch_is_fetched_by_its_commit():
    *_, fetch, last = workflow(f"https://github.com/acme/wiki/tree/{'a' * 40}/wiki")
    assert fetch == f"git fetch origin {'a' * 40} && git show {'a' * 40}:wiki/baseline.json.gz > gate-baseline.json.gz"
    assert options(last).baseline == Path("gate-baseline.json.gz")


def test_a_committed_baseline_is_named_where_it_lies():
    *fetch, last = workflow("", ("x", "baseline.json.gz"))
    assert len(fetch) == 1 and options(last).baseline == Path("baseline.json.gz")


@pytest.mark.parametrize(("url", "run_id"), [("", "77"), ("https://github.com/acme/wiki/actions/runs/61/artifacts/5", "")])
def test_where_nobody_can_tell_there_is_no_command(url, run_id):
    assert workflow(url, run_id=run_id) == ()


@pytest.mark.parametrize("name", ["-x", "--golden", "-1", "--"])
def test_an_id_or_a_path_that_looks_like_an_option_is_none(name):
    line, = of_files(Path("-main.jsonl"), Path("new.jsonl"), Path("golden.jsonl"))
    found = options(asked([line], name)[0])
    assert (found.query, found.baseline, found.golden) == (name, Path("-main.jsonl"), Path("golden.jsonl"))
