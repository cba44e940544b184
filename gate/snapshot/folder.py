"""A folder of Markdown and text files → documents and units."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from gate.errors import InvalidInput
from gate.snapshot.chunking import Chunking, cut
from gate.snapshot.markdown import front_matter, split
from gate.snapshot.model import BadDocument, Corpus, Document, Unit

SUFFIXES = (".md", ".txt")
MAX_FILE_BYTES = 64 * 1024**2
_SHOWN = 5


def _files(folder: Path, problems: list[str]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names + folders):
            path = Path(place, name)
            if path.is_symlink():
                # A link could pull any file of this machine into an index that is published.
                problems.append(f"{path}: is a symbolic link, which a corpus must not contain")
            elif name in names and not name.startswith(".") and path.suffix.lower() in SUFFIXES:
                yield path


def _read(path: Path) -> str:
    try:
        found = path.stat(follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):  # a named pipe would be waited for
            raise BadDocument("is not a regular file", "move it out of the folder")
        if found.st_size > MAX_FILE_BYTES:
            raise BadDocument(f"larger than the gate reads ({MAX_FILE_BYTES} bytes)", "split this file, or move it out of the folder")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadDocument(f"not UTF-8 (byte {error.start + 1})", "save this file as UTF-8") from None
    except OSError as error:
        raise BadDocument(f"cannot be read ({error.strerror})", "make this file readable, or move it out of the folder") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _composed(name: str) -> str:
    """Some file systems store names decomposed; the same file must have the same id and title everywhere."""
    return unicodedata.normalize("NFC", name)


def _name(folder: Path, path: Path, ids: str) -> str:
    """A document's id: the file's name, or its path below ``folder``, without the ending."""
    name = _composed(path.stem if ids == "stem" else path.relative_to(folder).with_name(path.stem).as_posix())
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in name):
        raise BadDocument("has a name that cannot be an id", "give it a name in UTF-8 and without control characters")
    return name


def _cut(path: Path, name: str, text: str, how: Chunking) -> tuple[Document, list[Unit]]:
    stem = _composed(path.stem)
    if path.suffix.lower() != ".md":
        document = Document(name, stem, text)
        return document, cut(document, how, markdown=False)
    said, body = front_matter(text)
    document = Document(name, split(text, body)[0] or said or stem, text)
    return document, cut(document, how, body)


_LINK_CURE = "put the file itself in the place of the link, or move the link out of the folder"
_SAME_CURE = {"stem": "a document's id is its file name without the ending: build with `--ids path`, which takes the path in the folder "
                      "(`a/index`), or rename one of the files", "path": "rename one of the files"}


def from_folder(folder: Path, how: Chunking, ids: str) -> Corpus:
    """See :func:`gate.snapshot.corpus.read_corpus`."""
    problems: list[str] = []
    seen: dict[str, Path] = {}
    documents: list[Document] = []
    units: list[Unit] = []
    empty: list[str] = []
    files = list(_files(folder, problems))
    cures = dict.fromkeys([_LINK_CURE] if problems else [])
    for path in files:
        try:
            name = _name(folder, path, ids)
            other = seen.setdefault(name, path)
            if other != path:
                raise BadDocument(f"has the same document id {name!r} as {other}", _SAME_CURE[ids])
            document, pieces = _cut(path, name, _read(path), how)
        except BadDocument as fault:
            problems.append(f"{path}: {fault}")
            cures[fault.cure] = None
            continue
        documents.append(document)
        units += pieces
        if not pieces:
            empty.append(path.relative_to(folder).as_posix())
    if not problems and not units:
        problems.append(f"{folder}: no {' or '.join(SUFFIXES)} file with text in it")
        cures["name the folder that holds the documents"] = None
    if problems:
        raise InvalidInput(problems, "; ".join(cures))
    more = f", … ({len(empty)} files)" if len(empty) > _SHOWN else ""
    warnings = (f"{folder}: nothing to index in {', '.join(empty[:_SHOWN])}{more}",) if empty else ()
    source = {"form": "folder", "name": folder.name or folder.resolve().name}
    return Corpus(tuple(documents), tuple(units), how.facts() | {"ids": ids}, warnings, source)
