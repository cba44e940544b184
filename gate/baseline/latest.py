"""The latest record: what the default branch itself retrieved, kept beside the baseline that it was judged by.

It is read from a place whose baseline has been verified already. Whatever is wrong with it costs the second comparison and a
note, never the verdict: the baseline does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable

from gate.baseline.choose import Manifest
from gate.baseline.manifest import LATEST_FILE
from gate.baseline.record import Record, unpack
from gate.errors import InvalidInput
from gate.runs import Ranking


def read_latest(fetch: Callable[[], bytes], manifest: Manifest, record: Record) -> Record:
    """The record of the run that stored a baseline. ``fetch``: gives its bytes; ``manifest`` and ``record``: what lies beside it, both
    verified. Where that run itself became the baseline the two are one. Raises :class:`InvalidInput` with the reason."""
    if manifest.state != "carried":
        return record
    if not manifest.latest_digest:
        raise InvalidInput("it was stored by a version of the gate that kept no record of the run itself")
    latest = unpack(fetch(), LATEST_FILE)
    if fault := contradiction(manifest, latest):
        raise InvalidInput(f"{LATEST_FILE}: {fault}")
    return latest


def contradiction(manifest: Manifest, latest: Record) -> str:
    """Why a record cannot be the run that this manifest speaks of; "" when it can. Pure."""
    facts = (("digest", latest.digest, manifest.latest_digest), ("kind", latest.provenance.kind, "latest"),
             ("gate", latest.gate, manifest.gate), ("repository id", latest.repository_id, manifest.repository_id),
             ("commit", latest.commit, manifest.head_sha))
    return next((f"its {what} is {found!r}, the manifest stands for {expected!r}" for what, found, expected in facts
                 if found != expected), "")


def same_answers(one: Record, other: Record) -> bool:
    """Whether two records say the same as a reference: rankings, labels, corpus and depth; neither when nor by whom. Pure."""
    facts = [(record.labels, record.corpus_digest, record.depth, record.rankings.keys()) for record in (one, other)]
    return facts[0] == facts[1] and all(_answer(ranking) == _answer(other.rankings[i]) for i, ranking in one.rankings.items())


def _answer(ranking: Ranking) -> tuple[object, ...]:
    # How long it took is another each time, and what the scores say is in the order already.
    line = ranking.to_json("")
    return line["ranked"], line.get("candidates"), "error" in line
