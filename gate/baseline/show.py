"""Records that people name: one, several of them, folders, or the history of a branch; for ``baseline show`` and ``history``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gate.baseline.kind import is_record
from gate.baseline.record import Record, read_record, unpack
from gate.errors import InvalidInput

_GITHUB = "https://api.github.com"


def show(paths: Sequence[Path], repository: str | None, branch: str, gate: str) -> str:
    """The text. One file is shown whole, of more the chain; ``repository`` (owner/name) takes the branch's history instead."""
    from gate.reports.records import chain_text, record_text

    if bool(paths) == bool(repository):
        raise InvalidInput("baseline show: takes records, or --repository, and one of the two")
    if not repository and len(paths) == 1 and not paths[0].is_dir():
        return record_text(read_record(paths[0]))
    return chain_text(found_records(paths, repository, branch, gate))


def found_records(paths: Sequence[Path], repository: str | None, branch: str, gate: str, latest: bool = False) -> list[tuple[str, Record]]:
    """(place, record) of files and folders, or of ``repository``'s branch. ``latest``: of a branch also what main itself retrieved."""
    if repository:
        from gate.baseline.branch_shelf import BASELINE_FILE
        from gate.baseline.manifest import LATEST_FILE

        return _of_branch(repository, branch, gate, (BASELINE_FILE, LATEST_FILE) if latest else (BASELINE_FILE,))
    files = [file for path in paths for file in (_records_in(path) if path.is_dir() else [path])]
    return [(str(file), read_record(file)) for file in files]


def _records_in(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name.endswith((".json", ".json.gz")) and _record(path)]
    if not found:
        raise InvalidInput(f"{folder}: holds no record")
    return found


def _record(path: Path) -> bool:
    try:
        return is_record(path)
    except InvalidInput:
        return False  # a folder may hold other things


def _of_branch(full_name: str, name: str, gate: str, files: Sequence[str]) -> list[tuple[str, Record]]:
    """The records that a branch has held for a gate, newest first. Whether each would be accepted is not asked here."""
    from gate.github.branches import Branch
    from gate.github.repository import Repository
    from gate.github.transport import Transport

    token = os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or ""
    if full_name.count("/") != 1:
        raise InvalidInput(f"--repository: {full_name!r} is not OWNER/NAME")
    branch = Branch(Repository(Transport(os.environ.get("GITHUB_API_URL") or _GITHUB, token), full_name), name)
    tip = branch.tip()
    if not tip:
        raise InvalidInput(f"{full_name} has no branch {name}, or the token may not read it",
                           "name it with --branch, and put a token that reads the repository's contents into GITHUB_TOKEN")
    found = []
    # The record's file alone: what was only carried has not touched it.
    for path in (f"{gate}/{file}" for file in files):
        for commit in branch.commits(tip, path, limit=100):
            data = branch.read(path, commit.sha)
            where = f"commit {commit.sha[:12]}, by {commit.author or 'somebody without an account'}{', signed' if commit.signed else ''}"
            try:
                if data is not None:
                    found.append((where, unpack(data, where)))
            except InvalidInput as fault:
                print(f"warning: {fault.problems[0]}", file=sys.stderr)
    if not found:
        raise InvalidInput(f"the branch {name} of {full_name} holds no record of the gate {gate}", "name the gate with --gate")
    return found
