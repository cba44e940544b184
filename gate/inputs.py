"""The action's inputs, as the runner hands them over."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field

from gate.settings import DEFAULT_CONFIG

DEFAULT_REPORT_DIR = "retrieval-gate-report"


@dataclass(frozen=True)
class Inputs:
    """Inputs of one step. The token is in no repr."""

    config: str = DEFAULT_CONFIG
    token: str = field(default="", repr=False)
    comment: str = ""
    report_dir: str = DEFAULT_REPORT_DIR
    tier: str = ""
    workflow: str = ""

    @property
    def configs(self) -> tuple[str, ...]:
        """All configuration files, for the one step that speaks for several gates: one a line."""
        return tuple(dict.fromkeys(line.strip() for line in self.config.splitlines() if line.strip()))

    @property
    def overrides(self) -> dict[str, str]:
        """What replaces a value of the configuration file."""
        return {"comment": self.comment} if self.comment else {}


def read_inputs(environ: Mapping[str, str]) -> Inputs:
    """Both spellings: the runner keeps hyphens in the variable's name, other runners write underscores."""

    def get(name: str, default: str = "") -> str:
        key = f"INPUT_{name.upper()}"
        return (environ.get(key) or environ.get(key.replace("-", "_")) or "").strip() or default

    return Inputs(get("config", DEFAULT_CONFIG), get("token"), get("comment"), get("report-dir", DEFAULT_REPORT_DIR),
                  get("tier"), get("workflow"))


def drop_secrets(environ: MutableMapping[str, str]) -> None:
    """Take tokens out of the environment as soon as they are read, so that nothing started later can inherit them."""
    for name in list(environ):
        if name.upper().startswith(("INPUT_", "ACTIONS_")) or "TOKEN" in name.upper():
            del environ[name]
