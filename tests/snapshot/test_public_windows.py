"""Windows of real documents: searched by both indexes, judged by their documents."""

import json

import numpy as np
import pytest

from gate.golden.read import read_golden
from gate.retrievers.bm25 import Bm25Retriever
from gate.runs import Run
from gate.scoring.metrics import parse_metric
from gate.scoring.score import score_run
from gate.snapshot.build import build_bm25
from gate.snapshot.chunking import Chunking
from gate.snapshot.corpus import read_corpus
from gate.snapshot.provenance import check_corpus, rebuilt
from tests.snapshot.support import opened

HITS = [parse_metric(name) for name in ("hit@5", "ndcg@10")]


def scores(golden, snapshot, unit="doc"):
    with Bm25Retriever(snapshot) as retriever:
        run = Run(dict(retriever.retrieve(golden.queries, 50)), "run")
    values = [score.values for score in score_run(golden, run, HITS, unit).queries.values()]
    return run, {name: np.mean([value[name] for value in values if name in value]) for name in map(str, HITS)}


@pytest.mark.parametrize(("name", "how"), [
    ("squad2-dev", Chunking("fixed", size=60, overlap=15)), ("squad2-dev", Chunking("fixed", size=400, by="chars", overlap=80)),
    ("anthropic-docs", Chunking("fixed", size=120)), ("anthropic-docs", Chunking("heading", size=120, doc="document"))])
def test_windows_find_about_what_whole_documents_find(data, tmp_path, name, how):
    path = data / "collections" / name / "corpus.jsonl"
    golden = read_golden(data / "collections" / name / "golden.jsonl")
    whole, cut = read_corpus(path), read_corpus(path, how)
    assert cut.digest == whole.digest and len(cut.units) > 1.5 * len(whole.units)
    texts = {document.id: document.text for document in cut.documents}
    assert all(texts[unit.doc][unit.start:unit.end] == unit.text for unit in cut.units if unit.start is not None)
    build_bm25(whole, tmp_path / "whole")
    manifest = build_bm25(cut, tmp_path / "cut")
    _, expected = scores(golden, opened(tmp_path / "whole"))
    run, found = scores(golden, opened(tmp_path / "cut"))
    assert all(abs(found[metric] - expected[metric]) < 0.12 for metric in found), (found, expected)
    assert found["hit@5"] > 0.6
    for ranking in run.rankings.values():
        pairs = zip(ranking.docs, ranking.chunks or [], strict=True)
        assert set(ranking.docs) <= texts.keys() and all(chunk.chunk.startswith(doc) for doc, chunk in pairs)
    # The same documents, found by their windows: counted as chunks they take up more ranks.
    assert scores(golden, opened(tmp_path / "cut"), "chunk")[1]["hit@5"] <= found["hit@5"]
    assert "the same bytes" in rebuilt(tmp_path / "cut", manifest, check_corpus(tmp_path / "cut", manifest, path))


def test_a_passage_is_found_by_its_window_and_not_by_another_of_its_document(data, tmp_path):
    """Spans are the last fifth of each answer's paragraph, asked for by that fifth's own words."""
    path = data / "collections" / "xquad-en" / "corpus.jsonl"
    documents = [document for document in read_corpus(path).documents if len(document.text.split()) > 100][:40]
    lines = []
    for document in documents:
        start = document.text.index(" ", 4 * len(document.text) // 5) + 1
        lines.append({"id": document.id, "query": document.text[start:], "spans": [{"doc": document.id, "start": start,
                                                                                     "end": len(document.text)}]})
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    golden = read_golden(tmp_path / "golden.jsonl")
    build_bm25(read_corpus(path, Chunking("fixed", size=40, overlap=20)), tmp_path / "s")
    run, found = scores(golden, opened(tmp_path / "s"), "chunk")
    assert found["hit@5"] > 0.9
    blind = {i: ranking.docs for i, ranking in run.rankings.items()}
    assert all(blind[document.id][0] == document.id for document in documents[:5])
    metric = parse_metric("span-coverage@10")
    covered = [s.values[str(metric)] for s in score_run(golden, run, [metric], "chunk").queries.values()]
    assert np.mean(covered) > 0.9
