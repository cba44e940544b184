"""What the vectors of a frozen index say: is it the model, or the search over it? Pure but for numpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gate.explain.model import Fact, Place

if TYPE_CHECKING:
    import numpy as np


_SAME = 0.01


def facts(scores: np.ndarray, ids: Sequence[str], docs: Mapping[str, str], relevant: Sequence[Place], k: int,
          repeats: bool = False) -> Iterator[Fact]:
    """``scores``: exact similarity of the query to each of ``ids``; ``docs``: unit → what a golden set calls it. ``repeats``: whether the
    run lists a document once for each of its units, so that the ranks compared with it have to count units as well."""
    exact: dict[str, tuple[int, float]] = {}
    # Equal scores in the order of the index, as the kind `dense` ranks them.
    for at, row in enumerate((-scores).argsort(kind="stable"), 1):
        exact.setdefault(docs.get(ids[row], ids[row]), (at if repeats else len(exact) + 1, float(scores[row])))
    top, (_, best) = next(iter(exact.items()))
    for place in relevant:
        if place.doc not in exact:
            continue
        rank, score = exact[place.doc]
        gap = "" if place.doc == top else f" against {best:.3f} of {top}"
        head = f"Exact search over the vectors of the snapshot puts {place.doc} at {rank}"
        if place.after.rank is not None and place.after.rank <= k:
            continue  # found, by whatever else there is: nothing has to be explained
        if rank > k:
            yield Fact("model", f"{head} too (similarity {score:.3f}{gap}).",
                       "The model's view, not the index: another embedding, a better chunk, or a lexical leg for its exact words.")
        else:
            now = f"is result {place.after.rank}" if place.after.rank else "is not among the results"
            yield Fact("search", f"{head} (similarity {score:.3f}{gap}); in this run it {now}.", _why(place, score))


def _why(place: Place, exact: float) -> str:
    """Whether the run sees the same vectors, as far as its scores tell."""
    if place.after.score is not None and place.before.score is not None \
            and abs(place.before.score - exact) <= _SAME < abs(place.after.score - exact):
        return (f"This run scores it {place.after.score:.3f}, the baseline scored it as the snapshot does: other vectors of the query or "
                "of the documents (model, dimensions, prefix, normalisation).")
    return ("Not the model: an approximate index with too little effort (ef, probes), a filter, a document that was not indexed, other "
            "vectors in the engine, or a later stage.")
