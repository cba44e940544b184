"""sqlite-vec: exact. Needs a Python whose sqlite3 may load extensions."""

import sqlite3

import sqlite_vec
from frozen import IDS, VECTORS, found, question

DATABASE = sqlite3.connect(":memory:")
DATABASE.enable_load_extension(True)
sqlite_vec.load(DATABASE)
DATABASE.execute(f"CREATE VIRTUAL TABLE docs USING vec0(vector float[{VECTORS.shape[1]}] distance_metric=cosine)")
DATABASE.executemany("INSERT INTO docs (rowid, vector) VALUES (?, ?)", ((row, vector.tobytes()) for row, vector in enumerate(VECTORS, 1)))


def exact(text, n):
    query = "SELECT rowid, distance FROM docs WHERE vector MATCH ? AND k = ? ORDER BY distance"
    rows = DATABASE.execute(query, (question(text).tobytes(), n))
    return found((IDS[row - 1], 1 - distance) for row, distance in rows)
