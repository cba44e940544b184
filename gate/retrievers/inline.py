"""A function asked here and now, in this process: for the library only. The gate asks untrusted code in a child (child.py)."""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.figures import plural
from gate.golden.model import GoldenSet
from gate.runs import BadRanking, Ranking, Run, parse_ranking


def run_of(results: Mapping[Any, Any], name: str) -> Run:
    """In-memory results, query id → list as a retriever returns it, as a run. Raises :class:`InvalidInput` with every fault."""
    from gate.retrievers import worker

    rankings: dict[str, Ranking] = {}
    problems = [f"{name}: no ranking in it"] if not results else []
    for key, value in results.items():
        # The golden set reads numbers as strings too.
        query_id = str(key) if isinstance(key, int) and not isinstance(key, bool) else key
        try:
            if not isinstance(query_id, str):
                raise BadRanking("a query id must be a string")
            if query_id in rankings:
                raise BadRanking("given as a number and as a string")
            answer = worker.converted(value, len(value)) if isinstance(value, (list, tuple)) else {"ranked": value}
            rankings[query_id] = value if isinstance(value, Ranking) else _ranking(answer)
        except (worker.Unusable, BadRanking, jsonio.NotJson) as fault:
            problems.append(f"{name}: query {key!r}: {fault}")
    if problems:
        raise InvalidInput(problems, "give each query id a list of document ids, best first")
    return Run(rankings, name)


def _ranking(answer: Mapping[str, Any]) -> Ranking:
    try:
        # Once as text, as over the pipe of the gate's own child: what no run file could hold is found here and not when it is saved.
        return parse_ranking(jsonio.loads(json.dumps(answer)))
    except TypeError as error:
        raise BadRanking(f"cannot be written as JSON ({error})") from None


def ask(golden: GoldenSet, retrieve: Callable[[str, int], Any], n: int) -> tuple[Run, tuple[str, ...]]:
    """All rankings, and what a reader should know of them."""
    name = getattr(retrieve, "__name__", type(retrieve).__name__)
    for function in (retrieve, getattr(retrieve, "__call__", None)):  # noqa: B004 - of an object with one, it is what runs
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise InvalidInput(f"{name} is async", "give a plain function that waits for the answer itself")
        if inspect.isgeneratorfunction(function):
            raise InvalidInput(f"{name} is a generator, which returns no list", "give a function that returns list(…) of what it yields")
    try:
        inspect.signature(retrieve).bind("a query", 1)
    except TypeError as error:
        raise InvalidInput(f"{name} must accept two arguments, query and number of results ({error})") from None
    except ValueError:
        pass  # written in C: its signature is not known, the first call will tell
    rankings: dict[str, Ranking] = {}
    longer = 0
    for query in golden.queries:
        rankings[query.id], more = _one(retrieve, query.text, n)
        longer += more
    notes = (f"{plural(longer, 'query')} got more than {n} results; the rest was cut",) if longer else ()
    return Run(rankings, name), notes


def _one(retrieve: Callable[[str, int], Any], text: str, n: int) -> tuple[Ranking, bool]:
    """One question; whether more came back than was asked for."""
    from gate.retrievers import worker

    started = time.perf_counter()
    try:
        answer = worker.call(retrieve, text, n)
        took = (time.perf_counter() - started) * 1000
        ranking = _ranking(answer)
    except (worker.Unusable, BadRanking, jsonio.NotJson) as fault:
        return Ranking([], error=" ".join(str(fault).split())), False
    except (Exception, SystemExit) as error:  # not KeyboardInterrupt: whoever stops a cell means all of it
        return Ranking([], error=_raised(error)), False
    ranking.ms = took
    return ranking, answer["returned"] > n


def _raised(error: BaseException) -> str:
    """In the words of the gate's own child, without advice: that speaks of settings which do not exist here."""
    from gate.retrievers.faults import Raised
    from gate.retrievers.traces import Traces

    if error.__traceback__ is not None:
        error = error.with_traceback(error.__traceback__.tb_next)  # the first frame is this module's
    raised = Raised.read(Traces(os.getcwd()).tell(error))
    return "\n".join((f"the function raised {raised.sentence}.", *raised.lines))
