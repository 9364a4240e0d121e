"""The database: how SQLite and PostgreSQL are reached, written to in turn, and found out of order."""

import fcntl
import select
import sqlite3
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any

from prometheus_client import Gauge
from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InvalidatePoolError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool

from service.metrics import IN_USE, OPEN


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

    connections: how many there are at most, half of them for moves
    lock_timeout, statement_timeout: in milliseconds, 0 for none; the second goes for PostgreSQL only
    """

    def __init__(
        self, url: URL, connections: int = 128, *, lock_timeout: int = 5000, statement_timeout: int = 10_000
    ) -> None:
        sqlite = url.get_backend_name() == "sqlite"
        self.lock_timeout = lock_timeout
        self._patience = lock_timeout / 1000 or None
        lines = connections // 2
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
        self._queue = _WriteQueue(f"{url.database}.lock", self._patience) if sqlite else None
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
        self._free_lines = threading.Semaphore(lines)
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
            if not self._free_lines.acquire(timeout=self._patience):
                raise Unavailable("locked", "all connections for moves were in use for too long")
            IN_USE.inc()
            line = None
            try:
                line = self._idle_line() or self._open_line()
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
                self._free_lines.release()

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
        alone = self._queue.alone() if self._queue else nullcontext()
        with self.telling(), alone, self._connected(self._writers) as connection, connection.begin():
            yield connection

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Raise `Unavailable` for what is no fault of the statement."""
        driver = self.engine.dialect.loaded_dbapi
        try:
            yield
        except (SQLAlchemyError, driver.Error) as error:
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


@dataclass(frozen=True, slots=True)
class Line:
    """A connection of the driver itself. Only the path of a move takes it: what SQLAlchemy puts around costs as much."""

    connection: Any
    dialect: Dialect
    queue: "_WriteQueue | None"
    recent: Recent

    def write(self, change: Callable[["Line"], None], *, single: bool = False) -> None:
        """Keep what a change does to the line it gets, durably, if it ends well, and nothing of it otherwise.

        On SQLite it may get the line of another writer, who keeps it with a change of his own.

        single: it is one statement to PostgreSQL, which needs no transaction around it
        """
        if self.queue:
            self.queue.keep(self, change)
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
    if isinstance(error, PoolTimeout):
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


class _Turn:
    """A writer in the queue, who wants a change kept, or else to write by itself.

    patience: for how long it waits in all, in seconds, or None
    """

    __slots__ = ("change", "error", "kept", "until", "wake")

    def __init__(self, patience: float | None, change: Callable[[Line], None] | None = None) -> None:
        self.change = change
        self.kept = False
        self.error: BaseException | None = None
        self.until = None if patience is None else time.monotonic() + patience
        self.wake = _closed_gate()

    def time_left(self) -> float:
        """Return for how long it still waits, as a lock's timeout."""
        return -1 if self.until is None else max(self.until - time.monotonic(), 0)


def _closed_gate() -> threading.Lock:
    """Return a lock that is taken: who takes it again waits until somebody lets go of it."""
    gate = threading.Lock()
    gate.acquire()
    return gate


class _FileLock:
    """A lock that one process holds of those that have a file open, and loses when it ends.

    To wait for it knows no timeout and cannot be broken off. So a thread waits in place of who wants it, and gives it
    back if he has lost patience by then.
    """

    def __init__(self, path: str) -> None:
        self._guard = threading.Lock()
        self._file = open(path, "a")  # noqa: SIM115 - held open for as long as the database
        self._awaited = self._wanted = False
        self._here = _closed_gate()
        self._asked: SimpleQueue[None] = SimpleQueue()
        self._thread = threading.Thread(target=self._wait, name="lock", daemon=True)

    def take(self, turn: _Turn) -> None:
        """Take it. Only one thread of a process may want it, or hold it.

        Raises `Unavailable` if others hold it for longer than the turn waits.
        """
        with self._guard:
            if not self._awaited:
                with suppress(BlockingIOError):
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                if self._thread.ident is None:
                    self._thread.start()
                self._asked.put(None)
                self._awaited = True
            self._wanted = True
        if self._here.acquire(timeout=turn.time_left()):
            return
        with self._guard:
            if self._wanted:
                self._wanted = False
                raise Unavailable("locked", "another process had its turn for too long")
        self._here.acquire()  # it came right now

    def _wait(self) -> None:
        with suppress(ValueError):  # the file was closed, and the lock is gone with it
            while True:
                self._asked.get()
                fcntl.flock(self._file, fcntl.LOCK_EX)
                with self._guard:
                    self._awaited = False
                    if self._wanted:
                        self._wanted = False
                        self._here.release()
                    else:
                        self.release()

    def release(self) -> None:
        """Let other processes have it."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file, and with it let go of the lock, as soon as nobody waits any more."""
        self._file.close()
        self._asked.put(None)  # for the thread to find out


class _WriteQueue:
    """The queue of those who write to SQLite: the threads of this process and, through a file, other processes.

    SQLite's own waiting sleeps longer and longer and serves late comers first. And to wait for the disk is most of a
    short write: whoever comes to write keeps the changes of all who wait by then, in one transaction.
    """

    def __init__(self, path: str, patience: float | None) -> None:
        self._patience = patience
        self._guard = threading.Lock()
        self._waiting: deque[_Turn] = deque()
        self._taken = False
        self._processes = _FileLock(path)

    def close(self) -> None:
        """Let go of the file."""
        self._processes.close()

    def keep(self, line: Line, change: Callable[[Line], None]) -> None:
        """Keep a change, with what others want kept by then. Raises what it raises."""
        mine = _Turn(self._patience, change)
        self._await(mine)
        if not mine.kept and mine.error is None:
            together = [mine]
            try:
                with self._against_processes(mine):
                    together += self._all_changes()
                    _keep_together(line, together)
            except BaseException as error:  # no turn may end as if it were kept
                for turn in together:
                    turn.error = turn.error or (None if turn.kept else error)
            finally:
                for turn in together[1:]:
                    turn.wake.release()
                self._pass_on()
        try:
            if mine.error is not None:
                raise mine.error
        finally:
            del mine  # it holds the error, which holds this frame

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else write until the block ends."""
        mine = _Turn(self._patience)
        self._await(mine)
        try:
            with self._against_processes(mine):
                yield
        finally:
            self._pass_on()

    @contextmanager
    def _against_processes(self, turn: _Turn) -> Iterator[None]:
        self._processes.take(turn)
        try:
            yield
        finally:
            self._processes.release()

    def _await(self, turn: _Turn) -> None:
        """Return when it is this one's turn, or its change is kept or has failed."""
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            self._waiting.append(turn)
        if not turn.wake.acquire(timeout=turn.time_left()):
            with self._guard:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                    raise Unavailable("locked", "other threads of this process had their turn for too long")
            turn.wake.acquire()  # it is being kept right now

    def _all_changes(self) -> list[_Turn]:
        """Take out of the queue all who want a change kept."""
        with self._guard:
            found = [turn for turn in self._waiting if turn.change]
            self._waiting = deque(turn for turn in self._waiting if not turn.change)
        return found

    def _pass_on(self) -> None:
        """Give the turn to who waits longest."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().wake.release()
            else:
                self._taken = False


def _keep_together(line: Line, turns: Sequence[_Turn]) -> None:
    """Keep changes in one transaction; one that fails takes no other with it."""
    execute = line.connection.execute
    execute("BEGIN IMMEDIATE")
    try:
        for turn in turns:
            execute("SAVEPOINT turn")
            try:
                turn.change(line)  # type: ignore[misc]
            except sqlite3.OperationalError:
                raise  # the database is locked, full or gone: so it is for all
            except Exception as error:
                turn.error = error
                execute("ROLLBACK TO turn")
            execute("RELEASE turn")
        line.connection.commit()
    except BaseException:
        line.connection.rollback()
        raise
    for turn in turns:
        turn.kept = turn.error is None


def _prepare_sqlite(connection: Any, lock_timeout: int) -> None:
    connection.isolation_level = None  # transactions begin in `_begin_sqlite`, not in the driver
    for pragma in (f"busy_timeout={lock_timeout}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that comes to write ignores the busy timeout, so writers say so at once.
    if connection.get_execution_options().get("writes"):
        connection.connection.cursor().execute("BEGIN IMMEDIATE")
