"""From a Report to everything the outside sees: files, summary, annotations, outputs, artifact, comment. Decides nothing.

The report is written first and the exit code comes last: the comment exists exactly when the gate fails.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.github import commands
from gate.github.comments import CommentResult, upsert_comment
from gate.github.event import Context
from gate.github.repository import Repository
from gate.reports.annotations import annotations
from gate.reports.comment import render_comment
from gate.reports.files import REPORT_FILES, write_reports
from gate.reports.report import REPORT_ARTIFACT, Report
from gate.reports.summary import BUDGET, LIMIT, render_summary
from gate.reports.text import render_text
from gate.settings import inside

_LEAST_SUMMARY = 2_000  # verdict and advice, also where there would be no room for them
# Uploads the files of a folder under a name and says where they are.
Upload = Callable[[str, Mapping[str, bytes]], str]


@dataclass(frozen=True)
class Outside:
    """Where things go. ``files``: GITHUB_OUTPUT and GITHUB_STEP_SUMMARY by name; ``repository``: None when there is no API to talk to."""

    context: Context
    workspace: Path
    report_dir: str
    files: Mapping[str, str]
    repository: Repository | None
    upload: Upload | None


def where(context: Context) -> dict[str, Any]:
    """What a report says of the run that it is from."""
    pull = context.pull_request
    facts = {"head_sha": context.head_sha, "run_url": context.run_url, "run_id": context.run_id, "run_attempt": context.attempt,
             "repository_url": f"{context.server_url}/{context.repository}"}
    return facts | ({"pull_request": pull.number, "base_sha": pull.base_sha} if pull else {})


def inside_path(file: Path | None, workspace: Path) -> str:
    """A file's path from the repository's root, as annotations name it; "" for one that is not in it."""
    if file is None:
        return ""
    path, root = file.resolve(), workspace.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else ""


def report_folder(workspace: Path, report_dir: str) -> Path:
    """The folder for the reports. A pull request may not make it lead out of the workspace, by a link for instance."""
    folder = workspace / report_dir
    if "\0" in report_dir or folder.is_symlink() or not inside(folder, workspace.resolve()) or folder.resolve() == workspace.resolve():
        raise InvalidInput(f"input `report-dir`: {report_dir!r} is no folder of its own inside the repository")
    return folder


def deliver(report: Report, outside: Outside, *, run: bytes | None = None, comment: str = "always", golden: str = "",
            baseline_updated: str = "no", extra: Mapping[str, bytes] | None = None) -> int:
    """Hand everything over; returns the exit code of the step. What cannot be delivered is said and changes no verdict. ``extra``: files
    that go with the reports."""
    lines = commands.neutralise(render_text(report))
    print(lines)
    for item in annotations(report, golden):
        print(commands.annotation(item.level, item.message, title=item.title, file=item.file, line=item.line))
    folder = _attempt("the reports", lambda: _files(report, outside, run, extra or {}))
    url = _attempt("the report artifact", lambda: _artifact(report, outside, folder, extra or {})) if folder else None
    _attempt("the job summary", lambda: write_summary(report, outside.files.get("GITHUB_STEP_SUMMARY")))
    result = _comment(report, outside, comment)
    if result.detail:
        print(commands.annotation("notice", f"{result.detail} The report is in the job summary.", title="No comment"))
    values = outputs(report, result, outside.report_dir if folder else "", baseline_updated)
    _attempt("the outputs", lambda: commands.set_outputs(outside.files.get("GITHUB_OUTPUT"), values))
    if url:
        print(f"Report artifact: {url}")
    return report.exit_code


def write_summary(report: Report, path: str | None) -> None:
    """Of what a step has written to its summary the runner drops all when it is too long: what is there already takes from the room."""
    there = os.path.getsize(path) if path and os.path.exists(path) else 0
    commands.append_summary(path, render_summary(report, max(min(BUDGET, LIMIT - there), _LEAST_SUMMARY)))


def outputs(report: Report, comment: CommentResult, report_path: str, baseline_updated: str) -> dict[str, str]:
    """The action's outputs as plain strings; empty where there is nothing to say."""
    main = report.comparison.main if report.comparison else None
    info = report.baseline_info
    return {"verdict": report.verdict, "exit-code": str(report.exit_code), "delta": repr(main.delta) if main else "",
            "ci": f"{main.ci.lo!r} {main.ci.hi!r}" if main and main.ci else "",
            "lost": str(len(report.comparison.lost)) if report.comparison else "",
            "gained": str(len(report.comparison.gained)) if report.comparison else "", "report-path": report_path,
            "comment-url": comment.url, "comment-status": comment.status, "baseline-sha": info.commit if info else "",
            "baseline-age-days": str(int(info.age_days)) if info and info.age_days is not None else "",
            "baseline-updated": baseline_updated}


def _attempt(what: str, action: Callable[[], object]) -> object:
    try:
        return action()
    except Exception as error:
        print(commands.annotation("warning", f"{what} could not be written: {error}", title="Retrieval Gate"))
        return None


def _files(report: Report, outside: Outside, run: bytes | None, extra: Mapping[str, bytes]) -> Path:
    folder = report_folder(outside.workspace, outside.report_dir)
    write_reports(report, folder, run)
    for name, data in extra.items():
        jsonio.write_atomic(folder / name, data)
    owner = outside.workspace.stat()
    if os.geteuid() == 0:
        # The container is root and the runner is not: root's files would break the clean-up of a self-hosted runner.
        for path in (folder, *_written(folder, extra)):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
    return folder


def _written(folder: Path, extra: Iterable[str]) -> list[Path]:
    """Our own files; whatever else a pull request put into the folder is none of ours."""
    return [path for name in (*REPORT_FILES, *extra) if (path := folder / name).is_file() and not path.is_symlink()]


def _artifact(report: Report, outside: Outside, folder: object, extra: Mapping[str, bytes]) -> str:
    if outside.upload is None or not isinstance(folder, Path):
        return ""
    files = {path.name: path.read_bytes() for path in _written(folder, extra)}
    return outside.upload(REPORT_ARTIFACT + report.gate, files)


def _comment(report: Report, outside: Outside, wish: str) -> CommentResult:
    context, pull = outside.context, outside.context.pull_request
    if pull is None or outside.repository is None or wish == "never":
        return CommentResult("not-asked")
    # What somebody else has changed on main is no news for this pull request.
    compared = report.latest.comparison if report.latest else report.comparison
    quiet = report.verdict in ("pass", "no-baseline") and (compared is None or compared.identical) and not report.warnings
    return upsert_comment(outside.repository, pull.number, report.gate, render_comment(report), pull.head_sha, context.run_id,
                          context.attempt, graphql_url=context.graphql_url, create=not (wish == "on-change" and quiet))


def show_printed(text: str) -> None:
    """What the retriever wrote, folded away. Its lines are already prefixed and clean; the stopped commands are the second lock."""
    if text.strip():
        with commands.group("Output of the retriever"), commands.stop_commands():
            print(text)
        sys.stdout.flush()
