"""The floor: a bare Flask route that reads a row, inserts one and updates one by hand, with no rules and no checks.

Same driver, same pragmas, as many connections, rows of the same size as the service's. Each request has a commit of its
own, where the service lets those who wait share one. With `FLOOR_QUEUE` set, writers to SQLite stand in a queue, as those
of the service do; without, SQLite lets them try again until they get their turn.
"""

import fcntl
import json
import os
import queue
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from flask import Flask, Response, request

WHERE = os.environ["FLOOR_DATABASE"]  # a path, or the URL of a PostgreSQL database
SQLITE = not WHERE.startswith("postgresql:")
CONNECTIONS = 4  # of a process to PostgreSQL
TABLES = (
    "CREATE TABLE game(id INTEGER PRIMARY KEY{generated}, version INTEGER NOT NULL, state TEXT NOT NULL)",
    "CREATE TABLE event(game INTEGER, version INTEGER, data TEXT NOT NULL, hash {binary} NOT NULL, "
    "PRIMARY KEY(game, version)){options}",
)
app = Flask(__name__)


def make() -> None:
    """Make the tables."""
    if SQLITE:
        with sqlite3.connect(WHERE) as here:
            here.execute("PRAGMA journal_mode=WAL")
            for table in TABLES:
                here.execute(table.format(generated="", binary="BLOB", options=" WITHOUT ROWID"))
        return
    with psycopg.connect(WHERE) as connection:
        for table in TABLES:
            generated = " GENERATED ALWAYS AS IDENTITY"
            connection.execute(table.format(generated=generated, binary="BYTEA", options=""))  # type: ignore[arg-type]


local = threading.local()
writers = threading.Lock()
lock_file = open(f"{WHERE}.lock", "a") if SQLITE and os.environ.get("FLOOR_QUEUE") else None  # noqa: SIM115
idle: queue.LifoQueue[psycopg.Connection[Any] | None] = queue.LifoQueue()
for _ in range(CONNECTIONS):
    idle.put(None)


@contextmanager
def turn() -> Iterator[None]:
    """Stand in the queue of writers, if there is one."""
    if lock_file is None:
        yield
        return
    with writers:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock_file, fcntl.LOCK_UN)


@contextmanager
def transaction() -> Iterator[Any]:
    """Run statements in a durable transaction: `execute(sql, values)`, with `?` for a value."""
    if SQLITE:
        if not hasattr(local, "connection"):
            local.connection = sqlite3.connect(WHERE, isolation_level=None)
            local.connection.execute("PRAGMA synchronous=FULL")
            local.connection.execute("PRAGMA busy_timeout=10000")
        with turn():
            local.connection.execute("BEGIN IMMEDIATE")
            yield local.connection.execute
            local.connection.execute("COMMIT")
        return
    connection = idle.get() or psycopg.connect(WHERE, autocommit=True)
    try:
        with connection.transaction():
            yield lambda sql, values: connection.execute(sql.replace("?", "%s"), values)
    finally:
        idle.put(connection)


@app.post("/games")
def create() -> Response:
    """Add a game."""
    with transaction() as execute:
        made = execute("INSERT INTO game(version, state) VALUES (1, ?) RETURNING id", (json.dumps(request.get_json()),))
        (id,) = made.fetchone()
    return Response(json.dumps({"id": id}), 201, mimetype="application/json")


@app.post("/games/<int:game>/moves")
def move(game: int) -> Response:
    """Read the game, add an event, update the game."""
    moves = request.get_json()["moves"]
    with transaction() as execute:
        version, state = execute("SELECT version, state FROM game WHERE id=?", (game,)).fetchone()
        for step in moves:
            version += 1
            execute("INSERT INTO event VALUES (?, ?, ?, ?)", (game, version, json.dumps(step), b"0" * 32))
        execute("UPDATE game SET version=?, state=? WHERE id=?", (version, state, game))
    return Response(state, 201, mimetype="application/json")
