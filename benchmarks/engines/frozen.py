"""What the retrievers of this folder share: the frozen snapshot, read without the gate, since they run in environments of their own."""

import hashlib
import json
import os
import tempfile
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ["RETRIEVAL_GATE_SNAPSHOT"])
SCRATCH = Path(tempfile.mkdtemp())  # below TMPDIR, which ends with the process


def units():
    with open(FOLDER / "units.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def normalised(rows):
    rows = np.asarray(rows, dtype="float32")
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


UNITS = units()
IDS = [unit["id"] for unit in UNITS]
VECTORS = normalised(np.load(FOLDER / "vectors.npy", allow_pickle=False))
_ROWS = {mark: row for row, (_, mark) in enumerate(json.loads((FOLDER / "query_ids.json").read_text(encoding="utf-8")))}
_QUESTIONS = normalised(np.load(FOLDER / "query_vectors.npy", allow_pickle=False))


def question(text):
    """The frozen vector of a golden query, found by its words."""
    return _QUESTIONS[_ROWS[hashlib.sha256(text.encode()).hexdigest()[:16]]]


def found(pairs):
    """(id, score) pairs, equal scores by id."""
    return sorted(((str(name), float(score)) for name, score in pairs), key=lambda pair: (-pair[1], pair[0]))
