import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gate.golden.model import GoldenSet, Query
from gate.pipeline import Circumstances, assess
from gate.policy import Policy
from gate.references import Reference
from gate.reports.html import QUERIES, render_html
from gate.runs import Ranking, Run
from tests.reports import build, hostile
from tests.reports.build import q

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)

# WCAG contrast of every text with the first opaque background behind it.
CONTRAST = """() => {
  const rgb = c => c.match(/[\\d.]+/g).map(Number);
  const lum = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 });
                     return .2126 * r + .7152 * g + .0722 * b };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim()) continue;
    const style = getComputedStyle(e), ink = e instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [lum(rgb(ink).slice(0, 3)), lum(behind(e).slice(0, 3))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) bad.push(walker.currentNode.data.trim().slice(0, 40) + ' ' + ratio.toFixed(2));
  }
  return bad;
}"""


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (set CHROMIUM to its path)")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_opens_quietly_fits_the_screen_and_can_be_read(browser, tmp_path, width, scheme):
    for name, make in {**build.EVERY, "hostile": hostile.report}.items():
        path = Path(tmp_path / f"{name}.html")
        path.write_text(render_html(make()), encoding="utf-8")
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("dialog", lambda dialog, said=said: said.append("dialog"))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert said == [], name
        assert asked == [path.as_uri()], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(CONTRAST) == [], name
        page.close()


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
    ours = ("html head meta title style body main div h1 h2 h3 p a strong code pre ul ol li span table thead tbody tr th td svg line "
            "circle text details summary dl dt dd")
    assert {tag for tag, _ in found} <= set(ours.split())
    assert not any(name.startswith("on") or name == "src" or name == "style" for _, attrs in found for name in attrs)
    assert not any(attrs.get("href", "https:").startswith("javascript") for _, attrs in found)
    assert sum(tag == "style" for tag, _ in found) == 1


def test_nothing_is_loaded_from_anywhere():
    text = render_html(build.failing())
    assert "default-src 'none'" in text
    assert "<script" not in text and "<link" not in text and "@import" not in text and "url(" not in text


def test_both_rankings_stand_side_by_side_with_the_relevant_document_marked():
    text = render_html(build.failing())
    assert text.count("<h3>baseline</h3>") == 13  # 10 lost, 1 gained, 2 changed otherwise
    assert "doc-q000</code>" in text and 'class="relevant"' in text
    assert "Runbook 0, part 1" in text


def test_a_query_that_stays_at_its_rank_says_what_else_changed():
    """Two relevant documents: the first stays, the second falls or is lost."""
    golden = GoldenSet(tuple(Query(f"q{i}", f"question {i}", {"a": 1.0, "b": 1.0}) for i in range(12)), path="g.jsonl")
    after = {"q0": ["a", "x", "y", "b"], "q1": ["a", "x", "y"], "q2": ["b", "a"]}
    runs = [Run({f"q{i}": Ranking(ranked.get(f"q{i}", ["a", "b", "x", "y"])) for i in range(12)}) for ranked in ({}, after)]
    report = assess(golden, runs[1], Reference(runs[0]), Policy(), Circumstances("wiki"))
    text = render_html(report)
    assert "first at 1</span>" in text and "1 → 1" not in text
    assert re.search(r'class="what">nDCG@10 −0\.123; other relevant document 2 → 4</span>', text)
    assert re.search(r'class="what">nDCG@10 −0\.387; other relevant document 2 → not found</span>', text)


def test_without_scores_there_is_no_table_of_unanswerable_queries():
    report = build.failing()
    for run in (report.candidate, report.baseline):
        run.unanswerable.update(dict.fromkeys(run.unanswerable))
    text = render_html(report)
    assert "2 unanswerable queries: nothing in the corpus answers them" in text and "The retriever gives no scores" in text
    assert "top score" not in text and "top score" in render_html(build.failing())


def test_origins_have_labels_and_no_python_in_them():
    text = render_html(build.failing()).split("Where the numbers come from")[1]
    assert "<dt>commit under test</dt>" in text and "kind: python, function: search.retriever:retrieve" in text
    assert "<dt>baseline&#39;s age</dt><dd>12 days</dd>" in text
    assert not re.search(r"[a-z]_[a-z]", re.sub(r"<dd>.*?</dd>", "", text)) and "{" not in text


def test_output_of_a_broken_retriever_is_preformatted():
    text = render_html(build.traceback())
    assert "Traceback (most recent call last):\n  File" in text and text.count("<pre") == 1


def test_queries_without_any_result_are_counted_and_said():
    text = render_html(build.emptied())
    assert "3 queries returned nothing at all; in the baseline 1 of them did." in text and ">no results</li>" in text


def test_on_a_telephone_wide_tables_show_that_they_scroll(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_html(build.failing()), encoding="utf-8")
    for width, seen in ((390, True), (1280, False)):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(path.as_uri())
        table = page.locator(".scroll").first
        assert table.evaluate("e => e.scrollWidth > e.clientWidth") == seen == page.locator(".hint").first.is_visible()
        table.evaluate("e => e.scrollLeft = 200")
        left = page.locator(".scroll").first.locator("tbody td").first.evaluate("e => e.getBoundingClientRect().left")
        assert left >= 0
        page.close()


def test_a_cut_list_of_queries_says_so():
    text = render_html(build.make([q(f"q{i}", 1, None) for i in range(QUERIES + 7)]))
    assert f"Showing {QUERIES} of {QUERIES + 7} changed queries" in text


def test_the_forest_plot_has_a_row_for_all_queries_and_for_every_tag():
    report = build.failing()
    assert render_html(report).count("<circle") == 1 + len(report.comparison.tags)


def test_without_queries_no_text_of_queries_or_documents_is_shown():
    text = render_html(build.failing(show_queries=False))
    assert "ERR-44" not in text and "Runbook" not in text and "nothing answers" not in text
