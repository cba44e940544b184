"""docs/images/ anew: what the author of a pull request sees, from the real action on a fake GitHub.

    make pictures   # needs npm (for GitHub's style sheets) and Chromium; half a minute

The example repository lives through a month: its first baseline, a push, an improvement that maria approves with a reason, another push.
Then ada proposes the tempting change of examples/changes/ and the gate answers. Photographed are the comment (folded, unfolded, and when
the label is there and the review is not), the job summary, report.html, and the comment on a harmless change.
Markdown is rendered by GitHub's own parser (cmarkgfm) with its style sheet (npm's github-markdown-css), as wide as it
stands on GitHub. Clock, people and commits are fixed: from one run to the next only the measured latency differs. Look at the pictures
before they are committed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import cmarkgfm
from cmarkgfm.cmark import Options
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.fake_github import GATE_PATH, FakeGitHub
from tests.story import Outcome, Story

ROOT = Path(__file__).resolve().parent.parent
IMAGES, EXAMPLES = ROOT / "docs" / "images", ROOT / "examples"
LARGEST = 190_000
STYLE = "github-markdown-css@5.9.0"
RETRIEVER = "search/retriever.py"
# A comment beside the sidebar of a pull request, and a job's summary below its run: GitHub's width and size of letters on a laptop.
BOX = """<!doctype html><html><head><meta charset="utf-8"><style>{style}
body {{ margin: 0; padding: 12px 16px; background: #fff; width: {width}px; }} .markdown-body {{ font-size: 14px; padding: 16px; }}
section {{ border: 1px solid #d1d9e0; border-radius: 6px; }} section > header {{ font: 14px/21px Arial, sans-serif;
padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; color: #59636e; }}
header b {{ color: #1f2328; }} header i {{ font: 12px Arial, sans-serif; border: 1px solid #d1d9e0; border-radius: 2em; padding: 0 6px; }}
</style></head><body><section><header>{head}</header>
<div class="markdown-body">{body}</div></section></body></html>"""


# -- the story ---------------------------------------------------------------------------------------------------------


def example(*skip: str) -> dict[str, bytes]:
    """The example repository as the files of a commit."""
    return {path.relative_to(EXAMPLES).as_posix(): path.read_bytes() for path in sorted(EXAMPLES.rglob("*"))
            if path.is_file() and path.relative_to(EXAMPLES).parts[0] not in skip and "__pycache__" not in path.parts}


def change(name: str) -> dict[str, bytes]:
    """What a change of examples/changes/ replaces."""
    folder = f"changes/{name}/"
    return {path.removeprefix(folder): data for path, data in example().items() if path.startswith(folder)}


def edited(text: str, **constants: str) -> str:
    """The retriever with other constants."""
    for name, value in constants.items():
        before, found, after = text.partition(f"\n{name} = ")
        assert found, f"{RETRIEVER} has no {name} any more"
        text = f"{before}{found}{value}\n{after.partition(chr(10))[2]}"
    return text


@contextlib.contextmanager
def listening() -> Iterator[SimpleNamespace]:
    """What a Story asks of pytest's capsys."""
    heard = io.StringIO()

    def readouterr() -> SimpleNamespace:
        text = heard.getvalue()
        heard.seek(0)
        heard.truncate()
        return SimpleNamespace(out=text)

    with contextlib.redirect_stdout(heard):
        yield SimpleNamespace(readouterr=readouterr)


def expect(outcome: Outcome, verdict: str, updated: str = "no") -> None:
    if (outcome.verdict, outcome.outputs["baseline-updated"]) != (verdict, updated):
        raise SystemExit(f"expected {verdict}, {updated}; got {outcome.outputs}\n{outcome.log}")


def live(fake: FakeGitHub, place: Path) -> dict[str, str]:
    """A month of the repository; gives texts by the names of pictures."""
    today = (EXAMPLES / RETRIEVER).read_text(encoding="utf-8")
    first = edited(today, TITLE_WEIGHT="1.0", B="0.75")
    with listening() as heard:
        story = Story(fake, place, heard, example("changes") | {GATE_PATH: b"name: gate\n", RETRIEVER: first.encode()})
        expect(story.on_push(), "no-baseline", "bootstrap")
        fake.clock.advance(days=7, hours=2)
        fake.commit(story.repo, {RETRIEVER: edited(today, TITLE_WEIGHT="1.0")}, by="tom")
        expect(story.on_push(by="tom"), "pass", "carried")
        fake.clock.advance(days=8)
        titles = story.pull({RETRIEVER: today}, author="tom")
        expect(story.on_pull(titles, "opened"), "pass")
        fake.clock.advance(hours=4)
        story.approve(titles, why="Titles name what a section is about. On-call found the pages for error codes that I tried at rank 1.")
        expect(story.merged(titles), "pass", "approved")
        fake.clock.advance(days=6, hours=18)
        fake.commit(story.repo, {"README.md": "# The operations wiki\n"}, by="maria")
        expect(story.on_push(), "pass", "carried")
        fake.clock.advance(days=2, hours=1)
        tempting = story.pull(change("tempting"))
        failed = story.on_pull(tempting, "opened")
        expect(failed, "fail")
        seen = {"comment": story.comments(tempting)[0], "summary": failed.summary,
                "report": (story.workspace / "retrieval-gate-report" / "report.html").read_text(encoding="utf-8")}
        fake.clock.advance(hours=1)
        fake.label(tempting, "baseline-update", by="maria")
        expect(story.on_pull(tempting, "labeled", label="baseline-update", sender="maria"), "fail")
        harmless = story.pull(change("harmless"), author="tom")
        expect(story.on_pull(harmless, "opened"), "pass")
        return seen | {"comment-approval": story.comments(tempting)[0], "comment-green": story.comments(harmless)[0]}


# -- the camera --------------------------------------------------------------------------------------------------------


def style(place: Path) -> str:
    packed = json.loads(subprocess.run(["npm", "pack", "--silent", "--json", STYLE], cwd=place, capture_output=True, text=True,
                                       check=True).stdout)[0]["filename"]
    with tarfile.open(place / packed) as archive:
        member = archive.extractfile("package/github-markdown-light.css")
        assert member is not None
        return member.read().decode()


def written(page: Page, sheet: str, markdown: str, width: int = 840, head: str = "<b>github-actions</b> <i>bot</i> commented") -> Page:
    """The page with Markdown as GitHub renders it."""
    body = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
    # What GitHub makes of a list of boxes after its parser: no bullets, and the box stands in its line.
    body = re.sub(r'<li>(<input type="checkbox"[^>]*>)(\s*<p>)?', r'<li class="task-list-item">\2\1', body)
    page.set_content(BOX.format(style=sheet, body=body, width=width, head=head))
    return page


def unfolded(page: Page) -> Page:
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    return page


def keep(page: Page, name: str, **options: object) -> None:
    """Letters on a ground need few colours, and with a palette the file is a third."""
    picture = Image.open(io.BytesIO(page.screenshot(**options))).convert("RGB")
    for colours in (128, 64, 32):
        out = io.BytesIO()
        picture.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if out.tell() < LARGEST:
            break
    (IMAGES / name).write_bytes(out.getvalue())


def photograph(browser: Browser, seen: dict[str, str], sheet: str, report: Path) -> None:
    page = browser.new_page(viewport={"width": 872, "height": 600})
    for name in ("comment", "comment-approval", "comment-green"):
        keep(written(page, sheet, seen[name]), f"{name}.png", full_page=True)
    keep(unfolded(written(page, sheet, seen["comment"])), "comment-open.png", full_page=True)
    page.set_viewport_size({"width": 1132, "height": 600})
    keep(written(page, sheet, seen["summary"], 1100, "<b>retrieval-gate</b> summary"), "summary.png", full_page=True)
    report.write_text(seen["report"], encoding="utf-8")
    for name, width, height, scale, scheme, part in (("light", 1180, 1180, 1, "light", ""), ("dark", 1180, 1000, 1, "dark", "#q=q086"),
                                                     ("phone", 360, 860, 2, "light", ""), ("history", 1180, 680, 1, "light", "#history")):
        context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=scale, color_scheme=scheme,
                                      reduced_motion="reduce")
        page = context.new_page()
        page.goto(report.as_uri() + part)
        if part == "#history":
            # What is far below has no height of its own before it was seen, so the first way there ends elsewhere.
            page.evaluate("""document.querySelectorAll('main *').forEach(part => part.style.contentVisibility = 'visible');
                             document.querySelector('#history').scrollIntoView()""")
        keep(page, f"report-{name}.png")
        context.close()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="retrieval-gate-pictures-") as folder:
        place = Path(folder)
        place.chmod(0o755)  # the retriever may run as another user
        # A Python in somebody's closed home would be remarked upon in every picture.
        own = patch("gate.retrievers.team.isolation.other_user", return_value=None)
        with own, FakeGitHub(start=datetime(2026, 2, 2, 9, 30, tzinfo=UTC)) as fake:
            seen = live(fake, place)
            fake.assert_clean()
        with sync_playwright() as play:
            chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-lcd-text"])
            photograph(browser, seen, style(place), place / "report.html")
            browser.close()


if __name__ == "__main__":
    main()
