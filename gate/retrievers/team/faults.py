"""What a retriever did wrong, in words: what happened, where, and which setting or step fixes it. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gate.retrievers.limits import Limits
from gate.retrievers.team.output import readable

_CHARS, _LINES = 300, 16
_KINDS = {"hang": "hung", "died": "died", "protocol": "answered nonsense", "early": "died"}
_OWN_LIBRARIES = ("in the action only the gate's own libraries are there: list it in a file that `retriever.requirements` names, or use "
                  "kind `run` with your own environment")
_LISTED = "only what `retriever.requirements` lists is there, and what that needs: add it, or another version of it"
# How C++, Rust, numpy, the kernel and Python itself say that no memory was left.
_NO_MEMORY = re.compile(r"bad_alloc|memory allocation of|allocate memory|out of memory|MemoryError", re.IGNORECASE)


@dataclass(frozen=True)
class Raised:
    """An exception as the worker tells it (traces.py). Everything in it is somebody's code's word."""

    error: str
    where: str = ""
    lines: tuple[str, ...] = ()
    kind: str = ""
    name: str = ""
    own: bool = False

    @classmethod
    def read(cls, value: Any) -> Raised:
        """From an answer, which may hold anything."""
        value = value if isinstance(value, dict) else {"error": str(value)}
        lines = value.get("lines")
        # Quoted, so that no line can pass for one of the gate's own or for a command to the runner.
        shown = [f"| {line}".rstrip() for text in (lines[:_LINES] if isinstance(lines, list) else ()) for line in readable(str(text))]
        text = {key: " ".join(" ".join(readable(str(value.get(key) or ""))).split()) for key in ("error", "where", "kind", "name")}
        error = text["error"] if len(text["error"]) <= _CHARS else text["error"][:_CHARS - 1] + "…"
        return cls(error, text["where"][:_CHARS], tuple(shown[-2 * _LINES:]), text["kind"], text["name"][:80], value.get("own") is True)

    @property
    def sentence(self) -> str:
        """The exception and its place, without a stop."""
        return self.error.rstrip(".") + (f" ({self.where})" if self.where else "")

    def cure(self, limits: Limits, snapshot: bool, requirements: bool = False) -> str:
        """Where the exception alone says what to do; empty elsewhere. ``requirements``: it ran with packages of its own."""
        libraries = _LISTED if requirements else _OWN_LIBRARIES
        name = f"`{self.name.replace('`', '')}`"
        if self.kind == "memory" or _NO_MEMORY.search(self.error):
            return memory_cure(limits)
        if self.kind == "variable" and self.name == "RETRIEVAL_GATE_SNAPSHOT" and not snapshot:
            return "no snapshot is configured: set `snapshot.path` and `snapshot.digest`, and the variable names its folder"
        if self.kind == "variable":
            return (f"the retriever gets none of the job's variables, so {name} is not set: read the value from a file of the "
                    "repository, or use kind `run` with your own environment")
        if self.kind == "syntax":
            return f"fix this line; it is read by Python {self.name}"
        if self.kind in ("module", "import") and self.own:
            return "fix the import; `retriever.path` is the first directory of sys.path"
        if self.kind == "module":
            return f"the module {name} is not installed where the {'retriever' if requirements else 'gate'} runs; {libraries}"
        if self.kind == "import":
            return f"the module {name} is not the one it was written for, or lacks a part of the system; {libraries}"
        return ""

    def start_cure(self, function: str, limits: Limits, snapshot: bool, requirements: bool = False) -> str:
        """What to do when ``function`` could not be imported for it."""
        module = function.partition(":")[0]
        if self.kind == "module" and f"{module}.".startswith(f"{self.name}."):
            return "check `retriever.function` and `retriever.path`, which is the first directory of sys.path"
        if self.kind == "exit":
            return "the module leaves the program when it is imported: put what is a program under `if __name__ == \"__main__\":`"
        return self.cure(limits, snapshot, requirements) or "fix what the module does when it is imported; no query was asked yet"


def memory_cure(limits: Limits) -> str:
    """The limit by its name, and its value."""
    return f"load less, or raise `retriever.limits.memory_mb`, which is {limits.memory_mb}"


@dataclass(frozen=True)
class Lost:
    """A process that is of no use any more: ``kind`` as in ChildFault, or ``early`` for a death between two questions."""

    kind: str
    message: str
    query: str = ""
    memory: bool = False

    @classmethod
    def of(cls, kind: str, message: str, query: str, printed: str, limits: Limits) -> Lost:
        """``message`` with the setting that belongs to it."""
        if kind == "hang":
            return cls(kind, f"it {message} (`retriever.limits.query_seconds`)", query)
        memory = kind == "died" and ("SIGKILL" in message or bool(_NO_MEMORY.search(printed)))
        hint = f" (often: out of memory; `retriever.limits.memory_mb` is {limits.memory_mb})" if memory else ""
        return cls(kind, message + hint, query, memory)

    @property
    def sentence(self) -> str:
        """Without a stop."""
        return f"the retriever {_KINDS.get(self.kind, 'failed')}: {self.message}"


def given_up(lost: Sequence[Lost], starts: int, so_far: str) -> str:
    """One sentence for all of them: what happened, how often, on which queries."""
    verbs = " or ".join(dict.fromkeys(_KINDS.get(one.kind, "failed") for one in lost)) or "had to be started"
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for one in lost:
        groups[one.message].append(f"{one.query[:60]!r}" if one.query else "")
    said = "; ".join(f"{message} on {'query' if len(ids) == 1 else 'queries'} {', '.join(ids)}" if all(ids) else message
                     for message, ids in groups.items())
    return f"the retriever {verbs} {starts} times, and the gate gave up: {said}; {so_far}"


def given_up_cure(lost: Sequence[Lost], limits: Limits) -> str:
    """What to do about it, by what happened."""
    found: Mapping[str, bool] = {
        "make the retriever faster, or raise `retriever.limits.query_seconds`": any(one.kind == "hang" for one in lost),
        memory_cure(limits): any(one.memory for one in lost),
        "see what it printed, and fix it": any(one.kind != "hang" and not one.memory for one in lost)}
    return "; ".join(cure for cure, needed in found.items() if needed)
