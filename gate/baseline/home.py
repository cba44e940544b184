"""Where a store is at home: which gate of which repository its baselines belong to, and what the repository says of itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gate.baseline.choose import Wanted
from gate.github.repository import Repository
from gate.settings import BaselineSettings


@dataclass(frozen=True)
class Home:
    """What every store is made from. ``workflow``: the running workflow's file, used unless the settings name another."""

    repository: Repository
    settings: BaselineSettings
    gate: str
    repository_id: int
    default_branch: str
    workflow: str
    server_url: str = "https://github.com"
    clock: Callable[[], float] = time.time

    @property
    def url(self) -> str:
        """Of the repository, for people."""
        return f"{self.server_url}/{self.repository.full_name}"

    def wanted(self, *names: str) -> Wanted:
        """Baselines of this gate that are called one of ``names``."""
        return Wanted(names, self.gate, self.repository_id, self.default_branch, self.settings.workflow or self.workflow)
