"""What ``snapshot build`` was asked for: which options belong to which kind, and the snapshot that they describe."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.snapshot.build import Questions, Vectors, build_bm25, build_dense, build_files, build_hybrid
from gate.snapshot.chunking import Chunking, faults
from gate.snapshot.corpus import read_corpus
from gate.snapshot.manifest import Manifest
from gate.snapshot.model import Corpus

_EMBEDDED = ("query_vectors", "queries", "model", "revision", "passage_prefix", "query_prefix")
_KINDS = {"bm25": ("k1", "b", "method"),
          "dense": ("vectors", *_EMBEDDED, "similarity", "normalised", "without_text", "embed_function", "embed_cache"),
          "hybrid": ("k1", "b", "method", "vectors", *_EMBEDDED, "similarity", "normalised", "embed_function", "embed_cache"),
          "files": ("add", "engine", "index", *_EMBEDDED)}
_CHUNKERS = {"none": (), "heading": ("level", "max_size", "overlap", "by", "doc"), "fixed": ("size", "overlap", "by")}
_NO_TEXT = {
    **dict.fromkeys(("bm25", "hybrid"), (
        "a bm25 index is made of the words of the text, so --without-text cannot be kept",
        "build with --kind dense, or search the text where it may be (kinds http and container)")),
    "files": ("nobody here can see what an engine's own files hold, so --without-text cannot be promised",
              "leave out --without-text, or build with --kind dense")}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _given(options: Namespace, names: tuple[str, ...]) -> list[str]:
    """Options are None, False or empty unless somebody gave them."""
    values = {name: getattr(options, name) for name in names}
    return [name for name, value in values.items() if value is not None and value is not False and value != ""]


def _check_kind(options: Namespace) -> None:
    kind = options.kind
    if options.without_text and kind in _NO_TEXT:
        raise InvalidInput(*_NO_TEXT[kind])
    others = tuple(dict.fromkeys(name for names in _KINDS.values() for name in names if name not in _KINDS[kind]))
    if unused := _given(options, others):
        homes = [name for name, names in _KINDS.items() if set(unused) <= set(names)]
        raise InvalidInput(f"a {kind} snapshot has no use for {', '.join(map(_flag, unused))}",
                           "leave them out" + (f", or build with --kind {' or '.join(homes)}" if homes else ""))
    if kind in ("dense", "hybrid") and (options.vectors is None) == (not options.embed_function):
        raise InvalidInput(f"a {kind} snapshot needs --vectors, the document vectors as .npy, or --embed-function, which makes them",
                           "give one of the two")
    if options.embed_function and options.query_vectors is not None:
        raise InvalidInput("--embed-function embeds the queries as well", "leave out --query-vectors and give --queries alone")
    if options.embed_cache and not options.embed_function:
        raise InvalidInput("--embed-cache keeps what --embed-function returns", "give both")


def _chunking(options: Namespace) -> Chunking:
    """How to cut; where nothing was said, a folder at its headings and lines not at all."""
    kind = options.chunker or ("heading" if options.corpus.is_dir() else "none")
    every = tuple(dict.fromkeys(name for names in _CHUNKERS.values() for name in names))
    if unused := _given(options, tuple(name for name in every if name not in _CHUNKERS[kind])):
        raise InvalidInput(f"the chunker {kind} has no use for {', '.join(map(_flag, unused))}",
                           "leave them out, or choose another one with --chunker")
    said: dict[str, Any] = {name: getattr(options, name) for name in _given(options, ("level", "overlap", "by", "doc"))}
    size = options.max_size if kind == "heading" else options.size
    if kind == "heading" and size is None and (unused := _given(options, ("overlap", "by"))):
        raise InvalidInput(f"{', '.join(map(_flag, unused))}: says how to cut a section that is too long", "give --max-size as well")
    how = Chunking(kind, size=0 if size is None else size, **said)
    problems = faults(how) if size is None or size > 0 else [f"{'--max-size' if kind == 'heading' else '--size'} must be at least 1"]
    if problems:
        raise InvalidInput(problems)
    return how


def _parameters(pairs: list[str] | None) -> dict[str, Any]:
    """``m=16`` → {"m": 16}; what is no number or boolean is text."""
    found: dict[str, Any] = {}
    for pair in pairs or ():
        key, equals, text = pair.partition("=")
        if not equals or not key.strip() or key in found:
            raise InvalidInput(f"--index: {pair[:80]!r} is not KEY=VALUE, or its key was given before", "write for instance --index m=16")
        try:
            value = jsonio.loads(text)
        except ValueError:
            value = text
        found[key] = value if isinstance(value, bool) or jsonio.finite(value) else text
    return found


def _embedding(options: Namespace) -> dict[str, Any]:
    """Facts beside model, revision and shape; only those that were given, so that others are not claimed."""
    facts = {name: getattr(options, name) for name in _given(options, ("passage_prefix", "query_prefix"))}
    return facts | ({"normalised": True} if options.normalised else {})


def _vectors(options: Namespace, corpus: Corpus) -> Vectors:
    vectors, asked, more = options.vectors, options.query_vectors, _embedding(options)
    if options.embed_function:
        from gate.snapshot.embed import embed_all

        vectors, asked, more = embed_all(options, corpus, more)
    return Vectors(vectors, options.model, options.revision, options.similarity or "cosine", asked, options.queries, more)


def _files(options: Namespace, corpus: Corpus, tell: Callable[[str], None]) -> Manifest:
    from gate.snapshot.additions import listed

    parameters, questions = _parameters(options.index), Questions(options.query_vectors, options.queries)
    if not options.model and _given(options, _EMBEDDED):
        raise InvalidInput("the embedding model has no name: give it with --model")
    embedding = {"model": options.model, "revision": options.revision, **_embedding(options)} if options.model else None
    found = listed(options.add or [], options.out)
    for warning in found.warnings:
        tell(warning)
    return build_files(corpus, found.files, options.out, engine=options.engine, parameters=parameters, embedding=embedding,
                       questions=questions, replace=options.replace)


def cut(options: Namespace, tell: Callable[[str], None]) -> Corpus:
    """The corpus that the command line describes. ``tell``: is given what is worth a warning. Raises :class:`InvalidInput`."""
    corpus = read_corpus(Path(options.corpus), _chunking(options), options.ids)
    for warning in corpus.warnings:
        tell(warning)
    return corpus


def build(options: Namespace, tell: Callable[[str], None]) -> Manifest:
    """Build what the command line describes. See :func:`cut`."""
    _check_kind(options)
    corpus = cut(options, tell)
    said = {name: getattr(options, name) for name in _given(options, _KINDS["bm25"])}
    if options.kind == "bm25":
        return build_bm25(corpus, options.out, **said, replace=options.replace)
    if options.kind == "files":
        return _files(options, corpus, tell)
    given = _vectors(options, corpus)
    if options.kind == "hybrid":
        return build_hybrid(corpus, given, options.out, **said, replace=options.replace)
    return build_dense(corpus, out=options.out, text=not options.without_text, replace=options.replace, **given._asdict())
