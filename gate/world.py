"""What a run takes from the machine it is on, besides its configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CACHE = "RETRIEVAL_GATE_CACHE"
# What the runner gives to the action itself; a configuration that named one of these would send it to whomever it likes.
_OWN = ("INPUT_", "ACTIONS_", "GITHUB_", "RUNNER_", "STATE_")


def own_variable(name: str) -> bool:
    """Whether a variable is the gate's, the runner's or the job token, which no configuration may pass on."""
    return name.upper().startswith(_OWN) or name.upper() == "GH_TOKEN"


def _no_variables() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class World:
    """``variables``: the environment that the workflow's author set for this step, from which a configuration takes secrets by name.
    ``cache``: a folder that may outlive the run; nothing in it is believed without its digest. ``token``: for this repository's own
    releases and artifacts; empty outside the action unless the environment has one. Secrets are in no repr."""

    variables: Mapping[str, str] = field(default_factory=_no_variables, repr=False)
    cache: Path = field(default_factory=lambda: default_cache(os.environ))
    token: str = field(default="", repr=False)
    api_url: str = "https://api.github.com"
    repository: str = ""


def default_cache(environ: Mapping[str, str], workspace: Path | None = None) -> Path:
    """RETRIEVAL_GATE_CACHE where it is set; in a job a folder of the workspace, which the workflow's cache step can carry; else the
    user's."""
    if given := environ.get(CACHE):
        return (workspace or Path()) / given
    if workspace is not None:
        return workspace / ".retrieval-gate-cache"
    home = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "retrieval-gate"


def world_of(environ: Mapping[str, str], *, workspace: Path | None = None, token: str = "", api_url: str = "",
             repository: str = "") -> World:
    """From an environment that still holds everything. ``workspace``: in a job."""
    variables = {name: value for name, value in environ.items() if not own_variable(name)}
    return World(variables, default_cache(environ, workspace), token or environ.get("GITHUB_TOKEN", ""),
                 api_url or environ.get("GITHUB_API_URL", "") or "https://api.github.com", repository)
