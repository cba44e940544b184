"""What Elasticsearch and OpenSearch answer, read defensively. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.retrievers.pool import QueryFailed


def whole_answer(value: Any) -> list[dict[str, Any]]:
    """The hits. Raises QueryFailed for an answer that some shards did not take part in: what they hold would count as not found."""
    hits = value.get("hits") if isinstance(value, dict) else None
    found = hits.get("hits") if isinstance(hits, dict) else None
    if not isinstance(found, list) or not all(isinstance(hit, dict) and isinstance(hit.get("_id"), str) for hit in found):
        raise QueryFailed(f"the answer holds no hits: {str(value)[:120]}")
    shards = value.get("_shards") if isinstance(value.get("_shards"), dict) else {}
    if value.get("timed_out"):
        raise QueryFailed("the search ran out of time, and the answer is only a part of one", outage=True)
    if shards.get("failed"):
        failures = shards.get("failures")
        first = failures[0].get("reason", {}) if isinstance(failures, list) and failures and isinstance(failures[0], dict) else {}
        why = f" ({str(first.get('reason'))[:200]})" if isinstance(first, dict) and first.get("reason") else ""
        raise QueryFailed(f"{shards['failed']} of {shards.get('total')} shards failed{why}, and the answer is only a part of one",
                          outage=True)
    return found


def field_of(properties: Any, key: str) -> Mapping[str, Any]:
    """The mapping of a dotted field."""
    place: Mapping[str, Any] = {"properties": properties}
    for part in key.split("."):
        below = place.get("properties")
        place = below.get(part, {}) if isinstance(below, dict) else {}
    return place if isinstance(place, dict) else {}
