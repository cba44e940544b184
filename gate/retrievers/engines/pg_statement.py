"""What PostgreSQL is asked, under which parameters of the session, and what its rows mean."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.errors import InvalidInput
from gate.retrievers.engines.hits import Hit

if TYPE_CHECKING:
    import numpy as np
    from psycopg import Connection
    from psycopg.sql import Composable, Identifier

OPERATORS = {"cosine": "<=>", "l2": "<->", "ip": "<#>"}
CLASSES = {"cosine": "vector_cosine_ops", "l2": "vector_l2_ops", "ip": "vector_ip_ops"}
PLACEHOLDERS = ("query", "vector", "n")
_PLACEHOLDER = re.compile(r"%%|%\(([^)]*)\)s|(%)")
# Only scans that walk an index in the order of distance are approximate; a bitmap of a filter's index is not.
# The other way must be open, whatever the role or the connection string has set: of two that are closed the planner takes the cheaper one.
EXACT = {"enable_indexscan": "off", "enable_indexonlyscan": "off", "enable_seqscan": "on", "enable_sort": "on"}


class Columns(NamedTuple):
    """Names in a table, or in the rows of a statement of one's own. Empty where there is none."""

    id: str = "id"
    vector: str = "embedding"
    document: str = ""
    start: str = ""
    end: str = ""


def placeholders(text: str) -> tuple[list[str], bool]:
    """Names of the placeholders in a statement, and whether it has a % that is neither one nor doubled."""
    found = list(_PLACEHOLDER.finditer(text))
    return [match[1] for match in found if match[1] is not None], any(match[2] for match in found)


def identifier(name: str) -> Identifier:
    """``schema.table`` → quoted in parts."""
    from psycopg import sql

    return sql.Identifier(*name.split("."))


def where_of(condition: str) -> Composable:
    """A condition of the configuration, for a statement with placeholders: what has some can never be two statements."""
    from psycopg import sql

    return sql.SQL(" WHERE (" + condition.replace("%", "%%") + ")") if condition else sql.SQL("")


def table_statement(table: str, columns: Columns, metric: str, condition: str) -> Composable:
    """The nearest rows of a table: id, distance, document, start, end."""
    from psycopg import sql

    def column(name: str, cast: str) -> Composable:
        return sql.SQL("{}::" + cast).format(sql.Identifier(name)) if name else sql.SQL("NULL::" + cast)

    return sql.SQL("SELECT {id}, {vector} {operator} %(vector)s AS distance, {document}, {start}, {end} FROM {table}{where} "
                   "ORDER BY distance LIMIT %(n)s").format(
        id=column(columns.id, "text"), vector=sql.Identifier(columns.vector), operator=sql.SQL(OPERATORS[metric]),
        document=column(columns.document, "text"), start=column(columns.start, "int"), end=column(columns.end, "int"),
        table=identifier(table), where=where_of(condition))


def vector_text(row: np.ndarray) -> str:
    """As pgvector reads it; nine digits are a float32."""
    return "[" + ",".join(f"{value:.9g}" for value in row.tolist()) + "]"


def set_locally(connection: Connection[Any], values: dict[str, str]) -> None:
    """Parameters of the transaction, in one round trip."""
    from psycopg import sql

    calls = sql.SQL(", ").join([sql.SQL("set_config({}, {}, true)").format(name, value) for name, value in values.items()])
    connection.execute(sql.SQL("SELECT ") + calls)


def table_hits(rows: Sequence[Sequence[Any]], metric: str) -> list[Hit]:
    """Rows of :func:`table_statement`. Score: cosine, inner product, or the negative distance. A vector of zeros has no direction; it
    scores 0, as in the kind ``dense``."""
    hits = []
    for unit, distance, document, start, end in rows:
        _check_row(unit, start, end)
        score = 0.0 if distance is None or math.isnan(distance) else 1.0 - distance if metric == "cosine" else -float(distance)
        hits.append(Hit(unit, score, document or "", start, end))
    return hits


def _check_row(unit: Any, start: Any, end: Any) -> None:
    if unit is None or unit == "":
        raise ValueError("a row has no id")
    if (start, end) != (None, None) and not (type(start) is type(end) is int and 0 <= start <= end):
        raise ValueError(f"the row {str(unit)[:80]!r} lies from {str(start)[:20]} to {str(end)[:20]}, which is no place in a document")


def own_hits(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[Hit], bool]:
    """Rows of a statement of the team's own, whose columns ``id``, ``score``, ``document``, ``start``, ``end`` are recognised by name, and
    whether they are scored. Raises :class:`InvalidInput` without an ``id``, and ValueError that says what is wrong with a row."""
    if "id" not in names:
        raise InvalidInput(f"`retriever.sql` returns no column `id`, but {', '.join(names)}", "name the unit's id so: SELECT … AS id")
    places = {name: names.index(name) for name in ("id", "score", "document", "start", "end") if name in names}
    hits = []
    for row in rows:
        cell = {name: row[place] for name, place in places.items()}
        _check_row(cell["id"], cell.get("start"), cell.get("end"))
        score = float(cell["score"]) if cell.get("score") is not None else 0.0
        if not math.isfinite(score):
            raise ValueError(f"the score of {str(cell['id'])[:80]!r} is {score}")
        hits.append(Hit(str(cell["id"]), score, str(cell.get("document") or ""), cell.get("start"), cell.get("end")))
    return hits, "score" in places


def plan_of(explained: Any) -> list[str]:
    """Names of the indexes that a plan (the value of EXPLAIN (FORMAT JSON)) walks in order."""
    found: list[str] = []
    nodes = [explained[0]["Plan"]]
    while nodes:
        node = nodes.pop()
        if node.get("Node Type") in ("Index Scan", "Index Only Scan"):
            found.append(node.get("Index Name", ""))
        nodes += node.get("Plans", [])
    return found
