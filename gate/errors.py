"""The error family, and the exit codes that a workflow sees.

Every error carries *all* problems that were found at once, each naming its file and line or its input, and one cure.
"""

from __future__ import annotations

from collections.abc import Sequence

EXIT_PASS = 0
EXIT_REGRESSION = 1
EXIT_INVALID = 2
EXIT_CANNOT_DECIDE = 3
EXIT_INCONCLUSIVE = 4

_SHOWN = 50


class GateError(Exception):
    """A run that came to no judgement. Never a pass: ``exit_code`` is 2 or 3."""

    exit_code = EXIT_CANNOT_DECIDE
    verdict = "cannot-decide"

    def __init__(self, problems: str | Sequence[str], cure: str = "") -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        self.cure = cure
        super().__init__(self.text())

    def text(self) -> str:
        """All problems, one a line (the first 50 of very many), then the cure."""
        lines = list(self.problems[:_SHOWN])
        if len(self.problems) > _SHOWN:
            lines.append(f"… and {len(self.problems) - _SHOWN} more problems of this input")
        if self.cure:
            lines.append(f"What to do: {self.cure}")
        return "\n".join(lines)


class InvalidInput(GateError):
    """Golden set, run, record, snapshot or configuration cannot be used as it is: exit 2."""

    exit_code = EXIT_INVALID
    verdict = "invalid"


class CannotDecide(GateError):
    """Something needed for a judgement is missing or broken (baseline, retriever, GitHub): exit 3."""


class RetrieverFailed(CannotDecide):
    """The retriever hung, crashed or answered nonsense."""


class BaselineUnavailable(CannotDecide):
    """No acceptable baseline where there should be one."""


class SnapshotUnavailable(CannotDecide):
    """The place that a snapshot is fetched from did not hand it over. What was handed over and is another one is InvalidInput."""


class GitHubError(CannotDecide):
    """GitHub did not answer as needed. ``status`` is the HTTP status, 0 when no answer came at all."""

    def __init__(self, message: str, status: int = 0, cure: str = "") -> None:
        self.status = status
        super().__init__(message, cure)
