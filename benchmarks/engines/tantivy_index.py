"""Tantivy: words."""

import re

import tantivy
from frozen import UNITS, found

_SCHEMA = tantivy.SchemaBuilder()
_SCHEMA.add_text_field("doc", stored=True, tokenizer_name="raw")
_SCHEMA.add_text_field("text", tokenizer_name="en_stem")
INDEX = tantivy.Index(_SCHEMA.build())
_WRITER = INDEX.writer(num_threads=1)
for unit in UNITS:
    _WRITER.add_document(tantivy.Document(doc=unit["id"], text=f"{unit['title']}\n{unit['text']}"))
_WRITER.commit()
_WRITER.wait_merging_threads()
INDEX.reload()
SEARCHER = INDEX.searcher()


def words(text, n):
    query = INDEX.parse_query(" ".join(re.findall(r"\w+", text)), ["text"])
    return found((SEARCHER.doc(address)["doc"][0], score) for score, address in SEARCHER.search(query, n).hits)
