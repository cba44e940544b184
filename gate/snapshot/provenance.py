"""A snapshot against the corpus that its manifest says it was built from. Its digest alone is the word of whoever wrote the manifest."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from gate import jsonio
from gate.errors import InvalidInput
from gate.figures import plural, short_digest
from gate.snapshot.build import build_bm25, sorted_units, write_units
from gate.snapshot.chunking import from_facts
from gate.snapshot.corpus import read_corpus
from gate.snapshot.manifest import UNITS, Manifest
from gate.snapshot.model import Corpus

_SHOWN = 5


def check_corpus(directory: Path, manifest: Manifest, path: Path) -> Corpus:
    """Read the corpus at ``path`` again and cut it as the manifest says: the documents, and each unit with its text and place, must be
    those of the snapshot, whose files are verified already. Raises :class:`InvalidInput` that names what differs."""
    how, ids = from_facts(manifest.chunker)
    corpus = read_corpus(path, how, ids if path.is_dir() else "stem")
    if corpus.digest != manifest.corpus_digest:
        named = f" ({differences})" if (differences := _differences(directory, manifest, corpus)) else ""
        raise InvalidInput(f"{directory}: was not built from {path}: its corpus is {short_digest(manifest.corpus_digest)} of "
                           f"{plural(manifest.documents, 'document')}, this one is {short_digest(corpus.digest)} of "
                           f"{plural(len(corpus.documents), 'document')}{named}",
                           "build the snapshot again from this corpus and pin its digest, or name the corpus that it was built from")
    with tempfile.TemporaryDirectory() as folder:
        same = write_units(Path(folder, UNITS), corpus, manifest.text) == manifest.files[UNITS]
    if not same or len(corpus.documents) != manifest.documents:
        named = f" ({differences})" if (differences := _differences(directory, manifest, corpus)) else ""
        raise InvalidInput(f"{directory}: its corpus digest is that of {path}, but {UNITS} is not what its chunker makes of it{named}",
                           f"build the snapshot again; it was built by {manifest.built_by[:60]}")
    return corpus


def _differences(directory: Path, manifest: Manifest, corpus: Corpus) -> str:
    """Which documents, as far as the units tell."""
    stored: dict[str, set[str]] = {}
    for _, line in jsonio.read_lines(directory / UNITS):
        unit = jsonio.loads(line)
        if isinstance(unit, dict):
            stored.setdefault(str(unit.get("parent") or unit.get("id")), set()).add(jsonio.dumps(unit))
    real: dict[str, set[str]] = {}
    for unit in sorted_units(corpus):
        real.setdefault(unit.parent or unit.id, set()).add(jsonio.dumps(unit.to_json(manifest.text)))
    kinds = {"other": [name for name in real if name in stored and real[name] != stored[name]],
             "new": [name for name in real if name not in stored], "gone": [name for name in stored if name not in real]}
    return "; ".join(f"{what}: {_some(names)}" for what, names in kinds.items() if names)


def _some(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(name[:80] for name in names[:_SHOWN]) + (f", … ({len(names)} in all)" if len(names) > _SHOWN else "")


def rebuilt(directory: Path, manifest: Manifest, corpus: Corpus) -> str:
    """Build the index of a checked corpus again where that can be done here, and say what is proven. Raises :class:`InvalidInput`."""
    if not manifest.has_words:
        rest = "vectors" if manifest.has_vectors else "the engine's own files"
        return f"what was made of them elsewhere ({rest}) is as it was frozen, and was not made again"
    with tempfile.TemporaryDirectory() as folder:
        try:
            said = {key: manifest.index[key] for key in ("k1", "b", "method")}
            again = build_bm25(corpus, Path(folder, "again"), **said)
        except (KeyError, TypeError, ValueError):
            raise InvalidInput(f"{directory}: the manifest does not say how its index was made", "build the snapshot again") from None
    # Of a hybrid one, the vectors and their queries were made elsewhere.
    frozen = {name: facts for name, facts in manifest.files.items() if not manifest.has_vectors or name in again.files}
    same = again.tree_digest == manifest.tree_digest if not manifest.has_vectors else again.files == frozen
    if same:
        rest = "; its vectors are as they were frozen, and were not made again" if manifest.has_vectors else ""
        return f"building the index again gives the same bytes{rest}"
    files = [name for name, facts in frozen.items() if again.files.get(name) != facts]
    files += [name for name in again.files if name not in manifest.files]
    ours, theirs = again.index.get("version"), manifest.index.get("version")
    other = f"; it was built with bm25s {str(theirs)[:20]}, here is {ours}" if ours != theirs else ""
    raise InvalidInput(f"{directory}: building its index again from the corpus does not give the same "
                       f"({_some(files) or 'facts of the index'}){other}", "build the snapshot again with this version of the gate")
