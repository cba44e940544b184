import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.reports.comment import marker_prefix, render_comment
from gate.reports.summary import render_summary
from tests.reports import build, hostile
from tests.reports.build import q
from tests.reports.rendered import assert_sound


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("name", build.EVERY)
def test_the_comment_of_every_verdict(name, golden_file):
    text = render_comment(build.EVERY[name]())
    assert_sound(text)
    golden_file(f"comment-{name}.md", text)


def test_the_marker_is_the_only_comment_and_the_last_line():
    text = render_comment(build.failing())
    assert text.rstrip().splitlines()[-1] == (f"<!-- retrieval-gate:v1 gate=wiki-search head={build.HEAD} run=77 attempt=1 -->")
    assert text.rstrip().splitlines()[-1].startswith(marker_prefix("wiki-search"))
    assert len(assert_sound(text).comments) == 1


@pytest.mark.parametrize("budget", [2_000, 5_000, 20_000, 60_000])
def test_hostile_text_everywhere_stays_text(budget):
    for report in (hostile.report(), hostile.stopped()):
        text = render_comment(report, budget)
        page = assert_sound(text)
        assert units(text) <= budget
        assert page.comments == [text.rstrip().splitlines()[-1][4:-3]]
        assert all(link.startswith("https://github.com/") for link in page.links)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(min_size=1, max_size=40), min_size=3, max_size=4))
def test_any_text_in_queries_tags_and_ids_keeps_every_table_whole(texts):
    page = assert_sound(render_comment(hostile.report([*texts, "a", "b", "c", "d", "e", "f", "g"])))
    lost = next(table for table in page.tables if table[0][0] == "query")
    assert all(len(row) == 4 for row in lost)


def many(n: int):
    lines = [q(f"q{i}", 1, None, f"a question about the subject number {i}", [f"tag{i % 40}", "all"]) for i in range(n)]
    return build.make(lines + [q(f"g{i}", None, 1, tags=["all"]) for i in range(n // 4)])


@pytest.mark.parametrize("budget", [2_000, 3_000, 6_000, 15_000, 60_000])
def test_a_comment_that_is_too_long_leaves_out_whole_rows_and_says_how_many(budget):
    text = render_comment(many(1500), budget)
    assert units(text) <= budget
    page = assert_sound(text)
    assert "1,500 queries lost their document" in page.text
    assert text.rstrip().endswith("-->")
    if budget >= 6_000:
        shown = int(re.search(r"Showing ([\d,]+) of 1,500", page.text)[1].replace(",", ""))
        lost = next(table for table in page.tables if table[0][-1] == "now at the old rank")
        assert len(lost) - 1 == shown > 0
        assert build.METADATA["run_url"] in page.links
    if budget == 60_000:
        assert units(text) > 50_000


def test_a_short_comment_shows_everything():
    text = render_comment(build.failing())
    assert "Showing" not in text


def test_lost_queries_come_before_gained_ones_and_the_worst_first():
    text = render_comment(build.failing())
    assert text.index("**Lost**") < text.index("**Gained**")
    assert text.index("`q000`") < text.index("`q009`")
    assert "| ERR-4409 `q009` | `exact-term` | 2\u00a0→\u00a014 | Runbook 9, part 2 `new-q009-2` |" in text


def test_a_small_tag_is_shown_with_its_n_and_said_to_be_untested():
    rows = assert_sound(render_comment(build.failing())).tables[-1]
    assert rows[-1][:2] == ["rare", "2"]
    assert rows[-1][-1] == "not tested (n < 10)"


def test_without_queries_no_text_of_queries_or_documents_is_shown():
    text = render_comment(build.failing(show_queries=False))
    assert "ERR-44" not in text and "Runbook" not in text
    assert "`q000`" in text and "`new-q000-1`" in text


def test_an_approval_under_way_is_a_checklist_with_cures():
    text = render_comment(build.failing(approval=build.NOT_YET))
    assert "- [x] The label `baseline-update` is set." in text
    assert "- [ ] No approving review of the head commit `8f3c2a9` was found. → a reviewer with write access approves" in text
    assert "1 of 3 conditions open" in text


def test_a_push_is_not_called_a_pull_request():
    report = build.failing(metadata={key: value for key, value in build.METADATA.items() if key != "pull_request"})
    assert "this run" in render_comment(report) and "this PR" not in render_comment(report)


def test_the_summary_has_the_same_content_more_rows_and_no_marker():
    report = many(3000)
    comment, summary = render_comment(report), render_summary(report)
    assert "<!--" not in summary
    assert len(summary.encode()) <= 900_000
    assert "Showing" in comment and "Showing" not in summary
    assert_sound(summary)


def test_what_is_unanswerable_or_left_out_is_counted():
    text = render_comment(build.failing())
    assert "- 2 unanswerable: nothing in the corpus answers them, so they are in no mean." in text
    assert "Their mean top score went 3.500 → 4.000." in text
    report = build.make([q(f"a{i}") for i in range(12)], old_labels={"old": "0" * 12})
    text = render_comment(report)
    assert "12 new in the golden set" in text and "1 no longer in the golden set: `old`" in text
