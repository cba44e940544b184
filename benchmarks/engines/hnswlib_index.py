"""hnswlib: the index that several engines embed."""

import hnswlib
from frozen import IDS, VECTORS, found, question

INDEX = hnswlib.Index("cosine", VECTORS.shape[1])
INDEX.init_index(len(IDS), M=16, ef_construction=100, random_seed=7)
INDEX.set_num_threads(1)
INDEX.add_items(VECTORS, num_threads=1)


def _search(text, n, ef):
    INDEX.set_ef(max(ef, n))
    rows, distances = INDEX.knn_query(question(text), n, num_threads=1)
    return found((IDS[row], 1 - distance) for row, distance in zip(rows[0], distances[0], strict=True))


def good(text, n):
    return _search(text, n, 300)


def low(text, n):
    return _search(text, n, 10)
