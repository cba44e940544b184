"""A connection to PostgreSQL that is told everything by the configuration, writes nothing, and ends when it is told to."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gate.errors import InvalidInput, RetrieverFailed
from gate.secret_text import SecretText

if TYPE_CHECKING:
    import psycopg

_NEEDED = ("host", "user", "dbname")
# What the server itself may be late, before a silent connection is cut.
_GRACE = 2.0
_NOWHERE = os.path.join(os.devnull, "none")
# Seconds in which a server takes a connection, or is not there.
_CONNECT = 15
_SERVICE = "PGSERVICE"
_environment = threading.Lock()
_CURE = "write it as postgresql://user:${NAME}@host:5432/database, the password in a variable of the gate's step"


class Server:
    """Where PostgreSQL is. ``dsn`` is filled from ``variables``: raises RetrieverFailed when a secret is missing, :class:`InvalidInput`
    when it is no connection string or lacks something. Shows nothing when printed."""

    def __init__(self, dsn: SecretText, variables: Mapping[str, str]) -> None:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        self._secrets = {variables[name]: name for name in dsn.names if variables.get(name)}
        try:
            given = conninfo_to_dict(dsn.filled(variables, "retriever.dsn"))
        except (psycopg.ProgrammingError, UnicodeError):  # its words would quote the password
            raise InvalidInput("`retriever.dsn` is no connection string of PostgreSQL (characters of a password such as @ or / must be "
                               "written as %40 and %2F in a URL)", _CURE) from None
        lacking = [key for key in _NEEDED if not given.get(key) and not (key == "host" and given.get("hostaddr"))]
        if lacking or given.get("service"):
            raise InvalidInput([f"`retriever.dsn` names no {key}; nothing is taken from PG… variables or files" for key in lacking]
                               or "`retriever.dsn` names a service, whose file the gate does not read", _CURE)
        self._given = _undisturbed() | {key: value for key, value in given.items() if value is not None}

    def __repr__(self) -> str:
        return "Server(***)"

    def hide(self, text: object) -> str:
        """The first line of ``text`` with the names of secrets in place of their values."""
        line = str(text).strip().partition("\n")[0]
        for value, name in self._secrets.items():
            line = line.replace(value, f"${{{name}}}")
        return line[:300].rstrip(".")

    def connect(self, seconds: float, write: bool = False) -> psycopg.Connection[Any]:
        """Raises psycopg.OperationalError after ``seconds`` at most."""
        import psycopg

        with _no_service():
            return self._connect(psycopg.connect, seconds, write)

    def _connect(self, connect: Callable[..., Any], seconds: float, write: bool) -> psycopg.Connection[Any]:
        # Prepared statements would let the planner change its mind after the fifth query, and do not survive a pooler.
        connection: psycopg.Connection[Any] = connect(
            **{**self._given, "connect_timeout": max(2, min(int(seconds), _CONNECT)), "client_encoding": "UTF8", "keepalives_idle": 10,
               "application_name": "retrieval-gate", "tcp_user_timeout": 30_000}, prepare_threshold=None)
        connection.read_only = not write
        return connection

    def reach(self, seconds: float, write: bool = False) -> psycopg.Connection[Any]:
        """The same for a start. Raises RetrieverFailed."""
        import psycopg

        try:
            return self.connect(seconds, write)
        except psycopg.Error as error:
            raise RetrieverFailed(f"PostgreSQL cannot be reached: {self.hide(error)}",
                                  "see that it is started before the gate and that `retriever.dsn` names it") from None


def place_of(dsn: SecretText) -> str:
    """host:port/database as the configuration writes them, with the names of secrets and never their values; the name alone where the
    whole string is one."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        given = conninfo_to_dict(dsn.text)
    except (psycopg.ProgrammingError, UnicodeError):
        return ", ".join(f"${{{name}}}" for name in dsn.names)
    return f"{given.get('host') or given.get('hostaddr') or ''}:{given.get('port') or 5432}/{given.get('dbname') or ''}"


def _undisturbed() -> dict[str, str]:
    """What libpq would otherwise take from PG… variables and from the password file in the home folder, at its built-in value."""
    from psycopg import pq

    defaults = {"passfile": _NOWHERE, "port": "5432"}
    for option in pq.Conninfo.get_defaults():
        name, variable = option.keyword.decode(), (option.envvar or b"").decode()
        if variable and variable != _SERVICE and os.environ.get(variable) and name not in defaults:
            defaults[name] = (option.compiled or b"").decode()
    return defaults


@contextlib.contextmanager
def _no_service() -> Iterator[None]:
    """Of all variables this one alone cannot be overruled in a connection string."""
    with _environment:
        service = os.environ.pop(_SERVICE, None)
        try:
            yield
        finally:
            if service is not None:
                os.environ[_SERVICE] = service


@contextlib.contextmanager
def cut_off(connection: psycopg.Connection[Any], seconds: float) -> Iterator[None]:
    """Within it a server that neither answers nor closes, because its machine stands still, is left after ``seconds`` and a little."""
    line = socket.socket(fileno=os.dup(connection.fileno()))

    def cut() -> None:
        with contextlib.suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds + _GRACE, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        line.close()


@contextlib.contextmanager
def at_start(server: Server, what: str) -> Iterator[None]:
    """Faults of PostgreSQL before the first question: what the configuration has wrong is :class:`InvalidInput`, the rest
    RetrieverFailed."""
    import psycopg

    try:
        yield
    except (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError) as error:
        raise InvalidInput(f"{what}: PostgreSQL says: {server.hide(error)}", "fix `retriever:` or the rights of its user") from None
    except psycopg.errors.QueryCanceled:
        raise RetrieverFailed(f"{what}: took longer than the start may",
                              "raise `retriever.limits.start_seconds`, or compare less with `retriever.check`") from None
    except psycopg.Error as error:
        raise RetrieverFailed(f"{what}: PostgreSQL failed: {server.hide(error)}", "see what it logged") from None
