"""Documents, the units cut from them, and the digest of a corpus. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gate import jsonio


@dataclass(frozen=True, slots=True)
class Document:
    """A text as its authors know it, before any chunking."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """What is indexed and found. ``doc`` is what a golden set names; ``parent`` the document it was cut from, where it was cut.

    ``start`` and ``end`` count characters of the document (no BOM, line ends as ``\\n``): ``document.text[start:end] == text``.
    """

    id: str
    doc: str
    title: str
    text: str
    parent: str = ""
    start: int | None = None
    end: int | None = None

    def to_json(self, text: bool = True) -> dict[str, Any]:
        """The line of ``units.jsonl``; without ``text`` ids and offsets alone, those of a whole document as well."""
        record: dict[str, Any] = {"id": self.id, "doc": self.doc}
        if text:
            record |= {"title": self.title, "text": self.text}
        whole = not text and self.start is None
        optional = {"parent": self.parent or None, "start": 0 if whole else self.start, "end": len(self.text) if whole else self.end}
        return record | {key: value for key, value in optional.items() if value is not None}


@dataclass(frozen=True)
class Corpus:
    """Documents and units, each in the order of reading; ``chunker`` says how the one became the other. ``source``: name and form of what
    was read, for people."""

    documents: tuple[Document, ...]
    units: tuple[Unit, ...]
    chunker: Mapping[str, Any] = field(default_factory=lambda: {"kind": "none"})
    warnings: tuple[str, ...] = ()
    source: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Digest of (id, title, text) of all documents: the same for every order, place and chunker.

        It is taken before chunking, because a new chunker over the same corpus is a change under test, while another corpus
        behind the index is a change that somebody has to approve.
        """
        total = hashlib.sha256()
        for document in sorted(self.documents, key=lambda d: d.id):
            total.update(jsonio.dumps([document.id, document.title, document.text]).encode() + b"\n")
        return "sha256:" + total.hexdigest()


class BadDocument(Exception):
    """One fault of one line or file; ``cure`` where the general one does not fit."""

    def __init__(self, fault: str, cure: str = "") -> None:
        self.cure = cure
        super().__init__(fault)
