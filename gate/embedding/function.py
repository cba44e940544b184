"""Kind ``function``: query vectors from a function of the team's own, in the isolated process of a python retriever."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio
from gate.embedding.made import MadeVectors, read_verify
from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers import python
from gate.retrievers.base import Given
from gate.retrievers.limits import Limits, read_limits
from gate.retrievers.team.results import USUAL
from gate.runs import Ranking

if TYPE_CHECKING:
    import numpy as np

_MOST_AT_ONCE = 2048


class Options(NamedTuple):
    """``code``: what a python retriever has as well. ``revision``: what names the weights; without one nothing is kept."""

    code: python.Options
    revision: str = ""
    batch: int = 64
    query_prefix: str = ""
    limits: Limits = Limits()
    verify: int | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """Of the code."""
        return self.code.files

    @property
    def path(self) -> Path:
        """Of the code."""
        return self.code.path


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.embedding`."""
    code = python.read(section, paths)
    if code.keys != USUAL:
        section.problem("id_key", "`id_key`, `chunk_key`, `start_key` and `end_key` are for results, and a function that embeds has none")
    return Options(code, section.text("revision", ""), section.integer("batch", 64, 1, _MOST_AT_ONCE), section.text("query_prefix", ""),
                   read_limits(section.section("limits", section.mapping("limits"))), read_verify(section))


def build(options: Options, given: Given) -> MadeVectors:
    """See :mod:`gate.embedding`."""
    return MadeVectors(Function(options, given), given.world.cache, options.query_prefix, options.verify)


class Function:
    """See :class:`gate.embedding.made.Embedder`. The process is started for the first text."""

    reported = ""

    def __init__(self, options: Options, given: Given, executable: str = "") -> None:
        packages = None
        if options.code.requirements is not None:
            from gate.retrievers.team.packages import Packages

            packages = Packages(options.code.requirements, given.world.cache, given.world.variables, options.limits, options.code.build,
                                options.code.root)
        self._options = options
        self._program = _Program(options.code.function, options.code.path, options.limits, given.snapshot.path if given.snapshot else None,
                                 executable=executable, factory=options.code.factory, packages=packages)
        self._entered = False

    @property
    def notes(self) -> list[str]:
        return self._program.notes

    def facts(self) -> Mapping[str, Any]:
        found = {**self._program.describe(), "kind": "function", "revision": self._options.revision}
        return {name: value for name, value in found.items() if value}

    def key(self) -> Mapping[str, Any] | None:
        """Known where somebody says which weights these are: of the code, only the function's own module and packages are looked at."""
        if not self._options.revision:
            return None
        return {**self.facts(), "code": [jsonio.sha256(file.read_bytes()) for file in self._options.code.files if jsonio.is_file(file)]}

    def batches(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        if not self._entered:
            self._program.__enter__()
            self._entered = True
        size = self._options.batch
        self._program.texts = {f"texts {start + 1} to {min(start + size, len(texts))}": list(texts[start:start + size])
                               for start in range(0, len(texts), size)}
        for name, ranking in self._program.retrieve([Query(name, name, {}) for name in self._program.texts], 1):
            if ranking.error:
                first, *more = ranking.error.split("\n")
                raise RetrieverFailed("\n".join((f"{self._options.code.function}: {name}: {first.rstrip('.')}", *more)),
                                      "fix the function that `retriever.embedding.function` names")
            yield self._program.found.pop(name)

    def close(self) -> None:
        if self._entered:
            self._program.__exit__(None, None, None)
            self._entered = False


class _Program(python.PythonRetriever):
    """A batch of texts is its question, and vectors are left in ``found``."""

    embeds = True
    missing_path = "set `retriever.embedding.path` to the directory that holds the module"

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.texts: dict[str, list[str]] = {}
        self.found: dict[str, np.ndarray] = {}
        self._asked = ""

    def question(self, query: Query, depth: int) -> dict[str, Any]:
        self._asked = query.id
        return {"texts": self.texts[query.id]}

    def ranking(self, answer: Mapping[str, Any], depth: int) -> Ranking:
        if "raised" in answer or "unusable" in answer:
            return super().ranking(answer, depth)
        rows = _rows(answer, len(self.texts[self._asked]))
        if rows is None:
            return Ranking([], error="its process answered with what are no vectors")
        self.found[self._asked] = rows
        return Ranking([self._asked])


def _rows(answer: Mapping[str, Any], count: int) -> np.ndarray | None:
    """The vectors of an answer, which may hold anything."""
    import numpy as np

    data, width = answer.get("vectors"), answer.get("dimensions")
    if not isinstance(data, str) or type(width) is not int or width < 1:
        return None
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        return None
    if len(raw) != 4 * width * count:
        return None
    rows: np.ndarray = np.frombuffer(raw, "<f4").reshape(count, width).astype(np.float32)
    return rows if np.isfinite(rows).all() else None
