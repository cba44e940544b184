"""What a change alters besides the rankings: labels, rules, corpus, retriever. Pure rows for people, and the check they lead to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gate.comparison import LabelChanges
from gate.figures import setting, short_digest
from gate.policy import Check
from gate.reports.report import InputChange
from gate.tiers import in_force

if TYPE_CHECKING:
    from gate.baseline.record import Record

# Parameters of a retriever with which a change could make the gate measure something else than its code.
_DEFLECTING = ("kind", "file", "url", "server")
# How much of an engine's index is compared with the snapshot, the most first.
_CHECKS = ("vectors", "ids", "count", "none")
_LEG = re.compile(r"(leg \d+\.)+")  # a retriever within one


def change_checks(changes: Iterable[InputChange]) -> list[Check]:
    """One check for each kind of input change that needs an approval; without one they fail, with one they are accepted."""
    return [Check(f"change {change.name}", "fail", f"{change.name}: {change.old} → {change.new}. This needs the same approval as a "
                                                   f"change of the baseline.")
            for change in changes if change.needs_approval]


def label_changes_shown(labels: LabelChanges, on_main: LabelChanges | None = None) -> list[InputChange]:
    """A row for each kind of change. ``on_main``: what becomes of queries that were added on main since its baseline; they may no more
    vanish unseen than those that the baseline knows."""
    rows = []
    for what in ("removed", "relabelled"):
        known, fresh = getattr(labels, what), getattr(on_main, what) if on_main else ()
        if known or fresh:
            whose = " and ".join(f"{len(ids)} known to {where}" for ids, where in ((known, "the baseline"), (fresh, "main")) if ids)
            rows.append(InputChange(f"golden queries {what}", whose, _some((*known, *fresh)), needs_approval=True))
    if labels.added:
        rows.append(InputChange("golden queries added", "not known to the baseline, so not compared yet", _some(labels.added)))
    return rows


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:10]) + (f" … ({len(ids)} in all)" if len(ids) > 10 else "")


def frozen_inputs(record: Record | None, facts: Mapping[str, Any]) -> list[InputChange]:
    """Rows for corpus, index and retriever, where the baseline is a record and this run knows its own (``facts``)."""
    if record is None or "corpus_digest" not in facts:
        return []
    return [*corpus_changes(record.corpus_digest, facts["corpus_digest"], record.snapshot_digest, facts["snapshot_digest"]),
            *retriever_changes(record.retriever, facts["retriever"])]


def corpus_changes(old_corpus: str, new_corpus: str, old_snapshot: str, new_snapshot: str) -> list[InputChange]:
    """Digests of the baseline's inputs against today's. Another corpus needs an approval; a new index over the same corpus is exactly
    what is under test, so it is only shown."""
    if old_corpus != new_corpus:
        return [InputChange("corpus digest", _short(old_corpus), _short(new_corpus), needs_approval=True)]
    if old_snapshot != new_snapshot:
        return [InputChange("index over the same corpus", _short(old_snapshot), _short(new_snapshot))]
    return []


def policy_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[InputChange]:
    """A row for each rule that differs; they take effect after the merge and need an approval."""
    return [InputChange(f"policy {key}", setting(in_force(old, key)), setting(in_force(new, key)), needs_approval=True)
            for key in sorted(old.keys() | new.keys()) if in_force(old, key) != in_force(new, key)]


def retriever_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[InputChange]:
    """A row for each parameter of the retriever that differs. They are what is under test, so they are only shown; but another kind, or
    another run file, can stop the gate from measuring the code at all, and an index that is compared less may be any other."""
    before, after = flat(old), flat(new)
    return [InputChange(f"retriever {key}", setting(before.get(key)), setting(after.get(key)),
                        needs_approval=_LEG.sub("", key) in _DEFLECTING or _checks_less(key, before.get(key), after.get(key)))
            for key in sorted(before.keys() | after.keys()) if _given(before.get(key)) != _given(after.get(key))]


def _checks_less(key: str, old: Any, new: Any) -> bool:
    return _LEG.sub("", key) == "check" and old in _CHECKS and new in _CHECKS and _CHECKS.index(new) > _CHECKS.index(old)


def _given(value: Any) -> Any:
    """Nothing where a parameter is left empty, which is shown as if it were left out."""
    return None if value in ("", [], {}) else value


def flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """``{"embedding": {"model": m}}`` → ``{"embedding.model": m}``."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{above}{key}.") if isinstance(value, Mapping) else {f"{above}{key}": value}
    return found


def _short(digest: str) -> str:
    return short_digest(digest) or "none"
