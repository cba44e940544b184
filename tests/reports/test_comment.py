import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate import pipeline
from gate.golden.model import GoldenSet, Span
from gate.policy import Policy, Protected
from gate.references import Reference
from gate.reports.comment import marker_prefix, render_comment
from gate.reports.html import render_html
from gate.reports.json_report import report_json
from gate.reports.summary import render_summary
from gate.reports.text import render_text
from gate.runs import Chunk, Ranking, Run
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
    for report in (hostile.report(), hostile.stopped(), *hostile.beside()):
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
    assert "1,500 of 1,875 queries lost their answer" in page.text
    assert text.rstrip().endswith("-->")
    if budget >= 6_000:
        shown = int(re.search(r"Showing ([\d,]+) of 1,500", page.text)[1].replace(",", ""))
        worst, rest = (table for table in page.tables if table[0][-1] == "now at that rank")
        assert len(worst) - 1 == 5 and len(worst) - 1 + len(rest) - 1 == shown
        assert build.METADATA["run_url"] in page.links
    if budget == 60_000:
        assert units(text) > 50_000


def test_a_short_comment_shows_everything():
    text = render_comment(build.failing())
    assert "Showing" not in text


def test_lost_queries_come_before_gained_ones_and_the_worst_first():
    text = render_comment(build.failing())
    assert text.index("lost their answer\n") < text.index("**Gained**")
    assert text.index("`q000`") < text.index("`q009`")
    assert ("| ERR-4409 `q009`<br><sub>`exact-term`</sub> | `doc-q009` | 2\u00a0→\u00a014 | "
            "Runbook 9, part 2<br><sub>`new-q009-2`</sub> |") in text


def opened(text: str) -> str:
    """What is not behind a fold."""
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


def test_the_worst_lost_queries_are_seen_without_a_click_and_no_query_twice():
    text = render_comment(build.failing())
    assert "### 10 queries lost their answer\n\nNothing relevant is in the top 10 any more; the 5 worst:" in text
    assert [f"`q00{i}`" in opened(text) for i in range(7)] == [True] * 5 + [False] * 2
    assert all(text.count(f"`q00{i}`") == 1 for i in range(10))
    assert "<summary>5 more queries that lost their answer, 1 query that found one</summary>" in text


def test_one_lost_query_needs_no_fold():
    text = render_comment(build.make([q("a", 1, None), *(q(f"b{i}") for i in range(30))]))
    assert "`a`" in opened(text) and "more quer" not in text


def test_why_it_failed_lists_only_what_failed():
    policy = Policy(protected=(Protected("exact-term", 0.01),))
    text = render_comment(build.make([q(f"a{i}", 1, 2 if i < 3 else 1, tags=["exact-term"]) for i in range(30)], policy))
    why = text.split("### Why it failed")[1].split("| metric |")[0]
    assert why.count("- ") == 1 and why.strip().startswith("- ❌ `protected exact-term`")
    assert "<details><summary>1 inconclusive</summary>\n\n- ⚠️ `drop` nDCG@10 fell by" in text


def test_in_ci_the_html_report_is_in_an_artifact_of_the_run():
    text = render_comment(build.failing())
    assert (f"see the HTML report, in the artifact `retrieval-gate-report-wiki-search` of [this run]({build.METADATA['run_url']}).") in text


def test_on_a_command_line_the_html_report_is_a_file():
    assert "see the HTML report, `report.html` in the folder of `--out`." in render_comment(build.local())


def test_queries_without_any_result_are_counted_and_marked():
    text = render_comment(build.emptied())
    assert text.splitlines()[4] == "3 queries returned nothing at all; in the baseline 1 of them did."
    lost = assert_sound(text).tables[1]
    assert [row[-1] for row in lost[1:]] == ["no results", "no results"]


def test_one_query_without_results_is_no_alarm():
    assert "returned nothing" not in render_comment(build.emptied(1))


def test_a_ranking_that_ends_above_the_old_rank_is_called_short():
    report = build.emptied()
    report.candidate_run.rankings["q001"].docs[:] = ["other"]
    assert [row[-1] for row in assert_sound(render_comment(report)).tables[1][1:]] == ["only 1 result", "no results"]


def test_a_traceback_is_a_block_of_its_own_shown_once():
    text = render_comment(build.traceback())
    page = assert_sound(text)
    assert "pre" in page.tags and "&#124;" not in text
    assert "\n  ````\n  Traceback (most recent call last):\n    File" in text
    assert text.count("KeyError") == 1 and "(the same output as above)" in text


def test_a_single_problem_is_told_in_the_headline_and_its_output_below():
    text = render_comment(build.stopped("cannot-decide", 3, [f"search.retriever:retrieve: {build.RAISED}"], "fix it"))
    assert "the function raised an error.**\n\n````\nTraceback" in text
    assert_sound(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="`~ |\n\t<>@#-x", max_size=40) | st.sampled_from(hostile.HOSTILE), max_size=6))
def test_any_output_stays_inside_its_block(texts):
    for problems in (["one\n" + "\n".join(texts)], ["one", "two\n" + "\n".join(texts), "three"]):
        page = assert_sound(render_comment(build.stopped("cannot-decide", 3, problems, "fix it")))
        assert "What to do now" in page.bare


def test_long_output_is_cut_in_the_middle():
    text = render_comment(build.stopped("cannot-decide", 3, ["it broke\n" + "\n".join(f"line {i} {'x' * 500}" for i in range(900))], ""))
    assert "line 3 " in text and "line 899 " in text and "… 870 lines left out" in text
    assert max(map(len, text.splitlines())) < 300


@pytest.mark.parametrize("changed", [9, 10])
def test_what_a_set_can_show_is_told_only_when_enough_changed(changed):
    text = render_comment(build.make([q(f"a{i}", 1, 2 if i < changed else 1) for i in range(50)]))
    assert ("Too few queries changed to tell how small" in text) == (changed < 10) != ("reliably shows" in text)


def test_provenance_is_in_words():
    assert "policy digest `d4d4d4d4d4d4` · interval: exact bootstrap · " in render_comment(build.failing())
    assert "interval: small-sample bound (fewer than 10 queries changed)" in render_comment(build.inconclusive())


def test_a_small_tag_is_shown_with_its_n_and_said_to_be_untested():
    rows = next(table for table in assert_sound(render_comment(build.failing())).tables if table[0][0] == "tag")
    assert rows[-1][:2] == ["rare", "2"]
    assert rows[-1][-1] == "not tested (n < 10)"


def test_without_queries_no_text_of_queries_or_documents_is_shown():
    text = render_comment(build.failing(show_queries=False))
    assert "ERR-44" not in text and "Runbook" not in text
    assert "`q000`" in text and "`new-q000-1`" in text


def test_text_from_right_to_left_has_a_direction_of_its_own_and_no_other_text_has():
    lines = [q("he", 1, None, "איך מאפסים סיסמה?"), q("en", 1, None, "naïve 日本語 🎉"), *(q(f"b{i}") for i in range(30))]
    text = render_comment(build.make(lines))
    assert '| <span dir="auto">איך מאפסים סיסמה?</span> `he` |' in text and "| naïve 日本語 🎉 `en` |" in text
    assert text.count("<span") == 1
    assert_sound(text)


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
    assert "- 2 unanswerable queries: nothing in the corpus answers them, so they are in no mean." in text
    assert "Their mean top score went 3.500 → 4.000." in text
    report = build.make([q(f"a{i}") for i in range(12)], old_labels={"old": "0" * 12})
    text = render_comment(report)
    assert "12 new in the golden set" in text and "1 no longer in the golden set: `old`" in text


@pytest.mark.parametrize("unit", ["doc", "chunk"])
def test_where_another_part_of_the_document_came_it_does_not_stand_in_its_own_place(unit):
    lines = [q(f"s{i}", doc=f"D{i}") for i in range(30)]
    golden = build.golden_of(lines)
    golden = GoldenSet(tuple(query._replace(gains={}, spans=(Span(f"D{n}", 100, 200, 1.0),)) for n, query in enumerate(golden.queries)),
                       golden.path, golden.version)
    old, new = (Run({f"s{n}": Ranking([f"D{n}", "e"], [2.0, 1.0], chunks=[Chunk("", start if n < 8 else 90, start + 120 if n < 8 else 210),
                                                                         Chunk("", 0, 9)]) for n in range(30)}) for start in (90, 400))
    report = pipeline.assess(golden, new, Reference(old, None, build.BASELINE), Policy(unit=unit))
    text = render_comment(report)
    assert "| `D0` | 1 → not in the top 2 | another part of it |" in text.replace("\u00a0", " ")
    assert "Another part of it came back." in render_html(report) and "another part of it" in render_text(report)
    flip = next(flip for flip in report_json(report)["flips"]["lost"] if flip.get("document") == "D0")
    assert "replaced_by" not in flip
