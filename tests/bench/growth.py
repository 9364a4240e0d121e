"""What games cost as they grow many: `python -m tests.bench.growth [GAMES] [ROUNDS]`.

On SQLite and PostgreSQL: the time to read a game and to move it, with 1,000 games of 50 events in the database and with
so many as GAMES, in turns; and the room that finished games of 60 events take. Games are played once and then copied
with other ids, seeds and hashes, so most of them would not pass an audit; their rows are of the size of real ones.
"""

import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.engine import URL

from service import commands
from service.api.world import make_world
from service.commands import DealSpec, World
from service.engine.errors import IllegalMove
from service.engine.events import Move
from service.engine.rules import VARIANTS
from service.migrate import migrate
from service.settings import Settings
from service.store import GameRecord, deals, events, games
from tests import postgresql
from tests.conftest import KEY, SECRET, text_of

TABLES = (deals, games, events)
START = 1_800_000_000_000
Rows = dict[str, list[tuple[Any, ...]]]


@dataclass
class Database:
    """A database to fill and to measure."""

    world: World

    @property
    def url(self) -> URL:
        """Where it is."""
        return self.world.database.engine.url

    @property
    def is_sqlite(self) -> bool:
        """Which kind it is."""
        return self.url.get_backend_name() == "sqlite"


def make(url: str) -> Database:
    """Give a database its tables."""
    world = make_world(Settings(database_url=url, secret_key=SECRET, signing_keys=KEY, statement_timeout=0))
    migrate(world.database)
    return Database(world)


def as_made(record: GameRecord, _: object) -> GameRecord:
    """Take a game as a move left it."""
    return record


def play(database: Database, length: int, finish: bool) -> UUID:
    """Play a game of so many events; undoing and doing again makes it long enough."""
    world, rules = database.world, VARIANTS["monte-carlo"].rules
    while True:
        record = commands.create_game(world, "monte-carlo", rules, DealSpec(), lambda record: record)
        token = commands.token_of(world, record)
        goal = length - 1 if finish else length
        while record.game.version < goal and not record.game.over:
            legal = record.game.legal_moves
            early = record.game.version < length - 8
            move = legal[0] if legal and early else Move(("undo", "redo")[record.game.version % 2])
            try:
                record = commands.make_moves(world, record.id, token, [move], as_made)
            except IllegalMove:
                break
        if record.game.version == goal and not record.game.over:
            if finish:
                record = commands.make_moves(world, record.id, token, [Move("resign")], as_made)
            return record.id


def templates(length: int, finish: bool, count: int = 30) -> list[Rows]:
    """Play games and return their rows, values as SQLite has them."""
    with tempfile.TemporaryDirectory() as folder:
        database = make(f"sqlite:///{folder}/games.db")
        ids = [play(database, length, finish) for _ in range(count)]
        database.world.database.close()
        connection = sqlite3.connect(f"{folder}/games.db")
        made = []
        for id in ids:
            (deal,) = connection.execute("SELECT deal FROM games WHERE id = ?", (id.bytes,)).fetchone()
            made.append(
                {
                    table.name: connection.execute(
                        f"SELECT {', '.join(table.c.keys())} FROM {table.name} WHERE {key} = ?", (value,)
                    ).fetchall()
                    for table, key, value in ((deals, "id", deal), (games, "id", id.bytes), (events, "game", id.bytes))
                }
            )
        connection.close()
    return made


def copies(kept: list[Rows], first: int, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of copies, each with its table, with ids in the order of time."""
    for number in range(first, first + count):
        rows = kept[number % len(kept)]
        game = UUID(int=(START + number << 80) | (7 << 76) | (2 << 62) | random.getrandbits(62)).bytes
        deal, seed = UUID(int=random.getrandbits(128), version=4).bytes, os.urandom(32)
        for table in TABLES:
            for row in rows[table.name]:
                values = dict(zip(table.c.keys(), row, strict=True))
                mine = {
                    "deals": {"id": deal, "game": game, "seed": seed},
                    "events": {"game": game, "hash": os.urandom(32)},
                }
                mine["games"] = {"id": game, "deal": deal, "seed": seed, "head": os.urandom(32)}
                yield table.name, {**values, **mine[table.name]}


def fill(database: Database, kept: list[Rows], count: int, first: int = 0) -> None:
    """Put copies into a database."""
    for start in range(first, first + count, 2000):
        batch: dict[str, list[dict[str, Any]]] = {table.name: [] for table in TABLES}
        for name, values in copies(kept, start, min(2000, first + count - start)):
            batch[name].append(values)
        (_fill_sqlite if database.is_sqlite else _fill_postgresql)(database.url, batch)
        print(f"\r{database.url.get_backend_name()} {start:>8} of {count}", end="", file=sys.stderr, flush=True)
    print(f"\r{'':30}\r", end="", file=sys.stderr)


def _fill_sqlite(url: URL, batch: dict[str, list[dict[str, Any]]]) -> None:
    connection = sqlite3.connect(str(url.database))
    connection.execute("PRAGMA synchronous=OFF")
    with connection:
        for table in TABLES:
            columns = table.c.keys()
            values = ", ".join(f":{name}" for name in columns)
            statement = f"INSERT INTO {table.name}({', '.join(columns)}) VALUES ({values})"
            connection.executemany(statement, batch[table.name])
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _fill_postgresql(url: URL, batch: dict[str, list[dict[str, Any]]]) -> None:
    ids = {("deals", "id"), ("deals", "game"), ("games", "id"), ("games", "deal"), ("events", "game")}
    with postgresql.connect(url) as connection:
        for table in TABLES:
            columns = table.c.keys()
            with connection.cursor().copy(f"COPY {table.name}({', '.join(columns)}) FROM STDIN") as copy:
                for row in batch[table.name]:
                    copy.write_row(
                        [UUID(bytes=row[name]) if (table.name, name) in ids else row[name] for name in columns]
                    )


def settle(database: Database) -> None:
    """Let a database do what it would have done over time."""
    if database.is_sqlite:
        return
    with postgresql.connect(database.url) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def measure(database: Database, ids: list[UUID], rounds: int) -> dict[str, list[float]]:
    """Read and move games drawn at random; return the milliseconds of each."""
    world, taken = database.world, {"read": [], "move": []}
    for id in random.choices(ids, k=rounds):
        token = commands.make_token(world.secret, id)
        start = time.perf_counter()
        record = commands.read_game(world, id, None)
        read = time.perf_counter()
        commands.make_moves(world, id, token, [Move("undo" if len(record.game.line) > 1 else "redo")], as_made)
        moved = time.perf_counter()
        assert record.game.version >= 50
        taken["read"].append((read - start) * 1000)
        taken["move"].append((moved - read) * 1000)
    return taken


def sample_ids(database: Database, count: int) -> list[UUID]:
    """Draw games that can be moved."""
    with database.world.database.reading() as connection:
        ids = list(connection.scalars(sa.select(games.c.id)))
    return random.sample(ids, min(count, len(ids)))


def latency(small: Database, large: Database, rounds: int) -> None:
    """Print how much longer it takes with many games."""
    sampled = [(database, sample_ids(database, 100_000)) for database in (small, large)]
    for database, ids in sampled:
        measure(database, ids, rounds // 4)
    taken: list[dict[str, list[float]]] = [{"read": [], "move": []}, {"read": [], "move": []}]
    for _ in range(20):  # in turns, so that whatever else the machine does meets both
        for place, (database, ids) in enumerate(sampled):
            for name, times in measure(database, ids, max(rounds // 20, 1)).items():
                taken[place][name] += times
    for name in ("read", "move"):
        few, many = (statistics.median(side[name]) for side in taken)
        p99 = [statistics.quantiles(side[name], n=100)[98] for side in taken]
        print(f"  {name}: {few:.3f} and {many:.3f} ms, ratio {many / few:.2f}; p99 {p99[0]:.2f} and {p99[1]:.2f} ms")


def room(database: Database, count: int) -> None:
    """Print what a game takes on disk."""
    if database.is_sqlite:
        connection = sqlite3.connect(str(database.url.database))
        parts = connection.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC").fetchall()
        connection.close()
    else:
        with postgresql.connect(database.url) as asked:
            parts = asked.execute(
                "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'i') "
                "AND relnamespace = 'public'::regnamespace ORDER BY 2 DESC"
            ).fetchall()
    shown = ", ".join(f"{name} {size / count:.0f}" for name, size in parts if size / count >= 1)
    print(f"  {sum(size for _, size in parts) / count / 1024:.2f} KiB a finished game of 60 events: bytes {shown}")


def main(many: int = 200_000, rounds: int = 4000) -> None:
    """Fill and measure both kinds."""
    playing, finished = templates(50, False), templates(60, True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="montecarlo-growth-")))
        folder.chmod(0o755)
        cluster = postgresql.Cluster(folder / "cluster", shared_buffers="256MB", max_wal_size="4GB")
        cluster.make()
        cluster.start()
        stack.callback(cluster.stop)
        for kind in ("sqlite", "postgresql"):
            with ExitStack() as open_databases:

                def new(name: str, kind: str = kind, stack: ExitStack = open_databases) -> Database:
                    if kind == "sqlite":
                        database = make(f"sqlite:///{folder}/{name}.db")
                    else:
                        database = make(text_of(stack.enter_context(postgresql.new_database(cluster.url))))
                    stack.callback(database.world.database.close)
                    return database

                print(kind)
                small, large, done = new("small"), new("large"), new("done")
                fill(done, finished, 5000)
                settle(done)
                room(done, 5000)
                fill(small, playing, 1000)
                fill(large, playing, many)
                settle(small), settle(large)
                latency(small, large, rounds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
