"""Throughput of POST moves against the floor, in turns, on SQLite and PostgreSQL.

`python -m tests.bench.moves [ROUNDS] [SECONDS]`

The floor is what takes an afternoon to write: bare Flask and one transaction a move, on gunicorn with threads. Beside it
stands the same as fast as we could make it: on our server, with our queue of writers to SQLite.
"""

import math
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests import postgresql
from tests.bench import load
from tests.conftest import KEY, SECRET, text_of
from tests.server import free_port, serving

CLIENTS = (1, 8, 64)
PROGRAMS = Path(sys.executable).parent
GUNICORN = [*f"{PROGRAMS}/gunicorn --workers 2 --worker-class gthread --threads 4 --keep-alive 60 --bind".split()]
GRANIAN = [*f"{PROGRAMS}/granian --interface wsgi --workers 2 --blocking-threads 64 --no-log --port".split()]


def want_gunicorn() -> None:
    """End with a word on how to get it where it is not installed."""
    if not Path(GUNICORN[0]).exists():
        sys.exit("This needs gunicorn, which is not installed: pip install .[bench] brings it.")


@contextmanager
def running(command: list[str], environment: dict[str, str], port: int) -> Iterator[None]:
    """Run a server until the block ends."""
    process = subprocess.Popen(command, env=os.environ | environment, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def floor(database: str, *, tuned: bool = False) -> Iterator[int]:
    """Run the floor on a new database and give its port."""
    port = free_port()
    where = {"FLOOR_DATABASE": database, "FLOOR_QUEUE": "1" if tuned else ""}
    make = [sys.executable, "-c", "from tests.bench import floor; floor.make()"]
    subprocess.run(make, env=os.environ | where, check=True)
    server = [*GRANIAN, str(port)] if tuned else [*GUNICORN, f"127.0.0.1:{port}"]
    with running([*server, "tests.bench.floor:app"], where, port):
        yield port


@contextmanager
def running_all(kind: str, folder: Path) -> Iterator[list[int]]:
    """Run the floor, the tuned one, and the service on databases of a kind, and give their ports."""
    with ExitStack() as stack:
        if kind == "sqlite":
            databases = [str(folder / "floor.db"), str(folder / "tuned.db"), f"sqlite:///{folder}/ours.db"]
        else:
            cluster = postgresql.Cluster(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "cluster")
            cluster.folder.parent.chmod(0o755)
            cluster.make()
            cluster.start()
            stack.callback(cluster.stop)
            databases = [text_of(stack.enter_context(postgresql.new_database(cluster.url))) for _ in range(3)]
            databases[:2] = [url.replace("+psycopg", "") for url in databases[:2]]
        *theirs, ours = databases
        service = stack.enter_context(
            serving(folder, rate_limits="off", database_url=ours, secret_key=SECRET, signing_keys=KEY)
        )
        floors = [stack.enter_context(floor(database, tuned=bool(tuned))) for tuned, database in enumerate(theirs)]
        yield [*floors, int(service.rpartition(":")[2])]


def measure(kind: str, rounds: int, seconds: float) -> None:
    """Print a table for one kind of database."""
    with tempfile.TemporaryDirectory() as folder, running_all(kind, Path(folder)) as (bare, tuned, ours):
        print(
            f"{kind:<11} clients  batch  floor/s  tuned/s   ours/s  to floor  to tuned  p50 ms  p99 ms  floor p50, p99"
        )
        for number in range(load.PLANS):
            load.plan(number)
        rates = {}
        for clients, batch in [*((clients, 1) for clients in CLIENTS), (8, 8)]:
            measured = []
            # More than are played: 5,000 moves a second, or 9,600 in batches, at 24 a game.
            ahead = math.ceil((200 if batch == 1 else 400) * seconds / clients)
            for turn in range(1, rounds + 1):
                print(f"\r{clients:>8} round {turn}/{rounds}", end="", file=sys.stderr, flush=True)
                measured.append(
                    (
                        load.load(load.play_floor, bare, clients, seconds, 1, ahead),
                        load.load(load.play_floor, tuned, clients, seconds, 1, ahead),
                        load.load(load.play_service, ours, clients, seconds, batch, ahead),
                    )
                )
            print("\r", end="", file=sys.stderr)
            its, best, mine = (
                {key: statistics.median(figures[key] for figures in side) for key in ("rate", "p50", "p99")}
                for side in zip(*measured, strict=True)
            )
            rates[clients, batch] = mine["rate"]
            to_floor, to_tuned = (
                statistics.median(figures[-1]["rate"] / figures[place]["rate"] for figures in measured)
                for place in (0, 1)
            )
            print(
                f"{clients:>19} {batch:>6} {its['rate']:>8.0f} {best['rate']:>8.0f} {mine['rate']:>8.0f} "
                f"{to_floor:>9.2f} {to_tuned:>9.2f} {mine['p50']:>7.2f} {mine['p99']:>7.2f}  {its['p50']:.2f}, "
                f"{its['p99']:.2f}"
            )
        print(f"{'':<11} batches of 8 make {rates[8, 8] / rates[8, 1]:.1f} times as many moves as single ones")


def main(rounds: int = 3, seconds: float = 4) -> None:
    """Print both tables, or one where no PostgreSQL is installed."""
    want_gunicorn()
    measure("sqlite", rounds, seconds)
    if postgresql.binaries():
        measure("postgresql", rounds, seconds)
    else:
        print(postgresql.MISSING_PROGRAMS)


if __name__ == "__main__":
    main(*(float(argument) if place else int(argument) for place, argument in enumerate(sys.argv[1:])))
