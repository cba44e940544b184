"""LanceDB: flat, and an IVF_HNSW_SQ index."""

import lancedb
from frozen import IDS, SCRATCH, VECTORS, found, question

ROWS = [{"doc": name, "vector": row.tolist()} for name, row in zip(IDS, VECTORS, strict=True)]
TABLE = lancedb.connect(SCRATCH / "lance").create_table("docs", ROWS)
TABLE.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_HNSW_SQ", num_partitions=1)


def _answer(query, n):
    return found((row["doc"], 1 - row["_distance"]) for row in query.limit(n).to_list())


def exact(text, n):
    return _answer(TABLE.search(question(text)).distance_type("cosine").bypass_vector_index(), n)


def good(text, n):
    return _answer(TABLE.search(question(text)).distance_type("cosine").ef(300).refine_factor(5), n)


def low(text, n):
    return _answer(TABLE.search(question(text)).distance_type("cosine").ef(n), n)
