"""A snapshot in words, for ``retrieval-gate snapshot show``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate.snapshot.manifest import Manifest, read_manifest


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {_words(value)}" for key, value in values.items())


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({_pairs(value)})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"({len(value)} words)" if isinstance(value, list) else repr(value) if str(value) != str(value).strip() else str(value)


def manifest_text(manifest: Manifest) -> str:
    """Several lines; the digest is what belongs into a configuration."""
    size = sum(facts.bytes for facts in manifest.files.values())
    lines = [f"kind       {manifest.kind}",
             f"units      {manifest.units} of {manifest.documents} documents (chunker: {_pairs(manifest.chunker)})",
             *([] if manifest.text else ["text       kept out: ids, offsets and vectors only"]),
             f"corpus     {manifest.corpus_digest}" + (f" ({_pairs(manifest.source)})" if manifest.source else ""),
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
    directory = Path(directory)
    text = manifest_text(read_manifest(directory))
    return f"{text}This is what the manifest says; `retrieval-gate snapshot verify {directory}` checks the files.\n"
