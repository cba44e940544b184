"""Search over the operations wiki: BM25 over sections, the title counted more than the text.

The index is built once, on the first query, from the frozen snapshot that RETRIEVAL_GATE_SNAPSHOT names.
"""

import functools
import heapq
import json
import math
import os
from collections import Counter, defaultdict
from pathlib import Path

from search.tokens import query_terms, tokenize

K1 = 1.2
B = 0.6
TITLE_WEIGHT = 2.5


class Index:
    """Postings of all sections: term -> {section id: weighted frequency}."""

    def __init__(self, units):
        self.postings = defaultdict(dict)
        self.length = {}
        for unit in units:
            frequency = Counter(tokenize(unit["text"]))
            for term in tokenize(unit["title"]):
                frequency[term] += TITLE_WEIGHT
            self.length[unit["id"]] = sum(frequency.values())
            for term, count in frequency.items():
                self.postings[term][unit["id"]] = count
        self.average_length = sum(self.length.values()) / max(len(self.length), 1)

    def idf(self, term):
        found = len(self.postings.get(term, ()))
        return math.log(1 + (len(self.length) - found + 0.5) / (found + 0.5))

    def search(self, query, n):
        scores = defaultdict(float)
        for term, weight in query_terms(query).items():
            idf = self.idf(term)
            for section, count in self.postings.get(term, {}).items():
                norm = K1 * (1 - B + B * self.length[section] / self.average_length)
                scores[section] += weight * idf * count * (K1 + 1) / (count + norm)
        # Equal scores are ordered by id, so that two runs never differ.
        return heapq.nsmallest(n, scores, key=lambda section: (-scores[section], section))


@functools.lru_cache(maxsize=1)
def load_index() -> Index:
    snapshot = Path(os.environ["RETRIEVAL_GATE_SNAPSHOT"])
    with open(snapshot / "units.jsonl", encoding="utf-8") as lines:
        return Index(json.loads(line) for line in lines if line.strip())


def retrieve(query: str, n: int) -> list[str]:
    """The ids of the n best sections for a query, best first."""
    return load_index().search(query, n)
