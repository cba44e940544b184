"""What the models behind a retriever say of themselves: changes that nobody made in this repository. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.changes import flat

REPORTED, LEAST_COSINE = "reported", "least_cosine"


def model_warnings(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[str]:
    """Sentences for descriptions of the retriever in the baseline's record (None without one) and in this run.

    ``reported`` in a description is the name and version that a model gives itself, ``least_cosine`` the smallest cosine between kept
    query vectors and the same ones made again, where it is too small to be rounding."""
    old, new = flat(before or {}), flat(now)
    found = []
    for key, value in sorted(new.items()):
        name = key.rpartition(".")[2]
        if name == REPORTED and value and old.get(key) and value != old[key]:
            found.append(f"The embedding model calls itself {value} now, and it was {old[key]} when the baseline was made. Scores may have "
                         "moved without any change of yours.")
        elif name == LEAST_COSINE and isinstance(value, float):
            found.append(f"The embedding model gives other vectors than before under the same name: kept query vectors and the same ones "
                         f"made again have a cosine of down to {value:.4f}. Scores may move without any change of yours; another "
                         "`embedding.revision` makes all query vectors anew, and the snapshot has to be built again to go with them.")
    return found
