"""USearch."""

import numpy as np
from frozen import IDS, VECTORS, found, question
from usearch.index import Index

INDEX = Index(ndim=VECTORS.shape[1], metric="cos", dtype="f32", connectivity=16, expansion_add=128)
INDEX.add(np.arange(len(IDS)), VECTORS, threads=1)


def _search(text, n, **how):
    matches = INDEX.search(question(text), n, threads=1, **how)
    return found((IDS[int(match.key)], 1 - match.distance) for match in matches)


def exact(text, n):
    return _search(text, n, exact=True)


def good(text, n):
    INDEX.expansion_search = 300
    return _search(text, n)


def low(text, n):
    INDEX.expansion_search = 8
    return _search(text, n)
