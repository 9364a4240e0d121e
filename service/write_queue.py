"""The queue of those who write to SQLite: the threads of a process and, through a file, other processes."""

import fcntl
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any

from service.places import closed_gate

# What is done on a line to the database: something that has a `connection` of sqlite3.
Change = Callable[[Any], None]


class _Turn:
    """A writer in the queue, who wants a change kept, or else to write by itself.

    patience: for how long it waits in all, in seconds, or None
    """

    __slots__ = ("change", "error", "kept", "until", "wake")

    def __init__(self, patience: float | None, change: Change | None = None) -> None:
        self.change = change
        self.kept = False
        self.error: BaseException | None = None
        self.until = None if patience is None else time.monotonic() + patience
        self.wake = closed_gate()

    def time_left(self) -> float:
        """Return for how long it still waits, as a lock's timeout."""
        return -1 if self.until is None else max(self.until - time.monotonic(), 0)


class _FileLock:
    """A lock that one process holds of those that have a file open, and loses when it ends.

    To wait for it knows no timeout and cannot be broken off. So a thread waits in place of who wants it, and gives it
    back if he has lost patience by then.
    """

    def __init__(self, path: str) -> None:
        self._guard = threading.Lock()
        self._file = open(path, "a")  # noqa: SIM115 - held open for as long as the database
        self._awaited = self._wanted = False
        self._here = closed_gate()
        self._asked: SimpleQueue[None] = SimpleQueue()
        self._thread = threading.Thread(target=self._wait, name="lock", daemon=True)

    def take(self, turn: _Turn) -> None:
        """Take it. Only one thread of a process may want it, or hold it.

        Raises `TimeoutError` if others hold it for longer than the turn waits.
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
                raise TimeoutError("another process had its turn for too long")
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


class WriteQueue:
    """The queue of those who write to SQLite: the threads of this process and, through a file, other processes.

    SQLite's own waiting sleeps longer and longer and serves late comers first. And to wait for the disk is most of a
    short write: whoever comes to write keeps the changes of all who wait by then, in one transaction.

    Whoever has waited for as long as its patience, in seconds, gets a `TimeoutError`; with None it waits for ever.
    """

    def __init__(self, path: str) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[_Turn] = deque()
        self._taken = False
        self._processes = _FileLock(path)

    def close(self) -> None:
        """Let go of the file."""
        self._processes.close()

    def keep(self, line: Any, change: Change, patience: float | None) -> None:
        """Keep a change, with what others want kept by then. Raises what it raises."""
        mine = _Turn(patience, change)
        self._await(mine)
        if not mine.kept and mine.error is None:
            together = [mine]
            try:
                self._processes.take(mine)
                try:
                    together += self._all_changes()
                    _keep_together(line, together)
                finally:
                    self._processes.release()
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
    def alone(self, patience: float | None = None) -> Iterator[None]:
        """Let nobody else write until the block ends."""
        mine = _Turn(patience)
        self._await(mine)
        try:
            self._processes.take(mine)
            try:
                yield
            finally:
                self._processes.release()
        finally:
            self._pass_on()

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
                    raise TimeoutError("other threads of this process had their turn for too long")
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


def _keep_together(line: Any, turns: Sequence[_Turn]) -> None:
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
