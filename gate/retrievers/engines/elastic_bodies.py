"""The bodies of searches in Elasticsearch and OpenSearch. Pure.

Where exact and approximate search of one engine can give the same scores, they do: the scripts are the formulas by which Elasticsearch
turns a similarity into a score (its reference, ``dense_vector``, parameter ``similarity``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gate.errors import InvalidInput

USUAL_CANDIDATES = 100
_COSINE = "(cosineSimilarity(params.query_vector, '{field}') + 1.0) / 2"
SCRIPTS = {
    "cosine": _COSINE,
    "dot_product": "(dotProduct(params.query_vector, '{field}') + 1.0) / 2",
    "l2_norm": "double d = l2norm(params.query_vector, '{field}'); return 1 / (1 + d * d);",
    "max_inner_product": "double p = dotProduct(params.query_vector, '{field}'); return p < 0 ? 1 / (1 - p) : p + 1;",
}
SPACES = ("cosinesimil", "innerproduct", "l2")


def with_filter(query: Mapping[str, Any], where: Any) -> Mapping[str, Any]:
    """Scored by ``query``, restricted by ``where``."""
    return {"bool": {"must": [query], "filter": where}} if where else query


def having(field: str, where: Any) -> dict[str, Any]:
    """Everything with a vector: a script fails on a document without."""
    filters = [*([] if not where else where if isinstance(where, list) else [where]), {"exists": {"field": field}}]
    return {"bool": {"filter": filters}}


def ann(field: str, vector: Sequence[float], n: int, effort: int, where: Any, opensearch: bool) -> dict[str, Any]:
    """``effort``: num_candidates or ef_search, 0 for the engine's usual one (in Elasticsearch the gate's, which is written down)."""
    more = {"filter": where} if where else {}
    if opensearch:
        effort_there = {"method_parameters": {"ef_search": effort}} if effort else {}
        where_one = {"filter": {"bool": {"filter": where}}} if isinstance(where, list) and where else more
        return {"query": {"knn": {field: {"vector": vector, "k": n, **effort_there, **where_one}}}}
    if effort and effort < n:
        raise InvalidInput(f"`retriever.num_candidates` is {effort}, and {n} results are asked for",
                           "set it to at least `depth`, or leave it out")
    return {"knn": {"field": field, "query_vector": vector, "k": n, "num_candidates": effort or max(USUAL_CANDIDATES, n), **more}}


def exact(field: str, vector: Sequence[float], similarity: str, where: Any, opensearch: bool) -> dict[str, Any]:
    """``similarity``: of the field's mapping, in the engine's own word."""
    if similarity not in (SPACES if opensearch else SCRIPTS):
        raise InvalidInput(f"field {field}: the gate has no exact search for its similarity {similarity!r}",
                           f"use one of {', '.join(SPACES if opensearch else SCRIPTS)}, or write the whole search as `body`")
    if opensearch:
        script = {"source": "knn_score", "lang": "knn", "params": {"field": field, "query_value": vector, "space_type": similarity}}
    else:
        script = {"source": SCRIPTS[similarity].format(field=field), "params": {"query_vector": vector}}
    return {"query": {"script_score": {"query": having(field, where), "script": script}}}
