"""Text, JUnit, annotations, files."""

import gzip
import json
import re
import shlex
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from gate import pipeline
from gate.cli import build_parser
from gate.delivery import write_summary
from gate.golden.read import read_golden
from gate.policy import Policy
from gate.references import Reference
from gate.reports.annotations import annotations
from gate.reports.comment import render_comment
from gate.reports.files import write_reports
from gate.reports.junit import render_junit
from gate.reports.scores import scores_text
from gate.reports.text import render_text
from gate.runs import Ranking, Run
from tests.reports import build, hostile
from tests.reports.build import q


@pytest.mark.parametrize("name", build.EVERY)
def test_the_text_of_every_verdict(name, golden_file):
    golden_file(f"text-{name}.txt", render_text(build.EVERY[name]()))


def test_text_without_colour_has_no_escape_sequence_and_with_colour_says_the_same():
    report = build.failing()
    plain, painted = render_text(report), render_text(report, color=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


COMMAND = "retrieval-gate explain QUERY_ID --golden golden.jsonl --baseline main.jsonl.gz --candidate new.jsonl.gz"


def test_a_command_is_one_line_however_narrow_the_terminal():
    text = render_text(replace(build.failing(), explain=(COMMAND,)), columns=60)
    assert f"  {COMMAND.replace('QUERY_ID', 'q000')}\n" in text
    assert max(len(line) for line in text.splitlines() if "retrieval-gate explain" not in line) <= 60


@pytest.mark.parametrize("odd", ["two  spaces", "\u202eevil", "\x1b[31mred", "tab\there", "x" * 201])
def test_no_command_names_what_cannot_be_copied_as_it_is_shown(odd):
    report = replace(build.make([q(odd, 1, None), q("--it's", 1, None), q("z")]), explain=(COMMAND,))
    for text in (render_text(report), render_comment(report)):
        line, = (line.strip() for line in text.splitlines() if "retrieval-gate explain" in line)
        assert build_parser().parse_args(shlex.split(line)[1:]).query == "--it's"
    assert "retrieval-gate explain" not in render_text(replace(build.make([q(odd, 1, None), q("z")]), explain=(COMMAND,)))


def test_no_line_of_the_text_is_a_workflow_command():
    for report in (hostile.report(), hostile.stopped(), *hostile.beside()):
        text = render_text(report)
        assert not re.search(r"^\s*::|##\[|[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text, re.MULTILINE)
        text.encode()


def test_a_traceback_is_indented_text():
    text = render_text(build.traceback())
    assert "    | Traceback (most recent call last):\n    |   File" in text and text.count("KeyError") == 1


def test_queries_without_any_result_are_counted_and_marked_in_the_text():
    text = render_text(build.emptied())
    assert "3 queries returned nothing at all; in the baseline 1 of them did." in text and text.count("no results") == 2


def test_one_unanswerable_query_is_singular():
    report = build.make([q(f"a{i}") for i in range(12)], unanswerable=["u"])
    assert "1 unanswerable query, in no mean" in render_text(report)
    assert "1 unanswerable query, kept apart" in scores_text(report.golden, report.candidate)


def cases(report):
    root = ElementTree.fromstring(render_junit(report).encode())
    suite = root.find("testsuite")
    found = suite.findall("testcase")
    assert int(suite.get("tests")) == len(found)
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.get(plural)) == len(suite.findall(f"testcase/{kind}"))
    names = [(case.get("classname"), case.get("name")) for case in found]
    assert len(set(names)) == len(names)
    return {case.get("name"): [child.tag for child in case] for case in found}


@pytest.mark.parametrize("name", build.EVERY)
def test_junit_of_every_verdict_has_a_case(name):
    assert cases(build.EVERY[name]())


def test_below_the_gate_is_a_failure():
    assert cases(build.failing()) == {"drop": ["failure"], "floor recall@5": ["failure"]}


def test_what_could_not_be_evaluated_is_an_error():
    assert cases(build.cannot_decide()) == {"evaluation": ["error"]}


def test_an_inconclusive_check_is_skipped_under_warn_and_a_failure_under_fail():
    lines = [q(f"a{i}", 1, 3 if i < 3 else 1) for i in range(40)]
    assert cases(build.make(lines))["drop"] == ["skipped"]
    assert cases(build.make(lines, Policy(inconclusive="fail")))["drop"] == ["failure"]


def test_an_accepted_change_has_no_failure_left():
    assert not any(cases(build.accepted()).values())


def test_junit_of_hostile_text_is_whole():
    assert cases(hostile.report()) and cases(hostile.stopped())


def test_a_missed_must_hit_query_is_pinned_to_its_line_of_the_golden_file():
    lines = [q(f"a{i}", 1, 1, tags=["vital"]) for i in range(20)]
    lines[7] = q("a7", 1, 14, "restart the gateway", tags=["vital"])
    verdict, missed = annotations(build.make(lines, Policy(must_hit_tags=("vital",))), "search/golden.jsonl")
    assert (verdict.level, verdict.line) == ("error", 0)
    assert (missed.level, missed.file, missed.line) == ("error", "search/golden.jsonl", 8)
    assert missed.message == "a7 «restart the gateway»: rank 1 → 14"


def test_at_most_ten_annotations_of_a_level():
    report = build.stopped("invalid", 2, [f"problem {i}" for i in range(40)], "fix", notes=tuple(f"note {i}" for i in range(40)))
    levels = [a.level for a in annotations(report, "golden.jsonl")]
    assert levels.count("error") == 10 and levels.count("warning") == 10


def test_must_hit_queries_beyond_the_limit_are_counted():
    lines = [q(f"a{i}", 1, None, tags=["vital"]) for i in range(25)]
    verdict, *missed, last = annotations(build.make(lines, Policy(must_hit_tags=("vital",))), "golden.jsonl")
    assert [a.line for a in missed] == list(range(1, 9)) and {a.level for a in (verdict, *missed, last)} == {"error"}
    assert last.message == "17 more must-hit queries found no relevant document; the report lists them." and last.line == 0


def test_a_must_hit_query_is_pinned_to_its_line_behind_a_byte_order_mark_and_blank_lines(tmp_path):
    path = tmp_path / "golden.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id":"a","query":"x","relevant":["d"]}\r\n\r\n{"id":"b","query":"y","relevant":["e"]}\r\n')
    runs = [Run({"a": Ranking(["d"]), "b": Ranking([doc])}) for doc in ("e", "z")]
    report = pipeline.assess(read_golden(path), runs[1], Reference(runs[0]), Policy(must_hit=("b",)))
    assert [a.line for a in annotations(report, "golden.jsonl") if a.file] == [3]


def test_a_pass_is_a_notice_and_an_inconclusive_comparison_a_warning():
    assert [a.level for a in annotations(build.passing(), "g")] == ["notice"]
    assert [a.level for a in annotations(build.inconclusive(), "g")] == ["warning"]


def test_all_files_are_written(tmp_path):
    write_reports(build.failing(), tmp_path / "out", b'{"id":"a","ranked":[]}\n')
    names = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert names == ["comment.md", "junit.xml", "report.html", "report.json", "run.jsonl.gz"]
    assert json.loads((tmp_path / "out" / "report.json").read_bytes())["verdict"] == "fail"
    assert gzip.decompress((tmp_path / "out" / "run.jsonl.gz").read_bytes()) == b'{"id":"a","ranked":[]}\n'


def test_text_that_is_not_unicode_stops_no_report(tmp_path):
    write_reports(hostile.report(), tmp_path, None)
    assert not (tmp_path / "run.jsonl.gz").exists()
    assert "\ud800 surrogate" in json.loads((tmp_path / "report.json").read_bytes())["notes"]


def test_what_a_step_has_written_to_its_summary_takes_from_the_room(tmp_path):
    """Other alphabets take more bytes than characters, and the runner counts bytes."""
    report = build.make([q(f"q{n}", 1, None, "東京の天気予報はいつ" * 8, ["x"]) for n in range(4000)])
    path = tmp_path / "summary"
    for already in (0, 600_000):
        path.write_bytes(b"x" * already)
        write_summary(report, str(path))
        assert already < path.stat().st_size <= 1024 * 1024
        assert "Showing " in path.read_text(encoding="utf-8")
