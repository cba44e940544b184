"""A table with vectors: what it holds, how it is indexed, and how it is made from a snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gate.errors import InvalidInput
from gate.figures import plural
from gate.retrievers.engines.index_load import batches, dimensions
from gate.retrievers.engines.pg_statement import CLASSES, Columns, identifier, vector_text

if TYPE_CHECKING:
    from psycopg import Connection

    from gate.snapshot.reader import Snapshot

_PAGE = 10_000
# One number for everybody who loads through the gate: two shards that start together must not both fill the table.
_LOCK = 7_221_904_318_550_261
_INDEXES = """SELECT i.relname, am.amname, i.reloptions FROM pg_class i JOIN pg_am am ON am.oid = i.relam
WHERE am.amname IN ('hnsw', 'ivfflat') AND """


class Table:
    """Follows gate.retrievers.engines.index_check.Engine. The connection is in no transaction between calls."""

    def __init__(self, connection: Connection[Any], table: str, columns: Columns) -> None:
        self._connection, self._table, self._columns = connection, table, columns
        self._quoted = identifier(table).as_string(connection)
        self.name = f"table {table}"

    def exists(self) -> bool:
        return bool(self._one("SELECT to_regclass({}) IS NOT NULL", self._quoted))

    def check_columns(self) -> None:
        """Raises :class:`InvalidInput` that lists every column which the table does not have."""
        if not self.exists():
            raise InvalidInput(f"{self.name}: there is none, or this user may not see it",
                               "create and fill it before the gate's step, or set `retriever.load` to have it made from the snapshot")
        with self._connection.transaction():
            rows = self._connection.execute("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
                                            "AND NOT attisdropped ORDER BY attnum", [self._quoted]).fetchall()
        held = [row[0] for row in rows]
        if lacking := [f"{self.name}: has no column {value!r} (`retriever.{key}`); it has {', '.join(held)}"
                       for key, value in self._columns._asdict().items() if value and value not in held]:
            raise InvalidInput(lacking, "name the columns as the table does")

    def count(self) -> int:
        return int(self._one("SELECT count(*) FROM {}", identifier(self._table)))

    def ids(self) -> Iterable[str]:
        return self._ids()

    def _ids(self) -> Iterator[str]:
        from psycopg import sql

        with self._connection.transaction(), self._connection.cursor("ids") as cursor:
            cursor.itersize = _PAGE
            cursor.execute(sql.SQL("SELECT {}::text FROM {}").format(sql.Identifier(self._columns.id), identifier(self._table)))
            for unit, in cursor:
                yield "" if unit is None else unit

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        from psycopg import sql

        statement = sql.SQL("SELECT {id}::text, {vector}::text FROM {table} WHERE {id}::text = ANY(%s) AND {vector} IS NOT NULL").format(
            id=sql.Identifier(self._columns.id), vector=sql.Identifier(self._columns.vector), table=identifier(self._table))
        with self._connection.transaction():
            rows = self._connection.execute(statement, [list(ids)]).fetchall()
        if rows and not rows[0][1].startswith("["):
            raise InvalidInput(f"{self.name}: its column {self._columns.vector!r} holds neither vector nor halfvec, which is all that can "
                               "be compared with the snapshot's", "set `retriever.check` to ids")
        return {unit: json.loads(text) for unit, text in rows}

    def indexes(self) -> dict[str, dict[str, Any]]:
        """Name of each approximate index on it → ``method`` and the parameters that it was built with, where they are not the usual."""
        with self._connection.transaction():
            rows = self._connection.execute(
                _INDEXES + "i.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = %s::regclass) ORDER BY i.relname",
                [self._quoted]).fetchall()
        return {name: {"method": method, **_parameters(options)} for name, method, options in rows}

    def _one(self, text: str, value: Any) -> Any:
        from psycopg import sql

        with self._connection.transaction():
            row = self._connection.execute(sql.SQL(text).format(value)).fetchone()
        return row[0] if row else None

    def load(self, snapshot: Snapshot, metric: str, hnsw: Mapping[str, int] | None, seconds: float) -> str:
        """Make and fill the table where it is missing or empty; a sentence about what was done, empty when there was nothing to do. All of
        it or nothing. ``hnsw``: parameters of its index, None for no index. The connection must be allowed to write."""
        from psycopg import sql

        run, columns = self._connection.execute, self._columns
        more = [(name, kind) for name, kind in ((columns.document, "text"), (columns.start, "int"), (columns.end, "int")) if name]
        with self._connection.transaction():
            run(sql.SQL("SET LOCAL statement_timeout = {}").format(int(seconds * 1000)))
            run("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            run("CREATE EXTENSION IF NOT EXISTS vector")
            fields = [(columns.id, "text PRIMARY KEY"), (columns.vector, f"vector({dimensions(snapshot)})"), *more]
            run(sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(identifier(self._table), sql.SQL(", ").join(
                [sql.SQL("{} " + kind).format(sql.Identifier(name)) for name, kind in fields])))
            row = run(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(identifier(self._table))).fetchone()
            if row and row[0]:
                return ""
            names = sql.SQL(", ").join([sql.Identifier(name) for name, _ in fields])
            with self._connection.cursor() as cursor, \
                    cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(identifier(self._table), names)) as copy:
                for units, vectors in batches(snapshot, 1000):
                    for unit, vector in zip(units, vectors, strict=True):
                        facts = {columns.document: unit["doc"], columns.start: unit.get("start"), columns.end: unit.get("end")}
                        copy.write_row([unit["id"], vector_text(vector), *(facts[name] for name, _ in more)])
            built = hnsw is not None and not self.indexes()
            if hnsw is not None and built:
                self._index(metric, hnsw)
        # Outside: the planner's statistics must not be those of an empty table.
        with self._connection.transaction():
            run(sql.SQL("ANALYZE {}").format(identifier(self._table)))
        story = "; its HNSW index was built in this run, and no two builds are quite alike" if built else ""
        return f"{self.name}: was filled with the {plural(snapshot.manifest.units, 'unit')} of the snapshot{story}"

    def _index(self, metric: str, hnsw: Mapping[str, int]) -> None:
        from psycopg import sql

        options = sql.SQL(", ").join([sql.SQL(f"{name} = {value}") for name, value in hnsw.items()])
        with_options = sql.SQL(" WITH ({})").format(options) if hnsw else sql.SQL("")
        self._connection.execute(sql.SQL("CREATE INDEX ON {} USING hnsw ({} " + CLASSES[metric] + "){}").format(
            identifier(self._table), sql.Identifier(self._columns.vector), with_options))


def _parameters(options: Sequence[str] | None) -> dict[str, int]:
    pairs = (option.partition("=") for option in options or ())
    return {name: int(value) for name, _, value in pairs if value.isdigit()}


def methods_of(connection: Connection[Any], names: Sequence[str]) -> dict[str, str]:
    """Index name → ``hnsw`` or ``ivfflat``, of those among ``names`` that are approximate. Within a transaction."""
    return {name: method for name, method, _ in connection.execute(_INDEXES + "i.relname = ANY(%s)", [list(names)])} if names else {}
