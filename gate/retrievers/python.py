"""Kind ``python``: the team's own function or object, asked in processes of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.errors import InvalidInput, RetrieverFailed
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.limits import Limits
from gate.retrievers.team.child import WORKER
from gate.retrievers.team.faults import Raised
from gate.retrievers.team.output import Captured
from gate.retrievers.team.results import USUAL, Keys
from gate.retrievers.team.stranger import Stranger
from gate.runs import Ranking

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings
    from gate.retrievers.team.packages import Packages

_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")
# -P and -s as in -I, but without -E: the environment is built here, and PYTHONHASHSEED in it must count.
FLAGS = ("-P", "-s", "-B", "-X", "utf8")


class Options(NamedTuple):
    """``function``: module:attribute; ``path``: the directory it is imported from; ``factory``: what it names is called once for the
    retriever; ``requirements``: the file of the packages it needs, None for those of the gate; ``build``: packages may be built;
    ``root``: the repository, where there is one."""

    function: str
    path: Path
    factory: bool = False
    keys: Keys = USUAL
    requirements: Path | None = None
    build: bool = False
    root: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The function's own module, and what says which packages it is run with."""
        place = self.path.joinpath(*self.function.partition(":")[0].split("."))
        own = [file for file in (place.with_name(f"{place.name}.py"), place / "__init__.py") if file.is_file()][:1]
        return (*own, *self._asked)

    @property
    def _asked(self) -> tuple[Path, ...]:
        """The requirements, with the files that they name."""
        if self.requirements is None:
            return ()
        from gate.retrievers.team.requirement_files import read_requirements

        try:
            return read_requirements(self.requirements, self.build, self.root).files
        except InvalidInput:  # which the start will tell
            return (self.requirements,)


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    function = section.text("function", "")
    if not _FUNCTION.match(function):
        section.problem("function", "`function` must be given as module:function, for instance search.retriever:retrieve")
    keys = Keys(section.text("id_key", ""), section.text("chunk_key", ""), section.text("start_key", ""), section.text("end_key", ""))
    named = section.text("requirements", "")
    build_allowed = section.boolean("build", False)
    if build_allowed and not named:
        section.problem("build", "`build` allows that packages of `requirements` are built, and there are no `requirements`")
    return Options(function, paths.take(section, "path", section.text("path", ".")), section.boolean("factory", False), keys,
                   paths.take(section, "requirements", named) if named else None, build_allowed, paths.root)


def build(settings: RetrieverSettings, given: Given) -> PythonRetriever:
    """See :mod:`gate.retrievers`."""
    options: Options = settings.options
    packages = None
    if options.requirements is not None:
        from gate.retrievers.team.packages import Packages

        packages = Packages(options.requirements, given.world.cache, given.world.variables, settings.limits, options.build, options.root)
    return PythonRetriever(options.function, options.path, settings.limits, given.snapshot.path if given.snapshot else None,
                           concurrency=settings.concurrency, factory=options.factory, keys=options.keys, packages=packages)


class PythonRetriever(Stranger):
    """Asks what ``module:attribute`` names, in one of the ways of :mod:`gate.retrievers.team.callee`. ``embeds``: whether it is asked for
    vectors instead."""

    embeds = False
    missing_path = "set `retriever.path` to the directory that holds the module"

    def __init__(self, function: str, path: Path, limits: Limits, snapshot: Path | None = None, executable: str = "",
                 concurrency: int = 1, factory: bool = False, keys: Keys = USUAL, packages: Packages | None = None) -> None:
        self.function, self.factory, self.keys, self.packages = function, factory, keys, packages
        self._counted, self._most, self._answered = True, 0, 0
        super().__init__(function, path, limits, snapshot, executable, concurrency)

    def describe(self) -> Mapping[str, Any]:
        places = {f"{name}_key": place for name, place in self.keys._asdict().items() if place}
        return {"kind": "python", "function": self.function, **places, **({} if self.packages is None else self.packages.describe())}

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        """See :mod:`gate.retrievers.base`."""
        self._most = self._answered = 0
        try:
            yield from super().retrieve(queries, depth)
        finally:
            if not self._counted and self._answered and self._most < depth:
                self.notes.append(f"no query got more than {self._most} of the {depth} results that were asked for: `{self.function}` is "
                                  "not told how many are wanted, so its own number (`k`, `similarity_top_k`) decides")

    def needed(self) -> Iterable[Path]:
        module = Options(self.function, self.path).files
        return [*super().needed(), *module, *([] if self.packages is None else self.packages.needed())]

    def provide(self) -> None:
        if self.packages is not None:
            self.executable, notes = self.packages.provide(self.executable, self.isolation.user)
            self.notes += notes
            self.isolation.admit()  # to what was made just now

    def command(self) -> list[str]:
        return [self.executable, *FLAGS, str(WORKER)]

    def setup(self) -> dict[str, Any]:
        return {**super().setup(), "function": self.function, "factory": self.factory, "keys": list(self.keys),
                "embeds": self.embeds}

    def started(self, answer: Mapping[str, Any]) -> None:
        self._counted = answer.get("counted") is not False

    def ranking(self, answer: Mapping[str, Any], depth: int) -> Ranking:
        if "raised" in answer:
            raised = Raised.read(answer["raised"])
            cure = raised.cure(self.limits, self.snapshot is not None, self.packages is not None)
            head = f"the function raised {raised.sentence}" + (f"; {cure}" if cure else "")
            return Ranking([], error="\n".join((f"{head}.", *raised.lines)))
        if "unusable" in answer:
            return Ranking([], error=" ".join(str(answer["unusable"]).split())[:1000])
        ranking = super().ranking(answer, depth)
        with self._lock:
            self._answered += not ranking.error
            self._most = max(self._most, len(ranking.docs))
        return ranking

    def unusable(self, answer: Mapping[str, Any], captured: Captured) -> RetrieverFailed:
        if "raised" in answer:
            raised = Raised.read(answer["raised"])
            what = "calling it once as a factory" if answer.get("stage") == "factory" else "its import"
            return self.failed(f"{self.function}: {what} failed: {raised.sentence}",
                               raised.start_cure(self.function, self.limits, self.snapshot is not None, self.packages is not None),
                               raised.lines, captured)
        reason = " ".join(str(answer.get("unusable", "")).split())[:1000]
        return self.failed(f"{self.function}: {reason or 'it said neither that it is ready nor why not'}",
                           "check `retriever.function` and `retriever.path`, which is the first directory of sys.path"
                           if answer.get("missing") is True else "fix the function that `retriever.function` names", captured=captured)
