"""Kind ``command``: a program of the team's in any language, which answers JSON lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio
from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.limits import Limits
from gate.retrievers.team.child import LAUNCHER, ChildFault
from gate.retrievers.team.output import Captured, readable
from gate.retrievers.team.stranger import Stranger
from gate.runs import Ranking
from gate.world import own_variable

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings

_ANSWER = ("id", "ranked", "scores", "candidates", "cost", "ms", "error")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OWN = ("HOME", "TMPDIR")
_CHARS = 1000


class Options(NamedTuple):
    """``command``: program and arguments; ``path``: the directory it is started in; ``env``: variables it gets besides the usual."""

    command: tuple[str, ...]
    path: Path
    env: tuple[tuple[str, str], ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that the command line names."""
        return tuple(file for file in map(self.path.joinpath, self.command) if jsonio.is_file(file))


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    command = section.raw("command")
    if not (isinstance(command, list) and command and all(isinstance(word, str) and "\0" not in word for word in command) and command[0]):
        section.problem("command", "`command` must be a list of texts: program and arguments, for instance [./search, --index, data]")
        command = [""]
    env = section.mapping("env")
    for name, value in env.items():
        key = f"env.{name}"
        if not (isinstance(name, str) and _VARIABLE.match(name)):
            section.problem("env", f"`env` names {str(name)[:60]!r}, which is no name of a variable")
        elif own_variable(name) or name.startswith("RETRIEVAL_GATE_") or name in _OWN:
            section.problem(key, f"`{key}` belongs to the gate or the runner; give the variable another name")
        elif not isinstance(value, str) or "\0" in value:
            section.problem(key, f"`{key}` must be text (quote numbers)")
        elif "${" in value:
            section.problem(key, f"`{key}` holds `${{`, but a program that the change brings along gets no secrets; write the value itself")
    return Options(tuple(command), paths.take(section, "path", section.text("path", ".")), tuple(env.items()))


def build(settings: RetrieverSettings, given: Given) -> CommandRetriever:
    """See :mod:`gate.retrievers`."""
    options: Options = settings.options
    return CommandRetriever(options.command, options.path, settings.limits, given.snapshot.path if given.snapshot else None,
                            concurrency=settings.concurrency, env=dict(options.env))


class CommandRetriever(Stranger):
    """Writes ``{"id", "query", "n"}`` to the program's standard input and reads an answer with the same id from its standard output."""

    mark = "id"
    plain = True
    hint = "a program answers every line at once (many languages must be told to flush), until its input ends"

    def __init__(self, command: tuple[str, ...], path: Path, limits: Limits, snapshot: Path | None = None, executable: str = "",
                 concurrency: int = 1, env: Mapping[str, str] | None = None) -> None:
        self.words, self.env = command, dict(env or {})
        super().__init__(command[0], path, limits, snapshot, executable, concurrency)

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "command", "command": shlex.join(self.words), **({"env": self.env} if self.env else {})}

    def needed(self) -> Iterable[Path]:
        program = self.path / self.words[0]
        return [*super().needed(), *([program] if "/" in self.words[0] and program.is_file() else [])]

    def command(self) -> list[str]:
        return [self.executable, "-I", "-B", "-X", "utf8", str(LAUNCHER)]

    def setup(self) -> dict[str, Any]:
        return {**super().setup(), "command": list(self.words)}

    def variables(self, depth: int) -> dict[str, str]:
        return super().variables(depth) | self.env

    def ranking(self, answer: Mapping[str, Any], depth: int) -> Ranking:
        if error := answer.get("error"):
            said = " ".join(" ".join(readable(str(error)[:_CHARS])).split())
            return Ranking([], error=f"the program answered with an error: {said}")
        if unknown := sorted(answer.keys() - set(_ANSWER)):
            return Ranking([], error=f"the answer has the unknown key {unknown[0][:60]!r}; known are {', '.join(_ANSWER)}")
        return super().ranking(answer, depth)

    def unloaded(self, fault: ChildFault, captured: Captured) -> RetrieverFailed:
        return self.failed(f"{self.name}: could not be started: {fault}", "see what it printed, and fix it", captured=captured)

    def unusable(self, answer: Mapping[str, Any], captured: Captured) -> RetrieverFailed:
        reason = " ".join(str(answer.get("unusable", "")).split())[:_CHARS]
        return self.failed(f"{self.name}: cannot be started: {reason}",
                           "check `retriever.command` and `retriever.path`: a program that is not on PATH is named relative to `path`, as "
                           "./NAME, and must be executable", captured=captured)
