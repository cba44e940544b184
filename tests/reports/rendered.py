"""Markdown as GitHub's own parser renders it, and what is in the result."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

# What a comment of the gate may consist of; anything else came from somebody's text.
OURS = {"h2", "h3", "p", "br", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code", "pre", "details", "summary", "a",
        "sub", "input", "span"}
HOSTILE = (
    "a | b || c", "`code` ``two`` ```three", "\\`\\|", "trailing backslash \\", "`", "``", "@octocat",
    "ping @acme/search-team now", "see #12", "acme/wiki#7 and GH-9", "<!-- retrieval-gate:v1 gate=other -->",
    "--><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<details open><summary>x", "</details>",
    "[click](https://evil.example)", "![pic](https://evil.example/x.png)", "https://evil.example/a_b",
    "www.evil.example", "mailto:me@evil.example", "me@evil.example", "costs $5 and $6", "$$x$$", "*bold* _it_ ~~no~~",
    ":tada: :+1:", "line\nbreak\r\nand\ttab", "\x1b[31mred\x1b[0m", "\u202eevil\u202c", "zero\u200bwidth\u2060",
    "x" * 5000, "&lt;b&gt; &#64;you", "::error::pwned", "##[error]pwned", "# heading", "- item", "1. one", "> quote",
    "---", "\ud800 surrogate", "\u0000nul", "8f3c2a9d41e07b65c1", "\u3164", "e" + "\u0301" * 50,
    "{{ 7*7 }} {% raw %}", "| --- |", "[^1]: note", "<https://evil.example>", "]]>", "\ufffe", "",
    "ndcg@10.evil.example")


@dataclass
class Page(HTMLParser):
    """Tags, links and comments of a page, its text outside of code, and its tables: a list of rows of cell texts each."""

    tags: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    cells: list[set[str]] = field(default_factory=list)
    depth: int = 0
    inside: bool = False
    in_code: int = 0
    bare: str = ""
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "a":
            self.links.append(dict(attrs).get("href", ""))
        if tag == "details":
            self.depth += 1
        self.in_code += tag == "code"
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.cells.append(set())
            self.inside = True
        elif self.inside:
            self.cells[-1].add(tag)

    def handle_endtag(self, tag):
        if tag == "details":
            self.depth -= 1
        self.in_code -= tag == "code"
        if tag in ("td", "th"):
            self.inside = False

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_data(self, data):
        self.text += data
        self.bare += "" if self.in_code else data
        if self.inside:
            self.tables[-1][-1][-1] += data


def github(markdown: str) -> Page:
    """Render with raw HTML let through, as GitHub does before it sanitises."""
    page = Page()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))
    page.close()
    return page


# What GitHub looks for in the rendered text, outside of code.
_ALIVE = re.compile(r"(?<![A-Za-z0-9_])@[A-Za-z0-9]|#\d|gh-\d|https?://|www\.|[\w.]@[\w-]+\.\w|(?<!\w):[a-z_]+:(?!\w)",
                    re.IGNORECASE)


def assert_sound(markdown: str) -> Page:
    """Nothing but our own elements, whole tables, closed details."""
    page = github(markdown)
    assert page.tags <= OURS, page.tags - OURS
    assert page.depth == 0
    assert not _ALIVE.search(page.bare), _ALIVE.search(page.bare)
    for table in page.tables:
        assert {len(row) for row in table} == {len(table[0])}
    return page
