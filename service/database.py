"""The database: how SQLite and PostgreSQL are reached, written to in turn, and found out of order."""

import select
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from prometheus_client import Gauge
from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InvalidatePoolError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool

from service.metrics import IN_USE, OPEN
from service.places import Places
from service.write_queue import WriteQueue


class Unavailable(Exception):
    """The database cannot be used now; the message says so in words for anyone.

    code: "full", "locked", "slow" or "gone"
    reason: the same in words for operators, in one line
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"the database {_UNAVAILABLE[code]}")
        self.code, self.reason = code, reason


_UNAVAILABLE = {
    "full": "has no room left on its disk",
    "locked": "is busy with other changes",
    "slow": "took too long",
    "gone": "does not answer",
}


class Database:
    """A database. One object serves all threads of a process.

    connections: how many there are at most
    lines: how many of them are for moves
    lock_timeout, statement_timeout: in milliseconds, 0 for none; the second goes for PostgreSQL only
    """

    def __init__(
        self,
        url: URL,
        connections: int = 128,
        lines: int = 8,
        *,
        lock_timeout: int = 5000,
        statement_timeout: int = 10_000,
    ) -> None:
        sqlite = url.get_backend_name() == "sqlite"
        self.lock_timeout = lock_timeout
        self._patience = lock_timeout / 1000 or None
        options: dict[str, Any] = {
            "hide_parameters": True,  # among them are hidden cards, and messages come into logs
            "connect_args": {} if sqlite else _postgresql_options(url, lock_timeout, statement_timeout),
        }
        self.engine = create_engine(
            url,
            pool_size=connections - lines,
            max_overflow=0,
            pool_timeout=self._patience,
            # In SQLite no transaction is open when a connection comes back, so there is nothing to reset.
            pool_reset_on_return=None if sqlite else "rollback",
            **options,
        )
        # Lines are opened here and never given back: to a pool that costs as much as reading a game.
        self._opening = create_engine(url, poolclass=NullPool, **options)
        self._queue = WriteQueue(f"{url.database}.lock") if sqlite else None
        for engine in (self.engine, self._opening):
            event.listen(engine, "connect", partial(_count, OPEN, 1))
            event.listen(engine, "close", partial(_count, OPEN, -1))
            if sqlite:
                event.listen(
                    engine, "connect", lambda connection, _: _prepare_sqlite(connection, lock_timeout or _FOR_EVER)
                )
        if sqlite:
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            event.listen(self.engine, "checkout", _check_open)
        # Reads need no transaction: a log only grows, and a row is read whole.
        self._readers = self.engine if self._queue else self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._writers = self.engine.execution_options(writes=True)
        self._idle: list[Line] = []
        self._recent = Recent(256)
        self._places = Places(lines)
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection on which each statement sees what is committed when it runs."""
        with self._connected(self._readers) as connection:
            yield connection

    @contextmanager
    def _connected(self, engine: Engine) -> Iterator[Connection]:
        with self.telling(), engine.connect() as connection, IN_USE.track_inprogress():
            try:
                yield connection
            finally:
                if self._closed:
                    connection.invalidate()  # closed: the pool it would go back to is gone

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Give a connection on which all statements see the database as it is at the first."""
        readers = self.engine if self._queue else self.engine.execution_options(isolation_level="REPEATABLE READ")
        with self._connected(readers) as connection:
            if self._queue:
                connection.exec_driver_sql("BEGIN")
            try:
                yield connection
            finally:
                if self._queue:
                    connection.exec_driver_sql("ROLLBACK")

    @contextmanager
    def deciding(self) -> Iterator["Line"]:
        """Give a line to the database on which a game is read outside any transaction, to be written to after."""
        with self.telling():
            begun = time.monotonic()
            if not self._places.take(self._patience):
                raise Unavailable("locked", "all connections for moves were in use for too long")
            waited = time.monotonic() - begun
            IN_USE.inc()
            line = None
            try:
                line = self._idle_line() or self._open_line()
                line.patience = self._patience and max(self._patience - waited, 0)
                yield line
            except self.engine.dialect.loaded_dbapi.Error:
                if line:
                    line.close()  # it may be broken; the next one in need opens another
                    line = None
                raise
            finally:
                if line and self._closed:
                    line.close()
                elif line:
                    self._idle.append(line)
                IN_USE.dec()
                self._places.give_back()

    def _idle_line(self) -> "Line | None":
        while True:
            try:
                line = self._idle.pop()
            except IndexError:
                return None
            if self._queue or _is_open(line.connection):
                return line
            line.close()

    def _open_line(self) -> "Line":
        opened = self._opening.raw_connection()
        opened.detach()
        if not self._queue:
            # Else psycopg opens a transaction at the first read, and holds it while the engine thinks.
            opened.dbapi_connection.autocommit = True  # type: ignore[union-attr]
        return Line(opened.dbapi_connection, self.engine.dialect, self._queue, self._recent)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection inside a transaction that is durable when the block ends well."""
        alone = self._queue.alone(self._patience) if self._queue else nullcontext()
        with self.telling(), alone, self._connected(self._writers) as connection, connection.begin():
            yield connection

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Raise `Unavailable` for what is no fault of the statement."""
        driver = self.engine.dialect.loaded_dbapi
        try:
            yield
        except (SQLAlchemyError, driver.Error, TimeoutError) as error:
            code = _why_unavailable(error, driver)
            if code is None:
                raise
            cause = error.orig if isinstance(error, DBAPIError) else error
            raise Unavailable(code, str(cause).partition("\n")[0]) from error

    def settle(self) -> None:
        """On SQLite, bring what stands in the file beside the database into it, if nobody else uses it."""
        if self._queue:
            with self.reading() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close all connections: those in use when they are given back."""
        self._closed = True
        self.engine.dispose()
        while self._idle:
            self._idle.pop().close()
        if self._queue:
            self._queue.close()


class Recent:
    """What was made last of what is in the database, so many things, for all threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """Return what was put under a key, or None."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: Hashable, made: Any) -> None:
        """Keep what was made, in place of what was put first."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = made
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


@dataclass(slots=True)
class Line:
    """A connection of the driver itself. Only the path of a move takes it: what SQLAlchemy puts around costs as much.

    patience: for how long who has it now would wait for other writers, in seconds, or None
    """

    connection: Any
    dialect: Dialect
    queue: "WriteQueue | None"
    recent: Recent
    patience: float | None = None

    def write(self, change: Callable[["Line"], None], *, single: bool = False) -> None:
        """Keep what a change does to the line it gets, durably, if it ends well, and nothing of it otherwise.

        On SQLite it may get the line of another writer, who keeps it with a change of his own.

        single: it is one statement to PostgreSQL, which needs no transaction around it
        """
        if self.queue:
            self.queue.keep(self, change, self.patience)
        elif single:
            change(self)
        else:
            with self.connection.transaction():
                change(self)

    def close(self) -> None:
        """Close it."""
        self.connection.close()
        OPEN.dec()


_FOR_EVER = 2**31 - 1  # milliseconds
_SQLITE = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_CANTOPEN: "gone",
    sqlite3.SQLITE_CORRUPT: "gone",
    sqlite3.SQLITE_IOERR: "gone",
    sqlite3.SQLITE_NOTADB: "gone",
    sqlite3.SQLITE_READONLY: "gone",
}
# SQLSTATEs; after a failover the server we are connected to may only be read (25006).
_POSTGRESQL = {"53100": "full", "55P03": "locked", "40P01": "locked", "57014": "slow", "25006": "gone", "25P03": "slow"}


def _why_unavailable(error: Exception, driver: Any) -> str | None:
    """Return the code of `Unavailable` for an error, or None if the statement is at fault."""
    if isinstance(error, PoolTimeout | TimeoutError):
        return "locked"
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        # The low byte of the code; 1 is SQLITE_ERROR: the statement.
        code = getattr(cause, "sqlite_errorcode", 1) & 0xFF
        return _SQLITE.get(code)
    known = _POSTGRESQL.get(getattr(cause, "sqlstate", None) or "")
    return known or ("gone" if isinstance(cause, driver.OperationalError | driver.InterfaceError) else None)


def _postgresql_options(url: URL, lock_timeout: int, statement_timeout: int) -> dict[str, Any]:
    """Return how to connect; what the URL says goes before."""
    timeouts = {
        "lock_timeout": lock_timeout,
        "statement_timeout": statement_timeout,
        # A worker that stops in the middle of a transaction lets go of its game.
        "idle_in_transaction_session_timeout": statement_timeout,
    }
    ours = " ".join(f"-c {name}={value}" for name, value in timeouts.items())
    options: dict[str, Any] = {"application_name": "montecarlo", "connect_timeout": 5, "tcp_user_timeout": 10_000}
    options = {name: value for name, value in options.items() if name not in url.query}
    return {**options, "options": f"{ours} {url.query.get('options', '')}".strip()}


def _is_open(connection: Any) -> bool:
    """Notice before its use that PostgreSQL has closed a connection: there is something to read, its end.

    A look at the socket costs a microsecond, and asking the server a round trip.
    """
    if connection.closed:
        return False
    watch = select.poll()
    watch.register(connection.fileno(), select.POLLIN)
    return not watch.poll(0)


def _check_open(connection: Any, _: object, __: object) -> None:
    if not _is_open(connection):
        raise InvalidatePoolError()


def _count(gauge: Gauge, step: int, *_: object) -> None:
    gauge.inc(step)


def _prepare_sqlite(connection: Any, lock_timeout: int) -> None:
    connection.isolation_level = None  # transactions begin in `_begin_sqlite`, not in the driver
    for pragma in (f"busy_timeout={lock_timeout}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that comes to write ignores the busy timeout, so writers say so at once.
    if connection.get_execution_options().get("writes"):
        connection.connection.cursor().execute("BEGIN IMMEDIATE")
