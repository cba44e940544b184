"""``manifest.json``: what a snapshot is, written and read in this one place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.snapshot.files import MAX_FILES, FileFacts, read_regular
from gate.snapshot.lfs import check_pulled

SCHEMA = 1
NAME = "manifest.json"
UNITS = "units.jsonl"
KINDS = ("bm25", "dense", "hybrid", "files")
MAX_BYTES = 16 * 1024**2
_SHA = re.compile(r"[0-9a-f]{64}\Z")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "schema": int, "kind": str, "corpus_digest": str, "units": int, "documents": int, "embedding": (dict, type(None)),
    "chunker": dict, "index": dict, "built_by": str, "files": dict, "tree_digest": str, "source": dict}
_OPTIONAL = {"created", "embedding", "text", "source"}


@dataclass(frozen=True)
class Manifest:
    """Facts of a snapshot. ``files`` maps a relative POSIX path to its digest and size; the manifest itself is not in it. ``text``: whether
    titles and texts are in it; ``source``: name and form of the corpus."""

    kind: str
    corpus_digest: str
    units: int
    documents: int
    index: Mapping[str, Any]
    chunker: Mapping[str, Any]
    files: Mapping[str, FileFacts]
    embedding: Mapping[str, Any] | None = None
    built_by: str = ""
    created: str = ""
    text: bool = True
    source: Mapping[str, Any] = field(default_factory=dict)
    schema: int = field(default=SCHEMA)

    @property
    def has_words(self) -> bool:
        """Whether a bm25 index is in it."""
        return self.kind in ("bm25", "hybrid")

    @property
    def has_vectors(self) -> bool:
        """Whether the documents' vectors are in it."""
        return self.kind in ("dense", "hybrid")

    @property
    def tree_digest(self) -> str:
        """Digest of every file and of every fact that decides a result; not of who built it and when."""
        files = sorted([path, facts.sha256] for path, facts in self.files.items())
        return jsonio.digest({"files": files, **self.facts()})

    def facts(self) -> dict[str, Any]:
        """The essential fields: what a record keeps and a comment compares."""
        return {"schema": self.schema, "kind": self.kind, "corpus_digest": self.corpus_digest, "units": self.units,
                "documents": self.documents, "embedding": self.embedding and dict(self.embedding), "chunker": dict(self.chunker),
                "index": dict(self.index), **({} if self.text else {"text": False})}

    def to_json(self) -> dict[str, Any]:
        """The content of ``manifest.json``."""
        value = self.facts() | {"built_by": self.built_by, "tree_digest": self.tree_digest,
                                "files": {path: {"sha256": f.sha256, "bytes": f.bytes} for path, f in self.files.items()}}
        return value | {key: found for key, found in (("created", self.created), ("source", dict(self.source))) if found}


def is_digest(text: str) -> bool:
    """``sha256:`` and 64 hex digits, as digests are written here."""
    return _DIGEST.match(text) is not None


def unsafe_path(path: str) -> str:
    """Why a path of a manifest cannot be accepted; empty when it can."""
    if not path or path != str(PurePosixPath(path)) or path.startswith("/") or ".." in PurePosixPath(path).parts or path == ".":
        return "leads out of the snapshot or is not in its plain form"
    if "\\" in path or not path.isprintable() or len(path) > 500:
        return "has characters that a snapshot does not use"
    return "is reserved" if path == NAME else ""


def _file_faults(files: dict[str, Any]) -> list[str]:
    problems = [f"`files` names {len(files)} files, the gate accepts {MAX_FILES}"] if len(files) > MAX_FILES else []
    for path, facts in list(files.items())[:MAX_FILES]:
        if fault := unsafe_path(path):
            problems.append(f"path {path[:80]!r} {fault}")
        if not isinstance(facts, dict) or not isinstance(facts.get("sha256"), str) or not _SHA.match(facts["sha256"]) \
                or type(facts.get("bytes")) is not int or facts["bytes"] < 0:
            problems.append(f"file {path[:80]!r} needs `sha256` (64 hex digits) and `bytes`")
    if UNITS not in files:
        problems.append(f"`files` lacks {UNITS}")
    return problems


def _faults(value: dict[str, Any]) -> list[str]:
    problems = []
    for key, kind in _FIELDS.items():
        if key not in value:
            problems += [] if key in _OPTIONAL else [f"`{key}` is missing"]
        elif isinstance(value[key], bool) or not isinstance(value[key], kind):
            problems.append(f"`{key}` has the wrong type")
    problems += [f"unknown key {key[:40]!r}" for key in sorted(value.keys() - _FIELDS.keys() - _OPTIONAL)]
    if problems:
        return problems
    if value["kind"] not in KINDS:
        problems.append(f"kind {value['kind'][:40]!r} must be one of {', '.join(KINDS)}")
    problems += [f"`{key}` must not be negative" for key in ("units", "documents") if value[key] < 0]
    problems += [f"`{key}` must be sha256: and 64 hex digits" for key in ("corpus_digest", "tree_digest")
                 if not _DIGEST.match(value[key])]
    for key, kind in (("created", str), ("text", bool)):
        if key in value and not isinstance(value[key], kind):
            problems.append(f"`{key}` has the wrong type")
    return problems + _file_faults(value["files"])


def parse(data: bytes, name: str) -> Manifest:
    """Read the bytes of a manifest; ``name`` is used in errors. Raises :class:`InvalidInput` listing every fault."""
    cure = "build the snapshot again, or fetch it again from where it was published"
    try:
        value = jsonio.loads(data.decode())
    except ValueError as error:
        raise InvalidInput(f"{name}: {'not UTF-8' if isinstance(error, UnicodeDecodeError) else error}", cure) from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{name}: must be an object", cure)
    if type(value.get("schema")) is int and value["schema"] > SCHEMA:
        raise InvalidInput(f"{name}: schema {value['schema']} was written by a newer gate; this one reads {SCHEMA}",
                           "use the newer version of the gate, or build the snapshot with this one")
    if problems := _faults(value):
        raise InvalidInput([f"{name}: {problem}" for problem in problems], cure)
    found = Manifest(
        kind=value["kind"], corpus_digest=value["corpus_digest"], units=value["units"], documents=value["documents"],
        index=value["index"], chunker=value["chunker"], embedding=value.get("embedding"), built_by=value["built_by"],
        created=value.get("created", ""), text=value.get("text", True), source=value.get("source", {}), schema=value["schema"],
        files={path: FileFacts(facts["sha256"], facts["bytes"]) for path, facts in value["files"].items()})
    try:
        actual = found.tree_digest
    except ValueError:  # 1e999 is valid JSON and no number that could be digested
        raise InvalidInput(f"{name}: a number in it is not finite", cure) from None
    if actual != value["tree_digest"]:
        raise InvalidInput(f"{name}: the manifest was changed after it was written: its content gives "
                           f"{actual}, it says {value['tree_digest']}", cure)
    return found


def read_manifest(directory: Path) -> Manifest:
    """Read ``manifest.json`` of a snapshot directory, without looking at the other files."""
    if not directory.is_dir():
        raise InvalidInput(f"{directory}: no such snapshot directory",
                           "check `snapshot.path`, and that an earlier step built or downloaded the snapshot")
    check_pulled(directory, [directory / NAME])
    return parse(read_regular(directory / NAME, MAX_BYTES), str(directory / NAME))
