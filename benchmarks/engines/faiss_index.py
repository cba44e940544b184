"""Faiss: exact, and inverted lists of which few or many are looked into."""

import faiss
from frozen import IDS, VECTORS, found, question

faiss.omp_set_num_threads(1)
FLAT = faiss.IndexFlatIP(VECTORS.shape[1])
FLAT.add(VECTORS)
LISTS = faiss.IndexIVFFlat(faiss.IndexFlatIP(VECTORS.shape[1]), VECTORS.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
LISTS.train(VECTORS)
LISTS.add(VECTORS)


def _search(index, text, n):
    scores, rows = index.search(question(text)[None], n)
    return found((IDS[row], score) for row, score in zip(rows[0], scores[0], strict=True) if row >= 0)


def exact(text, n):
    return _search(FLAT, text, n)


def good(text, n):
    LISTS.nprobe = 32
    return _search(LISTS, text, n)


def low(text, n):
    LISTS.nprobe = 1
    return _search(LISTS, text, n)
