"""Golden files: ``UPDATE_GOLDEN=1 pytest tests/reports`` writes them anew; look at the diff before you keep it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "golden"


@pytest.fixture
def golden_file():
    """Compare text with the stored file of that name."""

    def check(name: str, text: str) -> None:
        path = FOLDER / name
        if os.environ.get("UPDATE_GOLDEN") == "1":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check


@pytest.fixture(scope="session")
def chromium():
    """A real browser, one for all tests, or a skip that says what is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium on this machine (set CHROMIUM to its path)")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


class Shown:
    """A report in a page of its own, with everything that the page said, asked for or threw."""

    def __init__(self, page, path: Path) -> None:
        self.page, self.path, self.said, self.asked = page, path, [], []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append("dialog"))
        page.on("request", lambda request: self.asked.append(request.url))

    def quiet(self) -> None:
        """Nothing was said, and nothing was asked for but the file."""
        assert self.said == []
        assert {url.partition("#")[0] for url in self.asked} <= {self.path.as_uri()}


@pytest.fixture
def show(chromium, tmp_path):
    """Open a Report (or a whole document) in the browser; every page has to have been quiet at the end."""
    opened: list[Shown] = []

    def to(report, address: str = "", *, width: int = 1280, height: int = 900, scheme: str = "light", **options) -> Shown:
        from gate.reports.html import render_html

        path = tmp_path / f"report-{len(opened)}.html"
        path.write_text(report if isinstance(report, str) else render_html(report), encoding="utf-8")
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", **options)
        shown = Shown(context.new_page(), path)
        opened.append(shown)
        shown.page.goto(path.as_uri() + address)
        return shown

    yield to
    for shown in opened:
        shown.quiet()
        shown.page.context.close()
