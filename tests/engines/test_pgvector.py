"""Kind ``pgvector`` against a real PostgreSQL."""

import psycopg
import pytest

from gate.errors import InvalidInput, RetrieverFailed
from gate.golden.model import Query
from tests.retrievers.frozen import dense_snapshot

TABLE = "docs"


@pytest.fixture(scope="module")
def base(postgres):
    return f"  kind: pgvector\n  dsn: {postgres.dsn}\n  table: {TABLE}\n"


@pytest.fixture
def table(postgres, small, ask, base):
    """The small snapshot in a table, with an HNSW index and columns of its own."""
    snapshot, queries = small
    postgres.execute(f"DROP TABLE IF EXISTS {TABLE}")
    ask(base + "  load: true\n", queries[:1], snapshot)
    postgres.execute(f"ALTER TABLE {TABLE} ADD topic int, ADD doc text, ADD s int, ADD e int, ADD body text",
                     f"UPDATE {TABLE} SET topic = right(id, 1)::int % 2, doc = left(id, 3), s = 10, e = 20, body = 'words of ' || id",
                     f"ANALYZE {TABLE}")


def refused(ask, text, queries, snapshot=None, error=InvalidInput, **variables) -> str:
    with pytest.raises(error) as caught:
        ask(text, queries, snapshot, **variables)
    return str(caught.value)


def test_a_filled_table_is_compared_and_not_filled_again(ask, small, base, table):
    snapshot, queries = small
    found = ask(base + "  load: true\n  search: exact\n", queries, snapshot)
    assert found.facts["check"] == "vectors" and found.notes == []
    assert [found[query.id].docs[0] for query in queries] == [f"u{n:03}" for n in range(len(queries))]
    assert all(ranking.ms > 0 for ranking in found.rankings.values())


@pytest.mark.parametrize("change, told", [
    (f"DELETE FROM {TABLE} WHERE id IN ('u003', 'u250')", "lacks 2 of them: 'u003', 'u250'"),
    (f"INSERT INTO {TABLE} SELECT 'new', embedding FROM {TABLE} WHERE id = 'u000'", "1 are unknown to the snapshot: 'new'"),
    (f"UPDATE {TABLE} SET embedding = embedding + (SELECT embedding FROM {TABLE} WHERE id = 'u001')", "are not the snapshot's"),
    (f"UPDATE {TABLE} SET embedding = NULL", "256 of 256 sampled units have no vector"),
])
def test_a_table_that_is_not_the_frozen_one_is_refused_with_counts_and_ids(ask, small, base, table, postgres, change, told):
    postgres.execute(change)
    snapshot, queries = small
    assert told in refused(ask, base, queries, snapshot)


def test_half_precision_and_another_schema_are_the_same_index(ask, small, postgres, table):
    snapshot, queries = small
    postgres.execute("CREATE SCHEMA IF NOT EXISTS \"We\"", "DROP TABLE IF EXISTS \"We\".\"Odd name\"",
                     f"CREATE TABLE \"We\".\"Odd name\" AS SELECT id AS \"the id\", embedding::halfvec(16) AS v FROM {TABLE}")
    found = ask(f"  kind: pgvector\n  dsn: {postgres.dsn}\n  table: We.Odd name\n  id: the id\n  vector: v\n", queries, snapshot)
    assert found["q03"].docs[0] == "u003" and found.facts["check"] == "vectors"


def test_documents_and_places_come_from_their_columns(ask, small, base, table):
    snapshot, queries = small
    found = ask(base + "  document: doc\n  start: s\n  end: e\n", queries, snapshot)
    assert found["q03"].docs[0] == "u00" and found["q03"].chunks[0] == ("u003", 10, 20)
    assert found.facts["document"] == "doc"


def test_a_filter_leaves_the_rows_that_it_says(ask, small, base, table):
    snapshot, queries = small
    found = ask(base + "  filter: topic = 1 AND id LIKE 'u0%'\n", queries, snapshot)
    assert {int(doc[1:]) % 2 for ranking in found.rankings.values() for doc in ranking.docs} == {1}
    assert found.facts["filter"] == "topic = 1 AND id LIKE 'u0%'"
    for bad in ("tpic = 1", "topic = 1); DROP TABLE docs; --", "topic = 1; COMMIT; DROP TABLE docs"):
        assert "PostgreSQL says: " in refused(ask, base + f'  filter: "{bad}"\n', queries, snapshot)
    ask(base, queries, snapshot)  # it is still there


@pytest.mark.parametrize("metric, best", [("l2", lambda scores: scores[0] <= 0), ("ip", lambda scores: scores[0] > 1),
                                          ("cosine", lambda scores: .5 < scores[0] <= 1)])
def test_every_metric_is_a_score_of_which_higher_is_better(ask, small, base, table, metric, best):
    snapshot, queries = small
    found = ask(base + f"  metric: {metric}\n", queries, snapshot)
    for ranking in found.rankings.values():
        assert ranking.scores == sorted(ranking.scores, reverse=True) and best(ranking.scores)


def test_equal_scores_are_ordered_by_id(ask, tmp_path, postgres):
    postgres.execute("DROP TABLE IF EXISTS ties")
    units = {name: [1, 0] for name in ("d", "b", "ä", "C", "a")}
    snapshot = dense_snapshot(tmp_path, units | {"far": [0, 1]}, {("q", "a question"): [1, 0]})
    found = ask(f"  kind: pgvector\n  dsn: {postgres.dsn}\n  table: ties\n  load: true\n", [Query("q", "a question", {"a": 1.0})], snapshot)
    assert found["q"].docs == [*sorted(units), "far"]


def test_fewer_results_than_there_are_is_told_and_iterating_mends_it(ask, small, base, table, postgres):
    snapshot, queries = small
    text = base.replace("/postgres\n", "/postgres?options=-c%20enable_seqscan%3Doff\n") + "  ef_search: 5\n"
    found = ask(text, queries, snapshot, depth=20)
    assert any("20 of 20 queries got fewer than 20 results" in note for note in found.notes)
    assert found.facts["hnsw.ef_search"] == "5" and found.facts["plan"] == "hnsw index docs_embedding_idx"
    found = ask(text + "  iterative_scan: strict_order\n", queries, snapshot, depth=20)
    assert not any("fewer" in note for note in found.notes) and found.facts["hnsw.iterative_scan"] == "strict_order"


def test_a_planner_that_scans_is_told(ask, small, base, table, postgres):
    snapshot, queries = small
    postgres.execute(f"DROP INDEX {TABLE}_embedding_idx")
    found = ask(base, queries, snapshot)
    assert any("the planner used no approximate index and scanned, so the search was exact" in note for note in found.notes)


def test_parameters_of_the_index_that_is_built_are_the_configurations(ask, small, base, postgres):
    snapshot, queries = small
    postgres.execute(f"DROP TABLE IF EXISTS {TABLE}")
    found = ask(base + "  load: true\n  m: 4\n  ef_construction: 20\n", queries, snapshot)
    assert found.facts["index"] == {"docs_embedding_idx": {"method": "hnsw", "m": 4, "ef_construction": 20}}
    postgres.execute(f"TRUNCATE {TABLE}")  # an empty table keeps the index that it has
    found = ask(base + "  load: true\n", queries, snapshot)
    assert "table docs: was filled with the 400 units of the snapshot" in found.notes
    assert found.facts["index"] == {"docs_embedding_idx": {"method": "hnsw", "m": 4, "ef_construction": 20}}
    told = refused(ask, base + "  load: true\n  m: 8\n", queries, snapshot)
    assert "table docs: has no HNSW index with m 8" in told


def test_a_load_that_fails_leaves_no_half_table(ask, tmp_path, postgres):
    postgres.execute("DROP TABLE IF EXISTS wide")
    wide = dense_snapshot(tmp_path, {"a": [1.0] * 2001, "b": [0.5] * 2001}, {("q", "?"): [1.0] * 2001})
    text = f"  kind: pgvector\n  dsn: {postgres.dsn}\n  table: wide\n  load: true\n"
    told = refused(ask, text, [], wide, (InvalidInput, RetrieverFailed))
    assert "loading table wide" in told and "2000 dimensions" in told
    with psycopg.connect(postgres.dsn) as connection:
        assert connection.execute("SELECT to_regclass('wide')").fetchone() == (None,)


# a statement of one's own

OWN = """  sql: |
    SELECT id, 1.0 / (1 + row_number() OVER (ORDER BY embedding <=> %(vector)s, id)) AS score, doc AS document
    FROM docs WHERE body LIKE 'words%%' ORDER BY score DESC LIMIT %(n)s
"""


def test_a_statement_of_ones_own_is_asked_in_its_own_order(ask, small, base, table):
    snapshot, queries = small
    found = ask(base + OWN, queries, snapshot)
    assert found["q03"].docs[0] == "u00" and found["q03"].chunks[0].chunk == "u003" and found["q03"].scores[:2] == [.5, 1 / 3]
    assert found.facts["check"] == "vectors" and found.facts["sql"].startswith("sha256:") and "metric" not in found.facts


def test_text_search_needs_no_vectors_and_no_snapshot(ask, small, postgres, table):
    queries = [query._replace(text=f"what does {n:03} say?") for n, query in enumerate(small[1])]
    text = (f"  kind: pgvector\n  dsn: {postgres.dsn}\n  sql: >-\n    SELECT id FROM docs WHERE position(right(id, 3) in %(query)s) > 0\n"
            "    ORDER BY id LIMIT %(n)s\n")
    found = ask(text, queries)
    assert found["q13"].docs == ["u013"] and found["q13"].scores is None and "embedding" not in found.facts
    assert any("nothing proves that what it searches is the snapshot's" in note for note in found.notes)


def test_a_statement_that_writes_or_returns_no_id_is_refused(ask, small, base, table, postgres):
    snapshot, queries = small
    postgres.execute("CREATE OR REPLACE FUNCTION sly() RETURNS int LANGUAGE sql AS 'DELETE FROM docs RETURNING 1'")
    found = ask(base + "  sql: SELECT id, sly() FROM docs WHERE %(query)s <> '' LIMIT %(n)s\n", queries, snapshot)
    assert all("cannot execute DELETE in a read-only transaction" in ranking.error for ranking in found.rankings.values())
    ask(base, queries, snapshot)
    told = refused(ask, base + "  sql: SELECT doc FROM docs WHERE %(query)s <> '' LIMIT %(n)s\n", queries, snapshot)
    assert "returns no column `id`, but doc" in told
    told = refused(ask, base + "  sql: SELEC id FROM docs WHERE %(query)s <> '' LIMIT %(n)s\n", queries, snapshot)
    assert "PostgreSQL says: syntax error" in told
    told = refused(ask, base + "  ann_loss: true\n  sql: SELECT id FROM docs WHERE %(vector)s <> '' LIMIT %(n)s\n", queries, snapshot)
    assert "returns no column `score`" in told


def test_a_query_of_its_own_that_fails_fails_alone(ask, small, base, table):
    snapshot, queries = small
    found = ask(base + "  sql: SELECT id, 1.0 / (right(%(query)s, 1)::int - 3) AS score FROM docs LIMIT %(n)s\n", queries, snapshot)
    failed = {query for query, ranking in found.rankings.items() if ranking.error}
    assert failed == {"q03", "q13"} and found["q03"].error == "PostgreSQL: division by zero."


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_statement_that_takes_too_long_is_ended_and_four_of_them_end_the_run(ask, small, base, table, concurrency):
    snapshot, queries = small
    slow = base + f"  concurrency: {concurrency}\n  limits: {{query_seconds: 0.2}}\n" \
        "  sql: SELECT id FROM docs WHERE %(query)s <> '' AND pg_sleep(20) IS NOT NULL LIMIT %(n)s\n"
    told = refused(ask, slow, queries, snapshot, RetrieverFailed)
    assert "PostgreSQL did not answer within 0.2 s" in told and "4th query in a row" in told


# where it is, and who may ask

def test_secrets_are_filled_in_and_never_shown(ask, small, postgres, table):
    snapshot, queries = small
    postgres.execute("DROP ROLE IF EXISTS nosy")
    text = f"  kind: pgvector\n  dsn: postgresql://nosy:${{PASSWORD}}@127.0.0.1:{postgres.port}/postgres\n  table: docs\n"
    told = refused(ask, text, queries, snapshot, RetrieverFailed, PASSWORD="hunter2")
    assert 'role "nosy" does not exist' in told and "hunter2" not in told
    assert "needs the variable PASSWORD" in refused(ask, text, queries, snapshot, RetrieverFailed)
    for bad in ("postgresql://u:${PASSWORD}@[/x", "host=a user=b dbname=c password='${PASSWORD} x=y"):
        told = refused(ask, f'  kind: pgvector\n  dsn: "{bad}"\n  table: docs\n', queries, snapshot, PASSWORD="hun'ter2")
        assert "is no connection string" in told and "ter2" not in told


def test_nothing_is_taken_from_the_environment_or_a_password_file(ask, small, base, table, monkeypatch):
    snapshot, queries = small
    for name, value in {"PGHOST": "nowhere.invalid", "PGHOSTADDR": "192.0.2.1", "PGPORT": "1", "PGUSER": "else", "PGPASSWORD": "x",
                        "PGOPTIONS": "-c nonsense=1", "PGSSLMODE": "verify-full", "PGDATABASE": "else", "PGSERVICE": "s",
                        "PGCONNECT_TIMEOUT": "1", "PGCLIENTENCODING": "LATIN1", "PGTARGETSESSIONATTRS": "standby"}.items():
        monkeypatch.setenv(name, value)
    assert ask(base, queries, snapshot)["q03"].docs[0] == "u003"
    told = refused(ask, "  kind: pgvector\n  dsn: postgresql://127.0.0.1\n  table: docs\n", queries, snapshot)
    assert "names no user; nothing is taken from PG" in told and "names no dbname" in told


def test_a_role_that_may_not_read_the_table_is_told(ask, small, postgres, table):
    snapshot, queries = small
    postgres.execute("DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN")
    text = f"  kind: pgvector\n  dsn: {postgres.dsn.replace('postgres@', 'guest@')}\n  table: docs\n"
    assert "permission denied for table docs" in refused(ask, text, queries, snapshot)


@pytest.mark.parametrize("more, told", [
    ("  table: dcs\n", "table dcs: there is none"),
    ("  table: docs\n  vector: vec\n  document: title\n", "table docs: has no column 'vec' (`retriever.vector`); it has id, embedding"),
])
def test_a_table_or_column_that_is_not_there_is_named(ask, small, postgres, table, more, told):
    snapshot, queries = small
    assert told in refused(ask, f"  kind: pgvector\n  dsn: {postgres.dsn}\n{more}", queries, snapshot)


def test_a_server_that_is_not_there_is_exit_3(ask, small):
    snapshot, queries = small
    with pytest.raises(RetrieverFailed) as caught:
        ask("  kind: pgvector\n  dsn: postgresql://u@127.0.0.1:1/d\n  table: docs\n", queries, snapshot)
    assert caught.value.exit_code == 3 and "PostgreSQL cannot be reached" in str(caught.value)
