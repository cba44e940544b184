"""One connection that answers one query at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import psycopg

from gate.errors import InvalidInput, RetrieverFailed
from gate.golden.model import Query
from gate.retrievers.engines import pg_statement as statements
from gate.retrievers.engines.ann_loss import AnnLoss
from gate.retrievers.engines.hits import Hit, as_found, ranking_of
from gate.retrievers.engines.pg_connection import Server, at_start, cut_off
from gate.retrievers.engines.pg_index import methods_of
from gate.retrievers.pool import QueryFailed
from gate.runs import Ranking

if TYPE_CHECKING:
    from gate.retrievers.pgvector import Options

_EFFORT = {"hnsw": ("hnsw.ef_search", "hnsw.iterative_scan"), "ivfflat": ("ivfflat.probes", "ivfflat.iterative_scan")}


class PgSeat:
    """``vectors``: query id → row. ``reachable``: results that every query could have. ``loss`` and ``short`` (ids of queries that got
    fewer) are shared with the other seats."""

    def __init__(self, server: Server, options: Options, vectors: Mapping[str, Any], reachable: int, loss: AnnLoss,
                 short: list[str]) -> None:
        self._server, self._options, self._vectors = server, options, vectors
        self._reachable, self._loss, self._short = reachable, loss, short
        self._name = "`retriever.sql`" if options.sql else f"table {options.table}"
        self._connection: psycopg.Connection[Any] | None = None
        self._statement: Any = options.sql or statements.table_statement(options.table, options.columns, options.metric, options.condition)
        self._names = set(statements.placeholders(options.sql)[0]) if options.sql else {"vector", "n"}

    def ask(self, query: Query, depth: int, seconds: float) -> Ranking:
        """See :class:`gate.retrievers.pool.Seat`."""
        try:
            connection = self._open(seconds)
            with cut_off(connection, seconds * (1 + self._options.ann_loss)):
                return self._ranking(connection, query, depth, seconds)
        except psycopg.errors.QueryCanceled:
            raise QueryFailed(f"PostgreSQL did not answer within {seconds:g} s", outage=True) from None
        except psycopg.OperationalError as error:
            self.close()
            raise QueryFailed(f"PostgreSQL: {self._server.hide(error)}", outage=True) from None
        except psycopg.Error as error:
            raise QueryFailed(f"PostgreSQL: {self._server.hide(error)}") from None
        except (ValueError, TypeError) as fault:  # a text that cannot be sent, a row that is none
            raise QueryFailed(str(fault)) from None

    def _ranking(self, connection: psycopg.Connection[Any], query: Query, depth: int, seconds: float) -> Ranking:
        exact = self._options.search == "exact"
        hits, scored, ms = self._search(connection, query, depth, seconds, exact)
        if not exact and len(hits) < self._reachable:
            self._short.append(query.id)
        if self._options.ann_loss:
            if not scored:
                raise InvalidInput("`retriever.ann_loss` compares scores, and `retriever.sql` returns no column `score`",
                                   "select the score, higher is better, AS score; or leave `ann_loss` out")
            self._loss.add(hits[:depth], self._search(connection, query, depth, seconds, True)[0][:depth])
        if not self._options.sql:
            return ranking_of(hits, ms)
        ranking = as_found(hits, ms)
        ranking.scores = ranking.scores if scored else None
        return ranking

    def _search(self, connection: psycopg.Connection[Any], query: Query, depth: int, seconds: float,
                exact: bool) -> tuple[list[Hit], bool, float]:
        with connection.transaction():
            statements.set_locally(connection, self._parameters(seconds, exact))
            started = time.monotonic()
            cursor = connection.execute(self._statement, self._values(query, depth))
            rows = cursor.fetchall()
            ms = (time.monotonic() - started) * 1000
        if self._options.sql:
            hits, scored = statements.own_hits([column.name for column in cursor.description or ()], rows)
            return hits, scored, ms
        return statements.table_hits(rows, self._options.metric), True, ms

    def probe(self, query: Query, depth: int, seconds: float) -> tuple[dict[str, Any], str, int]:
        """What the planner makes of the first query: facts for the record, a note when the search will not be what was asked for, and how
        many results there are to be had (0: unknown). Raises :class:`InvalidInput`, RetrieverFailed."""
        connection, options = self._server.reach(seconds), self._options
        self._connection = connection
        exact = options.search == "exact"
        with at_start(self._server, self._name), cut_off(connection, seconds), connection.transaction():
            statements.set_locally(connection, self._parameters(seconds, exact))
            plan = connection.execute(self._explained(), self._values(query, depth)).fetchone()
            methods = methods_of(connection, statements.plan_of(plan[0] if plan else [{"Plan": {}}]))
            facts = {name: self._setting(connection, name) for method in dict.fromkeys(methods.values()) for name in _EFFORT[method]}
            reachable = self._count(connection, depth)
        facts["plan"] = ", ".join(f"{method} index {name}" for name, method in sorted(methods.items())) or "no approximate index"
        if exact and methods:
            raise RetrieverFailed(f"{self._name}: `search` is exact, and the planner walks the {facts['plan']} all the same",
                                  "ask in a statement that no approximate index fits, or drop the index in a copy of the table")
        note = ""
        if not exact and not methods and "vector" in self._names:
            note = f"{self._name}: the planner used no approximate index and scanned, so the search was exact; the table may be too " \
                   "small for its index to pay, or have none for this metric"
        return facts, note, reachable

    def _explained(self) -> Any:
        from psycopg import sql

        inner = sql.SQL(self._options.sql) if self._options.sql else self._statement
        return sql.SQL("EXPLAIN (FORMAT JSON) ") + inner

    def _count(self, connection: psycopg.Connection[Any], depth: int) -> int:
        from psycopg import sql

        if self._options.sql:
            return 0
        row = connection.execute(sql.SQL("SELECT count(*) FROM (SELECT FROM {}{} LIMIT %s) AS reachable").format(
            statements.identifier(self._options.table), statements.where_of(self._options.condition)), [depth]).fetchone()
        return int(row[0]) if row else 0

    @staticmethod
    def _setting(connection: psycopg.Connection[Any], name: str) -> str | None:
        row = connection.execute("SELECT current_setting(%s, true)", [name]).fetchone()
        return row[0] if row else None

    def _parameters(self, seconds: float, exact: bool) -> dict[str, str]:
        return {"statement_timeout": str(max(1, int(seconds * 1000))), **self._options.parameters, **(statements.EXACT if exact else {})}

    def _values(self, query: Query, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {"query": query.text, "n": depth}
        if "vector" in self._names:
            values["vector"] = statements.vector_text(self._vectors[query.id])
        return {name: value for name, value in values.items() if name in self._names}

    def _open(self, seconds: float) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection = self._server.connect(seconds)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
