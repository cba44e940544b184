"""The peers' own virtual environment, outside the repository: none of them is a dependency of ours, not even of our tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

DEFAULT = Path.home() / ".cache" / "retrieval-gate-bench" / "venv"
_VERSIONS = """
import importlib.metadata, json, sys
found = {}
for name in sys.argv[1:]:
    try: found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError: pass
print(json.dumps(found))
"""


class NotInstalled(Exception):
    """A peer that cannot be had here; the message is the installer's last word."""


def python_of(venv: Path) -> Path:
    return venv / "bin" / "python"


def versions(venv: Path, names: Iterable[str]) -> dict[str, str]:
    """Installed versions of those of ``names`` that are there."""
    return json.loads(subprocess.run([python_of(venv), "-c", _VERSIONS, *names], capture_output=True, text=True, check=True).stdout)


def ensure(venv: Path, pins: Iterable[str], python: Path) -> None:
    """Make the environment with the ``python`` that ours has, and install what is missing of ``pins`` (``name==version``).

    Raises :class:`NotInstalled`.
    """
    wanted = dict(pin.split("==") for pin in pins)
    if not python_of(venv).exists():
        print(f"making {venv}", file=sys.stderr)
        _installer([str(python), "-m", "venv", str(venv)])
    there = versions(venv, wanted)
    missing = [f"{name}=={version}" for name, version in wanted.items() if there.get(name) != version]
    if missing:
        print(f"installing {', '.join(missing)}", file=sys.stderr)
        _installer([str(python_of(venv)), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *missing])


def _installer(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        faults = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or done.stderr.splitlines() or ["no reason given"]
        raise NotInstalled(faults[-1].removeprefix("ERROR: "))
