"""SQLite's FTS5: words, with nothing but the standard library."""

import re
import sqlite3

from frozen import UNITS, found

DATABASE = sqlite3.connect(":memory:")
DATABASE.execute("CREATE VIRTUAL TABLE docs USING fts5(doc UNINDEXED, text, tokenize = 'porter unicode61')")
DATABASE.executemany("INSERT INTO docs VALUES (?, ?)", ((unit["id"], f"{unit['title']}\n{unit['text']}") for unit in UNITS))


def words(text, n):
    query = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
    rows = DATABASE.execute("SELECT doc, -bm25(docs) FROM docs WHERE docs MATCH ? ORDER BY bm25(docs), doc LIMIT ?", (query, n))
    return found(rows.fetchall())
