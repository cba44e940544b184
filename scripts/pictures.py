"""docs/images/comment.png and comment-open.jpg anew: the demo's comment (and job summary) as GitHub renders it, folded and unfolded.

    make demo test                        # once: .venv/ with the test packages
    .venv/bin/python scripts/pictures.py  # needs npm (for GitHub's style sheet) and Chromium

GitHub's own Markdown parser (cmarkgfm) and its style sheet (npm's github-markdown-css) in a real browser. Look at the pictures before
they are committed.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
STYLE = "github-markdown-css@5.9.0"
PAGE = """<!doctype html><html><head><meta charset="utf-8"><style>{style}
body {{ margin: 0; background: #fff; }} .markdown-body {{ box-sizing: border-box; max-width: 980px; padding: 24px 32px; }}
</style></head><body class="markdown-body">{body}</body></html>"""


def style(place: Path) -> str:
    packed = json.loads(subprocess.run(["npm", "pack", "--silent", "--json", STYLE], cwd=place, capture_output=True, text=True,
                                       check=True).stdout)[0]["filename"]
    with tarfile.open(place / packed) as archive:
        member = archive.extractfile("package/github-markdown-light.css")
        assert member is not None
        return member.read().decode()


def main() -> None:
    from gate.demo import run_demo

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        place = Path(folder)
        run_demo(place / "demo", "tempting")
        sheet = style(place)
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 980, "height": 1200})
        body = cmarkgfm.github_flavored_markdown_to_html((place / "demo" / "comment.md").read_text(encoding="utf-8"),
                                                         Options.CMARK_OPT_UNSAFE)
        page.set_content(PAGE.format(style=sheet, body=body))
        page.screenshot(path=ROOT / "docs/images/comment.png", full_page=True)
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        page.screenshot(path=ROOT / "docs/images/comment-open.jpg", full_page=True, type="jpeg", quality=60)
        browser.close()


if __name__ == "__main__":
    main()
