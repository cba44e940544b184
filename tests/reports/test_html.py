import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput
from gate.reports.explorer import script_safe
from gate.reports.html import FLIPS, render_html
from gate.reports.templates import directory
from tests.reports import build, hostile
from tests.reports.build import q
from tests.reports.rendered import HOSTILE


def data_of(text: str) -> dict:
    """What the page's script gets."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def page_of(text: str, address: str) -> dict:
    data = data_of(text)
    return data["pages"][data["rows"]["id"].index(address)]


def names_of(text: str, numbers) -> list[str]:
    return [data_of(text)["names"][n] for n in numbers]


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("report", [hostile.report(), *hostile.beside()])
def test_hostile_text_makes_no_element_and_no_link(report):
    found = Elements(render_html(report)).found
    ours = ("html head meta title style script body main header nav section figure figcaption div h1 h2 p a strong small code pre ul li "
            "details summary span bdi table thead tbody tr th td svg line circle path rect text dl dt dd button input label kbd dialog "
            "noscript polyline title h3")
    assert {tag for tag, _ in found} <= set(ours.split())
    assert not any(name.startswith("on") or name == "src" or name == "style" for _, attrs in found for name in attrs)
    assert not any(attrs.get("href", "https:").startswith("javascript") for _, attrs in found)
    assert (report.history is None) == (not any(tag == "polyline" for tag, _ in found))
    assert sum(tag == "style" for tag, _ in found) == 1 and sum(tag == "script" for tag, _ in found) == 3


def test_nothing_is_loaded_from_anywhere():
    text = render_html(build.failing())
    assert "default-src 'none'" in text and "unsafe" not in text
    assert "<script src" not in text and "<link" not in text and "@import" not in text and "url(" not in text
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert [f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts] == \
        re.search(r"script-src ([^;]*);", text).group(1).split()


@pytest.mark.parametrize("word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch("])
def test_the_scripts_cannot_make_elements_of_text(word):
    text = "".join(path.read_text() for path in (directory() / "report").glob("*.js"))
    assert word not in text


@given(st.recursive(st.text() | st.sampled_from(HOSTILE), lambda values: st.lists(values) | st.dictionaries(st.text(), values)))
def test_any_text_survives_in_a_script_element_and_cannot_end_it(value):
    text = script_safe(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_a_lost_query_says_what_held_its_rank_and_what_holds_it_now():
    text = render_html(build.failing())
    first = text.split('<ul class="flips">')[1].split("</li>")[0]
    assert "1 → not in the top 20" in first and 'href="#q=q000"' in first and "ERR-4400" in first
    assert "Rank 1 was held by <code>doc-q000</code>, now by" in first and "Runbook 0, part 1" in first
    assert "10 queries lost their answer" in text and "1 query found its answer" in text


def test_a_query_has_a_page_with_both_rankings_and_the_relevant_document_marked():
    text = render_html(build.failing())
    page = page_of(text, "q009")
    assert page["gold"][0][1:4] == [1.0, 2, 14] and names_of(text, page["gold"][0][:1]) == ["doc-q009"]
    assert names_of(text, page["b"]["d"][:2]) == ["old-q009-1", "doc-q009"] and page["b"]["g"] == [[1, 1.0]]
    assert page["b"]["o"][:2] == [0, 14] and page["c"]["o"][13] == 2 and page["c"]["g"] == [[13, 1.0]]
    assert page["b"]["s"][:2] == [9.0, 8.9] and page["b"]["n"] == build.DEPTH
    same = page_of(text, "q050")
    assert same["same"] == 1 and "b" not in same


def test_equal_rankings_are_held_once_and_many_names_are_held_once():
    data = data_of(render_html(build.identical()))
    assert all(page["same"] and "b" not in page for page in data["pages"]) and len(data["names"]) == len(set(data["names"]))


def test_rows_come_lost_first_and_say_what_became_of_each_query():
    data = data_of(render_html(build.failing()))
    kinds = [data["kinds"][kind] for kind in data["rows"]["kind"]]
    assert kinds == ["lost"] * 10 + ["worse", "gained", "better"] + ["same"] * 47 + ["unanswerable"] * 2
    assert data["rows"]["delta"][0] == -1.0 and data["rows"]["before"][0] == 1 and data["rows"]["now"][0] == 0


def test_without_a_baseline_the_worst_queries_come_first():
    data = data_of(render_html(build.first_adoption([q("a", None, 1), q("b", None, None), q("c", None, 3)])))
    assert data["rows"]["id"] == ["b", "c", "a"] and data["compared"] is False
    assert [data["kinds"][kind] for kind in data["rows"]["kind"]] == ["missed", "found", "found"]
    assert all("b" not in page for page in data["pages"])


def test_a_run_that_came_to_no_judgement_has_no_table():
    for make in (build.invalid, build.cannot_decide, build.traceback):
        text = render_html(make())
        assert 'id="data"' not in text and "<dialog" not in text and 'class="tiles"' not in text


def test_the_page_says_which_stage_lost_a_query_and_where_it_was_among_the_candidates():
    text = render_html(build.two_stages())
    why = {i: " ".join(page_of(text, i)["why"]) for i in ("q000", "q007")}
    assert "doc-q000 is candidate 21 of 21 and not in the final results. The reranker" in why["q000"]
    assert "doc-q007 is none of the 20 candidates; before it was candidate 1. The first stage lost it" in why["q007"]
    assert page_of(text, "q000")["gold"][0][4:6] == [1, 21] and page_of(text, "q007")["gold"][0][4:6] == [1, 0]
    assert "why" not in page_of(text, "q050") and page_of(render_html(build.failing()), "q000")["gold"][0][4:6] == [-1, -1]


def test_patterns_lead_to_their_queries():
    report = build.failing()
    text = render_html(report)
    assert report.patterns and "What the worse queries have in common" in text and 'href="#find=pattern:1"' in text
    data = data_of(text)
    assert [data["rows"]["id"][row] for row in data["patterns"][0]["rows"]] == list(report.patterns[0].queries)


def test_two_ids_that_look_alike_have_pages_of_their_own():
    lines = [q("a\u200b", 1, None), q("a", 1, 1), q("a\u2060", 2, 1)]
    data = data_of(render_html(build.make(lines)))
    assert len(set(data["rows"]["id"])) == 3 and {i[0] for i in data["rows"]["id"]} == {"a"}


def test_without_scores_there_is_no_table_of_unanswerable_queries():
    report = build.failing()
    for run in (report.candidate, report.baseline):
        run.unanswerable.update(dict.fromkeys(run.unanswerable))
    text = render_html(report)
    assert "2 unanswerable queries: nothing in the corpus answers them" in text and "The retriever gives no scores" in text
    assert "top score" not in text and "top score" in render_html(build.failing())


def test_origins_have_labels_and_no_python_in_them():
    text = render_html(build.failing()).split("Where the numbers come from")[1].split("</main>")[0]
    assert "<dt>commit under test</dt>" in text and "kind: python, function: search.retriever:retrieve" in text
    assert "<dt>baseline&#39;s age</dt><dd>12 days</dd>" in text
    assert not re.search(r"[a-z]_[a-z]", re.sub(r"<dd>.*?</dd>", "", text)) and "{" not in text


def test_output_of_a_broken_retriever_is_preformatted():
    text = render_html(build.traceback())
    assert "Traceback (most recent call last):\n  File" in text and text.count("<pre") == 1


def test_queries_without_any_result_are_counted_and_said():
    text = render_html(build.emptied())
    assert "3 queries returned nothing at all; in the baseline 1 of them did." in text
    assert "The retriever returns nothing for it any more." in text and page_of(text, "q001")["c"] == {"d": [], "n": 0, "o": []}


def test_a_cut_list_of_lost_queries_says_so_and_the_table_has_all():
    text = render_html(build.make([q(f"q{i}", 1, None) for i in range(FLIPS + 7)]))
    assert f"Showing {FLIPS} of {FLIPS + 7}." in text and 'href="#find=is:lost"' in text
    assert len(data_of(text)["rows"]["id"]) == FLIPS + 7


def test_a_table_that_is_not_the_whole_says_so(monkeypatch):
    monkeypatch.setattr("gate.reports.explorer.ROWS", 20)
    monkeypatch.setattr("gate.reports.html.ROWS", 20)
    monkeypatch.setattr("gate.reports.explorer.PAGES", 15)
    text = render_html(build.failing())
    assert "The table holds 20 of 62 queries, what changed first. Rankings of 15 of them are in this file" in text
    assert len(data_of(text)["rows"]["id"]) == 20
    monkeypatch.undo()
    assert "The table holds" not in render_html(build.failing())


def test_the_forest_plot_has_a_row_for_all_queries_and_for_every_tag():
    report = build.failing()
    plot = render_html(report).split('id="tags"')[1].split("</table>")[0]
    assert len(re.findall(r'<(?:circle|path) class="(?:open|down|up)"', plot)) == 1 + len(report.comparison.tags)


def test_where_nothing_changed_there_is_nothing_to_draw_and_that_is_said():
    text = render_html(build.identical())
    assert "there is nothing to draw" in text and 'id="curve"' not in text and 'class="heat"' not in text


def test_without_queries_no_text_of_queries_or_documents_is_shown():
    text = render_html(build.failing(show_queries=False))
    assert "ERR-44" not in text and "Runbook" not in text and "nothing answers i" not in text
    asked = []
    report = build.failing(show_queries=False, excerpts=lambda ids, chars: asked.append(ids) or {})
    assert "q000" in render_html(report) and asked == []


def test_texts_are_asked_for_only_where_a_page_shows_the_document():
    asked: list[str] = []

    def excerpts(ids, chars):
        asked.extend(ids)
        return {i: f"text of {i}\n\u202e"[:chars] for i in ids}

    text = render_html(build.failing(excerpts=excerpts))
    data = data_of(text)
    assert "doc-q000" in asked and len(asked) == len(set(asked)) == len(data["names"])
    assert data["texts"][str(data["names"].index("doc-q000"))] == "text of doc-q000  "


def test_texts_that_cannot_be_read_cost_no_report():
    def gone(ids, chars):
        raise InvalidInput("snapshot/units.jsonl:3: is gone")

    data = data_of(render_html(build.failing(excerpts=gone)))
    assert data["texts"] == {} and "could not be read again: snapshot/units.jsonl:3: is gone" in data["unread"]
