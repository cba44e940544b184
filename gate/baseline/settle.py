"""Two runs of the default branch that store a baseline in one place: whose stays on top. Pure."""

from __future__ import annotations

from typing import NamedTuple

from gate.baseline.choose import Manifest

LATER, SAME, EARLIER, APART = "later", "same", "earlier", "apart"


class Settled(NamedTuple):
    """Whether this run stores its own on top, and what it says when it does not. ``parent``: digest of the record that it replaces when
    that is another one than it was judged by, else ""."""

    write: bool
    sentence: str = ""
    parent: str = ""


def settle(state: str, base: str, theirs: Manifest | None, order: str, seen: bool) -> Settled:
    """``state``: what this run stores (bootstrap, carried, approved); ``base``: digest of the record that it was judged by, "" for none;
    ``theirs``: the newest acceptable one of another run; ``order``: where this run's commit lies on the default branch, seen from theirs;
    ``seen``: whether theirs was there already when this run looked for its baseline.

    The later commit wins, and what was approved is never lost to a run that only carries.
    """
    if theirs is None:
        return Settled(True)
    moved = theirs.record_digest != base
    if state == "carried":
        if order not in (LATER, SAME):
            return Settled(False, _later(theirs))
        return Settled(False, _left(theirs)) if moved else Settled(True)
    if base and not moved:
        return Settled(True)  # whatever its commit: it has only carried what this run replaces
    if not base:
        if order not in (LATER, SAME):
            return Settled(False, _later(theirs))
        return Settled(True) if seen else Settled(False, _left(theirs))
    return Settled(True, parent=theirs.record_digest) if order == LATER else Settled(False, _left(theirs))


def _left(theirs: Manifest) -> str:
    return (f"The run of {theirs.head_sha[:7]} stored another baseline ({theirs.state}) while this one was under way. It stays; this run "
            "stored nothing and was compared with the one before it. Run this job again to be compared with the new one.")


def _later(theirs: Manifest) -> str:
    return (f"The run of {theirs.head_sha[:7]}, which is not before this commit on the default branch, has stored its state already; this "
            "run stored nothing.")
