"""The files of ``--out``."""

from __future__ import annotations

from pathlib import Path

from gate import jsonio
from gate.reports.comment import render_comment
from gate.reports.html import render_html
from gate.reports.json_report import report_json
from gate.reports.junit import render_junit
from gate.reports.report import Report
from gate.runs import RUN_FILE

REPORT_FILES = ("report.json", RUN_FILE, "junit.xml", "comment.md", "report.html")


def write_reports(report: Report, out: Path, run: bytes | None) -> None:
    """``report.json``, ``comment.md``, ``report.html``, ``junit.xml``, and ``run.jsonl.gz`` when ``run`` (JSON lines) is given.

    report.json is written first: it must exist even when a template fails.
    """
    # A lone surrogate, which JSON input can bring, becomes its own JSON escape again.
    jsonio.write_atomic(out / "report.json", jsonio.pretty(report_json(report)).encode(errors="backslashreplace"))
    if run is not None:
        jsonio.write_atomic(out / RUN_FILE, jsonio.gzip_bytes(run))
    jsonio.write_atomic(out / "junit.xml", render_junit(report).encode())
    jsonio.write_atomic(out / "comment.md", render_comment(report).encode())
    jsonio.write_atomic(out / "report.html", render_html(report).encode())
