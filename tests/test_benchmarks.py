"""The programs of benchmarks/ do the same work; how fast is not tested."""

import importlib.util
import io
import json
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

BENCHMARKS = ROOT / "benchmarks"
sys.path.append(str(BENCHMARKS))

import measuring  # noqa: E402
import peer_environment  # noqa: E402
import peer_list  # noqa: E402
import speed_page  # noqa: E402
from measuring import Results, Versus  # noqa: E402
from targets import TARGETS  # noqa: E402
from timing import Failed, Run, last_line, run  # noqa: E402

# In this environment, not in the benchmarks' own: what the tests need has most of the peers.
TOOLS = peer_list.Tools(str(Path(sys.executable).parent / "retrieval-gate"), sys.executable, sys.executable, None)
NEEDS = {"pytrec_eval": ("pytrec_eval",), "ir_measures": ("ir_measures", "pytrec_eval"), "scipy": ("scipy",)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("inputs")
    measuring.made(where, "300x20", trec=True)
    return where


@pytest.fixture(scope="module")
def reference(folder):
    return run(*peer_list.ours(TOOLS, folder, "--save")).said


@pytest.mark.parametrize("peer", [p for p in peer_list.PEERS if p.family in ("numpy", "choices", "scipy", "pytrec_eval", "ir_measures")],
                         ids=lambda p: p.key)
def test_a_peer_computes_our_means(peer, folder, reference):
    for module in NEEDS.get(peer.family, ()):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed here")
    said = run(*peer.side(TOOLS, folder, "S")).said
    assert set(said["baseline"]) == set(said["candidate"]) and "ndcg@10" in said["baseline"]
    assert measuring.differences(peer.key, said, reference, peer_list.EXACT) == []


def test_compare_and_the_phases_of_the_benchmark_are_one_program(folder, reference):
    said = run(*peer_list.compare(TOOLS, folder, read=peer_list.read_report)).said
    assert len(said["baseline"]) == 6
    assert measuring.differences("compare", said, reference, 0.0) == []
    assert said["intervals"] == reference["intervals"]


def test_resampling_lands_at_our_interval_and_at_our_p(folder, reference):
    for method in peer_list.METHODS:
        said = run(*method.side(TOOLS, folder, "S")).said
        mine = run(*peer_list.our_statistics(TOOLS, folder, method.ours)).said
        assert measuring.unlike(method, said, mine, method.drawn("S")) == []
    assert run(*peer_list.our_statistics(TOOLS, folder, "all")).said["interval"] == reference["intervals"][0]


def test_a_mean_that_differs_is_named_with_both_values():
    ours = {"baseline": {"ndcg@10": 0.5, "rr": 0.4}, "candidate": {"ndcg@10": 0.6, "rr": 0.4}}
    theirs = {"baseline": {"ndcg@10": 0.5}, "candidate": {"ndcg@10": 0.61}}
    assert measuring.differences("a peer", theirs, ours, 1e-9) == ["ndcg@10 of the candidate: 0.61 by a peer, 0.6 by ours"]
    assert measuring.differences("a peer", {"baseline": {"rr": float("nan")}, "candidate": {}}, ours, 1e-9)


def test_trec_files_hold_the_same_rankings_and_labels(folder):
    lines = [line.split() for line in (folder / "candidate.trec").read_text().splitlines()]
    ranked = {}
    for query, _, doc, _, score, _ in lines:
        ranked.setdefault(query, []).append((float(score), doc))
    for line in map(json.loads, (folder / "candidate.jsonl").read_text().splitlines()):
        assert [doc for _, doc in sorted(ranked[line["id"]], reverse=True)] == line["ranked"]
    graded = {(query, doc): int(grade) for query, _, doc, grade in map(str.split, (folder / "qrels.trec").read_text().splitlines())}
    for query in map(json.loads, (folder / "golden.jsonl").read_text().splitlines()):
        labels = query["relevant"] if isinstance(query["relevant"], dict) else dict.fromkeys(query["relevant"], 1)
        assert all(graded[query["id"], doc] == grade for doc, grade in labels.items())


def test_where_every_line_differs_it_does(tmp_path):
    from inputs import Size, make

    make(tmp_path, Size(40, 20, 0, 0).churned())
    before, after = ((tmp_path / f"{name}.jsonl").read_text().splitlines() for name in ("baseline", "candidate"))
    assert len(before) == 40 and all(a != b for a, b in zip(before, after, strict=True))


def test_trec_evals_means_are_read_and_its_queries_are_not():
    block = "".join(f"{name:<22}\t{query}\t{{}}\n" for name in peer_list._TREC_NAMES for query in ("q1", "all"))
    found = peer_list.read_trec_eval(io.StringIO(block.replace("{}", "0.5000") + block.replace("{}", "0.2500")))
    assert set(found["baseline"].values()) == {0.5} and set(found["candidate"].values()) == {0.25} and len(found["candidate"]) == 6


def test_statistics_of_fewer_resamples_are_scaled_and_nothing_else():
    drawn = Run(3.0, 2.5, 100.0, {"seconds": {"load": 1.0, "statistics": 0.5}, "processor": {"statistics": 0.25}})
    scaled = drawn.scaled(10.0)
    assert (scaled.wall, scaled.cpu, scaled.peak) == (7.5, 4.75, 100.0)
    assert scaled.said == {"seconds": {"load": 1.0, "statistics": 5.0}, "processor": {"statistics": 2.5}}
    assert drawn.scaled(1.0) == drawn


def test_an_environment_that_cannot_be_made_is_a_reason_to_skip_and_no_crash(tmp_path):
    with pytest.raises(peer_environment.NotInstalled, match="out of luck"):
        python = tmp_path / "python"
        python.write_text("#!/bin/sh\necho out of luck >&2\nexit 1\n")
        python.chmod(0o755)
        peer_environment.ensure(tmp_path / "venv", ["ranx==0.3.21"], python)


def test_a_process_that_fails_is_no_measurement():
    with pytest.raises(Failed, match="ended with 3: .*: out of luck"):
        run([sys.executable, "-c", "import sys; print('out of luck', file=sys.stderr); sys.exit(3)"], last_line)
    assert run([sys.executable, "-c", "raise SystemExit(1)"], endings=(0, 1, 4)).wall > 0


def _page(**found):
    empty = Results({}, {}, {}, ([], []), ([], []), {}, {}, [])
    return speed_page.written(empty._replace(**found), speed_page.facts({"Python": "3.11"}, "python benchmarks/speed.py"))


def test_every_target_says_whether_it_was_reached_missed_or_not_measured():
    fast, slow = Run(1.0, 1.0, 50.0), Run(2.0, 4.0, 90.0, {"seconds": {"score": 1.0}})
    peers = {("S", "numpy 1"): Versus([slow], [slow], [fast]), ("M", "ranx"): Versus([fast], [slow], [slow]),
             ("L", "pytrec_eval"): Versus([fast], [slow], [slow._replace(wall=10.0)])}
    page = _page(peers=peers, skipped=["scipy: cannot be installed: no such version"])
    row = {line.split(" | ")[0][2:]: line.split(" | ")[1:] for line in page.splitlines() if line.startswith("| ")}
    assert row["articles' numpy script with one interval"][0] == "**not reached**: 2.00 (aim 0.90, processor time 4.00)"
    assert row["ranx.compare, t-test, warm cache"][1] == "**not reached**: 0.50 (aim 1/20, processor time 0.25)"
    assert row["pytrec_eval (no statistics)"][2].startswith("reached: 1/10 (aim 0.20, processor time 0.25)")
    assert row["the same with six intervals"][1] == "not measured (aim 1/10)"
    assert sum(page.count(target.what) for target in TARGETS) >= len(TARGETS)
    assert "- scipy: cannot be installed: no such version" in page


def test_the_page_names_only_what_was_measured():
    page = _page(growth={"1000x100": [Run(1.0, 0.5, 60.0)]})
    assert "| 1,000 | 100 | 1.0 s | 500 ms | 5 | 60 |" in page
    assert "Statistics on ready differences" not in page and "## M" not in page and "Nothing was left out." in page
