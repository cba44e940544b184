"""A function asked here and now, in this process: for the library only. The gate asks untrusted code in a child (child.py)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.figures import plural
from gate.golden.model import GoldenSet
from gate.runs import BadRanking, Ranking, Run, parse_ranking

if TYPE_CHECKING:
    from gate.retrievers.team.results import Keys


def run_of(results: Mapping[Any, Any], name: str) -> Run:
    """In-memory results, query id → list as a retriever returns it, as a run. Raises :class:`InvalidInput` with every fault."""
    from gate.retrievers.team import results as reading

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
            if not isinstance(value, Ranking):
                ranked = value.get("ranked") if isinstance(value, Mapping) else value
                whole = isinstance(ranked, (list, tuple))
                value = _ranking(reading.converted(value, len(ranked)) if whole else {"ranked": value})
            rankings[query_id] = value
        except (reading.Unusable, BadRanking, jsonio.NotJson) as fault:
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


def ask(golden: GoldenSet, retrieve: Any, n: int, id_key: str = "") -> tuple[Run, tuple[str, ...]]:
    """All rankings, and what a reader should know of them."""
    from gate.retrievers.team import callee, results

    name = getattr(retrieve, "__name__", type(retrieve).__name__)
    loop = callee.Loop()
    try:
        function = callee.Callee(retrieve, loop)
    except callee.Refused as fault:
        raise InvalidInput(f"{name} {fault}") from None
    rankings: dict[str, Ranking] = {}
    keys = results.Keys(id_key)
    longer = 0
    try:
        for query in golden.queries:
            rankings[query.id], more = _one(function, query.text, n, keys)
            longer += more
    finally:
        loop.close()
    notes = [f"{plural(longer, 'query')} got more than {n} results; the rest was cut"] if longer else []
    most = max((len(ranking.docs) for ranking in rankings.values()), default=0)
    if not function.counted and 0 < most < n:
        notes.append(f"no query got more than {most} of the {n} results that were asked for: {name} is not told how many are wanted, so "
                     "its own number (`k`, `similarity_top_k`) decides")
    return Run(rankings, name), tuple(notes)


def _one(retrieve: Callable[[str, int], Any], text: str, n: int, keys: Keys) -> tuple[Ranking, bool]:
    """One question; whether more came back than was asked for."""
    from gate.retrievers.team import results

    started = time.perf_counter()
    try:
        found = retrieve(text, n)
        took = (time.perf_counter() - started) * 1000
        answer = results.converted(found, n, keys)
        ranking = _ranking(answer)
    except (results.Unusable, BadRanking, jsonio.NotJson) as fault:
        return Ranking([], error=" ".join(str(fault).split())), False
    except (Exception, SystemExit) as error:  # not KeyboardInterrupt: whoever stops a cell means all of it
        return Ranking([], error=_raised(error)), False
    ranking.ms = took if ranking.ms is None else ranking.ms
    return ranking, answer["returned"] > n


def _raised(error: BaseException) -> str:
    """In the words of the gate's own child, without advice: that speaks of settings which do not exist here."""
    from gate.retrievers.team.faults import Raised
    from gate.retrievers.team.traces import Traces

    if error.__traceback__ is not None:
        error = error.with_traceback(error.__traceback__.tb_next)  # the first frame is this module's
    raised = Raised.read(Traces(os.getcwd()).tell(error))
    return "\n".join((f"the function raised {raised.sentence}.", *raised.lines))
