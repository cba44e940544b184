import json
import math
import subprocess
import sys

import pytest

from gate import jsonio
from gate.reports.json_report import report_json
from tests.reports import build, hostile

KEYS = {"schema", "gate", "verdict", "exit_code", "checks", "primary", "metrics", "tags", "flips", "unanswerable", "excluded",
        "latency", "cost", "metadata", "problems", "cure", "notes", "approval", "input_changes", "baseline", "latest", "noise", "stages",
        "patterns", "versions", "top_k", "condensed", "warnings"}
LATEST = {"commit", "created", "delta", "ci", "p_value", "n", "better", "worse", "lost", "gained", "lost_again", "on_main", "by_change",
          "metrics"}
PAIRED = {"baseline", "candidate", "delta", "ci", "p_value", "q_value", "better", "worse", "n"}


@pytest.mark.parametrize("name", build.EVERY)
def test_every_verdict_has_the_same_keys(name):
    value = report_json(build.EVERY[name]())
    assert value.keys() == KEYS
    assert value["primary"].keys() == {"metric", "baseline", "candidate", "delta", "ci", "ci_method", "p_value", "n", "changed",
                                       "mde"}
    assert all(metric.keys() - {"mcnemar"} == PAIRED for metric in value["metrics"].values())
    assert value["flips"].keys() == {"lost", "gained"}
    assert value["excluded"].keys() == {"undefined", "missing", "errored", "added", "removed", "relabelled", "unpaired", "extra"}
    assert json.loads(jsonio.pretty(value)) == value


def test_with_a_second_reference_it_says_what_this_change_alone_did():
    report = build.slipping()
    value = report_json(report)
    latest, main = value["latest"], report.latest.comparison.main
    assert latest.keys() == LATEST and latest["commit"] == build.MAIN
    assert latest["delta"] == main.delta and latest["ci"] == [main.ci.lo, main.ci.hi] and latest["metrics"]["hit@5"].keys() >= PAIRED
    assert latest["on_main"] + latest["by_change"] == pytest.approx(value["primary"]["delta"])
    assert report_json(build.relapsing())["latest"]["lost_again"] == ["q010", "q011", "q012", "q013", "q014", "q015", "q016", "q017"]
    assert report_json(build.failing())["latest"] is None


def test_numbers_are_not_rounded():
    report = build.failing()
    value = report_json(report)
    main = report.comparison.main
    assert value["primary"]["delta"] == main.delta and value["primary"]["ci"] == [main.ci.lo, main.ci.hi]
    assert value["metrics"]["hit@5"]["mcnemar"]["exact"] == report.comparison.metrics["hit@5"].mcnemar[0]


def test_a_lost_query_has_ranks_and_what_replaced_it():
    lost = report_json(build.failing())["flips"]["lost"]
    assert lost[0] == {"id": "q000", "query": "ERR-4400", "tags": ["exact-term"], "baseline_rank": 1, "candidate_rank": None,
                       "delta": -1.0, "document": "doc-q000", "replaced_by": "new-q000-1"}


def test_without_queries_no_query_text_is_in_it():
    text = jsonio.dumps(report_json(build.failing(show_queries=False)))
    assert "ERR-44" not in text and '"query"' not in text and "nothing answers" not in text


def test_nothing_is_not_a_number():
    report = build.failing(metadata={"odd": math.nan, "far": math.inf, "path": build.__file__})
    value = report_json(report)
    assert value["metadata"]["odd"] is None and value["metadata"]["far"] is None
    jsonio.dumps(value)


def test_equal_reports_give_equal_bytes():
    assert jsonio.pretty(report_json(build.failing())) == jsonio.pretty(report_json(build.failing()))


def test_hostile_text_is_kept_exactly():
    value = report_json(hostile.report())
    assert any(flip["query"] == "<img src=x onerror=alert(1)>" for flip in value["flips"]["lost"])
    data = jsonio.pretty(value).encode(errors="backslashreplace")
    assert json.loads(data) == value


def test_making_json_imports_no_template_engine_and_no_numpy():
    code = "import sys, gate.reports.json_report; print(sorted({'numpy', 'jinja2', 'markupsafe'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
