"""The frozen index: corpus, building, manifest, verification.

From outside: :func:`gate.snapshot.corpus.read_corpus`, :func:`gate.snapshot.build.build_bm25`,
:func:`gate.snapshot.build.build_dense`, :func:`gate.snapshot.verify.verify`, :func:`gate.snapshot.reader.open_snapshot`,
:func:`gate.snapshot.show.show`.
"""
