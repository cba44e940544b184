"""What approximate search loses against exact search in the same index, so that nobody takes it for the model's doing."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from gate.fields import Section
from gate.figures import plural
from gate.retrievers.engines.hits import Hit

SEARCHES = ("ann", "exact")
# Two ways through one engine add up in different orders, in single precision; a difference of this size is none.
_SLACK = 1e-5


def read_search(section: Section) -> tuple[str, bool]:
    """``search: ann | exact`` and ``ann_loss`` of a retriever. Faults are remembered in the section."""
    search, loss = section.choice("search", SEARCHES, "ann"), section.boolean("ann_loss", False)
    if loss and search == "exact":
        section.problem("ann_loss", "`ann_loss` compares approximate with exact search, and `search` is exact; leave one of them out")
    return search, loss


class AnnLoss:
    """A tally that several threads may add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = self._found = self._queries = self._differ = 0

    def add(self, approximate: Sequence[Hit], exact: Sequence[Hit]) -> None:
        """The same query, both ways, to the same depth. A hit counts as found when its score is as good as the last exact one: which of
        several equal ones is returned is no loss."""
        slack = _SLACK * max((abs(hit.score) for hit in exact), default=0.0)
        floor = min((hit.score for hit in exact), default=0.0) - slack
        good = min(sum(hit.score >= floor for hit in approximate), len(exact))
        with self._lock:
            self._queries += 1
            self._wanted, self._found = self._wanted + len(exact), self._found + good
            self._differ += good < len(exact)

    def notes(self) -> list[str]:
        """One sentence; none before anything was added."""
        if not self._queries:
            return []
        if not self._differ:
            return [f"approximate search returned everything that exact search does, in all {plural(self._queries, 'query')}"]
        share = self._found / self._wanted
        return [f"approximate search returned {min(100 * share, 99.99):.2f} % of what exact search does; {self._differ} of "
                f"{plural(self._queries, 'query')} lack something: that much is the index's doing, not the model's"]
