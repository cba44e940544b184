"""One file a kind of retriever, one protocol (:mod:`gate.retrievers.base`)."""

KINDS = ("bm25", "dense", "run", "python")
NEEDS_SNAPSHOT = ("bm25", "dense")
