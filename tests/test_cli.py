"""The command line as people type it."""

import json
import os
import subprocess
import sys

import pytest

from gate.cli import main
from tests.conftest import ROOT
from tests.story import CONFIG, golden, run

CLEAN = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}


def gate(*words, **options):
    """In a process of its own."""
    return subprocess.run([sys.executable, "-m", "gate", *map(str, words)], capture_output=True, text=True, cwd=ROOT,
                          env=CLEAN | {"PYTHONDONTWRITEBYTECODE": "1"}, timeout=120, **options)


@pytest.fixture
def files(tmp_path):
    for name, text in (("golden.jsonl", golden()), ("base.jsonl", run()), ("bad.jsonl", run(lost=30)), ("few.jsonl", run(lost=4)),
                       ("run.jsonl", run()), ("retrieval-gate.yml", CONFIG)):
        (tmp_path / name).write_text(text)
    return tmp_path


def compare(files, candidate, *more):
    return main(["compare", "--golden", str(files / "golden.jsonl"), "--baseline", str(files / "base.jsonl"),
                 "--candidate", str(files / candidate), *map(str, more)])


def test_help_is_there_for_every_command_and_imports_nothing_heavy():
    code = ("import sys; sys.argv = ['gate', '--help']\n"
            "try:\n    from gate.cli import main; main()\nexcept SystemExit: pass\n"
            "print([m for m in ('numpy', 'requests', 'jinja2', 'yaml', 'bm25s', 'dataclasses', 'json') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
    for words in (["--help"], ["compare", "--help"], ["snapshot", "build", "--help"], ["baseline", "show", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0


def test_no_command_and_a_wrong_option_are_invalid_input(capsys):
    assert main([]) == 2
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--colour"])
    assert ended.value.code == 2


@pytest.mark.parametrize("candidate, code, verdict", [("base.jsonl", 0, "pass"), ("bad.jsonl", 1, "fail"),
    ("few.jsonl", 0, "inconclusive")])
def test_compare_ends_with_the_verdicts_exit_code_and_json_is_all_that_it_prints(files, capsys, candidate, code, verdict):
    assert compare(files, candidate, "--format", "json") == code
    report = json.loads(capsys.readouterr().out)
    assert (report["verdict"], report["exit_code"], report["schema"]) == (verdict, code, 1)
    assert {"checks", "primary", "metrics", "tags", "flips", "unanswerable", "excluded", "latency", "metadata"} <= report.keys()


def test_compare_prints_text_or_markdown_and_writes_all_reports(files, capsys):
    assert compare(files, "bad.jsonl", "--out", files / "out") == 1
    text = capsys.readouterr().out
    assert text.startswith("FAILED") and str(files / "out" / "report.html") in text
    assert {path.name for path in (files / "out").iterdir()} == {"report.json", "comment.md", "report.html", "junit.xml", "run.jsonl.gz"}
    assert compare(files, "bad.jsonl", "--format", "markdown") == 1
    assert capsys.readouterr().out.startswith("## ❌")


def test_the_same_input_gives_the_same_bytes(files, capsys):
    outs = []
    for name in ("one", "two"):
        compare(files, "bad.jsonl", "--out", files / name)
        outs.append({path.name: path.read_bytes() for path in (files / name).iterdir()})
    assert outs[0] == outs[1]


def test_a_policy_comes_from_a_configuration(files, capsys):
    (files / "retrieval-gate.yml").write_text(CONFIG + "policy:\n  tolerance: 0.5\n  inconclusive: fail\n")
    assert compare(files, "bad.jsonl", "--config", files / "retrieval-gate.yml") == 0
    (files / "retrieval-gate.yml").write_text(CONFIG + "policy:\n  inconclusive: fail\n")
    assert compare(files, "few.jsonl", "--config", files / "retrieval-gate.yml") == 4


@pytest.mark.parametrize("name, content", [("golden.jsonl", "{"), ("base.jsonl", ""), ("bad.jsonl", '{"id": "other", "ranked": []}\n')])
def test_unusable_input_is_exit_2_with_the_file_named(files, capsys, name, content):
    (files / name).write_text(content)
    assert compare(files, "bad.jsonl") == 2
    assert str(files / name) in capsys.readouterr().err


def test_evaluate_prints_means_tags_and_queries_as_json(files, capsys):
    assert main(["evaluate", "--golden", str(files / "golden.jsonl"), "--run", str(files / "bad.jsonl"), "--format", "json",
                 "--metrics", "hit@1,rr"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["metrics"] == {"hit@1": 0.9, "rr": 0.9} and scores["n"] == 300 and len(scores["queries"]) == 300
    assert scores["tags"]["even"]["n"] == 150 and set(scores["excluded"]) >= {"undefined", "missing", "errored"}


def test_evaluate_says_how_sure_each_mean_is(files, capsys):
    words = ["evaluate", "--golden", str(files / "golden.jsonl"), "--run", str(files / "few.jsonl"), "--metrics", "hit@5,ndcg@10"]
    assert main([*words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name, (low, high) in found["intervals"].items():
        assert 0.0 <= low < found["metrics"][name] < high <= 1.0
    assert main(words) == 0
    low, high = found["intervals"]["hit@5"]
    assert f"{low:.3f}–{high:.3f}" in capsys.readouterr().out


def test_evaluate_lists_every_unknown_metric(files, capsys):
    assert main(["evaluate", "--golden", str(files / "golden.jsonl"), "--run", str(files / "bad.jsonl"), "--metrics", "mrr,ndgc@5"]) == 2
    err = capsys.readouterr().err
    assert "did you mean rr?" in err and "did you mean ndcg@5?" in err


def test_run_makes_a_record_that_later_runs_are_compared_with(files, capsys):
    config = ["run", "--config", str(files / "retrieval-gate.yml")]
    assert main([*config, "--record", str(files / "main.json.gz")]) == 0
    assert main(["baseline", "verify", str(files / "main.json.gz")]) == 0
    assert main(["baseline", "show", str(files / "main.json.gz")]) == 0
    assert "made by hand" in capsys.readouterr().out
    (files / "run.jsonl").write_text(run(lost=30))
    assert main([*config, "--baseline", str(files / "main.json.gz"), "--out", str(files / "out")]) == 1
    assert compare(files, "main.json.gz") == 0
    (files / "retrieval-gate.yml").write_text(CONFIG + "policy: {tolerance: 0.9}\n")
    assert main([*config, "--baseline", str(files / "main.json.gz")]) == 1
    assert "policy tolerance" in capsys.readouterr().out


def test_a_retriever_that_fails_is_exit_3_and_the_queries_that_worked_are_kept(files, capsys):
    from gate.runs import read_run

    (files / "crash.py").write_text("def retrieve(query, n):\n    if query.endswith(' 57'):\n        raise ValueError('boom')\n"
                                    "    return ['d1']\n")
    (files / "retrieval-gate.yml").write_text("golden: golden.jsonl\nretriever: {kind: python, function: 'crash:retrieve'}\n")
    assert main(["run", "--config", str(files / "retrieval-gate.yml"), "--out", str(files / "out")]) == 3
    assert "boom" in capsys.readouterr().out
    assert len(read_run(files / "out" / "run.jsonl.gz").rankings) == 300


def test_a_snapshot_is_built_shown_verified_and_used(tmp_path, capsys):
    wiki = tmp_path / "wiki"
    wiki.mkdir()
    (wiki / "vpn.md").write_text("# VPN\n\n## Rotate the certificate\n\nAsk the gateway team.\n\n## Reset\n\nCall the desk.\n")
    assert main(["snapshot", "build", "--kind", "bm25", "--corpus", str(wiki), "--out", str(tmp_path / "s")]) == 0
    digest = capsys.readouterr().out.split("digest: ")[1].strip()
    assert main(["snapshot", "verify", str(tmp_path / "s"), "--digest", digest]) == 0
    assert main(["snapshot", "show", str(tmp_path / "s")]) == 0
    (tmp_path / "g.jsonl").write_text('{"id": "q", "query": "rotate certificate", "relevant": ["vpn#rotate-the-certificate"]}\n')
    config = f"golden: g.jsonl\nsnapshot: {{path: s, digest: '{digest}'}}\nretriever: {{kind: bm25}}\npolicy: {{floors: {{hit@5: 1.0}}}}\n"
    (tmp_path / "retrieval-gate.yml").write_text(config)
    assert main(["run", "--config", str(tmp_path / "retrieval-gate.yml")]) == 0
    (tmp_path / "s" / "units.jsonl").write_text("{}\n")
    assert main(["snapshot", "verify", str(tmp_path / "s")]) == 2 and "units.jsonl" in capsys.readouterr().err
    assert main(["run", "--config", str(tmp_path / "retrieval-gate.yml")]) == 2


def test_the_demo_shows_a_failing_gate_and_ends_with_0(tmp_path):
    done = gate("demo", "--out", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert "The protected tag `exact-term` got worse and the average hides it" in done.stdout
    assert "exit code 1 (fail)" in done.stdout and "ends with 0" in done.stdout
    assert (tmp_path / "demo" / "report.html").is_file()


@pytest.mark.parametrize("change, code", [("harmful", 1), ("harmless", 0)])
def test_the_demo_can_show_the_examples_other_changes(tmp_path, change, code):
    assert f"exit code {code} " in gate("demo", "--out", tmp_path / "demo", "--change", change).stdout


def test_a_reader_that_goes_away_is_no_traceback(files):
    done = subprocess.run(f"{sys.executable} -m gate compare --golden {files}/golden.jsonl --baseline {files}/base.jsonl "
                          f"--candidate {files}/bad.jsonl --format json | head -c 1", shell=True, capture_output=True, text=True, cwd=ROOT,
                          timeout=60)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("options", [["--out", "{}/file"], ["--out", "{}/loop"], ["--out", "/proc/nowhere"], ["--config", "{}"],
                                     ["--config", "{}/" + "x" * 5000]])
def test_a_place_that_cannot_be_written_or_read_is_exit_2_and_never_a_regression(files, capsys, options):
    (files / "file").write_text("")
    (files / "loop").symlink_to("loop")
    assert compare(files, "bad.jsonl", *[o.format(files) for o in options]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_named_pipe_is_refused_instead_of_waited_for(files, capsys):
    os.mkfifo(files / "pipe")
    assert compare(files, "pipe") == 2 and "not a regular file" in capsys.readouterr().err


def test_a_terminal_that_knows_only_ascii_gets_the_verdict_too(files):
    done = subprocess.run([sys.executable, "-m", "gate", "compare", "--golden", files / "golden.jsonl", "--baseline", files / "base.jsonl",
                           "--candidate", files / "bad.jsonl"], capture_output=True, cwd=ROOT, timeout=60,
                          env=CLEAN | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1 and b"FAILED" in done.stdout and b"Traceback" not in done.stderr


@pytest.mark.parametrize("grade", ["9" * 400, "1e999", "2000"])
def test_numbers_beyond_all_bounds_are_invalid_input(files, capsys, grade):
    (files / "golden.jsonl").write_text('{"id": "q", "query": "x", "relevant": {"a": GRADE}}\n'.replace("GRADE", grade))
    assert compare(files, "bad.jsonl") == 2


def test_a_metric_deeper_than_the_record_is_refused(files, capsys):
    assert main(["run", "--config", str(files / "retrieval-gate.yml"), "--record", str(files / "main.json.gz")]) == 0
    assert main(["evaluate", "--golden", str(files / "golden.jsonl"), "--run", str(files / "main.json.gz"), "--metrics", "ndcg@500"]) == 2
    assert "holds 10 results" in capsys.readouterr().err


def test_a_run_that_failed_on_every_query_is_no_score(files, capsys):
    (files / "bad.jsonl").write_text("".join(json.dumps({"id": f"q{i}", "error": "boom"}) + "\n" for i in range(300)))
    assert main(["evaluate", "--golden", str(files / "golden.jsonl"), "--run", str(files / "bad.jsonl")]) == 3


def test_versions_candidates_and_a_score_floor_reach_the_report_and_a_changed_floor_needs_no_approval(files, capsys):
    def ranked(stale):
        return "".join(json.dumps({"id": f"q{i}", "ranked": [f"old{i}", f"d{i}"] if stale else [f"d{i}", f"old{i}", "x"],
                                   "candidates": [f"d{i}", "y"], "scores": [0.9, 0.1] if stale else [0.9, 0.5, 0.1]}) + "\n"
                       for i in range(300))

    (files / "golden.yml").write_text("versions: versions.jsonl\n")
    (files / "versions.jsonl").write_text("".join(json.dumps({"current": f"d{i}", "older": [f"old{i}"]}) + "\n" for i in range(40)))
    (files / "golden.jsonl").write_text(golden() + '{"id": "u", "query": "?", "relevant": [], "answerable": false}\n')
    (files / "run.jsonl").write_text(ranked(False))
    config = ["run", "--config", str(files / "retrieval-gate.yml")]
    (files / "retrieval-gate.yml").write_text(CONFIG + "policy: {primary: recall@10, score_floor: 0.4}\n")
    assert main([*config, "--record", str(files / "main.json.gz")]) == 0
    (files / "run.jsonl").write_text(ranked(True))
    (files / "retrieval-gate.yml").write_text(CONFIG + "policy: {primary: recall@10, score_floor: 0.95, max_drop: {}}\n")
    capsys.readouterr()
    assert main([*config, "--baseline", str(files / "main.json.gz"), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["versions"]["n"], report["versions"]["baseline"], report["versions"]["candidate"]) == (40, 1.0, 0.0)
    assert len(report["versions"]["stale"]) == 40 and report["stages"]["candidate"] == {"candidate_recall": 1.0, "recall": 1.0, "loss": 0.0}
    assert report["unanswerable"]["above"]["candidate"]["answerable"] == {"above": 0, "scored": 300, "unscored": 0}
    assert report["input_changes"] == []
    assert main(["evaluate", "--golden", str(files / "golden.jsonl"), "--run", str(files / "main.json.gz")]) == 0
    out = capsys.readouterr().out
    assert "stages: candidates@100: the ceiling 1.000, final list: recall@10 1.000" in out
    assert "latest@10: of 40 queries that want a current version, 100.0 % have no outdated one above it." in out
    (files / "retrieval-gate.yml").write_text(CONFIG + "policy: {primary: recall@10, floors: {latest@10: 0.9}}\n")
    assert main([*config, "--baseline", str(files / "main.json.gz")]) == 1
    assert "latest@10 is 0.000, below its floor 0.9" in capsys.readouterr().out


def test_help_is_as_wide_as_the_terminal_and_eighty_columns_where_there_is_none():
    def lines(columns):
        words = [sys.executable, "-m", "gate", "compare", "--help"]
        return subprocess.run(words, env={**CLEAN, "COLUMNS": columns}, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert lines("") == lines("nonsense") == lines("0") == lines("80")
    assert lines("60").count("\n") > lines("80").count("\n") > lines("160").count("\n")


def test_time_and_cost_are_limited_only_where_somebody_asks(files, capsys):
    def timed(ms, cost):
        return "".join(json.dumps(json.loads(line) | {"ms": ms, "cost": cost}) + "\n" for line in run().splitlines())

    (files / "base.jsonl").write_text(timed(10.0, 0.001))
    (files / "slow.jsonl").write_text(timed(25.0, 0.003))
    config = files / "retrieval-gate.yml"
    assert compare(files, "slow.jsonl", "--config", config, "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["latency"]["ratio"] == report["latency"]["p95_ratio"] == 2.5 and report["cost"] == {
        "baseline": pytest.approx(0.001), "candidate": pytest.approx(0.003), "ratio": pytest.approx(3.0)}
    config.write_text(CONFIG + "policy: {limits: {p95_ratio: 2, cost_ratio: 4, p50_ms: 30}}\n")
    assert compare(files, "slow.jsonl", "--config", config) == 1
    out = capsys.readouterr().out
    assert "FAIL  limit p95_ratio: The 95th percentile of the latency is 2.5 times the baseline's" in out
    assert "ok    limit cost_ratio" in out and "ok    limit p50_ms" in out
    config.write_text(CONFIG + "policy: {limits: {p95_ratio: -1, p99_ms: 3}}\n")
    assert compare(files, "slow.jsonl", "--config", config) == 2
    err = capsys.readouterr().err
    assert "p95_ratio" in err and "p99_ms" in err


HOSTILE = "x\n::set-output name=verdict::pass\x1b[31m ##[set-output name=verdict;]pass"


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_in_the_log_of_a_workflow_nothing_printed_is_a_command(files, form):
    """Tags, ids and unknown keys come out of files; the runner obeys a line that begins with `::`, and `##[` anywhere."""
    rows = [json.loads(line) for line in golden().splitlines()]
    rows[0] |= {"query": HOSTILE, "tags": [HOSTILE], HOSTILE: 1}
    (files / "golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for words in (["compare", "--golden", files / "golden.jsonl", "--baseline", files / "base.jsonl", "--candidate", files / "bad.jsonl"],
                  ["evaluate", "--golden", files / "golden.jsonl", "--run", files / "bad.jsonl"],
                  ["golden", "plan", files / "golden.jsonl"]):
        done = gate(*words, *([] if form == "markdown" and words[0] != "compare" else ["--format", form]))
        assert_inert(done)
        if form == "json":
            assert "##[set-output" in json.dumps(json.loads(done.stdout))  # for a program it is what it was


def test_an_error_is_no_command_either(files):
    (files / "retrieval-gate.yml").write_text(CONFIG + json.dumps(HOSTILE) + ": 1\n")
    done = gate("run", "--config", files / "retrieval-gate.yml")
    assert done.returncode == 2 and "unknown key" in done.stderr
    assert_inert(done)


def assert_inert(done):
    text = done.stdout + done.stderr
    assert "##[" not in text and "\x1b" not in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
