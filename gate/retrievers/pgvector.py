"""Kind ``pgvector``: nearest rows of a table in PostgreSQL, or a statement of the team's own."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from gate import jsonio
from gate.embedding.base import EmbeddingSettings, open_vectors, read_embedding
from gate.errors import InvalidInput
from gate.fields import Section
from gate.figures import plural
from gate.golden.model import Query
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.engines.ann_loss import AnnLoss, read_search
from gate.retrievers.engines.index_check import Checked, check_index, read_check
from gate.retrievers.engines.index_load import dimensions, loadable
from gate.retrievers.pool import Pool
from gate.runs import Ranking
from gate.secret_text import SecretText, read_secret_text

if TYPE_CHECKING:
    from gate.retriever_settings import RetrieverSettings
    from gate.retrievers.engines.pg_seat import PgSeat
    from gate.retrievers.engines.pg_statement import Columns

METRICS = ("cosine", "l2", "ip")
_USUAL = {"m": 16, "ef_construction": 64}  # pgvector's own
SCANS = ("off", "strict_order", "relaxed_order")

# Written out, in an address or as a word of a connection string; not the name of a secret.
_PASSWORD = re.compile(r"(?:^[a-z]+://[^/@]*?:|\bpassword\s*=\s*)(?!['\"]?\$\{)['\"]?([^@\s'\"]+)", re.IGNORECASE)


class Options(NamedTuple):
    """``table`` with ``columns`` and ``condition``, or ``sql``, or both: then the statement is asked, and the table only compared with the
    snapshot. ``parameters``: what a query's transaction sets. ``load``: parameters of the HNSW index that a missing table gets; None: it
    is not made."""

    dsn: SecretText
    table: str
    columns: Columns
    metric: str = "cosine"
    condition: str = ""
    sql: str = ""
    search: str = "ann"
    ann_loss: bool = False
    parameters: Mapping[str, str] = {}
    check: str = ""
    load: Mapping[str, int] | None = None
    embedding: EmbeddingSettings = EmbeddingSettings()

    @property
    def needs_vectors(self) -> bool:
        """Whether a query is asked by its vector."""
        from gate.retrievers.engines.pg_statement import placeholders

        return not self.sql or "vector" in placeholders(self.sql)[0]


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.retrievers`."""
    from gate.retrievers.engines.pg_statement import Columns

    dsn = read_secret_text(section, "dsn", section.text("dsn", "", required=True))
    if any(found[1] for found in _PASSWORD.finditer(dsn.text)):
        section.problem("dsn", "`dsn` holds a password as it is; give the variable of a secret, for instance ${PG_PASSWORD}")
    table, statement = section.text("table", ""), section.text("sql", "")
    usual = Columns()
    columns = Columns(section.text("id", usual.id), section.text("vector", usual.vector), section.text("document", ""),
                      section.text("start", ""), section.text("end", ""))
    if not (table or statement):
        section.problem("table", "`table` must name the table to search, or `sql` be the statement that searches")
    if bool(columns.start) != bool(columns.end):
        section.problem("start", "`start` and `end` belong together: name both columns or neither")
    condition, check = section.text("filter", ""), read_check(section)
    if statement:
        _check_statement(section, statement, condition)
    if not table and check not in ("", "none"):
        section.problem("check", f"`check` is {check}, and `table` does not name what to compare with the snapshot")
    search, loss = read_search(section)
    given = {"hnsw.ef_search": section.integer("ef_search", 0, 1, 1000), "ivfflat.probes": section.integer("probes", 0, 1, 32_768),
             "hnsw.iterative_scan": section.choice("iterative_scan", SCANS, "")}
    if given["hnsw.iterative_scan"] in ("off", "relaxed_order"):
        given["ivfflat.iterative_scan"] = given["hnsw.iterative_scan"]  # it knows no strict order
    build = {key: section.integer(key, 0, low, 1000) for key, low in (("m", 2), ("ef_construction", 4))}
    load = section.boolean("load", False)
    for key in build:
        if build[key] and not (load and search == "ann"):
            section.problem(key, f"`{key}` is a parameter of the index that `load: true` builds for `search: ann`")
    if load and not table:
        section.problem("load", "`load` makes a table, and `table` does not name one")
    return Options(dsn, table, columns, section.choice("metric", METRICS, "cosine"), condition, statement, search, loss,
                   {name: str(value) for name, value in given.items() if value}, check,
                   {key: value for key, value in build.items() if value} if load else None,
                   read_embedding(section.section("embedding", section.mapping("embedding")), paths))


def _check_statement(section: Section, statement: str, condition: str) -> None:
    from gate.retrievers.engines.pg_statement import PLACEHOLDERS, placeholders

    names, loose = placeholders(statement)
    if strange := sorted(set(names) - set(PLACEHOLDERS)):
        section.problem("sql", f"`sql` has the placeholder %({strange[0]})s; there are "
                               f"{', '.join(f'%({name})s' for name in PLACEHOLDERS)}")
    if loose:
        section.problem("sql", "`sql` holds a single %, which starts a placeholder; write %% for the character")
    if "n" not in names:
        section.problem("sql", "`sql` must hold LIMIT %(n)s: how many results are fetched is the gate's to say")
    if not {"query", "vector"} & set(names):
        section.problem("sql", "`sql` must use %(query)s, the text of the query, or %(vector)s")
    if condition:
        section.problem("filter", "`filter` belongs to `table`; a statement of your own has its own WHERE")


def build(settings: RetrieverSettings, given: Given) -> PgvectorRetriever:
    """See :mod:`gate.retrievers`."""
    return PgvectorRetriever(settings, given)


class PgvectorRetriever:
    """Rows of a table: by score descending, then id ascending among what was fetched. Rows of a statement: in its order."""

    def __init__(self, settings: RetrieverSettings, given: Given) -> None:
        from gate.retrievers.engines.pg_connection import Server

        self._settings, self._given, self._options = settings, given, settings.options
        self._snapshot = loadable(given.snapshot) if self._options.load is not None else given.snapshot
        self._server = Server(self._options.dsn, given.world.variables)
        self._questions = open_vectors(self._options.embedding, given) if self._options.needs_vectors else None
        self._loss, self._short = AnnLoss(), list[str]()
        self._stack, self._notes, self._facts = ExitStack(), list[str](), dict[str, Any]()

    @property
    def notes(self) -> list[str]:
        return [*self._notes, *(self._questions.notes if self._questions else ()), *self._loss.notes()]

    def describe(self) -> Mapping[str, Any]:
        from gate.retrievers.engines.pg_connection import place_of

        options = self._options
        what: dict[str, Any] = {"kind": "pgvector", "server": place_of(options.dsn), "table": options.table,
                                "sql": jsonio.sha256(options.sql.encode())[:19] if options.sql else "",
                                "metric": "" if options.sql else options.metric, "filter": options.condition}
        what |= {"document": options.columns.document, "search": options.search, "ann_loss": options.ann_loss or None,
                 **options.parameters, **self._facts}
        if self._questions:
            what["embedding"] = dict(self._questions.describe())
        return {key: value for key, value in what.items() if value not in ("", None, [], {})}

    def retrieve(self, queries: Sequence[Query], depth: int) -> Iterator[tuple[str, Ranking]]:
        if not queries:
            return
        rows = self._questions.of(queries, self._width()) if self._questions else [None] * len(queries)
        vectors = {query.id: row for query, row in zip(queries, rows, strict=True)}
        probe = self._seat(vectors)
        try:
            facts, note, reachable = probe.probe(queries[0], depth, self._settings.limits.start_seconds)
        finally:
            probe.close()
        self._facts |= facts
        self._notes += [note] if note else []
        pool = Pool(lambda: self._seat(vectors, reachable), self._settings.limits, self._settings.concurrency)
        try:
            yield from pool.retrieve(queries, depth)
        finally:
            self._notes += pool.notes
            if self._short:
                self._notes.append(f"{len(self._short)} of {plural(len(queries), 'query')} got fewer than {reachable} results, though the "
                                   "table holds as many: an approximate index looks at no more than `ef_search` rows (and as a filter "
                                   "leaves of them); raise it or set `iterative_scan`")

    def _width(self) -> int:
        """Dimensions of the table's vectors, where the comparison with the snapshot has shown them to be the same; else 0."""
        return dimensions(self._snapshot) if self._snapshot and self._facts["check"] == "vectors" else 0

    def _seat(self, vectors: Mapping[str, Any], reachable: int = 0) -> PgSeat:
        from gate.retrievers.engines.pg_seat import PgSeat

        return PgSeat(self._server, self._options, vectors, reachable, self._loss, self._short)

    def __enter__(self) -> PgvectorRetriever:
        from gate.retrievers.engines.pg_connection import at_start, cut_off

        options, seconds = self._options, self._settings.limits.start_seconds
        started = time.monotonic()
        if options.load is not None:
            self._load(options.load, seconds)
        with self._server.reach(seconds) as connection, at_start(self._server, options.table or "`retriever.sql`"), \
                cut_off(connection, max(1.0, seconds - (time.monotonic() - started))):
            self._facts = {"postgresql": ".".join(map(str, divmod(connection.info.server_version, 10_000)))}
            with connection.transaction():
                row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
            self._facts["pgvector"] = row[0] if row else None
            checked = self._check(connection)
        self._facts["check"] = checked.level
        self._notes += checked.notes
        if self._questions:
            self._stack.enter_context(self._questions)
        return self

    def _load(self, hnsw: Mapping[str, int], seconds: float) -> None:
        from gate.retrievers.engines.pg_connection import at_start
        from gate.retrievers.engines.pg_index import Table

        assert self._snapshot is not None
        options = self._options
        with self._server.reach(seconds, write=True) as connection, at_start(self._server, f"loading table {options.table}"):
            done = Table(connection, options.table, options.columns).load(
                self._snapshot, options.metric, hnsw if options.search == "ann" else None, seconds)
        self._notes += [done] if done else []

    def _check(self, connection: Any) -> Checked:
        from gate.retrievers.engines.pg_index import Table

        if not self._options.table:
            return Checked("none", ("`retriever.sql`: nothing proves that what it searches is the snapshot's; with `table`, `id` and "
                                    "`vector` it is compared",))
        table = Table(connection, self._options.table, self._options.columns)
        table.check_columns()
        own = self._options.columns.document or self._options.sql
        checked = check_index(self._snapshot, self._options.check, table, "" if own else "document")
        self._facts["index"] = held = table.indexes()
        wanted = dict(self._options.load or {})
        if wanted and not any(wanted.items() <= (_USUAL | index).items() for index in held.values()):
            raise InvalidInput(f"{table.name}: has no HNSW index with {', '.join(f'{name} {value}' for name, value in wanted.items())}",
                               "drop the table to have it made anew, or leave these parameters out")
        return checked

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
