"""A snapshot in words, for ``retrieval-gate snapshot show``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate.snapshot.manifest import Manifest, read_manifest


def _pairs(values: Mapping[str, Any]) -> str:
    shown = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            shown.append(f"{key} ({_pairs(value)})")
        else:
            shown.append(f"{key} {f'{len(value)} words' if isinstance(value, list) else value}")
    return ", ".join(shown)


def manifest_text(manifest: Manifest) -> str:
    """Several lines, ending with the two that belong into a configuration."""
    size = sum(facts.bytes for facts in manifest.files.values())
    lines = [f"kind       {manifest.kind}",
             f"units      {manifest.units} of {manifest.documents} documents (chunker: {_pairs(manifest.chunker)})",
             f"corpus     {manifest.corpus_digest}",
             f"index      {_pairs(manifest.index)}"]
    if manifest.embedding:
        lines.append(f"embedding  {_pairs(manifest.embedding)}")
    lines += [f"built by   {manifest.built_by}" + (f", {manifest.created}" if manifest.created else ""),
              f"files      {len(manifest.files)}, {size / 1024**2:.1f} MiB",
              f"digest     {manifest.tree_digest}"]
    # Everything above comes out of a file that nobody has vouched for yet.
    return "\n".join("".join(c for c in line if c.isprintable()) for line in lines) + "\n"


def show(directory: str | Path) -> str:
    """The manifest of a snapshot in words. Does not look at the other files; :func:`gate.snapshot.verify.verify` does."""
    return manifest_text(read_manifest(Path(directory)))
