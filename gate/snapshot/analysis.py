"""Text → index terms. Every option is recorded in the manifest, so that queries are analysed as the documents were."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gate.errors import InvalidInput

NAME, VERSION = "words", 1
# Short on purpose: a word taken away here can never be searched for.
STOP_WORDS = ("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "how", "i", "in", "is", "it", "its",
              "of", "on", "or", "that", "the", "this", "to", "was", "were", "what", "when", "where", "which", "who", "why",
              "will", "with")
_POSSESSIVE = re.compile(r"['’]s\b")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
# A word, or an identifier held together by - . or _ such as err-4417, gw-lys-02, tls1.2, pg_wal.
_WORD = re.compile(r"[^\W_]+(?:[-._][^\W_]+)*")
_PART = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True)
class Analyser:
    """Lower-case Unicode words; identifiers count whole and in their parts; stop words are left out."""

    stop_words: frozenset[str] = frozenset(STOP_WORDS)

    def options(self) -> dict[str, Any]:
        """What the manifest records."""
        return {"name": NAME, "version": VERSION, "normal_form": "NFKC", "lower_case": True, "identifiers": "whole and parts",
                "stop_words": sorted(self.stop_words)}

    def terms(self, text: str) -> list[str]:
        """Terms in order of the text: ``Does err-4417 hit?`` → ``does err-4417 err 4417 hit``."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        text = _APOSTROPHE.sub("", _POSSESSIVE.sub("", text.lower()))
        found: list[str] = []
        for word in _WORD.findall(text):
            if word.isalpha():
                if word not in self.stop_words:
                    found.append(word)
                continue
            parts = _PART.findall(word)
            if len(parts) > 1:
                found.append(word)
                found.extend(part for part in parts if part not in self.stop_words)
            elif word not in self.stop_words:
                found.append(word)
        return found


def from_options(options: Mapping[str, Any]) -> Analyser:
    """The analyser that a manifest names. Raises :class:`InvalidInput` for one this version does not have."""
    words = options.get("stop_words")
    if options.get("name") != NAME or options.get("version") != VERSION or not isinstance(words, list) \
            or not all(isinstance(word, str) for word in words):
        seen = f"{str(options.get('name'))[:40]!r} version {str(options.get('version'))[:10]}"
        raise InvalidInput(f"the snapshot was analysed by {seen}; this gate has {NAME!r} version {VERSION}",
                           "build the snapshot again with this version of the gate")
    return Analyser(frozenset(words))
