"""Does a golden set fit the rules that name its queries and tags, and the corpus that should hold its documents? Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from gate.golden.model import GoldenSet

if TYPE_CHECKING:
    from gate.policy import Policy

_SHOWN = 10
# Looking for the nearest of very many names takes longer than reading them.
_SEARCHED = 20_000
# Of so many names at most is the nearest looked for: an error shows no more, and each search goes through all known names.
_HELPED, _LONGEST = 50, 200


def misnamed(golden: GoldenSet, policies: Mapping[str, Policy], source: str) -> list[str]:
    """Every query and tag that the rules name and the golden set does not have: a guard that guards nothing. ``policies``: by the place
    of the configuration where they are; what several say alike is a fault of the first."""
    tags = {tag for query in golden.queries for tag in query.tags}
    found: dict[tuple[str, str], str] = {}
    for place, policy in policies.items():
        wanted = [("protected", "tag", rule.tag, tags) for rule in policy.protected]
        wanted += [("must_hit_tags", "tag", tag, tags) for tag in policy.must_hit_tags]
        wanted += [("must_hit", "query", i, golden.by_id.keys()) for i in policy.must_hit]
        for key, kind, name, known in wanted:
            if name not in known and (key, name) not in found:
                near = _nearest(name, known) if len(found) < _HELPED else ""
                found[key, name] = f"{source}: `{place}.{key}` names the {kind} {name!r}, which {golden.path} does not have{near}"
    return list(found.values())


def strange_documents(golden: GoldenSet, known: Collection[str]) -> tuple[list[str], bool]:
    """Sentences about documents in `relevant` and `spans` that the corpus does not hold, and whether it holds none at all of them.

    Other members of an equivalence group are not named by a query; one that is gone costs nothing while another is there.
    """
    named = [(query, doc) for query in golden.queries for doc in dict.fromkeys((*query.gains, *(span.doc for span in query.spans)))]
    strange = [(query, doc) for query, doc in named if doc not in known]
    lines = [f"{golden.path}:{query.line}: " + (f"a document of the blind query {query.id!r} is not in the snapshot" if query.blind else
                                                f"document {doc!r} is not in the snapshot{_nearest(doc, known)}")
             for query, doc in strange[:_SHOWN]]
    if len(strange) > _SHOWN:
        lines.append(f"{golden.path}: … and {len(strange) - _SHOWN} more documents that are not in the snapshot")
    return lines, bool(named) and len(strange) == len(named)


def uncalled_documents(golden: GoldenSet, known: Collection[str], called: Collection[str]) -> list[str]:
    """Sentences about documents in `relevant` and `spans` that are ``known``, but under a name by which no result is ``called``: a section
    or a window where results are called by their document, or the other way round. They count as never found."""
    found = [(query, doc) for query in golden.queries for doc in dict.fromkeys((*query.gains, *(span.doc for span in query.spans)))
             if doc in known and doc not in called]
    lines = [f"{golden.path}:{query.line}: " + (f"a document of the blind query {query.id!r}" if query.blind else f"document {doc!r}")
             + f" is never found by this name: results are called like {_example(doc, called)!r}" for query, doc in found[:_SHOWN]]
    return lines + ([f"{golden.path}: … and {len(found) - _SHOWN} more such names"] if len(found) > _SHOWN else [])


def _example(doc: str, called: Collection[str]) -> str:
    """A result that belongs to the same document, else any."""
    whole = doc.partition("#")[0]
    return min((name for name in called if name.partition("#")[0] == whole), default=min(called, default=""))


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib

    names = list(known)
    near = difflib.get_close_matches(name, names, 1, 0.6) if len(names) <= _SEARCHED and len(name) <= _LONGEST else []
    return f" (did you mean {near[0]!r}?)" if near else ""
