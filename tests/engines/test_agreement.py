"""Three engines and numpy, one truth: exact search is the same everywhere, and what approximate search loses is seen by the gate."""

import json
import re

import pytest

from tests.engines.processes import Chroma, Postgres

# Engines add up in single precision and numpy here in double: neighbours whose scores are nearer than this may change places.
NEAR = 5e-6
SCAN_OFF = "?options=-c%20enable_seqscan%3Doff"


def pgvector(server, more="", options="") -> str:
    return f"  kind: pgvector\n  dsn: {server.dsn}{options}\n  table: squad\n  load: true\n{more}"


def chroma_of(server, more="") -> str:
    return f"  kind: chroma\n  url: {server.url}\n  collection: squad\n  load: true\n{more}"


def assert_same(one, other) -> int:
    """Rank by rank the same scores and documents, but for neighbours within NEAR. How many queries have such a swap."""
    swapped = 0
    assert one.rankings.keys() == other.rankings.keys()
    for query, ranking in one.rankings.items():
        theirs = other[query]
        assert not ranking.error and not theirs.error and ranking.scores == pytest.approx(theirs.scores, abs=NEAR), query
        scores = dict(zip(theirs.docs, theirs.scores, strict=True))
        last = min(ranking.scores)
        for doc, score in zip(ranking.docs, ranking.scores, strict=True):
            assert scores.get(doc, last) == pytest.approx(score, abs=NEAR), (query, doc)
        swapped += ranking.docs != theirs.docs
    return swapped


def test_exact_search_agrees_between_numpy_pgvector_and_chroma(ask, squad, postgres, chroma):
    snapshot, golden = squad
    truth = ask("  kind: dense\n", golden.queries, snapshot, 20)
    found = ask(pgvector(postgres, "  search: exact\n"), golden.queries, snapshot, 20)
    assert len(truth.rankings) == 600 and assert_same(found, truth) <= 3
    assert found.facts["check"] == "vectors" and found.facts["plan"] == "no approximate index"
    assert found.facts["postgresql"].startswith("18.") and found.facts["pgvector"].startswith("0.8.")
    found = ask(chroma_of(chroma, "  search: exact\n"), golden.queries, snapshot, 20)
    assert assert_same(found, truth) == 0 and found.facts["hnsw"]["space"] == "cosine"


def test_approximate_search_with_enough_effort_agrees_as_well(ask, squad, postgres, chroma):
    snapshot, golden = squad
    postgres.execute("DROP TABLE IF EXISTS squad")
    queries = golden.queries[:200]
    truth = ask("  kind: dense\n", queries, snapshot)
    found = ask(pgvector(postgres, "  ef_search: 1000\n  ann_loss: true\n  concurrency: 2\n", SCAN_OFF), queries, snapshot)
    assert assert_same(found, truth) <= 1 and found.facts["plan"] == "hnsw index squad_embedding_idx"
    assert found.facts["hnsw.ef_search"] == "1000" and found.facts["index"] == {"squad_embedding_idx": {"method": "hnsw"}}
    assert "approximate search returned everything that exact search does, in all 200 queries" in found.notes
    found = ask(chroma_of(chroma, "  ann_loss: true\n  hnsw: {ef_search: 1000, ef_construction: 400}\n").replace("squad", "effort"),
                queries, snapshot)
    assert assert_same(found, truth) == 0 and found.facts["hnsw"]["ef_search"] == 1000
    assert "approximate search returned everything that exact search does, in all 200 queries" in found.notes


@pytest.mark.parametrize("kind", [Postgres, Chroma])
def test_a_data_folder_that_is_copied_while_the_engine_stands_still_answers_the_same(ask, squad, kind):
    snapshot, golden = squad
    text = {Postgres: lambda server: pgvector(server, "  ef_search: 20\n", SCAN_OFF), Chroma: chroma_of}[kind]
    engines = [kind()]
    try:
        engines[0].start()
        first = ask(text(engines[0]), golden.queries, snapshot)
        engines[0].stop()
        engines.append(kind(engines[0].data))
        engines[1].start()
        second = ask(text(engines[1]).replace("  load: true\n", ""), golden.queries, snapshot)
    finally:
        for engine in engines:
            engine.remove()
    assert {query: ranking.docs for query, ranking in first.rankings.items()} == \
        {query: ranking.docs for query, ranking in second.rankings.items()}
    assert any("was filled with the 1,216 units" in note for note in first.notes) and second.notes == []


@pytest.fixture
def compared(squad, data, tmp_path, gate):
    """Run two configurations of one retriever through the command line, the first one as the baseline; the second one's report."""
    snapshot, _ = squad

    def runs(first: str, second: str):
        for name, text in (("first", first), ("second", second)):
            (tmp_path / f"{name}.yml").write_text(
                f"golden: {data / 'collections' / 'squad2-dev' / 'golden.jsonl'}\nretriever:\n{text}snapshot:\n  path: {snapshot.path}\n"
                f"  digest: {snapshot.manifest.tree_digest}\ndepth: 10\npolicy:\n  primary: ndcg@10\n  tolerance: 0.01\n")
        process = gate("run", "--config", tmp_path / "first.yml", "--record", tmp_path / "base.json.gz")
        told, _ = process.communicate(timeout=120)
        assert process.returncode == 0, told
        process = gate("run", "--config", tmp_path / "second.yml", "--baseline", tmp_path / "base.json.gz", "--out", tmp_path / "out")
        told, _ = process.communicate(timeout=120)
        report = json.loads((tmp_path / "out" / "report.json").read_text())
        assert report["exit_code"] == process.returncode, told
        return report, (tmp_path / "out" / "comment.md").read_text()

    return runs


def test_a_lower_search_effort_is_caught_and_told_from_a_change_of_the_model(compared, postgres):
    text = pgvector(postgres, "  ann_loss: true\n", SCAN_OFF)
    report, comment = compared(f"{text}  ef_search: 200\n", f"{text}  ef_search: 10\n")
    assert report["exit_code"] == 1 and report["verdict"] == "fail" and report["primary"]["delta"] < -0.01
    assert re.search(r"approximate search returned 9\d\.\d\d % of what exact search does; \d+ of \d00 queries lack something", comment)
    assert "hnsw.ef\\_search" in comment or "hnsw.ef_search" in comment
    report, comment = compared(f"{text}  ef_search: 200\n", f"{text}  ef_search: 400\n")
    assert report["exit_code"] == 0 and abs(report["primary"]["delta"]) < 0.005
