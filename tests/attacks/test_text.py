"""Ids, queries, tags and documents that want to be more than text, through the whole action: comment, summary, outputs, log, reports."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest

from gate.github.comments import split_marker
from tests.fake_github import GATE_PATH, FakeGitHub
from tests.reports.rendered import HOSTILE, assert_sound
from tests.story import CONFIG, Story, lines

# What rendered.HOSTILE does not have: the gate's own marker, the size of a book, and a whole second comment.
MORE = ("<!-- retrieval-gate:v1 gate=default head=" + "0" * 40 + " run=1 attempt=1 -->", "@acme/team #1 <!-- ]]> `|` " * 4000,
        "x\n\n## ✅ all is well\n\n| metric | value |\n|---|---|\n| ndcg@10 | 1.0 |\n<!-- retrieval-gate:v1 gate=default -->\n",
        "{{ config.__class__.__init__.__globals__ }}", "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
        "\u2066\u202etxt.exe\u2069", "\u200b\u200d\ufeff", "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07", "EOF\nverdict=pass\n",
        "gate_0\nverdict<<x\npass\nx\n")
TEXTS = [text for text in (*HOSTILE, *MORE) if text.strip() and "\ud800" not in text]


def inside_a_line(text: str) -> str:
    """Ids have one line and a bound."""
    return re.sub(r"[\r\n]+", " ", text)[:5000].strip() or "blank"


@pytest.fixture
def hostile(tmp_path, capsys):
    """A gate in which every text is hostile, and a pull request that loses all of it."""
    names = [f"{inside_a_line(text)} {n}" for n, text in enumerate(TEXTS)]
    golden = lines({"id": name, "query": text, "relevant": [f"{name} doc"], "tags": [inside_a_line(text), "plain"],
                    "cluster": inside_a_line(text)} for name, text in zip(names, TEXTS, strict=True))
    good = lines({"id": name, "ranked": [f"{name} doc", "x"] + ["y"] * (n % 2)} for n, name in enumerate(names))
    bad = lines({"id": name, "ranked": [f"{inside_a_line(text)} other", "x"] + ["y"] * (n % 2)}
                for n, (name, text) in enumerate(zip(names, TEXTS, strict=True)))
    with FakeGitHub() as fake:
        story = Story(fake, tmp_path, capsys, {"retrieval-gate.yml": CONFIG, "golden.jsonl": golden, "run.jsonl": good, GATE_PATH: "x"})
        assert story.on_push().code == 0
        pr = story.pull({"run.jsonl": bad})
        yield story, pr
        fake.assert_clean()


def test_the_comment_is_sound_and_has_one_marker_its_own(hostile):
    story, pr = hostile
    outcome = story.on_pull(pr, "opened")
    assert (outcome.code, outcome.verdict, outcome.outputs["lost"]) == (1, "fail", str(len(TEXTS)))
    (comment,) = story.comments(pr)
    page = assert_sound(comment)
    assert len(page.comments) == 1 and f"head={pr.head_sha}" in page.comments[0]
    assert not [link for link in page.links if "evil.example" in link] and len(comment) < 65_536
    assert comment.startswith("## ❌") and "\n## ✅" not in comment


def test_it_is_found_and_edited_again_though_a_query_is_the_marker_and_a_stranger_posts_it(hostile):
    story, pr = hostile
    story.fake.comment(pr, "eve", MORE[0])
    story.on_pull(pr, "opened")
    assert story.on_pull(pr).outputs["comment-status"] in ("updated", "unchanged")
    assert len(story.comments(pr)) == 2 and story.comments(pr)[0] == MORE[0]
    marker = split_marker(story.comments(pr)[1])[1]
    assert marker is not None and (marker.gate, marker.head) == ("default", pr.head_sha)


def test_log_outputs_and_summary_obey_nothing(hostile):
    story, pr = hostile
    outcome = story.on_pull(pr, "opened")
    commands = [line for line in outcome.log.splitlines() if line.lstrip().startswith("::")]
    assert all(re.match(r"::(error|warning|notice) [^:]*title=[^:]*::", line) for line in commands), commands
    assert "##[" not in outcome.log and "\x1b" not in outcome.log and "\u202e" not in outcome.log
    assert outcome.outputs["verdict"] == "fail" and set(outcome.outputs) == {
        "verdict", "exit-code", "delta", "ci", "lost", "gained", "report-path", "comment-url", "comment-status", "baseline-sha",
        "baseline-age-days", "baseline-updated"}
    assert_sound(outcome.summary)


def test_the_report_files_are_well_formed(hostile):
    story, pr = hostile
    outcome = story.on_pull(pr, "opened")
    folder = story.workspace / "retrieval-gate-report"
    assert ET.parse(folder / "junit.xml").getroot() is not None
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "<img src=x" not in page and "{{ 7*7 }}" in page
    assert len(json.loads((folder / "report.json").read_text())["flips"]["lost"]) == len(TEXTS) and outcome.report["verdict"] == "fail"
