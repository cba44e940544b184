"""DuckDB with its extension vss."""

import duckdb
import pyarrow
from duckdb_extensions import import_extension
from frozen import IDS, VECTORS, found, question

DIMENSIONS = VECTORS.shape[1]
FLAT, INDEXED = duckdb.connect(), duckdb.connect()
for connection in (FLAT, INDEXED):
    import_extension("vss", con=connection)
    connection.execute("LOAD vss; SET threads = 1")
    rows = pyarrow.table({"doc": IDS, "vector": VECTORS.tolist()})
    connection.execute(f"CREATE TABLE docs AS SELECT doc, vector::FLOAT[{DIMENSIONS}] AS vector FROM rows")
INDEXED.execute("CREATE INDEX near ON docs USING HNSW (vector) WITH (metric = 'cosine')")
QUERY = f"SELECT doc, array_cosine_distance(vector, ?::FLOAT[{DIMENSIONS}]) AS far FROM docs ORDER BY far LIMIT ?"


def _search(connection, text, n):
    return found((name, 1 - far) for name, far in connection.execute(QUERY, [question(text).tolist(), n]).fetchall())


def exact(text, n):
    return _search(FLAT, text, n)


def good(text, n):
    INDEXED.execute("SET hnsw_ef_search = 300")
    return _search(INDEXED, text, n)


def low(text, n):
    INDEXED.execute("SET hnsw_ef_search = 5")
    return _search(INDEXED, text, n)
