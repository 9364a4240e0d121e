"""What is counted for operators, over all workers of a server: they share files in a folder, one for each process."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # names it to all workers

MOVES = Counter("montecarlo_moves", "Moves asked for, by what became of them.", ["type", "outcome"])
CONFLICTS = Counter("montecarlo_conflicts", "Times a change was decided again because another came first.")
AUDITS = Counter("montecarlo_audits", "Audits, of games kept here or of logs sent.", ["of", "verdict"])
HINTS = Counter("montecarlo_hints", "Hints given.", ["level"])
REQUESTS = Counter("montecarlo_requests", "Requests answered.", ["method", "route", "status"])
SECONDS = Histogram(
    "montecarlo_request_seconds",
    "Time to answer, but for event streams.",
    ["method", "route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
UNAVAILABLE = Counter("montecarlo_database_unavailable", "Requests that the database could not serve.", ["reason"])
OPEN = Gauge("montecarlo_connections_open", "Connections to the database.", multiprocess_mode="livesum")
IN_USE = Gauge("montecarlo_connections_in_use", "Those in use.", multiprocess_mode="livesum")


_NAME = "montecarlo-metrics-"
_MEMORY = "/dev/shm"  # noqa: S108 - a folder of our own is made in it


@contextmanager
def shared() -> Iterator[None]:
    """Let the processes started in this block count together."""
    # Its files are mapped into memory: on a disk that is full, to count would kill the process.
    there = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    _remove_forgotten(Path(there or tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_NAME, dir=there) as folder, _locked(folder):
        given = os.environ.get(FOLDER)
        os.environ[FOLDER] = given or folder
        try:
            yield
        finally:
            if not given:
                del os.environ[FOLDER]


@contextmanager
def _locked(folder: Path | str) -> Iterator[None]:
    """Lock a folder until the block ends, or this process does. Raises `OSError` if another has it locked."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


def _remove_forgotten(there: Path) -> None:
    """Remove the folders of servers that were killed."""
    for folder in there.glob(f"{_NAME}*"):
        with suppress(OSError):  # it is in use, or is not ours
            if folder.stat().st_mtime < time.time() - 60:  # else it may be made right now, and not locked yet
                with _locked(folder):
                    shutil.rmtree(folder)


def exposition() -> bytes:
    """Return all that was counted, in the text format of Prometheus."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return generate_latest(REGISTRY)
    for kept in Path(folder).glob("gauge_live*.db"):
        pid = int(kept.stem.rpartition("_")[2])
        if not Path(f"/proc/{pid}").exists():
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
