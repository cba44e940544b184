"""What the kinds pgvector and chroma are told: every fault at once, with its line, before anything is connected."""

import pytest

from gate.changes import retriever_changes
from gate.errors import InvalidInput
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.retrievers.engines.pg_connection import place_of
from gate.retrievers.engines.pg_statement import own_hits, placeholders, plan_of, table_hits
from gate.secret_text import SecretText
from gate.settings import parse_settings
from gate.world import World
from tests.retrievers.frozen import dense_snapshot


def read(text: str):
    return parse_settings(f"golden: g\nretriever:\n{text}".encode(), "c.yml", "c.yml").retriever


def faults(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        read(text)
    return str(caught.value)


PG = "  kind: pgvector\n  dsn: postgresql://u@h/d\n"


@pytest.mark.parametrize("more, told", [
    ("", "`table` must name the table to search, or `sql`"),
    ("  table: t\n  start: s\n", "`start` and `end` belong together"),
    ("  sql: SELECT id FROM t WHERE %(text)s LIMIT %(n)s\n", "c.yml:5: `sql` has the placeholder %(text)s"),
    ("  sql: SELECT id FROM t WHERE a LIKE 'x%' AND %(query)s LIMIT %(n)s\n", "holds a single %"),
    ("  sql: SELECT id FROM t WHERE a LIKE %(query)s\n", "must hold LIMIT %(n)s"),
    ("  sql: SELECT id FROM t LIMIT %(n)s\n", "must use %(query)s, the text of the query, or %(vector)s"),
    ("  sql: SELECT id FROM t WHERE %(query)s LIMIT %(n)s\n  filter: x\n", "`filter` belongs to `table`"),
    ("  sql: SELECT id FROM t WHERE %(query)s LIMIT %(n)s\n  check: ids\n", "`table` does not name what to compare"),
    ("  sql: SELECT id FROM t WHERE %(query)s LIMIT %(n)s\n  load: true\n", "`load` makes a table"),
    ("  table: t\n  search: exact\n  ann_loss: true\n", "leave one of them out"),
    ("  table: t\n  m: 8\n", "`m` is a parameter of the index that `load: true` builds"),
    ("  table: t\n  ef_search: 1001\n", "`ef_search` must be a whole number from 1 to 1000"),
    ("  table: t\n  check: all\n", "must be one of vectors, ids, count, none"),
    ("  table: t\n  collection: x\n", "unknown key `collection`"),
])
def test_every_fault_of_pgvector_is_told(more, told):
    assert told in faults(PG + more)


@pytest.mark.parametrize("dsn", ["postgresql://u:secret@h/d", "postgres://u:s3c@h:5/d", "host=h password=secret", "host=h password='a b'"])
def test_a_password_that_is_written_out_is_a_fault(dsn):
    said = faults(f'  kind: pgvector\n  dsn: "{dsn}"\n  table: t\n')
    assert "`dsn` holds a password as it is" in said and "s3c" not in said and "secret@" not in said


@pytest.mark.parametrize("dsn", ["postgresql://u:${PG_PASSWORD}@h/d", "postgresql://u@h:5432/d", "postgresql://h/d", "${DSN}",
                                 "host=h password=${PG_PASSWORD} port=5", "postgresql://u@h/d?application_name=a:b"])
def test_a_password_by_name_and_none_at_all_are_accepted(dsn):
    assert read(f'  kind: pgvector\n  dsn: "{dsn}"\n  table: t\n').options.dsn.text == dsn


def test_a_dsn_may_not_ask_for_a_variable_of_the_gate():
    assert "c.yml:4: `dsn` asks for GITHUB_TOKEN" in faults("  kind: pgvector\n  dsn: postgresql://u:${GITHUB_TOKEN}@h/d\n  table: t\n")
    assert "`dsn` is missing" in faults("  kind: pgvector\n  table: t\n")


@pytest.mark.parametrize("more, told", [
    ("  collection: docs\n", "`url` is missing"),
    ("  url: http://x\n", "`collection` is missing"),
    ("  url: http://x\n  collection: docs\n  headers: {a: [b]}\n", "c.yml:6: `headers.a` must be text on one line"),
    ("  url: http://x\n  collection: docs\n  headers: {a: '${ACTIONS_RUNTIME_TOKEN}'}\n", "belongs to the gate or the runner"),
    ("  url: http://x\n  collection: docs\n  hnsw: {ef: 3}\n", "c.yml:6: unknown key `ef`"),
    ("  url: http://x\n  collection: docs\n  hnsw: {ef_search: 0}\n", "`ef_search` must be a whole number from 1"),
    ("  url: http://x\n  collection: docs\n  end: e\n", "`start` and `end` belong together"),
    ("  url: http://x\n  collection: docs\n  where: [a]\n", "`where` must be a mapping"),
])
def test_every_fault_of_chroma_is_told(more, told):
    assert told in faults("  kind: chroma\n" + more)


def test_search_settings_reach_the_transaction_under_the_names_of_pgvector():
    options = read(PG + "  table: t\n  ef_search: 80\n  probes: 5\n  iterative_scan: relaxed_order\n  concurrency: 4\n").options
    assert options.parameters == {"hnsw.ef_search": "80", "ivfflat.probes": "5", "hnsw.iterative_scan": "relaxed_order",
                                  "ivfflat.iterative_scan": "relaxed_order"}
    assert "ivfflat.iterative_scan" not in read(PG + "  table: t\n  iterative_scan: strict_order\n").options.parameters


def test_engines_need_no_snapshot_where_no_vectors_are_asked_for():
    assert not read(PG + "  sql: SELECT id FROM t WHERE %(query)s <> '' LIMIT %(n)s\n").options.needs_vectors
    assert read(PG + "  sql: SELECT id FROM t ORDER BY v <-> %(vector)s LIMIT %(n)s\n").options.needs_vectors


@pytest.mark.parametrize("text, names, loose", [
    ("a %(n)s b %(query)s", ["n", "query"], False), ("%% %(n)s", ["n"], False), ("%", [], True), ("100%%%(n)s", ["n"], False),
    ("%(n)d", [], True), ("%s", [], True), ("%(unclosed", [], True),
])
def test_placeholders_are_those_that_psycopg_reads(text, names, loose):
    assert placeholders(text) == (names, loose)


def test_rows_of_a_statement_are_read_by_the_names_of_their_columns():
    hits, scored = own_hits(["title", "score", "id", "document", "start", "end"], [("t", 0.5, 7, "d", 1, 2)])
    assert scored and hits == [("7", 0.5, "d", 1, 2)]
    assert own_hits(["id"], [("a",)]) == ([("a", 0.0, "", None, None)], False)
    for row in ((None, 1.0), ("", 1.0), ("a", float("nan")), ("a", "much")):
        with pytest.raises(ValueError):
            own_hits(["id", "score"], [row])
    for place in ((1, None), (None, 1), (3, 2), (-1, 2), ("1", "2"), (True, True)):
        with pytest.raises(ValueError, match="is no place in a document"):
            own_hits(["id", "start", "end"], [("a", *place)])
        with pytest.raises(ValueError, match="is no place in a document"):
            table_hits([("a", 0.5, None, *place)], "cosine")


def test_a_vector_of_zeros_scores_as_in_exact_search():
    rows = [("a", 0.25, None, None, None), ("b", float("nan"), "d", 1, 2)]
    assert table_hits(rows, "cosine") == [("a", 0.75, "", None, None), ("b", 0.0, "d", 1, 2)]
    assert [hit.score for hit in table_hits(rows[:1], "ip")] == [-0.25]


def test_indexes_are_found_wherever_they_are_in_a_plan():
    plan = [{"Plan": {"Node Type": "Limit", "Plans": [{"Node Type": "Append", "Plans": [
        {"Node Type": "Index Scan", "Index Name": "one"}, {"Node Type": "Seq Scan"}, {"Node Type": "Index Scan", "Index Name": "two"}]}]}}]
    assert sorted(plan_of(plan)) == ["one", "two"] and plan_of([{"Plan": {"Node Type": "Seq Scan"}}]) == []


def test_what_was_empty_and_is_left_out_has_not_changed():
    assert retriever_changes({"kind": "dense", "revision": ""}, {"kind": "dense"}) == []


@pytest.mark.parametrize(("old", "new", "approval"), [
    ("vectors", "none", True), ("vectors", "ids", True), ("ids", "count", True), ("none", "vectors", False), ("count", "ids", False)])
def test_an_index_that_is_compared_less_needs_an_approval(old, new, approval):
    change, = retriever_changes({"kind": "chroma", "check": old}, {"kind": "chroma", "check": new})
    assert change.needs_approval == approval
    change, = retriever_changes({"leg 1": {"check": old}}, {"leg 1": {"check": new}})
    assert change.needs_approval == approval


def test_another_kind_or_file_of_a_leg_needs_an_approval_like_that_of_the_whole():
    def leg(**facts):
        return {"kind": "hybrid", "leg 1": {"kind": "hybrid", "leg 2": facts}}

    changes = retriever_changes(leg(kind="run", file="a", depth=1), leg(kind="dense", file="b", depth=2))
    assert {row.name: row.needs_approval for row in changes} == {
        "retriever leg 1.leg 2.kind": True, "retriever leg 1.leg 2.file": True, "retriever leg 1.leg 2.depth": False}


@pytest.mark.parametrize("settings", ["kind: pgvector, table: t, dsn: 'postgresql://u:${{PW}}@{}/d'",
                                      "kind: pgvector, table: t, dsn: 'host={} user=u dbname=d'",
                                      "kind: qdrant, url: 'http://{}', collection: c", "kind: chroma, url: 'http://{}', collection: c",
                                      "kind: elasticsearch, url: 'http://u:${{PW}}@{}', index: i, query: {{match: {{text: '{{query}}'}}}}",
                                      "kind: opensearch, url: 'http://{}', index: i, query: {{match: {{text: '{{query}}'}}}}"])
def test_an_engine_somewhere_else_needs_an_approval(settings, tmp_path):
    vectors = dense_snapshot(tmp_path / "dense", {"a": [1.0, 0.0]}, {("q1", "text"): [1.0, 0.0]})
    told = []
    for host in ("staging", "elsewhere"):
        text = f"golden: g.jsonl\nretriever: {{{settings.format(host)}}}\n"
        settings_read = parse_settings(text.encode(), "c.yml", "c.yml").retriever
        told.append(build_retriever(settings_read, Given(vectors, world=World({"PW": "secret-1"}))).describe())
    change, = retriever_changes(*told)
    assert change.needs_approval and "staging" in change.old and "elsewhere" in change.new and "secret-1" not in str(told)


@pytest.mark.parametrize(("dsn", "shown"), [
    ("${DSN}", "${DSN}"), ("postgresql://u:${PW}@${HOST}/d", "${HOST}:5432/d"),
    ("hostaddr=10.0.0.1 port=6 user=u dbname=d", "10.0.0.1:6/d")])
def test_a_server_is_shown_as_it_is_written(dsn, shown):
    assert place_of(SecretText(dsn)) == shown
