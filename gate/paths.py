"""Paths of a configuration: relative to its directory and, in CI, never out of the repository."""

from __future__ import annotations

from pathlib import Path

from gate.fields import Section

_LONGEST = 1024


def inside(path: Path, root: Path) -> bool:
    """Whether a path stays below ``root`` (resolved), links followed. A loop of links leads nowhere, so not inside either."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):
        return False


class Paths:
    """Resolves paths of the config against its directory and, when a root is given, keeps them inside it, links included."""

    def __init__(self, base: Path, root: Path | None) -> None:
        self.base, self.root = base, root.resolve() if root else None

    def take(self, section: Section, key: str, text: str) -> Path:
        """The path that ``text`` names; a fault is remembered for ``key``."""
        if "\0" in text or len(text) > _LONGEST:
            section.problem(key, f"{text[:60]!r} is no path")
            return self.base
        path = self.base / text
        if self.root is not None and not inside(path, self.root):
            section.problem(key, f"path {text!r} leads out of the repository")
        return path
