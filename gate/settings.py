"""Config file and inputs → one frozen Settings. All errors at once, each naming its line or input."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate import jsonio
from gate.baseline_settings import BaselineSettings, read_baseline, store_rows
from gate.errors import InvalidInput
from gate.fields import Section
from gate.paths import Paths, inside
from gate.policy import Policy
from gate.policy_settings import read_policy, rules_of
from gate.retriever_settings import RetrieverSettings, read_retriever
from gate.snapshot_settings import SnapshotSettings, read_snapshot
from gate.tier_settings import read_tiers
from gate.tiers import TIERS, USUAL_SPLITS, USUAL_TIER, Tier, tier_rows
from gate.yamlio import Document, load_yaml, parse_yaml

if TYPE_CHECKING:
    from gate.services.settings import Service

DEFAULT_CONFIG = "retrieval-gate.yml"
COMMENTS = ("always", "on-change", "never")
_GATE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z")


@dataclass(frozen=True)
class Settings:
    """One gate at one tier. Paths are absolute or relative to the working directory; ``source`` is the config file.

    ``policy``, ``splits`` and ``repeat`` are the tier's. ``base``: the policy without any tier; ``tiers``: all of them, by name."""

    source: Path
    gate: str
    golden: Path
    retriever: RetrieverSettings
    snapshot: SnapshotSettings | None = None
    depth: int = 20
    policy: Policy = field(default_factory=Policy)
    baseline: BaselineSettings = field(default_factory=BaselineSettings)
    comment: str = "always"
    show_queries: bool = True
    tier: str = USUAL_TIER
    splits: tuple[str, ...] = USUAL_SPLITS[USUAL_TIER]
    repeat: int = 1
    base: Policy | None = None
    tiers: Mapping[str, Tier] = field(default_factory=dict)
    services: tuple[Service, ...] = ()

    @property
    def policies(self) -> dict[str, Policy]:
        """Place in the configuration → the policy there: the base's, and those of tiers that have one of their own."""
        base = self.base or self.policy
        return {"policy": base} | {f"tiers.{name}.policy": tier.policy for name, tier in self.tiers.items() if tier.policy != base}

    def at(self, name: str) -> Settings:
        """The same gate at another tier."""
        tier = self.tiers[name]
        return replace(self, tier=name, policy=tier.policy, splits=tier.splits, repeat=tier.repeat)


def policy_facts(settings: Settings) -> dict[str, Any]:
    """Everything that decides a verdict, who may overrule it, and where the baseline is looked for, as plain values: what a record
    digests and a comment shows as old → new. A new gate id or artifact name would otherwise be a way to start afresh. All tiers are in
    it, whichever runs: a pull request must not loosen in silence what is asked at night."""
    baseline, rules = settings.baseline, rules_of(settings.base or settings.policy)
    tiers = tier_rows(rules, [(tier, rules_of(tier.policy)) for tier in settings.tiers.values()])
    return {"gate": settings.gate, "artifact": baseline.artifact, "workflow": baseline.workflow, **rules, "label": baseline.label,
            "depth": settings.depth, **_corpus_row(settings), **store_rows(baseline), **tiers}


def _corpus_row(settings: Settings) -> dict[str, Any]:
    """What holds a snapshot to its corpus is a guard, and nobody takes one away unseen. Without it no row, as in older records."""
    corpus = settings.snapshot.corpus if settings.snapshot else None
    return {"snapshot corpus": os.path.relpath(corpus, settings.source.parent)} if corpus else {}


def policy_digest(settings: Settings) -> str:
    """Digest of :func:`policy_facts`."""
    return jsonio.digest(policy_facts(settings))


def _services(top: Section, snapshot: bool) -> tuple[Service, ...]:
    if top.raw("services") is None:
        return ()
    from gate.services.settings import read_services

    return read_services(top.section("services", top.mapping("services")), snapshot)


def _build(document: Document, source: Path, root: Path | None, overrides: Mapping[str, str], tier: str) -> Settings:
    problems: list[str] = []
    top = Section(document, "", document.value, problems)
    paths = Paths(source.parent, root)
    gate = top.text("gate", "default")
    if not _GATE_ID.match(gate):
        top.problem("gate", f"gate id {gate[:60]!r} must be lower-case letters, digits and hyphens, at most 40")
    retriever = read_retriever(top.section("retriever", top.mapping("retriever", required=True)), paths)
    pin = read_snapshot(top.section("snapshot", top.mapping("snapshot")), paths) if top.raw("snapshot") is not None else None
    if retriever.needs_snapshot and pin is None:
        top.problem("snapshot", f"a {retriever.kind} retriever needs `snapshot:` with path (or source) and digest")
    baseline = read_baseline(top.section("baseline", top.mapping("baseline")), paths.take)
    depth, rules = top.integer("depth", 20, 1, 10_000), top.section("policy", top.mapping("policy"))
    policy = read_policy(rules)
    settings = Settings(
        source=source, gate=gate, golden=paths.take(top, "golden", top.text("golden", "", required=True)), retriever=retriever,
        snapshot=pin, depth=depth, policy=policy, base=policy, tiers=read_tiers(top, rules, policy, depth, retriever.kind),
        baseline=baseline, comment=overrides.get("comment") or top.choice("comment", COMMENTS, "always"),
        show_queries=top.boolean("show_queries", True), services=_services(top, pin is not None))
    top.raw("comment")
    top.done()
    deepest = max((m.depth for m in settings.policy.all_metrics), default=0)
    if deepest > settings.depth:
        top.problem("depth", f"depth {settings.depth} is too shallow for a metric with cutoff {deepest}")
    if settings.comment not in COMMENTS:
        problems.append(f"input `comment`: {settings.comment!r} must be one of {', '.join(COMMENTS)}")
    if tier not in TIERS:
        problems.append(f"input `tier`: {tier[:60]!r} must be one of {', '.join(TIERS)}")
    if problems:
        # What the base policy has wrong is met again in every tier that builds on it.
        raise InvalidInput(list(dict.fromkeys(problems)), "fix the configuration; every setting is described in README, «Settings»")
    return settings.at(tier)


def load_settings(path: str | Path, root: Path | None = None, overrides: Mapping[str, str] | None = None,
                  tier: str = USUAL_TIER) -> Settings:
    """Read a config file. ``root``: the directory no path may leave. ``overrides``: values of action inputs."""
    path = Path(path)
    if not jsonio.is_file(path):
        raise InvalidInput(f"{path}: no such configuration file",
                           f"write one (README, «Settings») or name it with the input `config` / the option --config; "
                           f"the default is {DEFAULT_CONFIG}")
    if root is not None and not inside(path, root.resolve()):
        raise InvalidInput(f"input `config`: {path} leads out of the repository")
    return _build(load_yaml(path), path, root, overrides or {}, tier)


def parse_settings(data: bytes, path: str | Path, name: str, tier: str = USUAL_TIER) -> Settings:
    """The same from bytes (the base branch's version), as if they were at ``path``; ``name`` is used in errors."""
    return _build(parse_yaml(data, name), Path(path), None, {}, tier)
